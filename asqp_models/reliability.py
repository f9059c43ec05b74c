"""How far scores can be trusted: how often quads of a score are right, and what each threshold gives.

A training leaves ``calibration.jsonl`` in its run folder: for each sample of validation and test ``split``, ``id``,
``gold`` (its gold quads), and ``scores`` and ``right`` of the quads that were predicted with a score of at least 0.05.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from asqp_datasets.errors import DataError
from asqp_datasets.schema import Quad, Sample

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from asqp_models.methods import Model, ScoredQuad

    Floats = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]

FILE = "calibration.jsonl"

LEAST_SCORE = 0.05
"""The least score of the quads that are looked at."""

GRID = tuple(i / 100 for i in range(5, 100))
"""The thresholds among which one with a wanted precision is sought."""


class Band(NamedTuple):
    """Quads with scores from ``low``, below ``high``: how many, their mean score, and the share that is right."""

    low: float
    high: float
    quads: int
    score: float
    right: float


class Point(NamedTuple):
    """What a threshold gives: precision, recall and F1 as fractions, and how many quads are predicted."""

    threshold: float
    precision: float
    recall: float
    f1: float
    predicted: int


class Scored(NamedTuple):
    """The scored quads of a split.

    Args:
        scores: One a quad. Shape (quads,).
        right: Whether each is right. Shape (quads,).
        gold: How many gold quads the split has.
    """

    scores: Floats
    right: Bools
    gold: int

    def at(self, threshold: float) -> Point:
        """Predict what reaches a threshold."""
        kept = self.scores >= threshold
        predicted, right = int(kept.sum()), int(self.right[kept].sum())
        return Point(
            threshold,
            right / predicted if predicted else 0.0,
            right / self.gold if self.gold else 0.0,
            2 * right / (predicted + self.gold) if predicted + self.gold else 0.0,
            predicted,
        )

    def least_with(self, precision: float) -> Point | None:
        """The least threshold of the grid at which so great a share of the quads is right; None if there is none."""
        points = map(self.at, GRID)
        return next((point for point in points if point.predicted and point.precision >= precision), None)


def right_ones(predicted: Sequence[Sequence[ScoredQuad]], gold: Sequence[Sequence[Quad]]) -> tuple[Floats, Bools]:
    """The scores of all predicted quads, and whether each stands, as scored, in the gold quads of its text.

    Of equal quads of a text as many are right as the gold quads hold, the surest ones.
    """
    import numpy as np

    pairs = [pair for quads, expected in zip(predicted, gold, strict=True) for pair in _judged(quads, expected)]
    return np.array([score for score, _ in pairs], np.float64), np.array([right for _, right in pairs], np.bool_)


def _judged(quads: Sequence[ScoredQuad], expected: Sequence[Quad]) -> Iterator[tuple[float, bool]]:
    left = Counter(quad.strings for quad in expected)
    for each in sorted(quads, key=lambda each: -each.score):
        hit = left[each.quad.strings] > 0
        left[each.quad.strings] -= hit
        yield each.score, hit


def bands(scores: Floats, right: Bools, number: int = 10) -> list[Band]:
    """Bands of equal width that have quads in them; the last one takes in 1."""
    rows = []
    for i in range(number):
        low, high = i / number, (i + 1) / number
        inside = (scores >= low) & ((scores < high) | (i + 1 == number))
        if inside.any():
            rows.append(Band(low, high, int(inside.sum()), float(scores[inside].mean()), float(right[inside].mean())))
    return rows


def calibration_error(rows: Iterable[Band]) -> float:
    """Expected calibration error (Naeini et al., 2015): mean distance of score and share that is right, in [0, 1]."""
    rows = list(rows)
    return sum(abs(row.score - row.right) * row.quads for row in rows) / max(1, sum(row.quads for row in rows))


def scored_rows(model: Model, samples: Sequence[Sample], split: str) -> Iterator[dict[str, Any]]:
    """The rows of ``calibration.jsonl`` for a split.

    Args:
        model: A trained method.
        samples: The split, with gold quads.
        split: Its name.
    """
    from asqp_models.prediction import BATCH

    for start in range(0, len(samples), BATCH):
        part = samples[start : start + BATCH]
        predicted = model.predict_scored([sample.text for sample in part], LEAST_SCORE)
        for sample, quads in zip(part, predicted, strict=True):
            judged = list(_judged(quads, sample.quads))
            yield {
                "split": split,
                "id": sample.id,
                "gold": len(sample.quads),
                "scores": [round(score, 4) for score, _ in judged],
                "right": [right for _, right in judged],
            }


def read_scored(folder: Path) -> dict[str, Scored]:
    """The scored quads of a run folder by split; empty if the run has none, as runs of earlier versions.

    Raises:
        DataError: The file is not as it was written.
    """
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        splits: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            splits.setdefault(row["split"], []).append(row)
        return {split: _joined(part) for split, part in splits.items()}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(
            f"cannot be read ({type(error).__name__}), expected what a training writes", path=path
        ) from None


def _joined(rows: Sequence[dict[str, Any]]) -> Scored:
    import numpy as np

    scores = np.array([score for row in rows for score in row["scores"]], np.float64)
    right = np.array([hit for row in rows for hit in row["right"]], np.bool_)
    if len(scores) != len(right):
        raise ValueError("another number of scores than of verdicts")
    return Scored(scores, right, sum(int(row["gold"]) for row in rows))

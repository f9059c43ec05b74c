"""Scoring prediction files against gold: reading both, lining them up by id, and asking ``asqp_f1``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.schema import Quad, Sample
from asqp_datasets.sources import open_source
from asqp_f1 import category_level1, score
from asqp_models.reviews import split_records

THRESHOLDS = {"zh": (0, 2), "en": (0, 5)}
"""Edit distances of the relaxed score by language (paper, Table 3)."""


def thresholds_of(language: str) -> tuple[int, ...]:
    """The paper's thresholds for a language."""
    return THRESHOLDS.get(language, THRESHOLDS["zh"])


def read_samples(name: str | Path, split: str | None = None) -> tuple[list[Sample], str]:
    """The samples of a prediction file, a gold file or a dataset, and their language.

    Args:
        name: A file of JSON Lines or Parquet, a raw file, a dataset folder, a corpus or a Hub dataset
            (``namespace/name`` or ``namespace/name@revision``).
        split: Of a dataset: the split, or ``all``; default: ``test`` if there is one, else all.

    Raises:
        DataError: It cannot be read, or a line of it cannot: a score over less than everything is no score.
        UsageError: The name means nothing.
    """
    source = open_source(str(name))
    samples = []
    for record in split_records(source, split):
        if record.rejected:
            raise DataError(record.issues[0].message, path=record.path, line=record.line)
        if record.sample is not None:
            samples.append(record.sample)
    return samples, source.language


def align(
    predicted: Sequence[Sample], gold: Sequence[Sample], *, names: tuple[str, str] = ("predictions", "gold")
) -> tuple[list[list[Quad]], list[list[Quad]]]:
    """Bring predictions into the order of the gold samples.

    Args:
        predicted: Samples with predicted quads, in any order.
        gold: Samples with gold quads.
        names: What to call the two in an error.

    Raises:
        DataError: An id stands twice, is missing on one side, or has another text on the other.
    """
    by_id = _by_id(predicted, names[0])
    _by_id(gold, names[1])
    missing = [sample.id for sample in gold if sample.id not in by_id]
    known = {sample.id for sample in gold}
    extra = [sample.id for sample in predicted if sample.id not in known]
    for ids, where, other in ((missing, names[0], names[1]), (extra, names[1], names[0])):
        if ids:
            raise DataError(
                f"found no sample {ids[0]!r:.60}, nor {len(ids) - 1} others of {other}, expected the same ids in both",
                path=where,
            )
    for sample in gold:
        if by_id[sample.id].text != sample.text:
            raise DataError(
                f"sample {sample.id!r:.60} has the text {by_id[sample.id].text!r:.60}, in {names[1]} it has "
                f"{sample.text!r:.60}",
                path=names[0],
            )
    return [by_id[sample.id].quads for sample in gold], [sample.quads for sample in gold]


def _by_id(samples: Iterable[Sample], name: str) -> Mapping[str, Sample]:
    result: dict[str, Sample] = {}
    for sample in samples:
        if sample.id in result:
            raise DataError(f"found the id {sample.id!r:.60} twice, expected every id once", path=name)
        result[sample.id] = sample
    return result


def evaluate_samples(
    predicted: Sequence[Sequence[Quad]], gold: Sequence[Sequence[Quad]], language: str, **options: Any
) -> dict[str, Any]:
    """The scores of predictions, strict and relaxed at the paper's thresholds for the language.

    Args:
        predicted: Predicted quads, one list a sample.
        gold: Gold quads, in the same order.
        language: ``zh`` or ``en``.
        options: Anything that :func:`asqp_f1.score` takes.
    """
    return score(predicted, gold, **({"thresholds": thresholds_of(language)} | options))


def group_intervals(
    predicted: Sequence[Sequence[Quad]], gold: Sequence[Sequence[Quad]], *, resamples: int, seed: int = 0
) -> dict[str, dict[str, list[float]]]:
    """95% intervals of the strict F1 by type, as :func:`asqp_f1.score` gives them for all quads.

    Args:
        predicted: Predicted quads, one list a sample.
        gold: Gold quads, in the same order.
        resamples: How often samples are drawn.
        seed: Seed of the draws.

    Returns:
        ``by_implicitness``, ``by_sentiment`` and ``by_category_level1``: the interval of each type that occurs.
    """
    types: dict[str, Callable[[Quad], str]] = {
        "by_implicitness": lambda quad: quad.explicitness,
        "by_sentiment": lambda quad: quad.sentiment,
        "by_category_level1": lambda quad: category_level1(quad.category),
    }
    result: dict[str, dict[str, list[float]]] = {}
    for name, type_of in types.items():
        sides = [[[(type_of(quad), quad) for quad in quads] for quads in side] for side in (predicted, gold)]
        result[name] = {}
        for wanted in sorted({each for side in sides for quads in side for each, _ in quads}):
            mine, theirs = ([[quad for each, quad in quads if each == wanted] for quads in side] for side in sides)
            scores = score(mine, theirs, thresholds=(), bootstrap=resamples, seed=seed)
            result[name][wanted] = scores["interval"]["f1"]
    return result


def parse_thresholds(value: str) -> tuple[int, ...]:
    """The edit distances of ``0,2``.

    Raises:
        UsageError: They are not non-negative integers.
    """
    parts = [part.strip() for part in value.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 7 for part in parts):
        raise UsageError(f"thresholds: found {value!r}, expected non-negative integers such as 0,2")
    return tuple(int(part) for part in parts)


def measures(result: Mapping[str, Any]) -> dict[str, str]:
    """What a result measures: a name for people by what stands before ``precision``, ``recall`` and ``f1``."""
    names = {"": "quad (strict)", "aos_exact_": "aspect-opinion-sentiment, exact"}
    for key in result:
        kind, _, rest = key.partition("_d")
        if key.endswith("_f1") and rest and kind in ("aos", "quad"):
            what = "aspect-opinion-sentiment" if kind == "aos" else "quad"
            names[key.removesuffix("f1")] = f"{what}, d ≤ {rest.removesuffix('_f1')}"
    return names


def table(result: Mapping[str, Any]) -> list[tuple[str, float, float, float, int]]:
    """The measures of a result as rows: name, P, R and F1 in percent, and how many were right."""
    return [
        (name, *(100 * result[f"{prefix}{key}"] for key in ("precision", "recall", "f1")), result[f"{prefix}tp"])
        for prefix, name in measures(result).items()
    ]

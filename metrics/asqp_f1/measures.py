"""Options of a score, its signature, and the counts of every measure per sample."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .inputs import ELEMENTS, Encoded, Flags, ScoreError, encode
from .relaxed import matched, near
from .strict import Tally, absa_quad, acos, exact, tally

__version__ = "0.1.0"

MATCHINGS = ("one_to_one", "any")
PROTOCOLS = ("absa-quad", "acos")
"""Published scorers whose way of counting whole quads can be asked for."""


@dataclass(frozen=True)
class Options:
    """What decides the value of a score; see :func:`asqp_f1.score`.

    Raises:
        ScoreError: An option has a value that it does not know.
    """

    thresholds: tuple[int, ...] = (0, 2)
    matching: str = "one_to_one"
    protocol: str | None = None
    normalize: str | None = None
    zero_division: float = 0.0

    def __post_init__(self) -> None:
        thresholds: Any = self.thresholds
        if not isinstance(thresholds, Iterable) or isinstance(thresholds, str | bytes):
            raise ScoreError("a list of non-negative integers", thresholds, field="thresholds")
        checked = [natural(value, "thresholds") for value in thresholds]
        object.__setattr__(self, "thresholds", tuple(dict.fromkeys(checked)))
        _one_of(self.matching, MATCHINGS, "matching")
        _one_of(self.protocol, (None, *PROTOCOLS), "protocol")
        _one_of(self.normalize, (None, "nfkc"), "normalize")
        zero: Any = self.zero_division
        if isinstance(zero, bool) or not isinstance(zero, int | float) or not 0 <= zero <= 1:
            raise ScoreError("a number from 0 to 1", zero, field="zero_division")
        object.__setattr__(self, "zero_division", float(zero))

    @property
    def signature(self) -> str:
        """The definition of the score in one line, to be printed beside it."""
        norm = f"norm:{self.normalize or 'none'}"
        matching = "max" if self.matching == "one_to_one" else self.matching
        relaxed = ("aos", f"d:{','.join(map(str, self.thresholds))}", "unit:char", norm, f"match:{matching}")
        rest = (f"protocol:{self.protocol or 'none'}", f"zero:{self.zero_division:g}", f"v:{__version__}")
        return "|".join(("asqp", *(relaxed if self.thresholds else (norm,)), *rest))

    def encode(self, predictions: Any, references: Any) -> Encoded:
        """Read both sides; the published protocols know of unparsable outputs."""
        unparsable = (self.protocol is not None, self.protocol == "absa-quad")
        return encode(predictions, references, normalize=self.normalize, unparsable=unparsable)


def natural(value: Any, field: str, least: int = 0) -> int:
    """An option that must be an integer of at least `least`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < least:
        raise ScoreError(f"an integer of at least {least}", value, field=field)
    return int(value)


def _one_of(value: Any, choices: tuple[str | None, ...], field: str) -> None:
    if not (value is None or isinstance(value, str)) or value not in choices:
        raise ScoreError(f"one of {', '.join(map(repr, choices))}", value, field=field)


class Counted(NamedTuple):
    """The counts of every measure, and which predictions and golds match exactly.

    Args:
        tallies: By the name that stands before ``f1`` in the result: ``""`` (strict), ``"aos_exact_"``,
            ``"aos_d0_"``, ``"quad_d0_"`` …
        right: Predictions with an exact match.
        found: Gold quads with an exact match.
    """

    tallies: dict[str, Tally]
    right: Flags
    found: Flags


def count(data: Encoded, options: Options, only: str | None = None) -> Counted:
    """Count everything, or `only` one measure, in each sample."""
    right, found = exact(data, ELEMENTS)
    tallies: dict[str, Tally] = {}
    if only in (None, ""):
        protocol = {"absa-quad": absa_quad, "acos": acos}.get(options.protocol or "")
        tallies[""] = protocol(data) if protocol else tally(data, right, found)
    if only in (None, "aos_exact_"):
        tallies["aos_exact_"] = tally(data, *exact(data, ELEMENTS[1:]))
    wanted = {
        f"{name}_d{threshold}_": (threshold, category)
        for threshold in options.thresholds
        for name, category in (("aos", False), ("quad", True))
        if only in (None, f"{name}_d{threshold}_")
    }
    if wanted:
        edges = near(data, max(threshold for threshold, _ in wanted.values()))
        for name, (threshold, category) in wanted.items():
            tallies[name] = matched(data, edges, threshold, options.matching, category=category)
    return Counted(tallies, right, found)


def f1_of(counts: npt.NDArray[Any], zero_division: float) -> npt.NDArray[np.float64]:
    """F1 of counts of shape (…, 4), in the order of :class:`Tally`: 2·tp / (predicted + gold).

    Where precision and recall have numerators of their own, it is their harmonic mean, 2·P·R / (P + R).
    """
    right, found, predicted, gold = np.moveaxis(np.asarray(counts, float), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        same = 2 * right / (predicted + gold)
        precision, recall = right / predicted, found / gold
        apart = 2 * precision * recall / (precision + recall)
    return np.where(predicted + gold == 0, zero_division, np.where(right == found, same, apart))


def scores(right: int, found: int, predicted: int, gold: int, zero_division: float) -> dict[str, Any]:
    """Precision, recall and F1 of counts, as plain numbers, and the counts.

    Args:
        right: Numerator of precision.
        found: Numerator of recall.
        predicted: Denominator of precision.
        gold: Denominator of recall.
        zero_division: Value of what has the denominator zero.
    """
    return {
        "precision": right / predicted if predicted else zero_division,
        "recall": found / gold if gold else zero_division,
        "f1": float(f1_of(np.array([right, found, predicted, gold]), zero_division)),
        "tp": right,
        "predicted": predicted,
        "gold": gold,
    }

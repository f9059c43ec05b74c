"""Uncertainty of a score, and of a difference between two systems."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from .inputs import Ints, ScoreError
from .measures import Options, count, f1_of, natural
from .strict import Tally

_CELLS = 1 << 22
"""Random numbers drawn at a time: bounds the memory."""


def interval(counts: Tally, resamples: int, seed: int, zero_division: float = 0.0) -> list[float]:
    """Percentile 95% interval of F1 over samples drawn with replacement.

    Samples with equal counts are interchangeable, so that a resample is a multinomial draw over the
    distinct counts. The order of the samples does not matter.

    Args:
        counts: Counts per sample.
        resamples: How often to draw.
        seed: Seed of the random numbers.
        zero_division: F1 of a resample without any quad.

    Returns:
        The 2.5th and the 97.5th percentile.
    """
    if not len(counts.gold):
        return [zero_division, zero_division]
    kinds, sizes = np.unique(np.stack(counts, axis=1), axis=0, return_counts=True)
    rng = np.random.default_rng(seed)
    f1 = np.empty(resamples)
    step = max(1, _CELLS // len(kinds))
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        drawn = rng.multinomial(sizes.sum(), sizes / sizes.sum(), size=size)
        f1[start : start + size] = f1_of(drawn @ kinds.astype(float), zero_division)
    return [float(bound) for bound in np.percentile(f1, [2.5, 97.5])]


def compare(
    a: Any,
    b: Any,
    references: Any,
    *,
    measure: str = "f1",
    matching: str = "one_to_one",
    protocol: str | None = None,
    normalize: str | None = None,
    zero_division: float = 0.0,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Any]:
    """Paired approximate-randomisation test of two systems on the same samples.

    Under the null hypothesis that the systems do not differ, the outputs of each sample may be swapped. The
    p value is (1 + #{|Δ*| ≥ |Δ|}) / (1 + resamples), Δ* being the difference after swapping each sample
    with probability 1/2 (Noreen, 1989). Swapping `a` and `b` gives the same p value, and so does any
    order of the samples.

    Args:
        a: Predictions of the first system, in any form that :func:`asqp_f1.score` takes.
        b: Predictions of the second system.
        references: Gold quads.
        measure: ``"f1"``, ``"aos_exact_f1"``, ``"aos_d{t}_f1"`` or ``"quad_d{t}_f1"`` for any threshold t.
        matching: As in :func:`asqp_f1.score`.
        protocol: As in :func:`asqp_f1.score`.
        normalize: As in :func:`asqp_f1.score`.
        zero_division: As in :func:`asqp_f1.score`.
        resamples: Number of random swappings, at least 1.
        seed: Seed of the random numbers.

    Returns:
        ``measure``, its values ``a`` and ``b``, ``difference`` (a - b), ``p_value``, ``resamples``,
        ``seed``, ``samples`` and ``signature``.

    Raises:
        ScoreError: As :func:`asqp_f1.score`.
    """
    named = re.fullmatch(r"((?:aos|quad)_d([0-9]{1,9})_|aos_exact_|)f1", measure) if isinstance(measure, str) else None
    if named is None:
        raise ScoreError("'f1', 'aos_exact_f1', 'aos_d{t}_f1' or 'quad_d{t}_f1'", measure, field="measure")
    thresholds = () if named[2] is None else (int(named[2]),)
    options = Options(thresholds, matching, protocol, normalize, zero_division)
    if isinstance(references, Iterator):
        references = list(references)  # they are read twice
    resamples, seed = natural(resamples, "resamples", 1), natural(seed, "seed")
    prefix = f"{named[1].split('_')[0]}_d{thresholds[0]}_" if thresholds else named[1]
    pair = [
        np.stack(count(options.encode(system, references), options, prefix).tallies[prefix], axis=1)
        for system in (a, b)
    ]
    values = [float(f1_of(counts.sum(axis=0), options.zero_division)) for counts in pair]
    swapped = _swapped_differences(pair[0], pair[1], resamples, seed, options.zero_division)
    # Equal fractions may differ in their last bit.
    extreme = int((swapped >= abs(values[0] - values[1]) - 1e-12).sum())
    return {
        "measure": measure,
        "a": values[0],
        "b": values[1],
        "difference": values[0] - values[1],
        "p_value": (1 + extreme) / (1 + resamples),
        "resamples": resamples,
        "seed": seed,
        "samples": len(pair[0]),
        "signature": options.signature,
    }


def _swapped_differences(a: Ints, b: Ints, resamples: int, seed: int, zero_division: float) -> Any:
    """|Δ*| of each resample, from counts per sample of shape (samples, 4).

    Only how many samples of a kind are swapped matters, and a kind is an unordered pair of counts.
    """
    differ = np.flatnonzero((a != b).any(axis=1))
    column = np.argmax(a[differ] != b[differ], axis=1)
    swap = (a[differ, column] > b[differ, column])[:, None]
    both = np.hstack([np.where(swap, b[differ], a[differ]), np.where(swap, a[differ], b[differ])])
    kinds, sizes = np.unique(both, axis=0, return_counts=True)
    low, high = kinds[:, :4].astype(float), kinds[:, 4:].astype(float)
    total = a.sum(axis=0) + b.sum(axis=0)
    fixed = np.delete(a, differ, axis=0).sum(axis=0)
    rng = np.random.default_rng(seed)
    result = np.empty(resamples)
    step = max(1, _CELLS // max(1, len(kinds)))
    for start in range(0, resamples, step):
        drawn = rng.binomial(sizes, 0.5, size=(min(step, resamples - start), len(kinds)))
        mine = fixed + drawn @ low + (sizes - drawn) @ high
        f1 = [f1_of(counts, zero_division) for counts in (mine, total - mine)]
        result[start : start + len(drawn)] = np.abs(f1[0] - f1[1])
    return result

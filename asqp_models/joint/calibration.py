"""The threshold with the best F1, and scores that estimate the probability of a quad being right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from asqp_datasets.schema import Quad
from asqp_models.lexicon.counts import fit, logit, sigmoid
from asqp_models.methods import ScoredQuad
from asqp_models.reliability import right_ones


def calibrate(
    predicted: Sequence[Sequence[ScoredQuad]], gold: Sequence[Sequence[Quad]], thresholds: Sequence[float]
) -> tuple[float, list[float]]:
    """Platt's scaling (1999), and the threshold, on the new scale, with the best strict F1; the lowest of equals.

    Args:
        predicted: Quads that reach the lowest threshold.
        gold: Quads of the same texts.
        thresholds: Those among which to choose.

    Returns:
        The threshold; slope and intercept, by which a score's log-odds become those of the quad being right.
    """
    scores, right = right_ones(predicted, gold)
    total = sum(map(len, gold))
    best, chosen = -1.0, thresholds[0]
    for threshold in thresholds:
        kept = scores >= threshold
        f1 = 2 * right[kept].sum() / max(1, kept.sum() + total)
        if f1 > best:
            best, chosen = f1, threshold
    slope, intercept = 1.0, 0.0
    if right.any() and not right.all():
        odds = logit(np.clip(scores, 1e-6, 1 - 1e-6))
        weights = fit(odds[:, None], right)
        if weights[1] > 0.05:
            slope, intercept = float(weights[1]), float(weights[0])
    scaled = sigmoid(slope * logit(np.array([chosen])) + intercept)
    return round(float(scaled[0]), 6), [slope, intercept]

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
    """Platt's scaling (1999), and the threshold, on the new scale, with the best strict F1.

    The F1 that is measured on some hundred texts jumps from threshold to threshold, and its highest jump is often no
    more than that. So, of the thresholds whose F1 is within a standard error of the best, it is the one with the
    highest F1 that scaled scores lead to expect (Lipton et al., 2014). There is no scale where all quads are right, or
    all wrong, or higher scores are not more often right; then it is the one with the best F1, the lowest of equals.

    Args:
        predicted: Quads that reach the lowest threshold.
        gold: Quads of the same texts.
        thresholds: Those among which to choose where there is no scale.

    Returns:
        The threshold; slope and intercept, by which a score's log-odds become those of the quad being right.
    """
    scores, right = right_ones(predicted, gold)
    total = sum(map(len, gold))
    if right.any() and not right.all():
        odds = logit(np.clip(scores, 1e-6, 1 - 1e-6))
        weights = fit(odds[:, None], right)
        if weights[1] > 0.05:
            slope, intercept = float(weights[1]), float(weights[0])
            order = np.argsort(-scores, kind="stable")
            scaled = sigmoid(slope * odds[order] + intercept)
            half = (np.arange(1, len(scaled) + 1) + total) / 2
            measured, expected = right[order].cumsum() / half, scaled.cumsum() / half
            last = np.append(np.diff(scaled) < 0, True)  # of equal scores
            top = measured[last].max()
            good = last & (measured >= top - np.sqrt(top * (1 - top) / total))
            at = int(np.where(good, expected, -1.0).argmax())
            lowest = sigmoid(slope * logit(np.array([thresholds[0]])) + intercept)
            return round(float(np.append(scaled, lowest)[at : at + 2].mean()), 6), [slope, intercept]
    best, chosen = -1.0, thresholds[0]
    for threshold in thresholds:
        kept = scores >= threshold
        f1 = 2 * right[kept].sum() / max(1, kept.sum() + total)
        if f1 > best:
            best, chosen = f1, threshold
    return chosen, [1.0, 0.0]

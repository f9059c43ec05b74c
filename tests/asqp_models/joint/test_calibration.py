"""Thresholds and calibrated scores, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("transformers", reason="needs the train extra")

from asqp_datasets.schema import Quad
from asqp_models.joint.calibration import calibrate
from asqp_models.methods import ScoredQuad


def quad(name: str) -> Quad:
    return Quad("FOOD", name, "NULL", "POS")


@pytest.mark.parametrize(("missed", "expected"), [(100, 0.55), (900, 0.25)])
def test_the_threshold_has_the_best_f1_to_be_expected(missed: int, expected: float) -> None:
    # 800 of 1,000 with 0.9 are right, 300 of 1,000 with 0.2: on the new scale, 0.8 and 0.3; and 0.2 for 0.1
    predicted = [[ScoredQuad(quad("a"), score)] for score in [0.9] * 1_000 + [0.2] * 1_000] + [[]] * missed
    right = [[quad("a")]]
    gold = right * 800 + [[]] * 200 + right * 300 + [[]] * 700 + right * missed
    # 1,200 gold quads: F1 16/22 with the surest, 22/32 with all; 2,000: 16/30, 22/40; half-way to the next
    threshold, (slope, intercept) = calibrate(predicted, gold, (0.1, 0.5))
    assert threshold == pytest.approx(expected, abs=0.01)
    for score, share in ((0.9, 0.8), (0.2, 0.3)):
        odds = slope * np.log(score / (1 - score)) + intercept
        assert 1 / (1 + np.exp(-odds)) == pytest.approx(share, abs=0.01)


def test_without_a_wrong_quad_nothing_is_scaled() -> None:
    predicted = [[ScoredQuad(quad("a"), 0.8)]]
    assert calibrate(predicted, [[quad("a")]], (0.2, 0.4)) == (0.2, [1.0, 0.0])
    assert calibrate([[]], [[]], (0.2, 0.4)) == (0.2, [1.0, 0.0])

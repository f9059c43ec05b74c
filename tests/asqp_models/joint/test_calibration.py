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


def test_the_threshold_has_the_best_f1() -> None:
    predicted = [[ScoredQuad(quad("a"), 0.8)], [ScoredQuad(quad("x"), 0.3)], [ScoredQuad(quad("b"), 0.5)]]
    gold = [[quad("a")], [quad("c")], [quad("b")]]
    # at 0.2: 2 of 3 and 3: F1 2/3; at 0.4: 2 of 2 and 3: F1 0.8; at 0.6: F1 0.5
    threshold, (slope, intercept) = calibrate(predicted, gold, (0.2, 0.4, 0.6))
    assert slope > 0
    odds = slope * np.log(0.4 / 0.6) + intercept
    assert threshold == pytest.approx(1 / (1 + np.exp(-odds)), abs=1e-6)


def test_without_a_wrong_quad_nothing_is_scaled() -> None:
    predicted = [[ScoredQuad(quad("a"), 0.8)]]
    assert calibrate(predicted, [[quad("a")]], (0.2, 0.4)) == (0.2, [1.0, 0.0])
    assert calibrate([[]], [[]], (0.2, 0.4)) == (0.2, [1.0, 0.0])

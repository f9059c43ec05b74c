"""How far scores can be trusted, worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from asqp_datasets import DataError, Quad, Sample
from asqp_models.methods import Model, ScoredQuad, load_model
from asqp_models.reliability import Band, Point, Scored, bands, calibration_error, read_scored, right_ones, scored_rows
from asqp_models.run_folder import load_run


def quad(name: str) -> Quad:
    return Quad("FOOD", name, "NULL", "POS")


def test_the_surest_of_equal_quads_is_right() -> None:
    predicted = [[ScoredQuad(quad("a"), 0.3), ScoredQuad(quad("a"), 0.8), ScoredQuad(quad("b"), 0.5)], []]
    scores, right = right_ones(predicted, [[quad("a")], [quad("b")]])
    assert sorted(zip(scores.tolist(), right.tolist(), strict=True)) == [(0.3, False), (0.5, False), (0.8, True)]


def test_the_calibration_error() -> None:
    rows = bands(np.array([0.1, 0.3, 0.9, 1.0]), np.array([False, True, True, True]), 2)
    assert rows == [Band(0.0, 0.5, 2, pytest.approx(0.2), 0.5), Band(0.5, 1.0, 2, pytest.approx(0.95), 1.0)]
    assert calibration_error(rows) == pytest.approx((0.3 * 2 + 0.05 * 2) / 4)
    assert (bands(np.array([]), np.array([], bool)), calibration_error([])) == ([], 0.0)


def test_a_score_on_a_border_is_in_the_upper_band() -> None:
    for i in range(1, 10):
        assert bands(np.array([i / 10]), np.array([True]))[0].low == i / 10


def test_what_a_threshold_gives() -> None:
    scored = Scored(np.array([0.2, 0.4, 0.6, 0.8]), np.array([False, True, False, True]), 5)
    assert scored.at(0.4) == Point(0.4, 2 / 3, 2 / 5, 4 / 8, 3)
    assert scored.at(0.9) == Point(0.9, 0.0, 0.0, 0.0, 0)
    assert scored.least_with(0.5) == Point(0.05, 2 / 4, 2 / 5, 4 / 9, 4)
    assert scored.least_with(0.9) == Point(0.61, 1.0, 1 / 5, 2 / 6, 1)
    assert Scored(np.array([0.9]), np.array([False]), 1).least_with(0.9) is None


def test_a_training_leaves_the_scores_of_validation_and_test(line: Path) -> None:
    run = load_run(line / "run")
    scored = read_scored(run.folder)
    assert list(scored) == ["validation", "test"]
    model: Model = load_model(run.folder)
    samples = [json.loads(row) for row in (run.folder / "predictions" / "test.jsonl").read_text("utf-8").splitlines()]
    predicted = model.predict_scored([row["text"] for row in samples], 0.05)
    assert len(scored["test"].scores) == sum(map(len, predicted))
    assert scored["test"].gold == run.scores("test")["gold"]
    at_half = model.predict_scored([row["text"] for row in samples], 0.5)
    assert scored["test"].at(0.5).predicted == sum(map(len, at_half))
    rows = (run.folder / "calibration.jsonl").read_text("utf-8")
    assert not any(row["text"][:8] in rows for row in samples)  # no text of a review


def test_rows_of_a_model() -> None:
    class Two:
        def predict_scored(self, texts: list[str], threshold: float | None = None) -> list[list[ScoredQuad]]:
            assert threshold == 0.05
            return [[ScoredQuad(quad("a"), 0.123456), ScoredQuad(quad("b"), 0.9)] for _ in texts]

    rows = list(scored_rows(Two(), [Sample("1", "x", [quad("b")])], "test"))  # type: ignore[arg-type]
    assert rows == [{"split": "test", "id": "1", "gold": 1, "scores": [0.9, 0.1235], "right": [True, False]}]


def test_scores_that_cannot_be_read(tmp_path: Path) -> None:
    assert read_scored(tmp_path) == {}
    for content in ("{", "[]", '{"split": "test", "gold": 1, "scores": [0.5], "right": []}', "1"):
        (tmp_path / "calibration.jsonl").write_text(content)
        with pytest.raises(DataError, match=r"calibration\.jsonl: cannot be read"):
            read_scored(tmp_path)

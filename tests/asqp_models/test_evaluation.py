"""Scores of files: lined up by id, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import asqp_f1
from asqp_datasets import Quad, Sample, UsageError
from asqp_models import evaluation
from asqp_models.run_folder import load_run
from tests.conftest import Asqp


def test_predict_then_score_by_command(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    for name in ("out.jsonl", "out.parquet"):
        code, _, err = asqp("predict", line / "car", "--model", line / "run", "--out", tmp_path / name)
        assert code == 0
        assert "60 reviews" in err
        code, out, _ = asqp("score", tmp_path / name, line / "car", "--json")
        assert code == 0
        assert json.loads(out)["f1"] == load_run(line / "run").scores("test")["f1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "out.parquet"]


GOLD = [Sample("a", "内饰差", [Quad("内饰#整体", "内饰", "差", "NEG", 0, 2, 2, 3)]), Sample("b", "好", [])]


def write(path: Path, samples: list[Sample]) -> Path:
    path.write_text("".join(json.dumps(s.to_dict(), ensure_ascii=False) + "\n" for s in samples), encoding="utf-8")
    return path


def test_scores_line_up_by_id(tmp_path: Path, asqp: Asqp) -> None:
    gold = write(tmp_path / "gold.jsonl", GOLD)
    code, out, _ = asqp("score", write(tmp_path / "p.jsonl", GOLD[::-1]), gold, "--thresholds", "0,3", "--json")
    assert code == 0
    result = json.loads(out)
    assert (result["f1"], result["tp"], result["gold"], result["aos_d3_f1"]) == (1.0, 1, 1, 1.0)
    code, out, _ = asqp("score", tmp_path / "p.jsonl", gold, "--breakdown")
    assert code == 0
    assert "quad (strict)" in out
    assert "by_sentiment" in out


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        (GOLD[:1], "found no sample 'b'"),
        ([*GOLD, Sample("c", "x", [])], "found no sample 'c'"),
        ([*GOLD, GOLD[0]], "found the id 'a' twice"),
        ([GOLD[0], Sample("b", "坏", [])], "sample 'b' has the text '坏'"),
    ],
)
def test_what_does_not_line_up_is_no_score(predicted: list[Sample], message: str, tmp_path: Path, asqp: Asqp) -> None:
    code, out, err = asqp("score", write(tmp_path / "p.jsonl", predicted), write(tmp_path / "gold.jsonl", GOLD))
    assert (code, out) == (2, "")
    assert message in err


def test_a_line_that_cannot_be_read_is_no_score(tmp_path: Path, asqp: Asqp) -> None:
    path = write(tmp_path / "p.jsonl", GOLD)
    path.write_text(path.read_text(encoding="utf-8").replace("NEG", "BAD"), encoding="utf-8")
    code, _, err = asqp("score", path, write(tmp_path / "gold.jsonl", GOLD))
    assert code == 2
    assert "p.jsonl:1" in err
    assert "found 'BAD', expected one of NEG, NEU, POS" in err
    code, _, err = asqp("score", path, tmp_path / "gold.jsonl", "--thresholds", "a")
    assert code == 2


def test_every_way_to_score_by_command(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    predictions = line / "run" / "predictions" / "test.jsonl"
    code, out, _ = asqp(
        "score",
        predictions,
        line / "car",
        "--json",
        "--protocol",
        "acos",
        "--subtasks",
        "--bootstrap",
        100,
        "--seed",
        3,
    )
    assert code == 0
    result = json.loads(out)
    low, high = result["interval"]["f1"]
    assert low <= result["f1"] <= high
    assert result["signature"].endswith("|protocol:acos|zero:0|v:0.1.0")
    assert set(result["subtasks"]) == set(asqp_f1.SUBTASKS)
    assert asqp("score", predictions, line / "car", "--subtasks", "--bootstrap", 10)[0] == 0
    code, _, err = asqp("score", tmp_path / "none.jsonl", line / "car")
    assert (code, "none.jsonl: found no such file" in err) == (2, True)
    code, _, err = asqp("score", predictions, line / "car", "--thresholds", "9" * 5000)
    assert (code, "thresholds: found" in err) == (2, True)


def test_thresholds_of_the_paper() -> None:
    assert evaluation.thresholds_of("zh") == (0, 2)
    assert evaluation.thresholds_of("en") == (0, 5)
    assert evaluation.parse_thresholds("0, 2,5") == (0, 2, 5)
    for value in ("", "-1", "1.5", "0,,2", "²"):
        with pytest.raises(UsageError, match="thresholds: found"):
            evaluation.parse_thresholds(value)

"""`asqp compare` and `asqp errors`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asqp_datasets import Quad, Sample
from tests.conftest import Asqp


def write(path: Path, samples: list[Sample]) -> Path:
    path.write_text("".join(json.dumps(s.to_dict(), ensure_ascii=False) + "\n" for s in samples), encoding="utf-8")
    return path


TEXT = "内饰差、屏幕不大。不要购买"
GOLD = [
    Quad("内饰#内饰整体", "内饰", "差", "NEG", 0, 2, 2, 3),
    Quad("内饰#车载屏幕", "屏幕", "不大", "NEG", 4, 6, 6, 8),
    Quad("买家态度#购买意愿", "购买", "不要", "NEG", 11, 13, 9, 11),
]
PREDICTED = [
    GOLD[0],
    Quad("内饰#车载屏幕", "屏幕不", "大", "NEG", 4, 7, 7, 8),
    Quad("买家态度#购买意愿", "不要购买", "NULL", "NEG", 9, 13, -1, -1),
    GOLD[0],
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    gold = write(
        tmp_path / "gold.jsonl", [Sample("1", TEXT, GOLD), Sample("<b>2</b>", "<script>alert(1)</script>", [])]
    )
    predicted = write(
        tmp_path / "p.jsonl", [Sample("1", TEXT, PREDICTED), Sample("<b>2</b>", "<script>alert(1)</script>", [])]
    )
    return predicted, gold


def test_errors_of_the_worked_example(files: tuple[Path, Path], tmp_path: Path, asqp: Asqp) -> None:
    predicted, gold = files
    code, out, _ = asqp("errors", predicted, gold, "--json", "--html", tmp_path / "e.html")
    assert code == 0
    found = json.loads(out)
    # After the exact match: the second differs in aspect and opinion, the third too, the repeat is spurious.
    assert [(error["id"], error["kind"]) for error in found["errors"]] == [
        ("1", "aspect+opinion"),
        ("1", "aspect+opinion"),
        ("1", "spurious"),
    ]
    assert found["summary"]["wrong"] == 3
    assert found["summary"]["missed"] == 0
    assert found["summary"]["elements"]["aspect"]["count"] == 2
    assert found["summary"]["elements"]["aspect"]["boundary"] == 2
    page = (tmp_path / "e.html").read_text(encoding="utf-8")
    assert "Errors, in percent of the wrong predictions (as Figure 3)" in page
    assert "66.7" in page  # two of three wrong predictions differ in the aspect
    assert "F1 by category" in page
    assert '<span class="aspect">屏幕</span><span class="opinion">不大</span>' in page
    code, out, _ = asqp("errors", predicted, gold)
    assert code == 0
    assert "aspect: boundary" in out
    assert "3 wrong predictions, 0 gold quads missed" in out


def test_hostile_text_on_the_page(tmp_path: Path, asqp: Asqp) -> None:
    hostile = "<script>alert(1)</script>"
    gold = [Sample(hostile, hostile, [Quad(f"{hostile}#x", hostile, "NULL", "NEG", 0, len(hostile))])]
    predicted = [Sample(hostile, hostile, [])]
    code, _out, _ = asqp(
        "errors",
        write(tmp_path / "p.jsonl", predicted),
        write(tmp_path / "g.jsonl", gold),
        "--html",
        tmp_path / "e.html",
    )
    assert code == 0
    assert "<script" not in (tmp_path / "e.html").read_text(encoding="utf-8")


def test_compare(tmp_path: Path, asqp: Asqp) -> None:
    gold = [Sample(str(i), f"第{i}条内饰差", [Quad("a#b", "内饰", "差", "NEG")]) for i in range(40)]
    good = [sample._replace(quads=sample.quads if i % 10 else []) for i, sample in enumerate(gold)]
    bad = [sample._replace(quads=sample.quads if i % 2 else []) for i, sample in enumerate(gold)]
    paths = [write(tmp_path / f"{name}.jsonl", part) for name, part in (("good", good), ("bad", bad), ("gold", gold))]
    code, out, _ = asqp("compare", *paths, "--json")
    result = json.loads(out)
    # 36 of 40 right with no wrong ones: F1 = 72 / 76; 20 of 40: 40 / 60.
    assert result["a"] == pytest.approx(72 / 76)
    assert result["b"] == pytest.approx(40 / 60)
    assert (code, result["significant"]) == (0, True)
    assert result["p_value"] < 0.001  # 16 samples differ, all the same way: about 2 / 2**16
    code, out, _ = asqp("compare", paths[0], paths[0], paths[2])
    assert code == 1  # the comparison says no
    assert "p = 1.0000: not significant at 0.05" in out
    code, _, err = asqp("compare", *paths, "--measure", "accuracy")
    assert code == 2
    assert "expected 'f1'" in err

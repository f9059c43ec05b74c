"""Views of quads as simpler tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from asqp_datasets import Quad, UsageError
from asqp_datasets.builder import build
from asqp_datasets.sources import open_source
from asqp_datasets.subtasks import view
from tests.conftest import Asqp

# 内饰差、屏幕不大。内饰好 with one implicit aspect and one implicit opinion.
QUADS = [
    Quad("内饰#整体", "内饰", "差", "NEG", 0, 2, 2, 3),
    Quad("内饰#屏幕", "屏幕", "不大", "NEG", 4, 6, 6, 8),
    Quad("内饰#整体", "内饰", "NULL", "NEG", 9, 11, -1, -1),
    Quad("内饰#整体", "NULL", "好", "POS", -1, -1, 11, 12),
]


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("ACD", [("内饰#整体",), ("内饰#屏幕",)]),
        ("ATE", [("内饰",), ("屏幕",)]),
        ("OTE", [("差",), ("不大",), ("好",)]),
        ("AOPE", [("内饰", "差"), ("屏幕", "不大"), ("内饰", "NULL"), ("NULL", "好")]),
        ("ACSA", [("内饰#整体", "NEG"), ("内饰#屏幕", "NEG"), ("内饰#整体", "POS")]),
        ("E2E-ABSA", [("内饰", "NEG"), ("屏幕", "NEG"), ("NULL", "POS")]),
        ("TASD", [("内饰#整体", "内饰", "NEG"), ("内饰#屏幕", "屏幕", "NEG"), ("内饰#整体", "NULL", "POS")]),
        (
            "ASTE",
            [("内饰", "差", "NEG"), ("屏幕", "不大", "NEG"), ("内饰", "NULL", "NEG"), ("NULL", "好", "POS")],
        ),
    ],
)
def test_views(task: str, expected: list[tuple[str, ...]]) -> None:
    labels = view(QUADS, task)
    assert [tuple(v for v in label.values() if isinstance(v, str)) for label in labels] == expected
    if task == "ATE":
        assert labels[0] == {"aspect": "内饰", "aspect_start": 0, "aspect_end": 2}


def test_a_folder_of_views(tmp_path: Path, asqp: Asqp) -> None:
    from datasets import load_dataset

    import asqp_f1

    build(open_source("synthetic-digital", size=60), tmp_path / "set")
    out = tmp_path / "views"
    assert asqp("data", "subtasks", tmp_path / "set", "--task", "aste", "--task", "E2E-ABSA", "--out", out)[0] == 0
    views = load_dataset(str(out), "aste")
    gold = load_dataset(str(tmp_path / "set"))
    assert {name: len(part) for name, part in views.items()} == {name: len(part) for name, part in gold.items()}
    # The sub-task score counts exactly these labels.
    counted = asqp_f1.score(gold["test"]["quads"], gold["test"]["quads"], subtasks=True)["subtasks"]["ASTE"]["gold"]
    assert sum(map(len, views["test"]["labels"])) == counted
    assert "synthetic" in (out / "README.md").read_text(encoding="utf-8")
    with pytest.raises(UsageError, match="task: found 'NER', expected one of ACD"):
        view(QUADS, "NER")
    code, _, err = asqp("data", "stats", out)
    assert code == 2
    assert "found views of a dataset for sub-tasks, expected a dataset of quads" in err

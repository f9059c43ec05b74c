"""The demo, and the metric that it installs."""

from __future__ import annotations

from pathlib import Path

import pytest

from asqp_datasets import UsageError
from asqp_models.demo import run_demo
from tests.conftest import Asqp, python


def test_demo_and_its_second_run(tmp_path: Path, asqp: Asqp) -> None:
    code, out, err = asqp("demo", "--out", tmp_path / "demo", "--size", 200)
    assert code == 0
    assert "Synthetic-Car" in out
    assert "synthetic-digital: built" in err
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert "Synthetic text." in page
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "demo").rglob("*")}
    code, out, err = asqp("demo", "--out", tmp_path / "demo", "--size", 200)
    assert (code, err) == (0, "")
    assert "done before" in out
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "demo").rglob("*")} == before
    (tmp_path / "demo" / "synthetic-car_lexicon" / "run.json").unlink()  # it is made again, the other is not
    again = run_demo(tmp_path / "demo", size=200)
    assert not again.reused
    assert [run.scores("test")["f1"] for run in again.runs] == [
        run.scores("test")["f1"] for run in run_demo(tmp_path / "demo", size=200).runs
    ]
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="with other content"):
        run_demo(tmp_path, size=200)


def test_the_metric_is_found_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
from asqp_models.metric_cache import install
first, second = install(), install()
assert first == second
import evaluate
metric = evaluate.load("asqp_f1")
quad = ["a#b", "x", "y", "POS"]
print(metric.compute(predictions=[[quad]], references=[[quad]])["f1"], type(metric).__module__)
"""
    monkeypatch.chdir(tmp_path)
    assert python(code, HF_HOME=str(tmp_path / "home")).split() == ["1.0", "asqp_f1.asqp_f1"]
    # Without the package, the copy beside it serves.
    hidden = (
        'import sys; sys.modules["asqp_f1"] = None; import evaluate; print(type(evaluate.load("asqp_f1")).__module__)'
    )
    assert "bundled" in python(hidden, HF_HOME=str(tmp_path / "home"))


def test_a_damaged_install_of_the_metric_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from asqp_models.metric_cache import install

    monkeypatch.setenv("HF_HOME", str(tmp_path))
    main, _ = install()
    content = main.read_bytes()
    for damage in (
        lambda: main.unlink(),
        lambda: main.write_text(""),
        lambda: (main.parent / "bundled" / "inputs.py").unlink(),
    ):
        damage()
        assert install()[0] == main
        assert main.read_bytes() == content
        assert (main.parent / "bundled" / "inputs.py").is_file()
    monkeypatch.setattr("asqp_models.metric_cache._MAIN", "# a newer version")
    assert [path.parent.name for path in install()] == [path.parent.name for path in install()]
    assert len(list(main.parents[1].iterdir())) == 1  # the older one is gone

"""Predictions of files: every row, in order, taken up after a kill."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from asqp_datasets import DataError
from asqp_datasets.sources import open_source
from asqp_models import prediction_file
from asqp_models.methods import load_model
from asqp_models.prediction import predict
from asqp_models.prediction_file import Summary, predict_file
from asqp_models.reviews import Review
from tests.conftest import Asqp


def test_every_row_has_its_row(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    source = tmp_path / "in.csv"
    source.write_bytes(b"id,text\n1,\xe5\xa5\xbd\n2,\xff\xfe\n3,\n")
    code, _, err = asqp("predict", source, "--model", line / "run", "--out", tmp_path / "out.jsonl")
    assert code == 0
    assert "1 rows could not be read" in err
    rows = [json.loads(row) for row in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["id"], row["text"], row["meta"]["error"]) for row in rows] == [
        ("1", "好", None),
        ("2", "\\xff\\xfe", "found bytes that are not utf-8"),
        ("3", "", None),
    ]


def test_predicting_to_standard_output(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    (tmp_path / "r.txt").write_text("内饰差\n", encoding="utf-8")
    code, out, _ = asqp("predict", tmp_path / "r.txt", "--model", line / "run" / "checkpoint", "--out", "-")
    assert code == 0
    assert json.loads(out)["text"] == "内饰差"


def test_batches_make_no_difference(line: Path) -> None:
    model = load_model(line / "run")
    reviews = [Review(sample.id, sample.text) for sample in open_source(str(line / "car")).samples()["train"]]
    reviews.insert(3, Review("x", "", "broken"))
    assert list(predict(model, reviews, batch=7)) == list(predict(model, reviews, batch=1000))


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_an_interrupted_prediction_is_taken_up(name: str, line: Path, tmp_path: Path) -> None:
    model = load_model(line / "run")
    reviews = [Review(s.id, s.text) for s in open_source(str(line / "car")).samples()["train"][:50]]
    task = {"source": "these"}
    predict_file(model, iter(reviews), tmp_path / f"whole-{name}", batch=10)

    def broken() -> Iterator[Review]:
        yield from reviews[:30]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_file(model, broken(), tmp_path / name, batch=10, task=task)
    assert not (tmp_path / name).exists()
    with (tmp_path / f".{name}.partial").open("a") as file:
        file.write('{"id": "half a li')  # killed while writing
    done = predict_file(model, iter(reviews), tmp_path / name, batch=10, task=task)
    assert (done.rows, done.resumed) == (50, 30)
    assert (tmp_path / name).read_bytes() == (tmp_path / f"whole-{name}").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, f"whole-{name}"]


def test_another_task_begins_anew(line: Path, tmp_path: Path) -> None:
    model = load_model(line / "run")

    def broken() -> Iterator[Review]:
        yield from [Review("1", "内饰差")] * 3
        raise KeyboardInterrupt

    for second in ({"source": "other"}, None):
        with pytest.raises(KeyboardInterrupt):
            predict_file(model, broken(), tmp_path / "out.jsonl", batch=1, task={"source": "these"})
        done = predict_file(model, iter([Review("x", "好")]), tmp_path / "out.jsonl", task=second)
        assert (done.rows, done.resumed) == (1, 0)
    with pytest.raises(KeyboardInterrupt):
        predict_file(model, broken(), tmp_path / "new.jsonl", batch=1, task={"source": "these"})
    with pytest.raises(DataError, match="found rows of another input"):
        predict_file(model, iter([Review("x", "好")] * 5), tmp_path / "new.jsonl", batch=1, task={"source": "these"})


def test_a_killed_prediction_is_taken_up(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out.jsonl"
    texts = [s.text.replace("\n", " ") for s in open_source(str(line / "car")).samples()["train"]]
    source.write_text("\n".join(texts * 40) + "\n", encoding="utf-8")
    arguments = ["predict", str(source), "--model", str(line / "run"), "--batch-size", "8"]
    killed = subprocess.Popen(
        [sys.executable, "-m", "asqp_models.cli", *arguments, "--out", str(out)], stderr=subprocess.DEVNULL
    )
    partial = tmp_path / ".out.jsonl.partial"
    deadline = time.monotonic() + 60
    while not (partial.exists() and partial.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.02)
    # Nobody else may write the same file meanwhile.
    code, _, err = asqp(*arguments, "--out", out)
    assert (code, "is being written by another process" in err) == (2, True)
    killed.kill()
    killed.wait()
    assert not out.exists()
    code, _, err = asqp(*arguments, "--out", out)
    assert code == 0
    assert "done before" in err
    assert asqp(*arguments, "--out", tmp_path / "whole.jsonl")[0] == 0
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert len(out.read_text(encoding="utf-8").splitlines()) == len(texts) * 40


def test_where_predictions_go(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    source = tmp_path / "in.txt"
    source.write_text("内饰差\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "real.jsonl")
    (tmp_path / "real.jsonl").write_text("old")
    arguments = ("predict", source, "--model", line / "run", "--out")
    assert asqp(*arguments, tmp_path / "link")[0] == 0
    assert (tmp_path / "link").is_symlink()
    assert json.loads((tmp_path / "real.jsonl").read_text(encoding="utf-8"))["id"] == "1"
    assert asqp(*arguments, "/dev/null")[0] == 0
    assert Path("/dev/null").is_char_device()
    for out, message in ((source, "found the input"), ("", "found an empty name"), (tmp_path, "found the folder")):
        code, _, err = asqp(*arguments, out)
        assert (code, message in err) == (2, True), err
    assert source.read_text(encoding="utf-8") == "内饰差\n"


def test_a_file_of_nothing_but_unreadable_rows(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    (tmp_path / "in.txt").write_bytes("内饰差\n屏幕大\n".encode("gb18030"))
    code, _, err = asqp("predict", tmp_path / "in.txt", "--model", line / "run", "--out", tmp_path / "out.jsonl")
    assert code == 1
    assert "2 rows could not be read" in err


def test_output_in_utf8_whatever_the_terminal(line: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("内饰差\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "asqp_models.cli",
        "predict",
        tmp_path / "in.txt",
        "--model",
        line / "run",
        "--out",
        "-",
    ]
    done = subprocess.run(command, capture_output=True, env=os.environ | {"PYTHONIOENCODING": "ascii"}, check=True)
    assert json.loads(done.stdout.decode("utf-8"))["text"] == "内饰差"


def test_long_texts_are_read_in_pieces(line: Path) -> None:
    model = load_model(line / "run")
    sample = next(s for s in open_source(str(line / "car")).samples()["train"] if model.predict_batch([s.text])[0])
    once = model.predict_batch([sample.text])[0]
    text = (sample.text.rstrip("。") + "。") * 100
    quads = model.predict_batch([text])[0]
    assert all(text[q.aspect_start : q.aspect_end] == q.aspect for q in quads if q.aspect_start >= 0)
    assert len(quads) > 50 * len(once)
    assert max(q.aspect_start for q in quads) > len(text) - len(sample.text) - 5


def test_a_moved_checkpoint_predicts_the_same_bytes(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    shutil.copytree(line / "run" / "checkpoint", tmp_path / "elsewhere")
    for model, name in ((line / "run", "one.jsonl"), (tmp_path / "elsewhere", "two.jsonl")):
        assert asqp("predict", line / "car", "--model", model, "--out", tmp_path / name)[0] == 0
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    row = json.loads((tmp_path / "one.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert re.fullmatch("lexicon@[0-9a-f]{12}", row["meta"]["model"])


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2), (2, 3), (3, 2)])
def test_what_another_number_of_processes_has_done_is_taken_up(
    before: int, after: int, line: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model(line / "run")
    reviews = [Review(s.id, s.text) for s in open_source(str(line / "car")).samples()["train"][:97]]
    out, task = tmp_path / "out.jsonl", {"source": "these"}
    predict_file(model, iter(reviews), tmp_path / "whole.jsonl", batch=4)
    monkeypatch.setattr("asqp_models.processes.wait_for_all", lambda: None)

    def call(rank: int, count: int, most: int | None = None) -> Summary:
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", str(count))

        def some() -> Iterator[Review]:
            yield from reviews[:most]
            if most is not None:
                raise KeyboardInterrupt

        return predict_file(model, some(), out, batch=4, task=task)

    for rank in range(before):  # each is killed at another place
        with pytest.raises(KeyboardInterrupt):
            call(rank, before, 40 + 9 * rank)
    prediction_file._share_out(out.resolve(), task, 4, after)  # as the main process does first
    done = [call(rank, after) for rank in (*range(1, after), 0)]
    assert done[-1].rows == 97
    assert 36 <= done[-1].resumed <= 60
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "whole.jsonl"]


def test_what_another_task_left_is_removed(line: Path, tmp_path: Path) -> None:
    for name in (".out.jsonl.partial-0-of-2", ".out.jsonl.partial-0-of-2-task", ".out.jsonl.partial-1-of-2"):
        (tmp_path / name).write_text("{}")
    predict_file(load_model(line / "run"), [Review("1", "好")], tmp_path / "out.jsonl", task={"source": "these"})
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


@pytest.mark.parametrize("threshold", ["nan", "-0.1", "1.1", "x"])
def test_a_threshold_is_a_number_from_0_to_1(threshold: str, tmp_path: Path, asqp: Asqp) -> None:
    code, _, err = asqp("predict", "x.csv", "--model", "m", "--out", tmp_path / "out.jsonl", "--threshold", threshold)
    assert code == 2
    assert "--threshold" in err
    assert not list(tmp_path.iterdir())

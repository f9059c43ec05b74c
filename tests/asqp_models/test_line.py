"""The whole line: build, train, predict, score, report, by command and in Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import asqp_f1
from asqp_datasets import DataError, Quad, Sample, UsageError
from asqp_datasets.builder import build
from asqp_datasets.sources import open_source
from asqp_f1 import find_errors
from asqp_models import evaluation, pages, report, training
from asqp_models.demo import run_demo
from asqp_models.methods import load_model
from asqp_models.prediction import predict, predict_file
from asqp_models.reviews import Review
from tests.conftest import python

Asqp = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small synthetic dataset and a lexicon trained on it."""
    folder = tmp_path_factory.mktemp("line")
    build(open_source("synthetic-car", size=400, seed=2), folder / "car")
    training.train(training.RunConfig("lexicon", str(folder / "car")), folder / "run")
    return folder


def test_a_run_holds_what_its_scores_rest_on(line: Path) -> None:
    from datasets import load_dataset

    run = training.load_run(line / "run")
    assert run.corpus == "synthetic-car"
    assert run.synthetic
    gold = load_dataset(str(line / "car"), split="test")
    rows = [
        json.loads(row)
        for row in (line / "run" / "predictions" / "test.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [row["id"] for row in rows] == gold["id"]
    assert [row["text"] for row in rows] == gold["text"]
    for row in rows:
        assert row["meta"]["method"] == "lexicon"
        for quad in row["quads"]:
            for name in ("aspect", "opinion"):
                if quad[f"{name}_start"] >= 0:
                    assert row["text"][quad[f"{name}_start"] : quad[f"{name}_end"]] == quad[name]
    again = asqp_f1.score([row["quads"] for row in rows], gold["quads"])
    for key in ("f1", "aos_d0_f1", "aos_d2_f1", "tp"):
        assert run.scores("test")[key] == again[key]
    assert run.scores("test")["f1"] > 0.2
    assert run.scores("test", "unseen")["samples"] == run.scores("test")["samples"]  # no text on two sides


def test_the_same_seed_gives_the_same_bytes(line: Path, tmp_path: Path) -> None:
    training.train(training.RunConfig("lexicon", str(line / "car")), tmp_path / "run")
    one, two = (
        {
            path.relative_to(folder): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and path.name != "environment.json"
        }
        for folder in (line / "run", tmp_path / "run")
    )
    assert one == two


def test_a_finished_run_is_reused_and_another_is_not_overwritten(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    arguments = ("train", "--method", "lexicon", "--dataset", line / "car", "--output", line / "run")
    code, out, _ = asqp(*arguments)
    assert code == 0
    assert "done before" in out
    code, _, err = asqp(*arguments, "--seed", 1)
    assert code == 2
    assert "found another run in" in err
    assert "(other seed)" in err
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="with other content"):
        training.train(training.RunConfig("lexicon", str(line / "car")), tmp_path, overwrite=True)
    assert (tmp_path / "thesis.txt").read_text() == "x"


def test_predict_then_score_by_command(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    for name in ("out.jsonl", "out.parquet"):
        code, _, err = asqp("predict", line / "car", "--model", line / "run", "--out", tmp_path / name)
        assert code == 0
        assert "60 reviews" in err
        code, out, _ = asqp("score", tmp_path / name, line / "car", "--json")
        assert code == 0
        assert json.loads(out)["f1"] == training.load_run(line / "run").scores("test")["f1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "out.parquet"]


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
        predict_file(model, iter([Review("x", "好")] * 5), tmp_path / "new.jsonl", task={"source": "these"})


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


def test_settings_and_configs(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(f"method: lexicon\ndataset: {line / 'car'}\noutput: {tmp_path / 'from-config'}\n")
    assert asqp("train", config, "--set", "seed=4")[0] == 0
    assert training.load_run(tmp_path / "from-config").config.seed == 4
    for content, message in (
        (
            "method: lexicon\nlearning_rate: 1\n",
            "[learning_rate]: found an unknown key, expected one of method, dataset",
        ),
        ("seed: many\n", "[seed]: found 'many', expected int"),
        ("[", "cannot be read as YAML"),
        ("- x\n", "expected keys"),
    ):
        config.write_text(content)
        code, _, err = asqp("train", config)
        assert code == 2
        assert message in err
    assert (
        "set: found 'seed=x'" in asqp("train", "--set", "seed=x")[2]
        or "found 'x' for seed" in asqp("train", "--set", "seed=x")[2]
    )


def test_a_dataset_without_splits_cannot_be_trained_on(asqp: Asqp, tmp_path: Path) -> None:
    code, _, err = asqp("train", "--method", "lexicon", "--dataset", "synthetic-car", "--output", tmp_path / "r")
    assert code == 2
    assert "found samples without a split, expected a train split" in err
    assert not (tmp_path / "r").exists()


def test_checkpoints_that_are_none(tmp_path: Path) -> None:
    for content in (
        "",
        "{",
        "[]",
        '{"asqp": 1}',
        '{"asqp": {"method": "pickle"}}',
        '{"asqp": {"method": ["lexicon"]}}',
    ):
        (tmp_path / "config.json").write_text(content)
        with pytest.raises(DataError):
            load_model(tmp_path)


def test_highlight_cuts_at_every_border() -> None:
    quads = [Quad("c#d", "内饰", "饰差", "NEG", 0, 2, 1, 3), Quad("c#d", "NULL", "", "NEG", -1, -1, 2, 2)]
    assert pages.highlight("内饰差吗", quads) == [
        ("内", "aspect"),
        ("饰", "aspect opinion"),
        ("差", "opinion"),
        ("吗", ""),
    ]
    assert pages.highlight("", []) == []


def test_verdicts_count_each_gold_once() -> None:
    quad, other = Quad("c#d", "a", "o", "POS"), Quad("c#d", "b", "o", "POS")
    errors = find_errors([[quad, quad]], [[quad, other]])
    shown = [(each.verdict, each.strings[1]) for each in pages.verdicts([quad, quad], [quad, other], errors)]
    assert shown == [("right", "a"), ("wrong", "a"), ("missed", "b")]
    # Folded, full-width letters are equal: the page says what the score says.
    wide = quad._replace(aspect="ａ")
    errors = find_errors([[wide]], [[quad]], normalize="nfkc")
    assert [each.verdict for each in pages.verdicts([wide], [quad], errors)] == ["right"]


def test_hostile_reviews_are_shown_not_run(tmp_path: Path) -> None:
    text = "<script>alert(1)</script><img src=x onerror=alert(2)>很差"
    words = "内饰屏幕座椅空间油耗动力外观价格服务质量做工噪音"
    lines = [f"{text}{words[i] * 9}####[['<b>#x', '0,8', '-1,-1', '0']]" for i in range(len(words))]
    raw = tmp_path / "raw.txt"
    raw.write_text("\n".join(lines) + "\n", encoding="utf-8")
    build(open_source("car", raw=[str(raw)]), tmp_path / "car")
    run = training.train(training.RunConfig("lexicon", str(tmp_path / "car")), tmp_path / "run")
    page = report.write_report([run], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "<img" not in page
    assert "<b>" not in page


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
    (tmp_path / "demo" / "synthetic-car_lexicon" / "run.json").unlink()
    with pytest.raises(UsageError, match="with other content"):
        run_demo(tmp_path / "demo", size=200)


def test_the_metric_is_found_from_any_directory(tmp_path: Path) -> None:
    code = """
from asqp_models.metric_cache import install
first, second = install(), install()
assert first == second
import evaluate
metric = evaluate.load("asqp_f1")
quad = ["a#b", "x", "y", "POS"]
print(metric.compute(predictions=[[quad]], references=[[quad]])["f1"], type(metric).__module__)
"""
    os.chdir(tmp_path)
    assert python(code, HF_HOME=str(tmp_path / "home")).split() == ["1.0", "asqp_f1.asqp_f1"]
    # Without the package, the copy beside it serves.
    hidden = (
        'import sys; sys.modules["asqp_f1"] = None; import evaluate; print(type(evaluate.load("asqp_f1")).__module__)'
    )
    assert "bundled" in python(hidden, HF_HOME=str(tmp_path / "home"))


def test_thresholds_of_the_paper() -> None:
    assert evaluation.thresholds_of("zh") == (0, 2)
    assert evaluation.thresholds_of("en") == (0, 5)
    assert evaluation.parse_thresholds("0, 2,5") == (0, 2, 5)
    for value in ("", "-1", "1.5", "0,,2", "²"):
        with pytest.raises(UsageError, match="thresholds: found"):
            evaluation.parse_thresholds(value)


def test_lines_that_cannot_be_read_stop_the_training(tmp_path: Path, asqp: Asqp) -> None:
    good = "".join(f"第{i}次买味道好####[['味道#x', '4,6', '6,7', '2']]\n" for i in range(5))
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.txt").write_text(good + ("坏行\n" if name == "train" else ""), encoding="utf-8")
    code, _, err = asqp("train", "--method", "lexicon", "--dataset", tmp_path, "--output", tmp_path / "run")
    assert code == 2
    assert f"{tmp_path / 'train.txt'}:6: found no '####['" in err


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


def test_a_reader_that_goes_away_is_no_error(line: Path) -> None:
    stats = f"{sys.executable} -m asqp_models.cli data stats {line / 'car'} --json"
    command = f"{stats} | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_damaged_runs_are_not_taken_for_finished(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    run = tmp_path / "run"
    arguments = ("train", "--method", "lexicon", "--dataset", line / "car", "--output", run)
    assert asqp(*arguments)[0] == 0
    whole = (run / "checkpoint" / "config.json").read_bytes()
    for path, content in (
        ("checkpoint/config.json", b"{}"),
        ("metrics.jsonl", b'{"split": "test"}\n'),
        ("run.json", b"[" * 9999),
    ):
        before = (run / path).read_bytes()
        (run / path).write_bytes(content)
        code, _, err = asqp(*arguments)
        assert code == 2, path
        assert "damaged run" in err or "with other content" in err
        (run / path).write_bytes(before)
    assert "done before" in asqp(*arguments)[1]
    (run / "checkpoint" / "config.json").unlink()
    assert asqp(*arguments, "--overwrite")[0] == 0
    assert (run / "checkpoint" / "config.json").read_bytes() == whole


def test_what_a_killed_training_left_is_removed(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    (tmp_path / ".run.building-left").mkdir()
    assert asqp("train", "--method", "lexicon", "--dataset", line / "car", "--output", tmp_path / "run")[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_training_into_an_empty_working_directory(
    line: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asqp: Asqp
) -> None:
    monkeypatch.chdir(tmp_path)
    assert asqp("train", "--method", "lexicon", "--dataset", line / "car", "--output", ".")[0] == 0
    assert (tmp_path / "run.json").is_file()


def test_long_texts_are_read_in_pieces(line: Path) -> None:
    model = load_model(line / "run")
    sample = next(s for s in open_source(str(line / "car")).samples()["train"] if model.predict_batch([s.text])[0])
    once = model.predict_batch([sample.text])[0]
    text = (sample.text.rstrip("。") + "。") * 100
    quads = model.predict_batch([text])[0]
    assert all(text[q.aspect_start : q.aspect_end] == q.aspect for q in quads if q.aspect_start >= 0)
    assert len(quads) > 50 * len(once)
    assert max(q.aspect_start for q in quads) > len(text) - len(sample.text) - 5


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


def test_narrow_terminals_lose_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from asqp_models.cli import options

    monkeypatch.setattr(options, "terminal_width", lambda: 40)
    rows = [["lexicon", 33.333, 66.667, 99.99, "最后一列的文字很长很长很长很长很长很长很长很长"]]
    options.print_table(("method", "P", "R", "F1", "note"), rows, title="t\x1b[31m")
    out = capsys.readouterr().out
    assert all(text in out for text in ("lexicon", "33.33", "66.67", "99.99"))
    assert "".join(line.split("│")[-2].strip() for line in out.splitlines() if line.startswith("│")) == rows[0][-1]
    assert "\x1b" not in out
    table = report.Table("T", ["Method", "Car\nP", "Car\nF1", "Digital\nP"], [["m", 1.0, 2.0, 3.0]])
    assert report.fitting(table, 100) == [table]
    assert report.fitting(table, 20) == [
        report.Table("T: Car", ["Method", "P", "F1"], [["m", 1.0, 2.0]]),
        report.Table("T: Digital", ["Method", "P"], [["m", 3.0]]),
    ]


def test_messages_cannot_steer_the_terminal(tmp_path: Path, line: Path, asqp: Asqp) -> None:
    (tmp_path / "esc.csv").write_text("a\x1b[31m,b\n1,2\n", encoding="utf-8")
    code, _, err = asqp("predict", tmp_path / "esc.csv", "--model", line / "run", "--out", tmp_path / "o")
    assert code == 2
    assert "\x1b" not in err
    assert "a\\x1b[31m" in err


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


def test_configs_are_held_to_the_same_limits(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    code, _, err = asqp("train", "--method", "lexicon", "--dataset", line / "car", "--set", "seed=-5")
    assert (code, "seed: found -5, expected at least 0" in err) == (2, True)
    (tmp_path / "deep.yaml").write_text("[" * 5000)
    assert asqp("train", tmp_path / "deep.yaml")[0] == 2
    (tmp_path / "config.json").write_text("[" * 100_000)
    with pytest.raises(DataError, match="found no checkpoint"):
        load_model(tmp_path)

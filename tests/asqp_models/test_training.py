"""Runs: what they hold, when they are reused, what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import asqp_f1
from asqp_datasets import DataError, UsageError
from asqp_models import training
from asqp_models.methods import load_model
from asqp_models.run_config import RunConfig
from asqp_models.run_folder import load_run
from tests.conftest import Asqp


def test_a_run_holds_what_its_scores_rest_on(line: Path) -> None:
    from datasets import load_dataset

    run = load_run(line / "run")
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
    training.train(RunConfig("lexicon", str(line / "car")), tmp_path / "run")
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
        training.train(RunConfig("lexicon", str(line / "car")), tmp_path, overwrite=True)
    assert (tmp_path / "thesis.txt").read_text() == "x"


def test_settings_and_configs(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(f"method: lexicon\ndataset: {line / 'car'}\noutput: {tmp_path / 'from-config'}\n")
    assert asqp("train", config, "--set", "seed=4")[0] == 0
    assert load_run(tmp_path / "from-config").config.seed == 4
    for content, message in (
        (
            f"method: lexicon\ndataset: {line / 'car'}\nlearning_rate: 1\n",
            "learning_rate: found an unknown key, expected none: lexicon has no settings",
        ),
        ("seed: many\n", "[seed]: found 'many', expected int"),
        ("[", "cannot be read as YAML"),
        ("seed: 1\nmethod: lexicon\nseed: 2\n", "c.yaml [seed]: found the key twice, expected it once"),
        ("- x\n", "expected keys"),
    ):
        config.write_text(content)
        code, _, err = asqp("train", config)
        assert code == 2
        assert message in err
    assert "no.yaml: found no such file" in asqp("train", tmp_path / "no.yaml")[2]
    assert (
        "set: found 'seed=x'" in asqp("train", "--set", "seed=x")[2]
        or "found 'x' for seed" in asqp("train", "--set", "seed=x")[2]
    )


def test_a_dataset_without_splits_cannot_be_trained_on(asqp: Asqp, tmp_path: Path) -> None:
    code, _, err = asqp("train", "--method", "lexicon", "--dataset", "synthetic-car", "--output", tmp_path / "r")
    assert code == 2
    assert "found samples without a split, expected a train split" in err
    assert not (tmp_path / "r").exists()


def test_lines_that_cannot_be_read_stop_the_training(tmp_path: Path, asqp: Asqp) -> None:
    good = "".join(f"第{i}次买味道好####[['味道#x', '4,6', '6,7', '2']]\n" for i in range(5))
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.txt").write_text(good + ("坏行\n" if name == "train" else ""), encoding="utf-8")
    code, _, err = asqp("train", "--method", "lexicon", "--dataset", tmp_path, "--output", tmp_path / "run")
    assert code == 2
    assert f"{tmp_path / 'train.txt'}:6: found no '####['" in err


def test_a_training_without_validation_says_so(tmp_path: Path, line: Path, asqp: Asqp) -> None:
    good = "".join(f"第{i}次买味道好####[['味道#x', '4,6', '6,7', '2']]\n" for i in range(5))
    for name in ("train", "test"):
        (tmp_path / f"{name}.txt").write_text(good, encoding="utf-8")
    code, _, err = asqp("train", "--method", "lexicon", "--dataset", tmp_path, "--output", tmp_path / "run")
    assert (code, "asqp: no validation split" in err) == (0, True)
    code, _, err = asqp("train", "--method", "lexicon", "--dataset", line / "car", "--output", line / "run")
    assert (code, "no validation" in err) == (0, False)


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


def test_configs_are_held_to_the_same_limits(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    code, _, err = asqp("train", "--method", "lexicon", "--dataset", line / "car", "--set", "seed=-5")
    assert (code, "seed: found -5, expected at least 0" in err) == (2, True)
    (tmp_path / "deep.yaml").write_text("[" * 5000)
    assert asqp("train", tmp_path / "deep.yaml")[0] == 2
    (tmp_path / "config.json").write_text("[" * 100_000)
    with pytest.raises(DataError, match="found no checkpoint"):
        load_model(tmp_path)


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


def test_settings_are_checked_before_anything_is_loaded(tmp_path: Path, asqp: Asqp) -> None:
    pytest.importorskip("transformers", reason="the train extra is not installed")
    config = tmp_path / "c.yaml"
    config.write_text("method: extract-classify\ndataset: nowhere\nencoder: none\nlearning_rate: 2e-5\n")
    for setting, message in (
        ("epochs=0", "epochs: found 0, expected an integer of at least 1"),
        ("learning_rate=2e1", "learning_rate: found 20.0, expected a number above 0, up to 1"),
        ("negatives=maybe", "negatives: found 'maybe', expected true or false"),
        ("layers=2", "layers: found an unknown key, expected one of epochs, batch_size"),
    ):
        code, _, err = asqp("train", config, "--set", setting)
        assert (code, message in err) == (2, True), err
    code, _, err = asqp("train", config, "--set", "negatives=true")
    assert (code, "dataset: found 'nowhere'" in err) == (2, True)


def test_what_somebody_put_into_a_run_folder_stays(
    line: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asqp: Asqp
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    monkeypatch.chdir(run)
    arguments = ("train", "--method", "lexicon", "--dataset", line / "car", "--output", ".")
    assert asqp(*arguments)[0] == 0
    (run / "notes.txt").write_text("mine")
    assert "done before" in asqp(*arguments)[1]  # more than a run holds is no damage
    assert asqp(*arguments, "--overwrite", "--seed", 1)[0] == 0
    assert (run / "notes.txt").read_text() == "mine"
    assert Path.cwd() == run
    assert load_run(run).config.seed == 1
    code, _, err = asqp("train", "--method", "lexicon", "--dataset", line / "car", "--output", "")
    assert (code, "output: found an empty name" in err) == (2, True)

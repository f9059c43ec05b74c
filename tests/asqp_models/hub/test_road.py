"""The whole road: raw files, dataset, metric, models, predictions, the Hub, and by ids alone the same scores."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("transformers", reason="needs the train extra")

from asqp_models import AsqpPredictor, training
from asqp_models.run_config import RunConfig
from tests.asqp_models.extract_classify.conftest import _one_thread  # noqa: F401 - a fixture
from tests.asqp_models.joint.conftest import SETTINGS
from tests.conftest import Asqp
from tests.hub.accounts import OWNER_TOKEN, READER_TOKEN
from tests.hub.clients import Finished, client_environment, run_command

if TYPE_CHECKING:
    from tests.hub.server import HubServer

SAMPLES = 96
METHODS: dict[str, dict[str, Any]] = {
    "lexicon": {},
    "extract-classify": {
        "encoder": "scratch",
        "epochs": 4,
        "learning_rate": 2e-3,
        "batch_size": 16,
        "max_seq_length": 32,
        "doc_stride": 8,
        "negatives": True,
        "threshold": 0.05,
    },
    "joint": SETTINGS | {"epochs": 6},
}
WORDS = {"座椅": "内饰#座椅", "屏幕": "内饰#车载屏幕", "动力": "性能#动力", "外观": "外观#整体"}
OPINIONS = {"很好": "2", "太差": "0", "一般般": "1"}


def raw_lines(corpus: str) -> list[str]:
    """Annotations in the format of the Car corpus, of short texts."""
    if corpus == "zh-food-beverage":
        folder = os.environ.get("ASQP_RAW_DIR", "")
        path = Path(folder, corpus, "train.txt")
        if not folder or not path.is_file():
            pytest.skip("ASQP_RAW_DIR is not set: no real corpora")
        return sorted(path.read_text(encoding="utf-8").splitlines(), key=len)[:SAMPLES]
    lines = []
    for number in range(SAMPLES):
        aspect, category = list(WORDS.items())[number % 4]
        opinion, polarity = list(OPINIONS.items())[number // 4 % 3]
        start = len(text := f"第{number}次坐这辆车，觉得")
        spans = f"'{start},{start + 2}', '{start + 2},{start + 2 + len(opinion)}'"
        lines.append(f"{text}{aspect}{opinion}。####[['{category}', {spans}, '{polarity}']]")
    return lines


RUN = """
import sys
from asqp_models.cli import main

for arguments in {commands!r}:
    sys.argv = ["asqp", *arguments]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
"""


def run_asqp(environment: dict[str, str], *commands: list[str], before: str = "") -> Finished:
    """Run commands in one fresh process, up to the first that fails."""
    done = run_command([sys.executable, "-c", before + RUN.format(commands=commands)], environment, 300)
    assert done.code == 0, done.err
    assert OWNER_TOKEN not in done.out + done.err
    return done


READ = """
import json
import datasets
import evaluate
from datasets import load_dataset

home, name = {home!r}, {name!r}
dataset = load_dataset(home + "/" + name)
print(json.dumps({{split: len(rows) for split, rows in dataset.items()}}))
test = dataset["test"].to_list()
print(json.dumps(test, ensure_ascii=False))
assert load_dataset(home + "/" + name, "default", revision="1.0", split="test").to_list() == test
assert list(load_dataset(home + "/" + name, split="test", streaming=True)) == test
views = load_dataset(home + "/" + name + "-subtasks", "aste", split="test")
assert views["id"] == dataset["test"]["id"]
predictions = load_dataset(home + "/" + name + "-predictions", split="test").to_list()
assert [row["id"] for row in predictions] == [row["id"] for row in test]
metric = evaluate.load(home + "/asqp_f1")
print(json.dumps(metric.compute(
    predictions=[row["quads"] for row in predictions], references=[row["quads"] for row in test])))
"""

PREDICT = """
import json
import sys
from asqp_models import AsqpPredictor
import asqp_models.pipeline
from transformers import pipeline

for name in {models!r}:
    texts = {texts!r}
    quads = AsqpPredictor.from_pretrained(name, device="cpu")(texts)
    assert pipeline("aspect-sentiment-quad-prediction", model=name)(texts) == quads
    assert pipeline("aspect-sentiment-quad-prediction", model=name, revision="1.0")(texts) == quads
    print(json.dumps(quads, ensure_ascii=False))
"""


@pytest.mark.parametrize(
    ("home", "corpus", "xet"),
    [("asqp", "synthetic-car", False), ("olivia", "zh-food-beverage", True)],
    ids=["LFS, synthetic reviews", "Xet, zh-food-beverage"],
)
def test_the_road(
    hub: HubServer, home: str, corpus: str, xet: bool, tmp_path: Path, asqp: Asqp, monkeypatch: pytest.MonkeyPatch
) -> None:
    if xet:
        pytest.importorskip("hf_xet", reason="huggingface_hub has no hf_xet on this platform")
    name = f"{corpus}-road"
    raw, views = tmp_path / "raw.txt", tmp_path / "views"
    folder = (
        tmp_path / "home-0" / "cwd" / home / name
    )  # where the publisher runs: the folder is named as the repository
    raw.write_text("\n".join(raw_lines(corpus)) + "\n", encoding="utf-8")
    asqp("data", "build", "car", "--raw", raw, "--out", folder)
    assert asqp("data", "subtasks", folder, "--task", "ASTE", "--task", "ACD", "--out", views)[0] == 0
    runs = {method: tmp_path / method for method in METHODS}
    local = {m: training.train(RunConfig(m, str(folder), settings=s), runs[m]) for m, s in METHODS.items()}
    models = {method: f"{home}/{method}-{name}" for method in METHODS}

    def environment(number: int, token: str = OWNER_TOKEN, **options: Any) -> dict[str, str]:
        return client_environment(hub.endpoint, tmp_path / f"home-{number}", token, xet=xet, **options)

    own = ["--quiet", "--public", "--tag", "1.0"]
    publish = [
        ["publish", "dataset", f"{home}/{name}", *own],
        ["publish", "dataset", str(views), "--repo", f"{home}/{name}-subtasks", *own],
        ["publish", "metric", "--repo", f"{home}/asqp_f1", *own],
        *(["publish", "model", str(runs[method]), "--repo", models[method], *own] for method in METHODS),
        ["publish", "predictions", str(runs["joint"]), "--repo", f"{home}/{name}-predictions", *own],
    ]
    done = run_asqp(environment(0), *publish)
    assert done.out.count("published, commit") == len(publish)
    puts, tokens = hub.requests("PUT", "^/lfs/objects/"), hub.requests("GET", "/xet-write-token/")
    assert bool(puts) is not xet
    assert bool(tokens) is xet
    hub.forget()
    assert run_asqp(environment(0), *publish).out.count("nothing to change") == len(publish)
    assert not hub.requests("POST", "/commit/|/repos/create|/preupload/")

    # Somebody else, who has none of it: only the ids.
    read = run_command([sys.executable, "-c", READ.format(home=home, name=name)], environment(1, READER_TOKEN), 300)
    assert read.code == 0, read.err
    sizes, test, score = map(json.loads, read.out.splitlines())
    assert sum(sizes.values()) == SAMPLES
    wanted = local["joint"].scores("test")
    assert {key: score[key] for key in ("precision", "recall", "f1")} == {
        key: wanted[key] for key in ("precision", "recall", "f1")
    }

    texts = [row["text"] for row in test][:4]
    outs = {method: tmp_path / f"{method}.jsonl" for method in METHODS}
    commands = [
        *(
            ["predict", f"{home}/{name}", "--quiet", "--model", models[method], "--out", str(outs[method])]
            for method in METHODS
        ),
        *(["score", str(outs[method]), f"{home}/{name}@1.0", "--json"] for method in METHODS),
        ["score", f"{home}/{name}-predictions", f"{home}/{name}", "--json"],
    ]
    code = PREDICT.format(models=list(models.values()), texts=texts)
    by_id = run_asqp(environment(2, READER_TOKEN), *commands, before=code)
    for method in METHODS:
        assert outs[method].read_bytes() == (runs[method] / "predictions" / "test.jsonl").read_bytes()
        assert local[method].scores("test")["f1"] > 0 or corpus == "zh-food-beverage"  # too little to learn from
    quads = [AsqpPredictor.from_pretrained(run, device="cpu")(texts) for run in runs.values()]
    scores = [
        asqp("score", runs[method] / "predictions" / "test.jsonl", folder, "--json")[1]
        for method in (*METHODS, "joint")
    ]
    assert by_id.out == "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in quads) + "".join(scores)
    if not xet:
        hub.forget()
        assert run_asqp(environment(2, offline=True), *commands, before=code).out == by_id.out
        assert hub.requests() == []

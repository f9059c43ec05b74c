"""The whole road: raw files, dataset, metric, models, predictions, the Hub, and by ids alone the same scores."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("transformers", reason="needs the train extra")

from asqp_datasets.builder import build
from asqp_datasets.sources import open_source
from asqp_models import AsqpPredictor, training
from asqp_models.run_config import RunConfig
from asqp_models.run_folder import Run
from tests.asqp_models.extract_classify.conftest import _one_thread  # noqa: F401 - a fixture
from tests.asqp_models.joint.conftest import SETTINGS
from tests.conftest import Asqp
from tests.hub.accounts import OWNER_TOKEN, READER_TOKEN
from tests.hub.clients import Finished, client_environment, run_command

if TYPE_CHECKING:
    from huggingface_hub import HfApi

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


def raw_lines() -> list[str]:
    """Annotations in the format of the Car corpus, of short texts."""
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


NAME = "synthetic-car-road"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """A run of each method, in ``FOLDER/method``, on the dataset built in ``FOLDER/synthetic-car-road``."""
    folder = tmp_path_factory.mktemp("road")
    (folder / "raw.txt").write_text("\n".join(raw_lines()) + "\n", encoding="utf-8")
    build(open_source("car", raw=[str(folder / "raw.txt")]), folder / NAME)
    return {
        method: training.train(RunConfig(method, str(folder / NAME), settings=settings), folder / method)
        for method, settings in METHODS.items()
    }


@pytest.mark.parametrize(("home", "xet"), [("asqp", False), ("olivia", True)], ids=["LFS", "Xet"])
def test_the_road(hub: HubServer, home: str, xet: bool, runs: dict[str, Run], tmp_path: Path, asqp: Asqp) -> None:
    if xet:
        pytest.importorskip("hf_xet", reason="huggingface_hub has no hf_xet on this platform")
    views = tmp_path / "views"
    folder = (
        tmp_path / "home-0" / "cwd" / home / NAME
    )  # where the publisher runs: the folder is named as the repository
    shutil.copytree(runs["lexicon"].folder.parent / NAME, folder)
    assert asqp("data", "subtasks", folder, "--task", "ASTE", "--task", "ACD", "--out", views)[0] == 0
    models = {method: f"{home}/{method}-{NAME}" for method in METHODS}

    def environment(number: int, token: str = OWNER_TOKEN, **options: Any) -> dict[str, str]:
        return client_environment(hub.endpoint, tmp_path / f"home-{number}", token, xet=xet, **options)

    own = ["--quiet", "--public", "--tag", "1.0"]
    publish = [
        ["publish", "dataset", f"{home}/{NAME}", *own],
        ["publish", "dataset", str(views), "--repo", f"{home}/{NAME}-subtasks", *own],
        ["publish", "metric", "--repo", f"{home}/asqp_f1", *own],
        *(["publish", "model", str(runs[method].folder), "--repo", models[method], *own] for method in METHODS),
        ["publish", "predictions", str(runs["joint"].folder), "--repo", f"{home}/{NAME}-predictions", *own],
    ]
    done = run_asqp(environment(0), *publish)
    assert done.out.count("published, commit") == len(publish)
    assert bool(hub.requests("PUT", "^/lfs/objects/")) is not xet
    assert bool(hub.requests("GET", "/xet-write-token/")) is xet
    hub.forget()
    assert run_asqp(environment(0), *publish).out.count("nothing to change") == len(publish)
    assert not hub.requests("POST", "/commit/|/repos/create|/preupload/")

    # Somebody else, who has none of it: only the ids.
    read = run_command([sys.executable, "-c", READ.format(home=home, name=NAME)], environment(1, READER_TOKEN), 300)
    assert read.code == 0, read.err
    sizes, test, score = map(json.loads, read.out.splitlines())
    assert sizes == {"train": 67, "validation": 15, "test": 14}  # 7:1.5:1.5 of 96, by largest remainder
    for key in ("precision", "recall", "f1"):
        assert score[key] == runs["joint"].scores("test")[key] > 0

    texts = [row["text"] for row in test][:4]
    outs = {method: tmp_path / f"{method}.jsonl" for method in METHODS}
    commands = [
        *(
            ["predict", f"{home}/{NAME}", "--quiet", "--model", models[method], "--out", str(outs[method])]
            for method in METHODS
        ),
        *(["score", str(outs[method]), f"{home}/{NAME}@1.0", "--json"] for method in METHODS),
        ["score", f"{home}/{NAME}-predictions", f"{home}/{NAME}", "--json"],
    ]
    code = PREDICT.format(models=list(models.values()), texts=texts)
    by_id = run_asqp(environment(2, READER_TOKEN), *commands, before=code)
    files = {method: run.folder / "predictions" / "test.jsonl" for method, run in runs.items()}
    for method, run in runs.items():
        assert outs[method].read_bytes() == files[method].read_bytes()
        assert run.scores("test")["f1"] > 0
    quads = [AsqpPredictor.from_pretrained(run.folder, device="cpu")(texts) for run in runs.values()]
    scores = [asqp("score", files[method], folder, "--json")[1] for method in (*METHODS, "joint")]
    assert by_id.out == "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in quads) + "".join(scores)
    if not xet:
        hub.forget()
        assert run_asqp(environment(2, offline=True), *commands, before=code).out == by_id.out
        assert hub.requests() == []


def test_an_owners_files(api: HfApi, raw_dir: Path, tmp_path: Path, asqp: Asqp, login: Any) -> None:
    """Real annotations in the Car format: raw files, `asqp data build`, `asqp publish dataset`, and back."""
    lines = (raw_dir / "zh-food-beverage" / "train.txt").read_text(encoding="utf-8").splitlines()[:300]
    raw, folder, runs = tmp_path / "reviews.txt", tmp_path / "asqp" / "car", (tmp_path / "local", tmp_path / "by-id")
    raw.write_text("\n".join(lines) + "\n", encoding="utf-8")
    asqp("data", "build", "car", "--raw", raw, "--out", folder)
    assert asqp("publish", "dataset", folder, "--repo", "asqp/car", "--tag", "1.0")[0] == 0
    for run, dataset in zip(runs, (folder, "asqp/car@1.0"), strict=True):
        assert asqp("train", "--method", "lexicon", "--dataset", dataset, "--output", run)[0] == 0
    local, by_id = ((run / "metrics.jsonl").read_bytes() for run in runs)
    assert local == by_id
    assert json.loads(local.splitlines()[0])["gold"] > 0
    assert asqp("data", "stats", "asqp/car", "--json")[1] == asqp("data", "stats", folder, "--json")[1]

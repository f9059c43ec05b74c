"""What is never published, and why it says so."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asqp_datasets.builder import build
from asqp_datasets.corpora import CORPORA, sha256_of
from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.sources import open_source
from asqp_datasets.subtasks import build as build_views
from asqp_models.hub.folders import dataset_contents, metric_contents, model_contents, predictions_contents
from asqp_models.hub.refusals import refuse_files, refuse_text
from tests.conftest import Asqp
from tests.hub.accounts import OWNER_TOKEN

if TYPE_CHECKING:
    from tests.hub.server import HubServer

SECRETS = {
    "a Hugging Face token": "hf_" + "a1B2" * 9,
    "a private key": "-----BEGIN OPENSSH PRIVATE KEY-----",
    "an AWS key": "AKIA" + "ABCD1234" * 2,
    "a GitHub token": "ghp_" + "a1B2c3" * 6,
    "an API key": "sk-proj-" + "a1B2" * 10,
    "a Google key": "AIza" + "a1B2c" * 7,
    "a Slack token": "xoxb-" + "123456789012",
    "the token of this login": OWNER_TOKEN,
}


def rewrite(dataset: Path, **changes: Any) -> None:
    """Change the first row of the test split."""
    (path,) = dataset.glob("data/test-*.parquet")
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[0] |= changes
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)


@pytest.mark.parametrize("kind", SECRETS)
def test_secrets(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", OWNER_TOKEN)
    secret = SECRETS[kind]
    (tmp_path / "config.json").write_text(f'{{\n"a": 1,\n"key": "{secret}"}}', encoding="utf-8")
    with pytest.raises(
        DataError, match=rf"config.json: found what looks like {kind} in line 3, expected no secret"
    ) as no:
        refuse_files(tmp_path)
    assert secret not in str(no.value)
    with pytest.raises(DataError, match=r"README.md: found what looks like"):
        refuse_text(f"# Card\n{secret}\n", "README.md")


def test_secrets_in_large_files_and_headers_of_weights(tmp_path: Path) -> None:
    secret = SECRETS["a GitHub token"].encode()
    with (tmp_path / "vocab.txt").open("wb") as file:
        file.write(b"x\n" * (2 * 1024 * 1024 - 10) + secret + b"\nx" * 100)  # over the border of two reads
    with pytest.raises(DataError, match="a GitHub token in line 2097143"):
        refuse_files(tmp_path)
    (tmp_path / "vocab.txt").unlink()
    header = json.dumps({"__metadata__": {"note": secret.decode()}}).encode()
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(len(header).to_bytes(8, "little") + header + bytes(100))
    with pytest.raises(DataError, match=r"model.safetensors: found what looks like a GitHub token"):
        refuse_files(tmp_path)
    weights.write_bytes((2).to_bytes(8, "little") + b"{}" + secret)  # numbers are not read as text
    refuse_files(tmp_path)


@pytest.mark.parametrize("name", [".env", ".env.local", ".netrc", "id_rsa", "server.pem"])
def test_files_for_secrets(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("x", encoding="utf-8")
    with pytest.raises(DataError, match="found a file that is made for secrets"):
        refuse_files(tmp_path)


def test_pickle_by_name_and_by_content(tmp_path: Path) -> None:
    target = tmp_path / "sub" / "weights.json"
    target.parent.mkdir()
    for content in (pickle.dumps({"a": [1]}), pickle.dumps([1], 2), pickle.dumps((1, "x"))):
        target.write_bytes(content)
        with pytest.raises(
            DataError, match="found pickle, which can run code where it is loaded, expected safetensors"
        ):
            refuse_files(tmp_path)
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("archive/data.pkl", b"")
    with pytest.raises(DataError, match="found pickle"):
        refuse_files(tmp_path)
    target.write_text("{}", encoding="utf-8")
    refuse_files(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(DataError, match=r"pytorch_model.bin: found pickle"):
        refuse_files(tmp_path)


def test_links_that_lead_out(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "other.txt").write_text("x", encoding="utf-8")
    (tmp_path / "inside" / "a.txt").symlink_to(tmp_path / "other.txt")
    with pytest.raises(DataError, match="found a link that leads out of the folder"):
        refuse_files(tmp_path / "inside")


def test_a_dataset_with_secrets_errors_or_pickle(dataset: Path) -> None:
    repo = "asqp/synthetic-car"
    assert dataset_contents(dataset, repo).files
    rewrite(dataset, quads=[], text=f"我的密钥是 {SECRETS['an API key']} 。")
    with pytest.raises(DataError, match=r"test-.*\.parquet: found what looks like an API key, expected no secret"):
        dataset_contents(dataset, repo)
    quad = {"category": "内饰", "aspect": "座椅", "opinion": "好", "sentiment": "POS"}
    quad |= {"aspect_start": 0, "aspect_end": 2, "opinion_start": 2, "opinion_end": 3}
    rewrite(dataset, text="屏幕好，没有别的话。", quads=[quad])
    with pytest.raises(DataError, match=r":1: found 1 errors by its checks, .*: 0,2 is '屏幕', .*span-mismatch"):
        dataset_contents(dataset, repo)
    (dataset / "data" / "cache.pkl").write_bytes(b"x")
    with pytest.raises(DataError, match="found pickle"):
        dataset_contents(dataset, repo)


def test_a_view_with_wrong_offsets(dataset: Path, tmp_path: Path) -> None:
    views = tmp_path / "views"
    build_views(open_source(str(dataset)), ["ASTE", "ACD"], views)
    contents = dataset_contents(views, "asqp/synthetic-car-subtasks")
    assert {name.split("/")[0] for name in contents.files} == {"aste", "acd", "README.md"}
    (path,) = views.glob("aste/test-*.parquet")
    table = pq.read_table(path)
    rows = table.to_pylist()
    label = next(label for row in rows for label in row["labels"] if label["opinion_start"] >= 0)
    label["opinion_start"] += 1
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    with pytest.raises(DataError, match=r"sample .*: found .* at the place of"):
        dataset_contents(views, "asqp/synthetic-car-subtasks")


def test_synthetic_reviews_under_a_real_name(dataset: Path, line: Path, asqp: Asqp) -> None:
    code, _, err = asqp("publish", "dataset", dataset, "--repo", "asqp/car")
    said = "repo: found 'asqp/car' for synthetic reviews, expected a name that says so, such as asqp/synthetic-car"
    assert (code, err) == (2, f"asqp: {said}\n")
    card = dataset / "README.md"
    card.write_text(card.read_text("utf-8").replace("synthetic: true", "synthetic: false"), encoding="utf-8")
    with pytest.raises(UsageError, match="for synthetic reviews"):
        dataset_contents(dataset, "asqp/car")
    with pytest.raises(UsageError, match="for synthetic reviews"), predictions_contents(line / "run", "asqp/predicted"):
        pass
    with pytest.raises(UsageError, match="for synthetic reviews"):
        model_contents(line / "run", "asqp/lexicon-car")
    assert model_contents(line / "run", "asqp/lexicon-demo").files


def test_texts_without_a_licence_need_the_owners_word(tmp_path: Path) -> None:
    raw = tmp_path / "raw.txt"
    lines = [f"第{i}次买，味道很好####[['味道#x', '5,7', '8,9', '2']]\n" for i in range(20)]
    raw.write_text("".join(lines), encoding="utf-8")
    build(open_source("zh-food-beverage", raw=[str(raw)]), tmp_path / "zh")
    with pytest.raises(
        UsageError, match=r"licence: found none for the texts of zh-food-beverage \(https://github.com/D"
    ):
        dataset_contents(tmp_path / "zh", "asqp/zh-food-beverage")
    assert dataset_contents(tmp_path / "zh", "asqp/zh-food-beverage", may_republish=True).files
    build(open_source("car", raw=[str(raw)]), tmp_path / "car")  # an owner's files
    assert dataset_contents(tmp_path / "car", "asqp/car").files
    card = tmp_path / "car" / "README.md"
    public = CORPORA["zh-food-beverage"].files[0].sha256  # the public files under another name
    card.write_text(card.read_text("utf-8").replace(sha256_of(raw), public), encoding="utf-8")
    with pytest.raises(UsageError, match="for the texts of zh-food-beverage"):
        dataset_contents(tmp_path / "car", "asqp/car")


def test_checkpoints_without_a_result(line: Path, tmp_path: Path, copy_of: Any) -> None:
    with pytest.raises(DataError, match="found a checkpoint without a measured result, expected the run folder"):
        model_contents(line / "run" / "checkpoint", "asqp/lexicon")
    with pytest.raises(DataError, match="found no finished run"):
        model_contents(tmp_path, "asqp/lexicon")
    run = copy_of(line / "run")
    (run / "metrics.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="found a run without a measured result"):
        model_contents(run, "asqp/lexicon")
    run = copy_of(line / "run")
    config = run / "checkpoint" / "config.json"
    config.write_text(config.read_text("utf-8") + " ", encoding="utf-8")
    with pytest.raises(DataError, match=r"config.json: is not as it was when the result was measured"):
        model_contents(run, "asqp/lexicon")
    run = copy_of(line / "run")
    (run / "checkpoint" / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(DataError, match="is not as it was when the result was measured"):
        model_contents(run, "asqp/lexicon")


def test_what_is_no_dataset_or_prediction(line: Path, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing", line / "run"):
        with pytest.raises(DataError, match="found no dataset, expected a folder that `asqp data build` wrote"):
            dataset_contents(folder, "asqp/synthetic-x")
    path = tmp_path / "p.jsonl"
    for content, message in (
        ("", "found no row, expected predictions"),
        ('{"id": "1", "text": "a", "quads": []}\n', ":1: found no prediction, expected id, text, quads and meta.model"),
        ("{\n", ":1: cannot be read as JSON"),
        ('{"id": "1", "text": "a", "quads": 3, "meta": {"model": "m"}}\n', "quads"),
    ):
        path.write_text(content, encoding="utf-8")
        found = pytest.raises(DataError, match=message)
        with found, predictions_contents(path, "asqp/synthetic-x", may_republish=True):
            pass
    split = pytest.raises(UsageError, match="split: found 'dev', expected one of train, validation, test")
    with split, predictions_contents(path, "asqp/synthetic-x", split="dev"):
        pass


def test_predictions_of_unknown_origin_need_the_owners_word(line: Path, tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    path.write_bytes((line / "run" / "predictions" / "test.jsonl").read_bytes())
    with pytest.raises(UsageError, match="that are not in their run folder"), predictions_contents(path, "asqp/x"):
        pass
    named = pytest.raises(UsageError, match="repo: found 'asqp/car', the name of a corpus, expected one for predict")
    with named, predictions_contents(path, "asqp/car", may_republish=True):
        pass
    with predictions_contents(path, "asqp/x", may_republish=True) as contents:
        assert len(contents.files) == 2


@pytest.mark.parametrize("change", ["removed", "cut"])
def test_a_folder_that_is_not_as_its_card_says(change: str, dataset: Path) -> None:
    import pyarrow.parquet as pq

    (path,) = dataset.glob("data/test-*.parquet")
    if change == "removed":
        path.unlink()
    else:
        pq.write_table(pq.read_table(path).slice(0, 4), path)
    found = {"removed": 0, "cut": 4}[change]
    with pytest.raises(DataError, match=rf"found {found} samples in test, expected 9, as its card says"):
        dataset_contents(dataset, "asqp/synthetic-x")


@pytest.mark.parametrize("name", ["metrics.jsonl", "predictions/test.jsonl", "calibration.jsonl"])
def test_results_that_were_changed(name: str, line: Path, copy_of: Any) -> None:
    run = copy_of(line / "run")
    path = run / name
    path.write_text(path.read_text("utf-8").replace("0.", "0.9", 1), encoding="utf-8")
    with pytest.raises(DataError, match=rf"{name}: is not as it was when the result was measured"):
        model_contents(run, "asqp/lexicon")
    with pytest.raises(DataError, match=name), predictions_contents(run, "asqp/synthetic-x"):
        pass


def test_names_and_tags_of_the_metric() -> None:
    with pytest.raises(UsageError, match="repo: found 'asqp/metric', expected the name asqp_f1"):
        metric_contents("asqp/metric")
    with pytest.raises(UsageError, match=r"tag: found 'v0.4.6', expected one such as 0.4.6"):
        metric_contents("asqp/asqp_f1", tag="v0.4.6")


def test_nothing_is_asked_of_the_hub_before(hub: HubServer, dataset: Path, asqp: Asqp, login: Any) -> None:
    (dataset / ".env").write_text("KEY=1", encoding="utf-8")
    assert asqp("publish", "dataset", dataset, "--repo", "asqp/synthetic-env")[0] == 2
    assert hub.requests() == []

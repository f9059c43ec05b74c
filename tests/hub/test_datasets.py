"""Datasets pushed, loaded and streamed by the real library, in fresh processes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .accounts import OWNER_TOKEN, READER_TOKEN, STRANGER_TOKEN
from .clients import Finished, client_environment, run_client

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from .conftest import NewRepo
    from .server import HubServer

SETUP = """
import datasets
from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value, load_dataset

datasets.config.USE_PARQUET_EXPORT = False  # it would ask another host
repo = {repo!r}
features = Features(
    {{
        "text": Value("string"),
        "quads": List({{"aspect": Value("string"), "polarity": ClassLabel(names=["negative", "positive"])}}),
    }}
)


def rows(*texts):
    return [{{"text": t, "quads": [{{"aspect": t[:1], "polarity": "positive"}}] * (len(t) - 1)}} for t in texts]


def make(*texts):
    return Dataset.from_list(rows(*texts), features=features)
"""


def run(hub: HubServer, repo: str, code: str, home: Path, token: str | None = OWNER_TOKEN) -> Finished:
    environment = client_environment(hub.endpoint, home, token)
    return run_client(SETUP.format(repo=repo) + code, environment)


PUSH = """
splits = DatasetDict({"train": make("好吃", "x", "good food"), "test": make("坏")})
splits.push_to_hub(repo, private=True)
make("named").push_to_hub(repo, "extra", split="train", revision="main")

from huggingface_hub import HfApi
HfApi().create_tag(repo, tag="v1", repo_type="dataset")

loaded = load_dataset(repo)
assert loaded["train"].features == features
assert loaded["train"].to_list() == splits["train"].to_list(), loaded["train"].to_list()
assert loaded["test"]["text"][:] == ["坏"]
assert load_dataset(repo, "extra", split="train")["text"][:] == ["named"]

streamed = load_dataset(repo, split="train", streaming=True)
assert list(streamed) == splits["train"].to_list()

DatasetDict({"train": make("new"), "test": make("坏")}).push_to_hub(repo)
assert load_dataset(repo, split="train")["text"][:] == ["new"]
assert load_dataset(repo, split="train", revision="v1")["text"][:] == ["好吃", "x", "good food"]
streamed = load_dataset(repo, split="train", revision="v1", streaming=True)
assert [row["text"] for row in streamed] == ["好吃", "x", "good food"]
"""

AGAIN = """
assert load_dataset(repo, split="train")["text"][:] == ["new"]
"""

REFUSED = """
from datasets.exceptions import DatasetNotFoundError
try:
    load_dataset(repo)
except DatasetNotFoundError as error:
    print(error)
"""


def test_push_load_stream(api: HfApi, hub: HubServer, unused_id: str, tmp_path: Path) -> None:
    done = run(hub, unused_id, PUSH, tmp_path / "owner")
    assert done.code == 0, done.err
    files = hub.files("datasets", unused_id)
    assert sorted(files) == [
        "README.md",
        "data/test-00000-of-00001.parquet",
        "data/train-00000-of-00001.parquet",
        "extra/train-00000-of-00001.parquet",
    ]
    assert b"config_name: extra" in files["README.md"]
    assert api.repo_info(unused_id, repo_type="dataset").private
    assert hub.requests("GET", "^/large/")
    hub.state.log.clear()
    assert run(hub, unused_id, AGAIN, tmp_path / "owner").code == 0
    assert hub.requests("GET", "^/large/") == []
    assert (
        "doesn't exist on the Hub or cannot be accessed" in run(hub, unused_id, REFUSED, tmp_path / "nobody", None).out
    )


SHARDS = """
big = make(*["word " * 20] * 200)
big.push_to_hub(repo, num_shards=3)
big.push_to_hub(repo, num_shards=2)
before = HfApi().repo_info(repo, repo_type="dataset").sha
big.push_to_hub(repo, num_shards=2)
assert HfApi().repo_info(repo, repo_type="dataset").sha == before
assert len(load_dataset(repo, split="train")) == 200
"""


def test_fewer_shards_and_no_change(hub: HubServer, unused_id: str, tmp_path: Path) -> None:
    done = run(hub, unused_id, "from huggingface_hub import HfApi\n" + SHARDS, tmp_path)
    assert done.code == 0, done.err
    assert sorted(hub.files("datasets", unused_id)) == [
        "README.md",
        "data/train-00000-of-00002.parquet",
        "data/train-00001-of-00002.parquet",
    ]


def test_gated(api: HfApi, hub: HubServer, new_repo: NewRepo, tmp_path: Path) -> None:
    repo = new_repo(repo_type="dataset")
    api.upload_file(path_or_fileobj=b"text\n1\n", path_in_repo="train.csv", repo_id=repo, repo_type="dataset")
    api.update_repo_settings(repo, repo_type="dataset", gated="auto")
    let_in = f"assert load_dataset(repo, split='train', token={READER_TOKEN!r})[0] == {{'text': 1}}"
    done = run(hub, repo, REFUSED + let_in, tmp_path, STRANGER_TOKEN)
    assert done.code == 0, done.err
    assert "is a gated dataset" in done.out


RETRY = """
from huggingface_hub.errors import HfHubHTTPError
import httpx2
try:
    make("a").push_to_hub(repo)
except HfHubHTTPError as error:
    print("refused", error.response.status_code)
make("a").push_to_hub(repo)
try:
    make("b").push_to_hub(repo)
except httpx2.RemoteProtocolError:
    print("lost")
make("b").push_to_hub(repo)
"""


def test_push_does_not_retry_by_itself(api: HfApi, hub: HubServer, new_repo: NewRepo, tmp_path: Path) -> None:
    """It means to, but looks for another exception. A second push after a refusal or a lost reply is safe."""
    repo = new_repo(repo_type="dataset")
    hub.fail("stale_parent", "/commit/")
    hub.fail("lost_reply", "/commit/", skip=1)
    done = run(hub, repo, RETRY, tmp_path)
    assert (done.code, done.out) == (0, "refused 412\nlost\n"), done.err
    titles = [c.title for c in api.list_repo_commits(repo, repo_type="dataset")]
    assert titles == ["Upload dataset", "Upload dataset", "Somebody else's", "initial commit"]


def test_with_xet(hub: HubServer, unused_id: str, tmp_path: Path) -> None:
    pytest.importorskip("hf_xet", reason="huggingface_hub has no hf_xet on this platform")
    code = """
make("one", "two").push_to_hub(repo)
assert load_dataset(repo, split="train")["text"][:] == ["one", "two"]
assert [row["text"] for row in load_dataset(repo, split="train", streaming=True)] == ["one", "two"]
"""
    done = run_client(
        SETUP.format(repo=unused_id) + code, client_environment(hub.endpoint, tmp_path, OWNER_TOKEN, xet=True)
    )
    assert done.code == 0, done.err
    assert hub.requests("GET", "/xet-read-token/")
    assert hub.requests("PUT") == []

"""Uploads and downloads by Xet, as users have them by default, in fresh processes."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .accounts import OWNER_TOKEN
from .clients import client_environment, run_client
from .xet_read import contents_of

pytest.importorskip("hf_xet", reason="huggingface_hub has no hf_xet on this platform")

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from .conftest import NewRepo
    from .server import HubServer

UPLOAD = """
import random
from pathlib import Path
from huggingface_hub import HfApi, snapshot_download

repo, folder = {repo!r}, Path({folder!r})
(folder / "sub").mkdir(parents=True)
for n in range(6):
    (folder / "sub" / f"{{n}}.bin").write_bytes(random.Random(n).randbytes(100_000 + n))
(folder / "a.txt").write_text("regular")
(folder / "README.md").write_text("---\\nlicense: mit\\n---\\n")
api = HfApi()
first = api.upload_folder(folder_path=folder, repo_id=repo)
again = api.upload_folder(folder_path=folder, repo_id=repo)
assert first.oid == again.oid
data = random.Random(99).randbytes(50_000)
api.upload_file(path_or_fileobj=data, path_in_repo="bytes.bin", repo_id=repo)
copy = Path(snapshot_download(repo))
for path in folder.rglob("*"):
    if path.is_file() and ".cache" not in path.parts:
        assert (copy / path.relative_to(folder)).read_bytes() == path.read_bytes(), path
assert (copy / "bytes.bin").read_bytes() == data
"""


def test_folder_there_and_back(api: HfApi, hub: HubServer, new_repo: NewRepo, tmp_path: Path) -> None:
    repo = new_repo()
    code = UPLOAD.format(repo=repo, folder=str(tmp_path / "folder"))
    done = run_client(code, client_environment(hub.endpoint, tmp_path / "home", OWNER_TOKEN, xet=True))
    assert done.code == 0, done.err
    assert hub.requests("PUT") == []
    assert hub.requests("POST", "batch$") == []
    assert hub.requests("GET", "^/large/") == []
    tokens = [re.sub("[0-9a-f]{40}", "COMMIT", e.path.split(repo)[1]) for e in hub.requests("GET", "xet-")]
    assert "/xet-write-token/main" in tokens
    assert "/xet-read-token/COMMIT" in tokens
    stored = hub.files("models", repo)
    assert len(stored) == 9
    assert stored["sub/0.bin"] == (tmp_path / "folder" / "sub" / "0.bin").read_bytes()
    # who has no Xet gets the same bytes
    assert Path(api.hf_hub_download(repo, "sub/5.bin")).read_bytes() == stored["sub/5.bin"]
    described = {entry.path: getattr(entry, "xet_hash", None) for entry in api.list_repo_tree(repo, recursive=True)}
    assert re.fullmatch("[0-9a-f]{64}", described["sub/0.bin"] or "")
    assert described["a.txt"] is None
    metadata = api.get_hf_file_metadata(url=f"{hub.endpoint}/{repo}/resolve/main/sub/0.bin")
    assert metadata.xet_file_data is not None
    assert metadata.xet_file_data.file_hash == described["sub/0.bin"]
    assert metadata.etag == sha256(stored["sub/0.bin"]).hexdigest()


NO_FALLBACK = """
import io
from huggingface_hub import HfApi

api, repo = HfApi(), {repo!r}
try:
    api.upload_file(path_or_fileobj=b"large", path_in_repo="a.bin", repo_id=repo)
except ConnectionError as error:
    assert type(error) is ConnectionError, type(error)
    print("refused")
api.upload_file(path_or_fileobj=io.BytesIO(b"large"), path_in_repo="b.bin", repo_id=repo)
"""


def test_no_xet_no_fallback(hub: HubServer, new_repo: NewRepo, tmp_path: Path) -> None:
    """A Hub without Xet is no use to a client with it, except for what comes from a buffer."""
    repo = new_repo()
    hub.settings.xet = False
    done = run_client(NO_FALLBACK.format(repo=repo), client_environment(hub.endpoint, tmp_path, OWNER_TOKEN, xet=True))
    assert (done.code, done.out) == (0, "refused\n"), done.err
    assert hub.files("models", repo) == {"b.bin": b"large"}


PIPELINE = """
from pathlib import Path
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError

api, folder = HfApi(), Path({folder!r})
folder.mkdir()
for n in range(30):
    (folder / f"{{n}}.txt").write_text(str(n))
busy, lost, rejected, stale, pull = {repos!r}
api.upload_folder(folder_path=folder, repo_id=busy)
api.upload_folder(folder_path=folder, repo_id=lost)
api.upload_folder(folder_path=folder, repo_id=rejected)
head = api.repo_info(stale).sha
try:
    api.upload_folder(folder_path=folder, repo_id=stale, allow_patterns="1.txt", parent_commit=head)
except HfHubHTTPError as error:
    print(error.response.status_code)
print(api.upload_folder(folder_path=folder, repo_id=pull, create_pr=True, commit_message="For you").pr_url)
"""


def test_pipeline_of_folders(api: HfApi, hub: HubServer, new_repo: NewRepo, tmp_path: Path) -> None:
    """With Xet, folders go through a pipeline, also those without large files, and it tries commits again.

    So a lost reply of a commit without a parent makes it happen twice, and with a parent makes it fail although it
    happened.
    """
    repos = busy, lost, rejected, stale, pull = [new_repo() for _ in range(5)]
    hub.fail("status", f"{busy}/commit/", status=503)
    hub.fail("lost_reply", f"{lost}/commit/")
    hub.fail("status", f"{rejected}/commit/", status=422)
    hub.fail("lost_reply", f"{stale}/commit/")
    done = run_client(
        PIPELINE.format(folder=str(tmp_path / "folder"), repos=repos),
        client_environment(hub.endpoint, tmp_path / "home", OWNER_TOKEN, xet=True),
    )
    assert (done.code, done.out) == (0, f"412\n{hub.endpoint}/{pull}/discussions/1\n"), done.err
    statuses = {repo: [entry.status for entry in hub.requests("POST", f"{repo}/commit/")] for repo in repos}
    assert statuses == {busy: [503, 200], lost: [200, 200], rejected: [422, 200], stale: [200, 412], pull: [200]}
    assert [len(hub.files("models", repo)) for repo in repos] == [30, 30, 30, 1, 0]
    upload = "Upload folder using huggingface_hub"
    assert [c.title for c in api.list_repo_commits(lost)] == [upload, upload, "initial commit"]
    assert len(hub.files("models", pull, "refs/pr/1")) == 30
    assert api.get_discussion_details(pull, 1).title == "For you"


def test_tokens_need_rights(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    from huggingface_hub.utils import build_hf_headers, get_session

    from .accounts import STRANGER_TOKEN

    repo = new_repo(private=True)
    for token, kind, status in (
        (OWNER_TOKEN, "write", 200),
        (OWNER_TOKEN, "read", 200),
        (STRANGER_TOKEN, "write", 404),
        (STRANGER_TOKEN, "read", 404),
    ):
        url = f"{hub.endpoint}/api/models/{repo}/xet-{kind}-token/main"
        answer = get_session().get(url, headers=build_hf_headers(token=token))
        assert answer.status_code == status
        if status == 200:
            assert set(answer.json()) == {"accessToken", "casUrl", "exp"}
            assert answer.headers["x-xet-cas-url"].startswith("local:///")


def test_shard_is_read_as_documented() -> None:
    """A header, then a file of two segments with verification and SHA-256, one without either, and the end."""

    def record(hash_: bytes, flags: int, count: int) -> bytes:
        return hash_ + flags.to_bytes(4, "little") + count.to_bytes(4, "little") + bytes(8)

    def segment(size: int) -> bytes:
        return bytes(36) + size.to_bytes(4, "little") + bytes(8)

    first = bytes(range(32))
    shard = bytes(48)
    shard += record(first, 0xC0000000, 2) + segment(70_000) + segment(5) + bytes(48) * 2
    shard += bytes(range(32, 64)) + bytes(16)
    shard += record(b"\1" * 32, 0, 1) + segment(9)
    shard += record(b"\xff" * 32, 0, 0) + b"what follows is not read"
    (content,) = contents_of(shard)
    assert content.size == 70_005
    assert content.xet_hash == "07060504030201000f0e0d0c0b0a090817161514131211101f1e1d1c1b1a1918"
    assert content.sha256.startswith("2726252423222120")

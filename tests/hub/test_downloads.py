"""Trees, paths and downloads through huggingface_hub without Xet."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from .conftest import NewRepo
    from .server import HubServer

FILES = {"a.txt": b"1", "deep/b.bin": b"22", "deep/er/c d.txt": b"333", "other/é.txt": b"4444"}


@pytest.fixture
def repo(api: HfApi, new_repo: NewRepo) -> str:
    """A repository with :data:`FILES`, each of a commit of its own."""
    repo = new_repo()
    for path, data in FILES.items():
        api.upload_file(path_or_fileobj=data, path_in_repo=path, repo_id=repo, commit_message=f"Add {path}")
    return repo


def port_of(address: str) -> int:
    return int(address.rsplit(":", 1)[1])


def test_tree(api: HfApi, repo: str) -> None:
    from huggingface_hub.hf_api import RepoFile, RepoFolder

    tree = list(api.list_repo_tree(repo))
    assert [entry.path for entry in tree] == ["deep", "other", ".gitattributes", "a.txt"]
    assert [type(entry) for entry in tree] == [RepoFolder, RepoFolder, RepoFile, RepoFile]
    assert [entry.path for entry in api.list_repo_tree(repo, "deep/er")] == ["deep/er/c d.txt"]
    everything = {entry.path: entry for entry in api.list_repo_tree(repo, recursive=True, expand=True)}
    assert set(everything) == set(FILES) | {".gitattributes", "deep", "deep/er", "other"}
    titles = {path: entry.last_commit.title for path, entry in everything.items() if entry.last_commit}
    assert titles == {path: f"Add {path}" for path in FILES} | {
        ".gitattributes": "initial commit",
        "deep": "Add deep/er/c d.txt",
        "deep/er": "Add deep/er/c d.txt",
        "other": "Add other/é.txt",
    }
    large = everything["deep/b.bin"]
    assert isinstance(large, RepoFile)
    assert large.lfs is not None
    assert (large.size, large.lfs.sha256) == (2, sha256(b"22").hexdigest())


@pytest.mark.parametrize(("size", "pages"), [(2, 4), (7, 2), (8, 1)])
def test_tree_in_pages(api: HfApi, hub: HubServer, repo: str, size: int, pages: int) -> None:
    hub.settings.page_size = size
    hub.state.log.clear()
    found = [entry.path for entry in api.list_repo_tree(repo, recursive=True)]
    assert sorted(found) == sorted([*FILES, ".gitattributes", "deep", "deep/er", "other"])
    assert len(hub.requests("GET", "/tree/main$")) == pages
    assert [entry.path for entry in api.list_repo_tree(repo, "deep/er")] == ["deep/er/c d.txt"]
    hub.state.log.clear()
    assert Path(api.snapshot_download(repo), "other/é.txt").read_bytes() == b"4444"
    assert len(hub.requests("GET", "/tree/")) == pages


def test_paths_info(api: HfApi, repo: str) -> None:
    found = api.get_paths_info(repo, ["deep", "deep/b.bin", "missing", "other/é.txt"], expand=True)
    assert [entry.path for entry in found] == ["deep", "deep/b.bin", "other/é.txt"]
    assert found[1].last_commit is not None
    assert found[1].last_commit.title == "Add deep/b.bin"


@pytest.mark.parametrize("delivery", ["redirect", "inline"])
def test_download(api: HfApi, hub: HubServer, repo: str, delivery: str) -> None:
    hub.settings.lfs_delivery = delivery  # type: ignore[assignment]
    for path, data in FILES.items():
        assert Path(api.hf_hub_download(repo, path)).read_bytes() == data
    from_elsewhere = hub.requests("GET", "^/large/")
    assert [entry.port for entry in from_elsewhere] == [port_of(hub.state.cdn_endpoint)] * len(from_elsewhere)
    assert [entry.status for entry in from_elsewhere] == ([200] if delivery == "redirect" else [])
    hub.state.log.clear()
    for path in FILES:
        api.hf_hub_download(repo, path)
    assert {entry.method for entry in hub.requests()} == {"HEAD"}


def test_redirect_to_the_same_origin_loses_the_metadata(api: HfApi, hub: HubServer, repo: str) -> None:
    """So the real Hub never does it, and this one only on request."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    hub.settings.lfs_delivery = "redirect-same-origin"
    with pytest.raises(LocalEntryNotFoundError):
        api.hf_hub_download(repo, "deep/b.bin")


def test_other_origin_refuses_tokens(api: HfApi, hub: HubServer, repo: str) -> None:
    from huggingface_hub.utils import build_hf_headers, get_session

    url = f"{hub.state.cdn_endpoint}/large/{sha256(b'22').hexdigest()}"
    assert get_session().get(url).content == b"22"
    assert get_session().get(url, headers=build_hf_headers(token=str(api.token))).status_code == 400


def test_metadata(api: HfApi, hub: HubServer, repo: str) -> None:
    from huggingface_hub import hf_hub_url

    commit = api.repo_info(repo).sha
    regular = api.get_hf_file_metadata(url=hf_hub_url(repo, "a.txt", endpoint=hub.endpoint))
    assert (regular.commit_hash, regular.size) == (commit, 1)
    assert regular.etag == hub.repository("models", repo).commits[commit or ""].tree["a.txt"].oid
    large = api.get_hf_file_metadata(url=hf_hub_url(repo, "deep/b.bin", endpoint=hub.endpoint))
    assert (large.commit_hash, large.size, large.etag) == (commit, 2, sha256(b"22").hexdigest())
    assert large.location.startswith(hub.state.cdn_endpoint)
    assert large.xet_file_data is None


def test_ranges_and_conditions(api: HfApi, hub: HubServer, repo: str) -> None:
    from huggingface_hub.utils import get_session

    url = f"{hub.endpoint}/{repo}/resolve/main/other/%C3%A9.txt"
    api.upload_file(path_or_fileobj=b"0123456789", path_in_repo="other/é.txt", repo_id=repo)
    whole = get_session().get(url)
    assert (whole.status_code, whole.content) == (200, b"0123456789")
    for asked, status, got, said in (
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=10-", 416, None, "bytes */10"),
        ("lines=1-2", 200, b"0123456789", None),
    ):
        answer = get_session().get(url, headers={"Range": asked})
        assert (answer.status_code, answer.headers.get("content-range")) == (status, said)
        assert got is None or answer.content == got
    etag = whole.headers["etag"]
    assert get_session().get(url, headers={"If-None-Match": etag}).status_code == 304
    assert get_session().get(url, headers={"If-None-Match": '"other"'}).status_code == 200
    assert get_session().get(url, headers={"Range": "bytes=1-", "If-Range": etag}).status_code == 206
    assert get_session().get(url, headers={"Range": "bytes=1-", "If-Range": '"other"'}).status_code == 200
    head = get_session().head(url)
    assert (head.content, head.headers["content-length"]) == (b"", "10")


def test_file_system(api: HfApi, hub: HubServer, repo: str) -> None:
    """What datasets reads through: folders, globs, and ranges of large files."""
    from huggingface_hub import HfFileSystem

    system = HfFileSystem(endpoint=hub.endpoint, token=str(api.token), skip_instance_cache=True)
    assert sorted(system.glob(f"{repo}/**/*.txt")) == sorted(f"{repo}/{p}" for p in FILES if p.endswith(".txt"))
    assert system.isdir(f"{repo}/deep")
    assert not system.exists(f"{repo}/missing/folder")
    api.upload_file(path_or_fileobj=b"0123456789" * 100, path_in_repo="deep/b.bin", repo_id=repo)
    system.invalidate_cache()
    hub.state.log.clear()
    with system.open(f"{repo}/deep/b.bin", "rb", block_size=10) as file:
        file.seek(500)
        assert file.read(5) == b"01234"
    assert [entry.range for entry in hub.requests("GET", "^/large/")] == ["bytes=500-514"]
    with system.open(f"{repo}@main/new.txt", "wb") as file:
        file.write(b"written")
    assert hub.files("models", repo)["new.txt"] == b"written"
    system.rm(f"{repo}/new.txt")
    assert "new.txt" not in hub.files("models", repo)


def test_snapshot(api: HfApi, hub: HubServer, repo: str) -> None:
    folder = Path(api.snapshot_download(repo, allow_patterns=["*.txt"]))
    assert {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()} == {
        path: data for path, data in FILES.items() if path.endswith(".txt")
    }
    assert folder.name == api.repo_info(repo).sha
    hub.state.log.clear()
    assert api.snapshot_download(repo, allow_patterns=["*.txt"]) == str(folder)
    assert len(hub.requests()) == 1
    hub.state.log.clear()
    assert api.snapshot_download(repo, allow_patterns=["*.txt"], local_files_only=True) == str(folder)
    assert hub.requests() == []


def test_snapshot_of_a_tag(api: HfApi, repo: str, tmp_path: Path) -> None:
    api.create_tag(repo, tag="v1")
    api.upload_file(path_or_fileobj=b"new", path_in_repo="a.txt", repo_id=repo)
    api.snapshot_download(repo, revision="v1", local_dir=tmp_path / "v1")
    assert (tmp_path / "v1" / "a.txt").read_bytes() == b"1"


def test_absence_is_remembered(api: HfApi, repo: str) -> None:
    from huggingface_hub import _CACHED_NO_EXIST, try_to_load_from_cache
    from huggingface_hub.errors import RemoteEntryNotFoundError

    with pytest.raises(RemoteEntryNotFoundError):
        api.hf_hub_download(repo, "tokenizer.json")
    assert try_to_load_from_cache(repo, "tokenizer.json") is _CACHED_NO_EXIST


def test_raw_is_what_git_stores(api: HfApi, hub: HubServer, repo: str) -> None:
    from huggingface_hub.utils import get_session

    answer = get_session().get(f"{hub.endpoint}/{repo}/raw/main/deep/b.bin")
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256(b'22').hexdigest()}\nsize 2\n"
    assert answer.text == pointer
    assert get_session().get(f"{hub.endpoint}/{repo}/raw/main/missing").status_code == 404

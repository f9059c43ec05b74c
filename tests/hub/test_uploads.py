"""Uploads through huggingface_hub without Xet: how each file goes, what the commit holds, what is sent again."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .accounts import STRANGER_TOKEN

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from .conftest import NewRepo
    from .server import HubServer


def paths(hub: HubServer, method: str, repo: str) -> list[str]:
    """The paths of requests, without the repository and contents' ids."""
    return [entry.path.split(repo)[-1].split("/lfs/objects/")[-1] for entry in hub.requests(method)]


def test_regular_file(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    repo = new_repo()
    hub.forget()
    info = api.upload_file(
        path_or_fileobj="好吃".encode(),
        path_in_repo="folder/名 1.txt",
        repo_id=repo,
        commit_message="Add a file",
        commit_description="And say why",
    )
    assert hub.files("models", repo) == {"folder/名 1.txt": "好吃".encode()}
    assert info.commit_url == f"{api.endpoint}/{repo}/commit/{info.oid}"
    assert paths(hub, "POST", repo) == ["/preupload/main", "/commit/main"]
    last = api.list_repo_commits(repo)[0]
    assert (last.commit_id, last.title, last.message) == (info.oid, "Add a file", "And say why")


def test_large_file_basic(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    repo = new_repo(repo_type="dataset")
    hub.forget()
    api.upload_file(path_or_fileobj=b"rows", path_in_repo="data/a.parquet", repo_id=repo, repo_type="dataset")
    assert hub.files("datasets", repo) == {"data/a.parquet": b"rows"}
    assert [entry.path.rsplit("/", 1)[-1] for entry in hub.requests("POST")] == ["main", "batch", "verify", "main"]
    (put,) = hub.requests("PUT")
    assert put.account is None  # no token goes with the content


def test_large_file_in_parts(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    repo = new_repo()
    hub.settings.multipart_over = 1000
    data = bytes(range(256)) * 10
    api.upload_file(path_or_fileobj=data, path_in_repo="a.bin", repo_id=repo)
    assert hub.files("models", repo) == {"a.bin": data}
    assert [entry.path.rsplit("/", 1)[-1] for entry in hub.requests("PUT")] == ["1", "2", "3"]
    assert len(hub.requests("POST", "/complete$")) == 1


@pytest.mark.parametrize(
    ("name", "data", "large"),
    [
        ("a.txt", b"text", False),
        ("a.json", b"x" * 100, True),
        ("a.txt", b"with a \0", True),
        ("a.parquet", b"PAR1", True),
        ("a.parquet", b"", False),
    ],
    ids=["text", "over the limit", "binary", "suffix", "empty"],
)
def test_which_files_are_large(
    api: HfApi, hub: HubServer, new_repo: NewRepo, name: str, data: bytes, large: bool
) -> None:
    repo = new_repo()
    hub.settings.large_over = 99
    api.upload_file(path_or_fileobj=data, path_in_repo=name, repo_id=repo)
    assert hub.files("models", repo) == {name: data}
    assert (
        hub.repository("models", repo).commits[api.repo_info(repo).sha or ""].tree[name].sha256 is not None
    ) == large


def test_everything_regular(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    repo = new_repo()
    hub.settings.upload_mode = "regular"
    api.upload_file(path_or_fileobj=b"\0" * 10, path_in_repo="a.bin", repo_id=repo)
    assert hub.files("models", repo) == {"a.bin": b"\0" * 10}
    assert hub.requests("PUT") == []


def test_stored_content_is_not_sent_again(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    first, second = new_repo(), new_repo()
    for repo in (first, second):
        api.upload_file(path_or_fileobj=b"stored once", path_in_repo="a.bin", repo_id=repo)
    assert len(hub.requests("PUT")) == 1
    assert hub.files("models", second) == {"a.bin": b"stored once"}


def test_unchanged_files_make_no_commit(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    repo = new_repo()
    files = {"a.txt": b"regular", "b.bin": b"large"}
    oids = []
    for _ in range(2):
        hub.forget()
        for path, data in files.items():
            oids.append(api.upload_file(path_or_fileobj=data, path_in_repo=path, repo_id=repo).oid)
    assert hub.requests("POST", "/commit/") == []
    assert oids[2] == oids[3] == oids[1]


def test_folder(api: HfApi, hub: HubServer, new_repo: NewRepo, tmp_path: Path) -> None:
    repo = new_repo()
    (tmp_path / "sub").mkdir()
    for name in ("a.txt", "sub/b.bin", "c.log", "d.tmp"):
        (tmp_path / name).write_text(name)
    (tmp_path / ".gitignore").write_text("# temporary\n*.tmp\n")
    api.upload_folder(folder_path=tmp_path, repo_id=repo, ignore_patterns="*.log")
    assert hub.files("models", repo) == {
        ".gitignore": b"# temporary\n*.tmp\n",
        "a.txt": b"a.txt",
        "sub/b.bin": b"sub/b.bin",
    }
    assert len(api.list_repo_commits(repo)) == 2
    (tmp_path / "a.txt").unlink()
    (tmp_path / "e.txt").write_text("e.txt")
    api.upload_folder(folder_path=tmp_path, repo_id=repo, allow_patterns="*.txt", delete_patterns="*.txt")
    assert set(hub.files("models", repo)) == {".gitignore", "e.txt", "sub/b.bin"}


def test_more_files_than_one_question_holds(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    from huggingface_hub import CommitOperationAdd

    repo = new_repo()
    hub.forget()
    operations = [CommitOperationAdd(f"{n:03}.txt", b"%d" % n) for n in range(300)]
    api.create_commit(repo, operations, commit_message="Many")
    assert len(hub.files("models", repo)) == 300
    assert paths(hub, "POST", repo) == ["/preupload/main", "/preupload/main", "/commit/main"]


def test_copy_and_delete(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete
    from huggingface_hub.errors import EntryNotFoundError, RemoteEntryNotFoundError

    repo = new_repo()
    added = [CommitOperationAdd(path, path.encode()) for path in ("a.txt", "b.bin", "old/1.txt", "old/2/3.txt")]
    api.create_commit(repo, added, commit_message="Add")
    operations = [
        CommitOperationCopy("a.txt", "copy/a.txt"),
        CommitOperationCopy("b.bin", "copy/b.bin"),
        CommitOperationDelete("a.txt"),
        CommitOperationDelete("old/"),
    ]
    api.create_commit(repo, operations, commit_message="Move")
    assert hub.files("models", repo) == {"b.bin": b"b.bin", "copy/a.txt": b"a.txt", "copy/b.bin": b"b.bin"}
    api.delete_file("b.bin", repo)
    api.delete_folder("copy", repo)
    assert hub.files("models", repo) == {}
    with pytest.raises(RemoteEntryNotFoundError, match="A file with this name doesn't exist"):
        api.delete_file("b.bin", repo)
    with pytest.raises(RemoteEntryNotFoundError, match="A file with this name doesn't exist"):
        api.delete_folder("copy", repo)
    with pytest.raises(EntryNotFoundError, match="file is missing on repo"):
        api.create_commit(repo, [CommitOperationCopy("x", "y")], commit_message="Copy nothing")


def test_branch_and_pull_request(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    from huggingface_hub.errors import BadRequestError

    repo = new_repo()
    api.create_branch(repo, branch="next")
    api.upload_file(path_or_fileobj=b"1", path_in_repo="a.txt", repo_id=repo, revision="next")
    assert hub.files("models", repo) == {}
    assert hub.files("models", repo, "next") == {"a.txt": b"1"}
    info = api.upload_file(
        path_or_fileobj=b"2", path_in_repo="a.txt", repo_id=repo, create_pr=True, token=STRANGER_TOKEN
    )
    assert info.pr_url == f"{api.endpoint}/{repo}/discussions/1"
    assert (info.pr_revision, info.pr_num) == ("refs/pr/1", 1)
    assert hub.files("models", repo) == {}
    assert api.list_repo_files(repo, revision="refs/pr/1") == [".gitattributes", "a.txt"]
    api.upload_file(path_or_fileobj=b"3", path_in_repo="b.txt", repo_id=repo, revision="refs/pr/1")
    assert hub.files("models", repo, "refs/pr/1") == {"a.txt": b"2", "b.txt": b"3"}
    pulls = api.list_repo_refs(repo, include_pull_requests=True).pull_requests or []
    assert [pull.ref for pull in pulls] == ["refs/pr/1"]
    assert Path(api.hf_hub_download(repo, "b.txt", revision="refs/pr/1")).read_bytes() == b"3"
    api.create_tag(repo, tag="v1")
    with pytest.raises(BadRequestError, match="commits go to branches"):
        api.upload_file(path_or_fileobj=b"4", path_in_repo="a.txt", repo_id=repo, revision="v1")


def test_card_is_checked_first(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    repo = new_repo()
    with pytest.raises(ValueError, match=r"Invalid metadata in README\.md"):
        api.upload_file(path_or_fileobj=b"---\na: [\n---\n", path_in_repo="README.md", repo_id=repo)
    assert hub.requests("POST", "/commit/") == []
    with pytest.warns(UserWarning, match="empty or missing yaml metadata"):
        api.upload_file(path_or_fileobj=b"# Only text\n", path_in_repo="README.md", repo_id=repo)
    assert hub.files("models", repo) == {"README.md": b"# Only text\n"}


def test_card_class(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    from huggingface_hub import ModelCard, metadata_update

    repo = new_repo()
    ModelCard("---\nlicense: apache-2.0\n---\n\n# 模型\n").push_to_hub(repo, token=api.token)
    assert hub.files("models", repo)["README.md"].decode() == "---\nlicense: apache-2.0\n---\n\n# 模型\n"
    metadata_update(repo, {"tags": ["asqp"]}, token=str(api.token))
    assert ModelCard.load(repo, token=str(api.token)).data.to_dict() == {"license": "apache-2.0", "tags": ["asqp"]}


def test_stale_parent(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    repo = new_repo()
    first = api.repo_info(repo).sha
    second = api.upload_file(path_or_fileobj=b"1", path_in_repo="a", repo_id=repo, parent_commit=first).oid
    with pytest.raises(HfHubHTTPError, match="A commit has happened since") as error:
        api.upload_file(path_or_fileobj=b"2", path_in_repo="a", repo_id=repo, parent_commit=first)
    assert error.value.response.status_code == 412
    assert hub.files("models", repo) == {"a": b"1"}
    api.upload_file(path_or_fileobj=b"2", path_in_repo="a", repo_id=repo, parent_commit=second)
    assert hub.files("models", repo) == {"a": b"2"}


def test_concurrent_commits_all_land(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    repo = new_repo()
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(
                lambda n: api.upload_file(path_or_fileobj=b"%d" % n, path_in_repo=f"{n}.txt", repo_id=repo), range(8)
            )
        )
    assert set(hub.files("models", repo)) == {f"{n}.txt" for n in range(8)}
    assert len(api.list_repo_commits(repo)) == 9


def test_refused_objects(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    repo = new_repo()
    hub.settings.lfs_errors = True
    with pytest.raises(ValueError, match="The object is refused"):
        api.upload_file(path_or_fileobj=io.BytesIO(b"refused"), path_in_repo="a.bin", repo_id=repo)


def test_failed_verification(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    repo = new_repo()
    hub.fail("status", "/lfs/verify", status=404)
    with pytest.raises(RuntimeError, match=r"Error while uploading 'a\.bin' to the Hub"):
        api.upload_file(path_or_fileobj=b"not verified", path_in_repo="a.bin", repo_id=repo)
    assert hub.files("models", repo) == {}


def test_broken_contents_are_refused(api: HfApi, hub: HubServer) -> None:
    from huggingface_hub.utils import get_session

    url = f"{hub.endpoint}/lfs/objects/{sha256(b'whole').hexdigest()}"
    assert get_session().put(url, content=b"else").status_code == 422
    for number, part in enumerate((b"who", b"LE"), start=1):
        assert get_session().put(f"{url}/parts/{number}", content=part).headers["etag"]
    for numbers in ((1, 2), (1, 3)):
        parts = {"parts": [{"partNumber": number, "etag": "x"} for number in numbers]}
        assert get_session().post(f"{url}/complete", json=parts).status_code == 422
    assert get_session().get(f"{hub.state.cdn_endpoint}/large/{sha256(b'whole').hexdigest()}").status_code == 404
    assert get_session().put(url, content=b"whole").status_code == 200


def test_broken_commits_are_refused(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    """What no client sends: the server must not crash on it."""
    from huggingface_hub.utils import build_hf_headers, get_session

    repo = new_repo()
    header = '{"key": "header", "value": {"summary": "x"}}\n'
    for body, message in (
        ("", "one JSON object a line"),
        ("{", "Invalid JSON"),
        ("[]", "one JSON object a line"),
        ('{"key": "header"}', "The field `value` is missing"),
        ('{"key": "file", "value": {}}', "starts with its header"),
        (header + '{"key": "file", "value": {"path": "../a", "content": ""}}', "Invalid path"),
        (header + '{"key": "file", "value": {"path": "a", "content": "!"}}', "not base64"),
        (header + '{"key": "lfsFile", "value": {"path": "a", "oid": "%s"}}' % ("0" * 64), "does not exist"),
        (header + '{"key": "file", "value": {"path": "a"}}', "The field `content` is missing"),
        (header + '{"key": "symlink", "value": {"path": "a"}}', "Unknown operation"),
    ):
        answer = get_session().post(
            f"{hub.endpoint}/api/models/{repo}/commit/main",
            content=body.encode(),
            headers=build_hf_headers(token=str(api.token)),
        )
        assert (answer.status_code, message in answer.json()["error"]) == (400, True), answer.text
    assert hub.files("models", repo) == {}

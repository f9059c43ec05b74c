"""Faults, and what huggingface_hub does about each: try again, resume, or leave it to its caller."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .accounts import OWNER_TOKEN
from .clients import client_in_this_process
from .faults import Fault
from .wire import Call

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from .conftest import NewRepo
    from .server import HubServer

CHUNK = 2**16
DATA = bytes(n % 251 for n in range(5 * CHUNK + 100))


@pytest.fixture
def large(api: HfApi, new_repo: NewRepo, monkeypatch: pytest.MonkeyPatch) -> str:
    """A repository with :data:`DATA` in ``a.bin``; the client writes after each 64 KiB, not 10 MiB."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", CHUNK)
    repo = new_repo()
    api.upload_file(path_or_fileobj=DATA, path_in_repo="a.bin", repo_id=repo)
    return repo


def upload(api: HfApi, repo: str, data: bytes = b"1") -> str:
    return api.upload_file(path_or_fileobj=data, path_in_repo="a.txt", repo_id=repo).oid


def test_rate_limit_with_retry_after(api: HfApi, hub: HubServer, new_repo: NewRepo, waits: list[float]) -> None:
    repo = new_repo()
    hub.fail("status", "/tree/", status=429, headers={"retry-after": "3"})
    assert [entry.path for entry in api.list_repo_tree(repo)] == [".gitattributes"]
    assert waits == [4.0]  # and one for rounding


def test_rate_limit_of_the_window(api: HfApi, hub: HubServer, new_repo: NewRepo, waits: list[float]) -> None:
    repo = new_repo()
    hub.fail("status", "/tree/", status=429, headers={"ratelimit": '"api";r=0;t=7', "retry-after": "99"})
    assert [entry.path for entry in api.list_repo_tree(repo)] == [".gitattributes"]
    assert waits == [8.0]


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_server_errors_are_tried_again(
    api: HfApi, hub: HubServer, new_repo: NewRepo, waits: list[float], status: int
) -> None:
    repo = new_repo()
    hub.fail("status", "/tree/", status=status, times=3)
    assert [entry.path for entry in api.list_repo_tree(repo)] == [".gitattributes"]
    assert waits == [1, 2, 4]
    assert [entry.status for entry in hub.requests("GET", "/tree/")] == [status, status, status, 200]


def test_server_errors_without_end(api: HfApi, hub: HubServer, new_repo: NewRepo, waits: list[float]) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    repo = new_repo()
    hub.fail("status", "/tree/", times=99, message="Down for maintenance")
    with pytest.raises(HfHubHTTPError, match="Down for maintenance"):
        list(api.list_repo_tree(repo))
    assert waits == [1, 2, 4, 8, 8]


@pytest.mark.parametrize("step", ["/preupload/", "/objects/batch$", "/lfs/objects/"])
def test_steps_of_an_upload_are_tried_again(
    api: HfApi, hub: HubServer, new_repo: NewRepo, waits: list[float], step: str
) -> None:
    repo = new_repo()
    hub.fail("status", step, times=2)
    api.upload_file(path_or_fileobj=f"large {step}".encode(), path_in_repo="a.bin", repo_id=repo)
    assert waits == [1, 2]
    assert hub.files("models", repo) == {"a.bin": f"large {step}".encode()}


def test_commit_is_not_tried_again(api: HfApi, hub: HubServer, new_repo: NewRepo, waits: list[float]) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    repo = new_repo()
    hub.fail("status", "/commit/")
    with pytest.raises(HfHubHTTPError, match="503"):
        upload(api, repo)
    assert waits == []
    assert hub.files("models", repo) == {}
    upload(api, repo)
    assert hub.files("models", repo) == {"a.txt": b"1"}


def test_interrupted_folder_sends_only_the_rest(
    api: HfApi, hub: HubServer, new_repo: NewRepo, waits: list[float], tmp_path: Path
) -> None:
    repo = new_repo()
    for n in range(4):
        (tmp_path / f"{n}.bin").write_bytes(f"{repo} {n}".encode())
    hub.fail("status", "^/lfs/objects/", status=403, skip=2, times=9)
    with pytest.raises(RuntimeError, match="Error while uploading"):
        api.upload_folder(folder_path=tmp_path, repo_id=repo)
    assert hub.files("models", repo) == {}
    assert [entry.status for entry in hub.requests("PUT")].count(200) == 2
    hub.forget()
    api.upload_folder(folder_path=tmp_path, repo_id=repo)
    assert len(hub.requests("PUT")) == 2
    assert len(hub.files("models", repo)) == 4


def test_cut_download_resumes(api: HfApi, hub: HubServer, large: str, waits: list[float]) -> None:
    hub.fail("cut", "^/large/", after=2 * CHUNK + 500)
    assert Path(api.hf_hub_download(large, "a.bin")).read_bytes() == DATA
    assert waits == [1]
    # what is short of a chunk is fetched again
    assert [entry.range for entry in hub.requests("GET", "^/large/")] == [None, f"bytes={2 * CHUNK}-"]


def test_download_without_progress_ends(api: HfApi, hub: HubServer, large: str, waits: list[float]) -> None:
    import httpx2

    hub.fail("cut", "^/large/", after=500, times=99)
    with pytest.raises(httpx2.RemoteProtocolError):
        api.hf_hub_download(large, "a.bin")
    assert waits == [1] * 5
    hub.forget()
    assert Path(api.hf_hub_download(large, "a.bin")).read_bytes() == DATA


def test_reset_connection_is_left_to_the_caller(api: HfApi, hub: HubServer, large: str, waits: list[float]) -> None:
    import httpx2

    hub.fail("reset", "^/large/", after=2 * CHUNK)
    with pytest.raises(httpx2.ReadError):
        api.hf_hub_download(large, "a.bin")
    assert waits == []
    assert not issubclass(httpx2.ReadError, OSError)
    assert Path(api.hf_hub_download(large, "a.bin")).read_bytes() == DATA


def test_snapshot_fetches_only_what_is_missing(api: HfApi, hub: HubServer, large: str, waits: list[float]) -> None:
    import httpx2
    from huggingface_hub.errors import IncompleteSnapshotError

    upload(api, large)
    hub.fail("reset", "^/large/", after=CHUNK)
    with pytest.raises(httpx2.ReadError):
        api.snapshot_download(large, max_workers=1)
    with pytest.raises(IncompleteSnapshotError):
        api.snapshot_download(large, local_files_only=True)
    hub.forget()
    folder = Path(api.snapshot_download(large, max_workers=1))
    assert (folder / "a.bin").read_bytes() == DATA
    assert len(hub.requests("GET", "^/large/")) == 1
    assert hub.requests("GET", "/resolve/") == []


def test_failed_metadata_request_is_tried_again(api: HfApi, hub: HubServer, large: str, waits: list[float]) -> None:
    """At once the first time, which is for a quick way to the cache, then with waits."""
    hub.fail("status", "/resolve/", method="HEAD", status=500, times=3)
    assert Path(api.hf_hub_download(large, "a.bin")).read_bytes() == DATA
    assert waits == [1, 2]


def test_lost_metadata_request_is_left_to_the_caller(
    api: HfApi, hub: HubServer, large: str, waits: list[float]
) -> None:
    import httpx2

    hub.fail("lost_request", "/resolve/", method="HEAD")
    with pytest.raises(httpx2.RemoteProtocolError):
        api.hf_hub_download(large, "a.bin")
    assert waits == []


def test_slow_answer_times_out_and_is_tried_again(
    api: HfApi, hub: HubServer, large: str, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.3)
    hub.fail("delay", "^/large/", seconds=1.0)
    assert Path(api.hf_hub_download(large, "a.bin")).read_bytes() == DATA
    assert waits == [1]


def test_delay_is_waited_for(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    repo = new_repo()
    hub.fail("delay", "/tree/", seconds=0.3)
    start = time.monotonic()
    list(api.list_repo_tree(repo))
    assert time.monotonic() - start >= 0.3


def test_lost_reply_after_the_commit(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    import httpx2

    repo = new_repo()
    hub.fail("lost_reply", "/commit/")
    with pytest.raises(httpx2.RemoteProtocolError):
        upload(api, repo)
    assert hub.files("models", repo) == {"a.txt": b"1"}
    head = api.repo_info(repo).sha
    assert upload(api, repo) == head  # the same again makes no commit
    assert len(api.list_repo_commits(repo)) == 2


def test_lost_request_before_the_commit(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    import httpx2

    repo = new_repo()
    hub.fail("lost_request", "/commit/")
    with pytest.raises(httpx2.RemoteProtocolError):
        upload(api, repo)
    assert hub.files("models", repo) == {}


def test_lost_reply_after_the_repository_was_made(api: HfApi, hub: HubServer, unused_id: str) -> None:
    import httpx2

    hub.fail("lost_reply", "/repos/create")
    with pytest.raises(httpx2.RemoteProtocolError):
        api.create_repo(unused_id)
    assert api.create_repo(unused_id, exist_ok=True).repo_id == unused_id


def test_somebody_else_commits_first(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    repo = new_repo()
    head = api.repo_info(repo).sha
    hub.fail("stale_parent", "/commit/", times=2)
    with pytest.raises(HfHubHTTPError, match="A commit has happened since"):
        api.upload_file(path_or_fileobj=b"1", path_in_repo="a.txt", repo_id=repo, parent_commit=head)
    upload(api, repo)  # without a parent it lands on top
    assert hub.files("models", repo) == {"a.txt": b"1", "somebody-else.txt": b"somebody else was here\n"}
    assert [c.title for c in api.list_repo_commits(repo)][1:3] == ["Somebody else's", "Somebody else's"]


def test_faults_over_the_admin_endpoint(api: HfApi, hub: HubServer, new_repo: NewRepo, waits: list[float]) -> None:
    from huggingface_hub.utils import get_session

    repo, faults = new_repo(), f"{hub.endpoint}/_hub/faults"
    answer = get_session().post(faults, json={"kind": "status", "path": "/tree/", "method": "GET", "times": 2})
    assert answer.json() == [Fault("status", "/tree/", "GET", 2).__dict__]
    list(api.list_repo_tree(repo))
    assert waits == [1, 2]
    assert get_session().get(faults).json() == []
    get_session().post(faults, json={"kind": "status"})
    assert get_session().delete(faults).json() == []
    for bad in ({"kind": "status", "colour": "red"}, {"kind": "status", "path": "("}, {"path": "x"}):
        assert get_session().post(faults, json=bad).status_code == 400
    log = get_session().get(f"{hub.endpoint}/_hub/log").json()
    assert [entry["status"] for entry in log if "/tree/" in entry["path"]] == [503, 503, 200]
    settings = f"{hub.endpoint}/_hub/settings"
    assert get_session().put(settings, json={"page_size": 3}).json()["page_size"] == 3
    assert hub.settings.page_size == 3
    assert get_session().put(settings, json={"colour": "red"}).status_code == 400


def test_unknown_paths(api: HfApi, hub: HubServer) -> None:
    from huggingface_hub.utils import get_session

    assert get_session().get(f"{hub.endpoint}/nothing").status_code == 404
    answer = get_session().delete(f"{hub.endpoint}/api/whoami-v2")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


def test_which_requests_meet_a_fault(hub: HubServer) -> None:
    hub.fail("status", "/a", method="GET", skip=1, times=2)
    calls = [Call(method, path, {}, {}) for method, path in (("GET", "/a"), ("PUT", "/a"), ("GET", "/b"))]
    met = [hub.state.faults.take(call) is not None for call in calls + [calls[0]] * 3]
    assert met == [False, False, False, True, True, False]


def test_state_outlives_the_server(hub: HubServer, tmp_path: Path) -> None:
    from huggingface_hub import HfApi

    from .server import HubServer

    repo = "asqp/outlives"
    for turn in ("first", "second"):
        with HubServer(tmp_path / "hub") as hub, client_in_this_process(hub.endpoint, tmp_path / turn):
            api = HfApi(endpoint=hub.endpoint, token=OWNER_TOKEN)
            if turn == "first":
                api.create_repo(repo, private=True)
                api.upload_file(path_or_fileobj=b"1", path_in_repo="a.txt", repo_id=repo)
                api.upload_file(path_or_fileobj=b"2", path_in_repo="b.bin", repo_id=repo)
                api.create_tag(repo, tag="v1")
                said = api.repo_info(repo, files_metadata=True)
            else:
                assert api.repo_info(repo, files_metadata=True) == said
                assert Path(api.hf_hub_download(repo, "b.bin", revision="v1")).read_bytes() == b"2"
                upload(api, repo, b"3")
                assert hub.files("models", repo) == {"a.txt": b"3", "b.bin": b"2"}

"""Who may not do what, and what the client makes of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from .accounts import OWNER_READ_TOKEN, READER_TOKEN, STRANGER_TOKEN

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from .conftest import NewRepo
    from .server import HubServer


def write(api: HfApi, repo: str, token: str | bool | None) -> None:
    api.upload_file(path_or_fileobj=b"1", path_in_repo="a.txt", repo_id=repo, token=token)


@pytest.mark.parametrize("token", [STRANGER_TOKEN, False], ids=["stranger", "anonymous"])
def test_private_is_like_missing(api: HfApi, new_repo: NewRepo, unused_id: str, token: str | bool) -> None:
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    for repo in (new_repo(private=True), unused_id):
        with pytest.raises(RepositoryNotFoundError) as error:
            api.repo_info(repo, token=token)
        assert error.value.response.status_code == (404 if token else 401)
        assert not isinstance(error.value, GatedRepoError)
        with pytest.raises(RepositoryNotFoundError):
            api.hf_hub_download(repo, "a.txt", token=token)
        with pytest.raises(RepositoryNotFoundError):
            api.list_repo_files(repo, token=token)
        with pytest.raises(RepositoryNotFoundError):
            write(api, repo, token)
        assert not api.repo_exists(repo, token=token)


def test_member_reads_private(api: HfApi, new_repo: NewRepo) -> None:
    repo = new_repo(private=True)
    write(api, repo, None)
    for token in (READER_TOKEN, OWNER_READ_TOKEN):
        assert api.list_repo_files(repo, token=token) == [".gitattributes", "a.txt"]


def test_bad_token(api: HfApi, new_repo: NewRepo) -> None:
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    with pytest.raises(HfHubHTTPError, match="Invalid user token") as error:
        api.whoami(token="hf_wrong")
    assert error.value.response.status_code == 401
    with pytest.raises(HfHubHTTPError, match="Invalid credentials in Authorization header") as error:
        api.repo_info(new_repo(), token="hf_wrong")
    assert error.value.response.status_code == 401
    assert error.value.request_id == error.value.response.headers["x-request-id"]
    assert not isinstance(error.value, RepositoryNotFoundError)


def test_no_token(api: HfApi, hub: HubServer) -> None:
    from huggingface_hub.errors import LocalTokenNotFoundError

    with pytest.raises(LocalTokenNotFoundError):
        type(api)(endpoint=hub.endpoint).whoami()
    assert hub.requests() == []


@pytest.mark.parametrize(
    ("token", "status", "message"),
    [
        (OWNER_READ_TOKEN, 403, "a token with the role write is needed"),
        (READER_TOKEN, 403, "pass `create_pr=1`"),
        (STRANGER_TOKEN, 403, "pass `create_pr=1`"),
        (False, 401, "Invalid username or password"),
    ],
    ids=["read-only token", "reader", "stranger", "anonymous"],
)
def test_no_write(api: HfApi, hub: HubServer, new_repo: NewRepo, token: str | bool, status: int, message: str) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    repo = new_repo()
    for attempt in (
        lambda: write(api, repo, token),
        lambda: api.create_branch(repo, branch="b", token=token),
        lambda: api.create_tag(repo, tag="t", token=token),
        lambda: api.update_repo_settings(repo, visibility="private", token=token),
        lambda: api.super_squash_history(repo, token=token),
        lambda: api.delete_repo(repo, token=token),
    ):
        with pytest.raises(HfHubHTTPError, match=re.escape(message)) as error:
            attempt()
        assert error.value.response.status_code == status
    assert hub.files("models", repo) == {}


def test_foreign_namespace(api: HfApi, new_repo: NewRepo, unused_id: str) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    with pytest.raises(HfHubHTTPError, match='under the namespace "asqp"') as error:
        api.create_repo(unused_id, token=STRANGER_TOKEN)
    assert error.value.response.status_code == 403
    repo = new_repo()
    assert api.create_repo(repo, token=READER_TOKEN, exist_ok=True).repo_id == repo  # falls back to a look


@pytest.mark.parametrize(("token", "status"), [(STRANGER_TOKEN, 403), (False, 401)], ids=["stranger", "anonymous"])
def test_gated(api: HfApi, new_repo: NewRepo, token: str | bool, status: int) -> None:
    from huggingface_hub.errors import GatedRepoError

    repo = new_repo()
    write(api, repo, None)
    api.update_repo_settings(repo, gated="auto")
    assert api.repo_info(repo, token=token).gated == "auto"
    for attempt in (
        lambda: api.hf_hub_download(repo, "a.txt", token=token),
        lambda: api.list_repo_files(repo, token=token),
        lambda: api.snapshot_download(repo, token=token),
        lambda: api.auth_check(repo, token=token),
    ):
        with pytest.raises(GatedRepoError, match=r"Access to model .* is restricted") as error:
            attempt()
        assert error.value.response.status_code == status
    assert api.list_repo_files(repo, token=READER_TOKEN) == [".gitattributes", "a.txt"]


def test_let_into_a_gated_repository(api: HfApi, new_repo: NewRepo) -> None:
    from huggingface_hub.errors import GatedRepoError

    repo = new_repo()
    api.update_repo_settings(repo, gated="manual")
    with pytest.raises(GatedRepoError):
        api.list_repo_files(repo, token=STRANGER_TOKEN)
    api.grant_access(repo, "sven")
    assert api.list_repo_files(repo, token=STRANGER_TOKEN) == [".gitattributes"]


def test_missing_revision_and_file(api: HfApi, new_repo: NewRepo) -> None:
    from huggingface_hub.errors import RemoteEntryNotFoundError, RevisionNotFoundError

    repo = new_repo()
    with pytest.raises(RemoteEntryNotFoundError):
        api.hf_hub_download(repo, "missing.txt")
    with pytest.raises(RemoteEntryNotFoundError):
        list(api.list_repo_tree(repo, "missing"))
    assert not api.file_exists(repo, "missing.txt")
    for attempt in (
        lambda: api.hf_hub_download(repo, "a.txt", revision="v9"),
        lambda: api.list_repo_files(repo, revision="v9"),
        lambda: api.repo_info(repo, revision="v9"),
        lambda: api.list_repo_commits(repo, revision="v9"),
        lambda: api.get_paths_info(repo, "a.txt", revision="v9"),
        lambda: api.upload_file(path_or_fileobj=b"1", path_in_repo="a.txt", repo_id=repo, revision="v9"),
    ):
        with pytest.raises(RevisionNotFoundError):
            attempt()


def test_a_bare_401_is_no_missing_repository_over_http(api: HfApi, hub: HubServer, unused_id: str) -> None:
    """The client's rule for a 401 wants https: the code RepoNotFound must be there."""
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    hub.fail("status", unused_id, status=401)
    with pytest.raises(HfHubHTTPError) as error:
        api.repo_exists(unused_id)
    assert not isinstance(error.value, RepositoryNotFoundError)


def test_no_token_in_the_log(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    new_repo()
    (entry,) = hub.requests("POST", "/api/repos/create")
    assert entry.account == "olivia"
    assert "hf_" not in repr(entry)

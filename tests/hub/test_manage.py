"""Accounts, repositories, branches, tags and history, through huggingface_hub."""

from __future__ import annotations

from hashlib import sha1, sha256
from typing import TYPE_CHECKING

import pytest

from .accounts import OWNER_READ_TOKEN, READER_TOKEN, STRANGER_TOKEN

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from .conftest import NewRepo
    from .server import HubServer


def test_who_am_i(api: HfApi) -> None:
    owner = api.whoami()
    assert owner["name"] == "olivia"
    assert [org["name"] for org in owner["orgs"]] == ["asqp", "evaluate-metric"]
    assert owner["auth"]["accessToken"]["role"] == "write"
    reading = api.whoami(token=OWNER_READ_TOKEN)
    assert (reading["name"], reading["auth"]["accessToken"]["role"]) == ("olivia", "read")
    assert api.whoami(token=STRANGER_TOKEN)["orgs"] == []


@pytest.mark.parametrize(
    ("kind", "path", "options"),
    [("model", "", {}), ("dataset", "datasets/", {}), ("space", "spaces/", {"space_sdk": "gradio"})],
)
def test_create_and_delete(api: HfApi, unused_id: str, kind: str, path: str, options: dict[str, str]) -> None:
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    url = api.create_repo(unused_id, repo_type=kind, **options)
    assert url == f"{api.endpoint}/{path}{unused_id}"
    assert (url.repo_id, url.repo_type) == (unused_id, kind)
    assert api.create_repo(unused_id, repo_type=kind, exist_ok=True, **options) == url
    with pytest.raises(HfHubHTTPError, match=f"You already created this {kind} repo") as error:
        api.create_repo(unused_id, repo_type=kind, **options)
    assert error.value.response.status_code == 409
    assert api.repo_exists(unused_id, repo_type=kind)
    api.delete_repo(unused_id, repo_type=kind)
    assert not api.repo_exists(unused_id, repo_type=kind)
    with pytest.raises(RepositoryNotFoundError):
        api.delete_repo(unused_id, repo_type=kind)
    api.delete_repo(unused_id, repo_type=kind, missing_ok=True)


def test_commits_never_share_an_id(api: HfApi, new_repo: NewRepo) -> None:
    """Not even equal ones: caches keep them for ever."""
    assert api.repo_info(new_repo()).sha != api.repo_info(new_repo()).sha


def test_kinds_do_not_share_names(api: HfApi, new_repo: NewRepo) -> None:
    repo = new_repo()
    api.create_repo(repo, repo_type="dataset")
    api.delete_repo(repo, repo_type="dataset")
    assert api.repo_exists(repo)


def test_bad_creations(api: HfApi, hub: HubServer) -> None:
    """The client finds these itself; the Hub must refuse them too."""
    from huggingface_hub.utils import build_hf_headers, get_session

    for body, message in (
        ({"name": "x" * 97}, "Invalid repository"),
        ({"name": "a/b"}, "Invalid repository"),
        ({"name": "a", "type": "kernel"}, "Invalid repository"),
        ({"name": "a", "type": "space"}, "A Space needs `sdk`"),
    ):
        headers = build_hf_headers(token=str(api.token))
        answer = get_session().post(f"{hub.endpoint}/api/repos/create", json=body, headers=headers)
        assert (answer.status_code, message in answer.json()["error"]) == (400, True), answer.text


def test_default_namespace_is_the_account(api: HfApi, unused_id: str) -> None:
    name = unused_id.split("/")[1]
    assert api.create_repo(name, token=STRANGER_TOKEN).repo_id == f"sven/{name}"
    api.delete_repo(name, token=STRANGER_TOKEN)


def test_move(api: HfApi, hub: HubServer, new_repo: NewRepo, unused_id: str) -> None:
    repo = new_repo()
    api.upload_file(path_or_fileobj=b"1", path_in_repo="a.txt", repo_id=repo)
    api.move_repo(repo, unused_id)
    assert not api.repo_exists(repo)
    assert hub.files("models", unused_id) == {"a.txt": b"1"}


def test_visibility(api: HfApi, new_repo: NewRepo) -> None:
    repo = new_repo(private=True)
    assert api.repo_info(repo).private
    api.update_repo_settings(repo, visibility="public")
    assert not api.repo_info(repo).private
    api.update_repo_settings(repo, gated="manual")
    assert api.repo_info(repo).gated == "manual"


def test_info_of_a_model(api: HfApi, new_repo: NewRepo) -> None:
    repo = new_repo()
    card = b"---\nlibrary_name: transformers\npipeline_tag: token-classification\ntags: [asqp]\n---\n# Tagger\n"
    api.upload_file(path_or_fileobj=card, path_in_repo="README.md", repo_id=repo)
    api.upload_file(
        path_or_fileobj=b'{"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 8}',
        path_in_repo="config.json",
        repo_id=repo,
    )
    commit = api.upload_file(path_or_fileobj=b"weights", path_in_repo="model.safetensors", repo_id=repo)
    info = api.model_info(repo, files_metadata=True)
    assert (info.id, info.author, info.sha) == (repo, "asqp", commit.oid)
    assert (info.library_name, info.pipeline_tag, info.tags) == ("transformers", "token-classification", ["asqp"])
    assert info.config == {"model_type": "bert", "architectures": ["BertModel"]}
    assert info.card_data is not None
    assert info.card_data.tags == ["asqp"]
    assert info.last_modified is not None
    assert info.created_at is not None
    assert info.created_at <= info.last_modified
    files = {sibling.rfilename: sibling for sibling in info.siblings or []}
    assert files["README.md"].size == len(card)
    weights = files["model.safetensors"]
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256(b'weights').hexdigest()}\nsize 7\n"
    assert weights.lfs is not None
    assert (weights.lfs.sha256, weights.lfs.size) == (sha256(b"weights").hexdigest(), 7)
    assert weights.lfs.pointer_size == len(pointer)
    assert weights.blob_id == sha1(b"blob %d\0" % len(pointer) + pointer.encode()).hexdigest()
    assert [s.size for s in api.model_info(repo).siblings or []] == [None] * 4
    asked = api.model_info(repo, expand=["tags", "pipeline_tag"])
    assert (asked.id, asked.tags, asked.pipeline_tag) == (repo, ["asqp"], "token-classification")
    assert (asked.sha, asked.siblings) == (None, None)


def test_results_of_a_model(api: HfApi, new_repo: NewRepo) -> None:
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

    repo = new_repo()
    result = EvalResult("token-classification", "asqp/car", "car", "asqp_f1", 0.42)
    data = ModelCardData(model_name="tagger", eval_results=[result])
    ModelCard(f"---\n{data.to_yaml()}\n---\n").push_to_hub(repo, token=str(api.token))
    (index,) = api.model_info(repo).model_index or []
    assert index["name"] == "tagger"
    assert index["results"][0]["metrics"] == [{"type": "asqp_f1", "value": 0.42}]


def test_info_of_a_space(api: HfApi, new_repo: NewRepo) -> None:
    info = api.space_info(new_repo(repo_type="space", space_sdk="static"))
    assert info.sdk == "static"
    assert info.runtime is not None
    assert info.runtime.stage == "RUNNING"


def test_info_of_a_revision(api: HfApi, new_repo: NewRepo) -> None:
    repo = new_repo(repo_type="dataset")
    first = api.dataset_info(repo).sha
    assert first is not None
    second = api.upload_file(path_or_fileobj=b"1", path_in_repo="a", repo_id=repo, repo_type="dataset").oid
    assert api.dataset_info(repo, revision=first).sha == first
    assert api.dataset_info(repo, revision=first[:7]).sha == first
    assert api.dataset_info(repo, revision="refs/heads/main").sha == second
    assert api.revision_exists(repo, "main", repo_type="dataset")
    assert not api.revision_exists(repo, "v1", repo_type="dataset")


def test_lists(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    hidden = new_repo(repo_type="dataset", private=True)
    tagged = new_repo(repo_type="dataset")
    api.upload_file(
        path_or_fileobj=b"---\ntags: [quads]\n---\n", path_in_repo="README.md", repo_id=tagged, repo_type="dataset"
    )
    hub.settings.page_size = 1
    assert {hidden, tagged} <= {info.id for info in api.list_datasets(author="asqp")}
    assert len(hub.requests("GET", "^/api/datasets$")) > 1
    assert hidden not in {info.id for info in api.list_datasets(author="asqp", token=False)}
    assert [info.id for info in api.list_datasets(filter="quads")] == [tagged]
    assert [info.id for info in api.list_datasets(search=tagged)] == [tagged]
    assert list(api.list_datasets(author="nobody")) == []


def test_branches(api: HfApi, new_repo: NewRepo) -> None:
    from huggingface_hub.errors import HfHubHTTPError, RevisionNotFoundError

    repo = new_repo()
    first = api.repo_info(repo).sha
    second = api.upload_file(path_or_fileobj=b"1", path_in_repo="a", repo_id=repo).oid
    api.create_branch(repo, branch="old/start", revision=first)
    api.create_branch(repo, branch="next")
    with pytest.raises(HfHubHTTPError, match="409"):
        api.create_branch(repo, branch="next")
    api.create_branch(repo, branch="next", exist_ok=True)
    with pytest.raises(RevisionNotFoundError):
        api.create_branch(repo, branch="lost", revision="nowhere")
    branches = {ref.name: ref for ref in api.list_repo_refs(repo).branches}
    assert {name: ref.target_commit for name, ref in branches.items()} == {
        "main": second,
        "next": second,
        "old/start": first,
    }
    assert branches["next"].ref == "refs/heads/next"
    assert api.repo_info(repo, revision="old/start").sha == first
    api.delete_branch(repo, branch="old/start")
    assert {ref.name for ref in api.list_repo_refs(repo).branches} == {"main", "next"}
    with pytest.raises(RevisionNotFoundError):
        api.delete_branch(repo, branch="old/start")
    with pytest.raises(HfHubHTTPError, match="403"):
        api.delete_branch(repo, branch="main")


def test_tags(api: HfApi, new_repo: NewRepo) -> None:
    from huggingface_hub.errors import HfHubHTTPError, RevisionNotFoundError

    repo = new_repo(repo_type="dataset")
    first = api.repo_info(repo, repo_type="dataset").sha
    api.create_tag(repo, tag="v1.0", tag_message="The first", repo_type="dataset")
    api.upload_file(path_or_fileobj=b"1", path_in_repo="a", repo_id=repo, repo_type="dataset")
    with pytest.raises(HfHubHTTPError, match="409"):
        api.create_tag(repo, tag="v1.0", repo_type="dataset")
    api.create_tag(repo, tag="v1.0", repo_type="dataset", exist_ok=True)
    tags = api.list_repo_refs(repo, repo_type="dataset").tags
    assert [(tag.name, tag.ref, tag.target_commit) for tag in tags] == [("v1.0", "refs/tags/v1.0", first)]
    assert api.list_repo_files(repo, revision="v1.0", repo_type="dataset") == [".gitattributes"]
    api.delete_tag(repo, tag="v1.0", repo_type="dataset")
    with pytest.raises(RevisionNotFoundError):
        api.delete_tag(repo, tag="v1.0", repo_type="dataset")


def test_history_in_pages_and_squashed(api: HfApi, hub: HubServer, new_repo: NewRepo) -> None:
    repo = new_repo()
    for n in range(4):
        api.upload_file(path_or_fileobj=b"%d" % n, path_in_repo="a", repo_id=repo, commit_message=f"Write {n}")
    hub.settings.page_size = 2
    commits = api.list_repo_commits(repo)
    assert [c.title for c in commits] == ["Write 3", "Write 2", "Write 1", "Write 0", "initial commit"]
    assert commits[0].authors == ["olivia"]
    assert len(hub.requests("GET", "/commits/main")) == 3
    api.super_squash_history(repo, commit_message="All of it")
    assert [c.title for c in api.list_repo_commits(repo)] == ["All of it"]
    assert hub.files("models", repo) == {"a": b"3"}


def test_auth_check(api: HfApi, new_repo: NewRepo) -> None:
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    repo = new_repo(private=True)
    api.auth_check(repo)
    api.auth_check(repo, write=True)
    api.auth_check(repo, token=READER_TOKEN)
    with pytest.raises(HfHubHTTPError, match="403"):
        api.auth_check(repo, token=READER_TOKEN, write=True)
    with pytest.raises(RepositoryNotFoundError):
        api.auth_check(repo, token=STRANGER_TOKEN)

"""Publishing: the plan, one commit, what is not sent again, what is never overwritten."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from asqp_datasets.builder import build
from asqp_datasets.cards import package_version
from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.sources import open_source
from asqp_models.hub.folders import dataset_contents, predictions_contents
from asqp_models.hub.plan import Contents, Wishes
from asqp_models.hub.publish import publish
from tests.conftest import Asqp

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from tests.hub.server import HubServer

pytestmark = pytest.mark.usefixtures("login")


def commits(api: HfApi, repo: str, kind: str = "dataset") -> list[str]:
    return [commit.title for commit in api.list_repo_commits(repo, repo_type=kind)]


def card_of(dataset: Path, repo: str) -> bytes:
    """The card, whose code loads the repository that it stands in."""
    text = (dataset / "README.md").read_text(encoding="utf-8")
    assert text.count('load_dataset("asqp/synthetic-car")') == 1
    return text.replace('load_dataset("asqp/synthetic-car")', f'load_dataset("{repo}")').encode("utf-8")


def test_the_owners_command(api: HfApi, hub: HubServer, repo: str, dataset: Path, asqp: Asqp) -> None:
    names = sorted(path.relative_to(dataset).as_posix() for path in dataset.rglob("*") if path.is_file())
    dry = asqp("publish", "dataset", dataset, "--repo", repo, "--tag", "1.0", "--dry-run")
    assert dry[0] == 0
    assert f"dataset {repo}: to be created" in dry[1]
    assert all(name in dry[1] for name in names)
    assert "visibility: none -> private" in dry[1]
    assert "dry run, nothing was changed" in dry[1]
    assert not api.repo_exists(repo, repo_type="dataset")
    assert not hub.requests("POST", "/api/repos/create")

    code, out, err = asqp("publish", "dataset", dataset, "--repo", repo, "--tag", "1.0")
    assert (code, err) == (0, "")
    info = api.repo_info(repo, repo_type="dataset")
    assert f"{hub.endpoint}/datasets/{repo}: published, commit {info.sha}" in out
    assert info.private
    assert commits(api, repo) == [f"asqp {package_version()}: dataset synthetic-car", "initial commit"]
    assert hub.repository("datasets", repo).tags == {"1.0": info.sha}
    files = {name: (dataset / name).read_bytes() for name in names}
    files["README.md"] = card_of(dataset, repo)
    assert hub.files("datasets", repo) == files

    hub.forget()
    code, out, _ = asqp("publish", "dataset", dataset, "--repo", repo, "--tag", "1.0", "--json")
    again = json.loads(out)
    assert (code, again["changed"], again["commit"], again["plan"]["unchanged"]) == (0, False, info.sha, len(names))
    assert not [entry for entry in hub.requests() if entry.method in ("POST", "PUT") and "paths-info" not in entry.path]


def test_a_new_version_replaces_its_shards_and_nothing_else(
    api: HfApi, hub: HubServer, repo: str, dataset: Path, tmp_path: Path
) -> None:
    publish(dataset_contents(dataset, repo), Wishes(tag="1.0"))
    api.upload_file(path_or_fileobj=b"mine", path_in_repo="data/notes.txt", repo_id=repo, repo_type="dataset")
    old = set(hub.files("datasets", repo))
    new = tmp_path / "new" / "synthetic-car"
    build(open_source("synthetic-car", size=70, seed=6), new)
    with pytest.raises(DataError, match=r"found the tag '1.0' on the commit \w{12}, expected a new one"):
        publish(dataset_contents(new, repo), Wishes(tag="1.0"))
    done = publish(dataset_contents(new, repo), Wishes(tag="1.1"))
    actions = [(change.action, change.path.split("-")[0]) for change in done.plan.changes]
    splits = [f"data/{name}" for name in ("test", "train", "validation")]
    assert sorted(actions) == sorted(
        [("change", "README.md"), *(("add", name) for name in splits), *(("delete", name) for name in splits)]
    )
    fresh = {path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file()}
    assert set(hub.files("datasets", repo)) == fresh | {"data/notes.txt"}
    assert set(hub.files("datasets", repo, "1.0")) == old - {"data/notes.txt"}
    assert len(commits(api, repo)) == 4


def test_what_somebody_changed_is_shown_and_not_overwritten(
    api: HfApi, hub: HubServer, repo: str, dataset: Path
) -> None:
    publish(dataset_contents(dataset, repo))
    api.upload_file(
        path_or_fileobj=b"# By hand\n", path_in_repo="README.md", repo_id=repo, repo_type="dataset",
        commit_message="A better card",
    )  # fmt: skip
    with pytest.raises(
        UsageError, match=r"README.md was last changed by olivia on .*, 'A better card', expected --overwr"
    ):
        publish(dataset_contents(dataset, repo))
    assert hub.files("datasets", repo)["README.md"] == b"# By hand\n"
    plan = publish(dataset_contents(dataset, repo), dry_run=True).plan
    assert any("'A better card': not by asqp publish)" in line for line in plan.lines())
    publish(dataset_contents(dataset, repo), Wishes(overwrite=True))
    assert hub.files("datasets", repo)["README.md"] == card_of(dataset, repo)


def test_visibility_and_gates(api: HfApi, hub: HubServer, repo: str) -> None:
    contents = Contents(repo, "dataset", "words", {"a.txt": b"1"})
    publish(contents, Wishes(visibility="public", gated="auto"))
    info = api.repo_info(repo, repo_type="dataset")
    assert (info.private, info.gated) == (False, "auto")
    settings = [entry.method for entry in hub.requests("", "/settings|/commit/|/repos/create")]
    assert settings == ["POST", "PUT", "POST", "PUT"]  # made private, closed, filled, then shown
    assert publish(contents).plan.empty
    publish(contents, Wishes(visibility="private"))
    assert api.repo_info(repo, repo_type="dataset").private


def test_nothing_new_is_read_before_a_repository_is_closed(
    api: HfApi, hub: HubServer, repo: str, dataset: Path
) -> None:
    contents = Contents(repo, "dataset", "words", {"a.txt": b"1"})
    before = publish(contents, Wishes(visibility="public")).commit
    hub.fail("status", "/settings", status=403)
    with pytest.raises(DataError, match="the Hub refuses it"):
        publish(replace(contents, files={"a.txt": b"2"}), Wishes(visibility="private"))
    assert api.repo_info(repo, repo_type="dataset").sha == before
    hub.fail("status", "/tag/", status=403)
    with pytest.raises(DataError, match=r"; the commit \w{12} is made, run it again for what is missing"):
        publish(replace(contents, files={"a.txt": b"2"}), Wishes(visibility="private", tag="1.0"))
    assert api.repo_info(repo, repo_type="dataset").private
    done = publish(replace(contents, files={"a.txt": b"2"}), Wishes(tag="1.0"))
    assert (done.plan.changes, done.changed) == ((), True)


def test_old_texts_go_even_after_the_history_was_squashed(
    api: HfApi, hub: HubServer, repo: str, dataset: Path, tmp_path: Path
) -> None:
    publish(dataset_contents(dataset, repo))
    api.super_squash_history(repo, repo_type="dataset")
    new = tmp_path / "new" / "synthetic-car"
    build(open_source("synthetic-car", size=59, seed=5), new)
    with pytest.raises(UsageError, match=r"was last changed by .*, expected --overwrite"):
        publish(dataset_contents(new, repo))
    done = publish(dataset_contents(new, repo), Wishes(overwrite=True))
    assert [change.action for change in done.plan.changes].count("delete") == 3
    assert set(hub.files("datasets", repo)) == {
        path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize("tag", ["", "a b", "../x", "main", "-v", "a/b"])
def test_tags(tag: str, dataset: Path, repo: str, asqp: Asqp) -> None:
    code, _, err = asqp("publish", "dataset", dataset, "--repo", repo, "--tag", tag)
    assert (code, err) == (2, f"asqp: tag: found {tag!r}, expected a name such as 1.0\n")


def test_the_card_of_a_gated_dataset_says_what_readers_are_asked(api: HfApi, dataset: Path, repo: str) -> None:
    from huggingface_hub import DatasetCard

    publish(dataset_contents(dataset, repo), Wishes(gated="manual"))
    card = DatasetCard.load(repo)
    assert card.data.to_dict()["extra_gated_fields"]
    assert card.data.to_dict()["extra_gated_prompt"]
    assert card.text == DatasetCard(card_of(dataset, repo).decode("utf-8")).text
    card.validate()
    assert publish(dataset_contents(dataset, repo)).plan.empty  # gated as it is, and so is the card


def test_predictions_become_a_dataset(line: Path, repo: str, hub: HubServer, asqp: Asqp) -> None:
    code, out, _ = asqp("publish", "predictions", line / "run", "--repo", repo)
    assert code == 0, out
    code, scores, _ = asqp("score", repo, line / "car", "--json")
    local = asqp("score", line / "run" / "predictions" / "test.jsonl", line / "car", "--json")
    assert (code, scores) == (0, local[1])
    with predictions_contents(line / "run" / "predictions" / "test.jsonl", repo) as contents:
        assert publish(contents).plan.empty


@pytest.mark.parametrize("name", ["nothing", "a/b/c", "a/b@v1", "https://x/y", "../x"])
def test_ids(name: str, dataset: Path, asqp: Asqp) -> None:
    code, _, err = asqp("publish", "dataset", dataset, "--repo", name)
    assert (code, err) == (2, f"asqp: repository: found {name!r}, expected NAMESPACE/NAME\n")


def test_a_gitignore_on_the_hub_is_said(api: HfApi, hub: HubServer, repo: str) -> None:
    api.create_repo(repo)
    api.upload_file(path_or_fileobj=b"*.txt\n", path_in_repo=".gitignore", repo_id=repo)
    with pytest.raises(DataError, match=r"its .gitignore leaves out b.txt, expected it to let it in"):
        publish(Contents(repo, "model", "words", {"a.json": b"{}", "b.txt": b"1"}))
    assert set(hub.files("models", repo)) == {".gitignore"}

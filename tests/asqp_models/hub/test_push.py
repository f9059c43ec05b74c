"""Trainings that publish: at the end, at each best epoch, and what is left when that fails."""

from __future__ import annotations

import json
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from asqp_models import training
from asqp_models.hub.locate import locate
from asqp_models.hub.push import Push
from asqp_models.methods import load_model, name_of
from asqp_models.run_config import RunConfig
from tests.asqp_models.extract_classify.conftest import encoder  # noqa: F401 - a fixture
from tests.asqp_models.joint.conftest import SETTINGS
from tests.conftest import Asqp

if TYPE_CHECKING:
    from collections.abc import Callable

    from huggingface_hub import HfApi

    from tests.hub.server import HubServer

pytestmark = pytest.mark.usefixtures("login")


def test_a_lexicon_is_published_when_it_is_trained(
    api: HfApi, hub: HubServer, repo: str, dataset: Path, tmp_path: Path, asqp: Asqp
) -> None:
    command = [
        "train",
        "--method",
        "lexicon",
        "--dataset",
        dataset,
        "--output",
        tmp_path / "run",
        "--push-to-hub",
        repo,
    ]
    code, out, err = asqp(*command)
    assert (code, err) == (0, "")
    head = api.repo_info(repo)
    assert f"published: commit {head.sha}" in out
    assert head.private
    assert name_of(locate(repo)) == name_of(tmp_path / "run")
    code, out, _ = asqp(*command, "--json")  # the run is there, and so is what it publishes
    again = json.loads(out)
    assert (code, again["reused"], again["published"]) == (0, True, head.sha)
    assert len(api.list_repo_commits(repo)) == 2


def test_a_push_that_fails_keeps_the_run(hub: HubServer, repo: str, dataset: Path, tmp_path: Path, asqp: Asqp) -> None:
    config = tmp_path / "config.yaml"
    run = tmp_path / "a run"
    config.write_text(f"method: lexicon\ndataset: {dataset}\npush_to_hub: {repo}\n", encoding="utf-8")
    hub.fail("status", "/commit/", status=503, times=999, message="Down")
    code, out, err = asqp("train", config, "--output", run)
    finish = f"asqp publish model '{run}' --repo {repo}"
    assert (code, f"{run}" in out) == (1, True)
    assert err == (
        f"asqp: not published: {repo}: the Hub is busy or down (503): Down; run it again later; "
        f"the run is in {run}; finish by: {finish}\n"
    )
    hub.forget()
    assert asqp(*shlex.split(finish)[1:])[0] == 0
    assert name_of(locate(repo)) == name_of(run)


def test_what_cannot_be_pushed_is_said_before_training(
    hub: HubServer, dataset: Path, tmp_path: Path, asqp: Asqp, login: Callable[[str | None], None]
) -> None:
    command = ["train", "--method", "lexicon", "--dataset", dataset, "--output", tmp_path / "run"]
    for options, message in (
        (["--push-to-hub", "lexicon"], "repository: found 'lexicon', expected NAMESPACE/NAME"),
        (["--push-to-hub", "asqp/lexicon-car"], "repo: found 'asqp/lexicon-car' for synthetic reviews"),
        (["--push-every-best"], "push_every_best: found it without push_to_hub"),
        (["--set", "push_every_best=3"], "found '3' for push_every_best, expected bool"),
    ):
        code, _, err = asqp(*command, *options)
        assert (code, message in err) == (2, True), err
    login(None)
    code, _, err = asqp(*command, "--push-to-hub", "asqp/synthetic-x")
    assert (code, err) == (2, "asqp: push_to_hub: found no login, expected one by `hf auth login` or HF_TOKEN\n")
    assert not (tmp_path / "run").exists()
    assert hub.requests() == []


NEURAL: dict[str, dict[str, Any]] = {
    "joint": SETTINGS | {"epochs": 8},
    "extract-classify": {"epochs": 12, "batch_size": 4, "learning_rate": 3e-3, "max_seq_length": 32, "doc_stride": 8},
}


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews of a few words."""
    folder = tmp_path_factory.mktemp("words")
    for name, size in (("train", 16), ("dev", 6), ("test", 6)):
        lines = []
        for i in range(size):
            aspect, opinion = ("food", "waiter")[i // 2 % 2], ("great", "rude")[i % 2]
            at = 8 + len(aspect)
            spans = f"'4,{4 + len(aspect)}', '{at},{at + len(opinion)}'"
            lines.append(f"the {aspect} is {opinion} {i}####[['{aspect.upper()}', {spans}, '{2 - 2 * (i % 2)}']]\n")
        (folder / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.mark.skipif(find_spec("torch") is None, reason="needs the train extra")
@pytest.mark.parametrize("method", NEURAL)
def test_every_best_epoch_is_published(
    api: HfApi,
    hub: HubServer,
    repo: str,
    words: Path,
    encoder: Path,  # noqa: F811
    tmp_path: Path,
    method: str,
) -> None:
    settings = NEURAL[method] | ({"encoder": str(encoder)} if method == "extract-classify" else {})
    config = RunConfig(method, str(words), settings=settings)
    quiet = training.train(config, tmp_path / "quiet")
    hub.fail("status", "/api/repos/create", status=403, message="Not yet")  # the first push is lost, the run is not
    run = training.train(config, tmp_path / "run", push=Push(repo, every_best=True))
    bests, last = 0, -1.0
    for row in map(json.loads, (run.folder / "history.jsonl").read_text("utf-8").splitlines()):
        if row.get("eval_f1", -1) > last:
            bests, last = bests + 1, row["eval_f1"]
    assert bests >= 2
    earlier = [commit.commit_id for commit in api.list_repo_commits(repo)][1:-1]
    assert len(earlier) == bests - 1
    assert run.published == api.repo_info(repo).sha
    assert name_of(locate(repo)) == name_of(run.folder)
    assert name_of(run.folder) == name_of(quiet.folder)  # pushing changes nothing in the training
    for name in ("metrics.jsonl", "history.jsonl"):
        assert (run.folder / name).read_bytes() == (quiet.folder / name).read_bytes()
    for commit in earlier:
        assert load_model(repo, revision=commit).predict_batch(["the food is great"])

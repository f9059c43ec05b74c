"""Publishing what a training makes. A push that fails is said, with the command that finishes it; nothing else ends."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from asqp_datasets.errors import UsageError
from asqp_datasets.hub_client import without_token
from asqp_models.card_parts import check_repo_id
from asqp_models.hub import refusals
from asqp_models.hub.plan import Plan


@dataclass(frozen=True)
class Push:
    """Where a training publishes its model.

    Args:
        repo: ``namespace/name``; a new repository is private.
        every_best: Whether to publish each epoch that is the best so far on validation, too.
    """

    repo: str
    every_best: bool = False

    def check(self, corpus: str, synthetic: bool) -> None:
        """Refuse, before hours of training, what could never be published.

        Args:
            corpus: What is trained on.
            synthetic: Whether its text is generated.

        Raises:
            UsageError: Nobody is logged in, the id is none, or the name is a real corpus's for synthetic reviews.
        """
        from huggingface_hub import constants, get_token

        check_repo_id(self.repo)
        refusals.refuse_texts(self.repo, corpus, synthetic, True, texts=False)
        if not constants.HF_HUB_OFFLINE and not get_token():
            raise UsageError("push_to_hub: found no login, expected one by `hf auth login` or HF_TOKEN")


def push_run(
    folder: Path, push: Push, *, show: Callable[[Plan], None] = lambda plan: None, best: bool = False
) -> str | None:
    """Publish a run folder as :func:`asqp_models.hub.folders.model_contents` says.

    Args:
        folder: The run folder.
        push: Where to.
        show: Called with the plan.
        best: Whether the training goes on, so that a later push makes up for this one.

    Returns:
        The commit that holds it; None if it failed, which stderr says.
    """
    from asqp_models.hub.folders import model_contents
    from asqp_models.hub.publish import publish

    try:
        return publish(model_contents(folder, push.repo), show=show).commit
    except Exception as error:  # whatever it is, the run is worth more
        later = (
            "the training goes on, and pushes again"
            if best
            else f"the run is in {folder}; finish by: {_again(folder, push)}"
        )
        print(f"asqp: not published: {without_token(str(error))}; {later}", file=sys.stderr)
        return None


def _again(folder: Path, push: Push) -> str:
    return shlex.join(["asqp", "publish", "model", str(folder), "--repo", push.repo])

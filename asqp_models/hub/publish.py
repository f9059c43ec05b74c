"""Carrying a plan out: the repository if it is missing, one commit, the settings, the tag.

A new repository is private until its content is there. A commit is made on the very state that was looked at; if
somebody was faster, or the answer was lost, what is there is looked at again: what is as it should be is done, and a
file that somebody else has changed meanwhile is not touched.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from asqp_datasets.cards import package_version
from asqp_datasets.errors import AsqpError, DataError, UsageError
from asqp_datasets.hub_client import (
    LONGEST_WAIT,
    WAITS,
    hub_error,
    patiently,
    status_of,
    wait_after,
)
from asqp_models.card_parts import check_repo_id
from asqp_models.hub.plan import Contents, Plan, Wishes, commit_title, make_plan

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._\-]{0,99}")
_TRIES = 8
_STALE = (409, 412)
"""What the Hub answers when the head is not the commit's parent any more."""


class Published(NamedTuple):
    """What publishing did: ``commit`` is the one that holds it, ``changed`` whether anything was done."""

    repo: str
    url: str
    commit: str | None
    changed: bool
    plan: Plan

    def to_dict(self) -> dict[str, Any]:
        """The result as ``--json`` prints it."""
        return {"url": self.url, "commit": self.commit, "changed": self.changed, "plan": self.plan.to_dict()}


def publish(
    contents: Contents,
    wishes: Wishes | None = None,
    *,
    dry_run: bool = False,
    show: Callable[[Plan], None] = lambda plan: None,
) -> Published:
    """Make a repository hold what it is to hold, by one commit.

    What is published is checked before, by :mod:`asqp_models.hub.folders`.

    Args:
        contents: What the repository is to hold.
        wishes: How to publish; default: private, without a tag.
        dry_run: Whether to change nothing.
        show: Called with the plan before anything is done.

    Raises:
        UsageError: Nobody is logged in, the id is none, or a file would be replaced that somebody else changed.
        DataError: The Hub refuses it or cannot be reached, or somebody changed a file meanwhile.
    """
    wishes = wishes or Wishes()
    check_repo_id(contents.repo)
    if wishes.tag is not None and (not _TAG.fullmatch(wishes.tag) or wishes.tag == "main" or ".." in wishes.tag):
        raise UsageError(f"tag: found {wishes.tag!r:.60}, expected a name such as 1.0")
    api, repo = _client(), contents.repo
    plan = patiently(lambda: make_plan(api, contents, wishes), repo)
    show(plan)
    if plan.foreign and not wishes.overwrite and not dry_run:
        first = plan.foreign[0]
        raise UsageError(f"{repo}: {first.path} was last changed by {first.last}, expected --overwrite to replace that")
    head = plan.head
    if not dry_run and not plan.empty:
        head = _carry_out(api, plan, wishes)
    return Published(repo, _url(api, contents), head, not dry_run and not plan.empty, plan)


def _client() -> HfApi:
    from huggingface_hub import HfApi, constants, get_token

    if constants.HF_HUB_OFFLINE:
        raise UsageError("HF_HUB_OFFLINE: found it set, expected a connection to publish over")
    token = get_token()
    if token and not (token.isascii() and token.isprintable()):
        raise UsageError("HF_TOKEN: found characters that no token has, expected the token of a login")
    if not token:
        raise UsageError("found no login, expected one by `hf auth login` or HF_TOKEN")
    return HfApi(library_name="asqp", library_version=package_version())


def _url(api: HfApi, contents: Contents) -> str:
    prefix = "" if contents.kind == "model" else f"{contents.kind}s/"
    return f"{api.endpoint}/{prefix}{contents.repo}"


def _carry_out(api: HfApi, plan: Plan, wishes: Wishes) -> str:
    repo, kind = plan.contents.repo, plan.contents.kind
    if not plan.exists:
        sdk = "gradio" if kind == "space" else None
        patiently(
            lambda: api.create_repo(repo, repo_type=kind, visibility="private", exist_ok=True, space_sdk=sdk), repo
        )
    wanted = {"gated": wishes.gated, "visibility": wishes.visibility}
    steps: list[Callable[[], Any]] = [
        partial(api.update_repo_settings, repo, repo_type=kind, **{name: value})  # type: ignore[arg-type]
        for name, value in wanted.items()
        if value and name in plan.settings
    ]
    opened = [steps.pop()] if wishes.visibility == "public" and "visibility" in plan.settings else []
    for close in steps:  # before anything new can be read
        patiently(close, repo)
    head = _commit(api, plan)
    try:
        for show in opened:
            patiently(show, repo)
        if plan.tag:
            patiently(partial(api.create_tag, repo, tag=plan.tag, revision=head, repo_type=kind, exist_ok=True), repo)
    except DataError as error:
        raise DataError(
            f"{error.message}; the commit {head[:12]} is made, run it again for what is missing", path=error.path
        ) from None
    return head


def _commit(api: HfApi, plan: Plan) -> str:
    """Make the commit, and look again after whatever went wrong; the commit that holds everything."""
    contents, repo = plan.contents, plan.contents.repo
    for turn in range(_TRIES):
        now = patiently(lambda: make_plan(api, contents, Wishes()), repo)
        _refuse_meanwhile(plan, now)
        if not now.changes and now.head:
            return now.head
        try:
            return _send(api, now)
        except AsqpError:
            raise
        except Exception as error:
            stale = status_of(error) in _STALE
            wait = 0.0 if stale else wait_after(error)
            if wait is None or turn == _TRIES - 1:
                raise hub_error(error, repo) from None
            if not stale:
                time.sleep(min(max(wait, WAITS[min(turn, len(WAITS) - 1)]), LONGEST_WAIT))
    raise AssertionError


def _send(api: HfApi, plan: Plan) -> str:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    contents = plan.contents
    additions, deletions = [], []
    for change in plan.changes:
        if change.action == "delete":
            deletions.append(CommitOperationDelete(change.path, is_folder=False))
        else:
            source = contents.files[change.path]
            additions.append(CommitOperationAdd(change.path, source if isinstance(source, bytes) else str(source)))
    api.preupload_lfs_files(contents.repo, additions, repo_type=contents.kind, free_memory=False)
    ignored = [each.path_in_repo for each in additions if getattr(each, "_should_ignore", False)]
    if ignored:
        raise DataError(
            f"its .gitignore leaves out {', '.join(ignored)[:200]}, expected it to let it in", path=contents.repo
        )
    done = api.create_commit(
        contents.repo,
        [*additions, *deletions],
        commit_message=commit_title(contents),
        repo_type=contents.kind,
        parent_commit=plan.head,
    )
    return str(done.oid)


def _refuse_meanwhile(before: Plan, now: Plan) -> None:
    """Refuse to touch a file that is not as it was when the plan was shown."""
    for change in now.changes:
        if before.there.get(change.path) != now.there.get(change.path):
            who = f"{change.last} changed it" if change.last else "somebody removed it"
            raise DataError(
                f"{change.path}: {who} while this was being published, expected nobody to; look at it, then run it "
                "again",
                path=before.contents.repo,
            )

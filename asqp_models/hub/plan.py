"""What publishing would do to one repository, against what is there now."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from asqp_datasets.card_text import gated
from asqp_datasets.cards import package_version
from asqp_datasets.errors import DataError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

Kind = Literal["model", "dataset", "space"]
Action = Literal["add", "change", "delete"]

OURS = "asqp "
"""How the titles of commits begin that publishing makes."""

_FIRST_COMMIT = "initial commit"


@dataclass(frozen=True)
class Contents:
    """What a repository is to hold.

    Args:
        repo: ``namespace/name``.
        kind: What it is on the Hub.
        title: What is published, for the commit.
        files: The content of each file, or where it lies, by its path in the repository.
        stale: The files that go, where an earlier publication left them and they are not in ``files`` any more.
        notes: What whoever publishes should know.
    """

    repo: str
    kind: Kind
    title: str
    files: Mapping[str, Path | bytes]
    stale: re.Pattern[str] = re.compile(r"(?!)")
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wishes:
    """How to publish.

    Args:
        visibility: ``private`` or ``public``; default: as it is, and ``private`` for a new repository.
        gated: ``auto`` or ``manual``: who reads asks first, and is let in at once or by the owner; default: as it is.
        tag: A name for the version.
        overwrite: Whether files may be replaced that somebody changed by other means than publishing.
    """

    visibility: Literal["private", "public"] | None = None
    gated: Literal["auto", "manual"] | None = None
    tag: str | None = None
    overwrite: bool = False


class Change(NamedTuple):
    """A file that the commit touches; ``last`` says who changed it last, and ``ours`` whether that was publishing."""

    path: str
    action: Action
    size: int
    last: str = ""
    ours: bool = True


@dataclass(frozen=True)
class Plan:
    """What publishing would do.

    Args:
        contents: What the repository is to hold.
        exists: Whether the repository is there.
        head: The commit that the plan rests on.
        changes: The files to add, change and delete.
        unchanged: How many files are there as they should be.
        settings: The settings to change: ``{name: (from, to)}``.
        tag: A tag to make.
        there: The ids of the files at the head, by path.
    """

    contents: Contents
    exists: bool
    head: str | None = None
    changes: tuple[Change, ...] = ()
    unchanged: int = 0
    settings: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    tag: str | None = None
    there: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def empty(self) -> bool:
        """Whether everything is as it should be."""
        return self.exists and not self.changes and not self.settings and not self.tag

    @property
    def foreign(self) -> list[Change]:
        """The changes to files that somebody changed last by other means than publishing."""
        return [change for change in self.changes if not change.ours]

    def to_dict(self) -> dict[str, Any]:
        """The plan as ``--json`` prints it."""
        return {
            "repo": self.contents.repo,
            "kind": self.contents.kind,
            "exists": self.exists,
            "head": self.head,
            "changes": [change._asdict() for change in self.changes],
            "unchanged": self.unchanged,
            "settings": {name: list(pair) for name, pair in self.settings.items()},
            "tag": self.tag,
            "notes": list(self.contents.notes),
        }

    def lines(self) -> list[str]:
        """The plan for people."""
        what = f"{self.contents.kind} {self.contents.repo}"
        lines = [f"{what}: {'exists' if self.exists else 'to be created'}"]
        for path, action, size, last, ours in self.changes:
            who = f"  (last changed by {last}{'' if ours else ': not by asqp publish'})" if last else ""
            lines.append(f"  {action:6}  {_bytes(size):>9}  {path}{who}")
        lines += [f"  {name}: {before} -> {after}" for name, (before, after) in self.settings.items()]
        if self.tag:
            lines.append(f"  tag {self.tag}")
        size = sum(change.size for change in self.changes if change.action != "delete")
        lines.append(f"  {len(self.changes)} files to change, {_bytes(size)} to send, {self.unchanged} unchanged")
        return lines + [f"  note: {note}" for note in self.contents.notes]


def make_plan(api: HfApi, contents: Contents, wishes: Wishes) -> Plan:
    """Compare what a repository is to hold with what is there.

    Args:
        api: The client.
        contents: What it is to hold.
        wishes: How to publish.

    Raises:
        DataError: The tag is on another commit.
        HfHubHTTPError: The Hub does not answer as it should.
    """
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
    from huggingface_hub.hf_api import RepoFile

    repo, kind = contents.repo, contents.kind
    if wishes.gated:
        contents = _gated(contents)
    try:
        info = api.repo_info(repo, repo_type=kind)
    except GatedRepoError:
        raise
    except RepositoryNotFoundError:
        new = tuple(Change(path, "add", size_of(source)) for path, source in contents.files.items())
        wanted: dict[str, tuple[str, str]] = {"visibility": ("none", wishes.visibility or "private")}
        if wishes.gated:
            wanted["gated"] = ("no", wishes.gated)
        return Plan(contents, False, changes=new, settings=wanted, tag=wishes.tag)
    if info.gated:
        contents = _gated(contents)
    head = info.sha
    entries = api.list_repo_tree(repo, repo_type=kind, revision=head, recursive=True)
    tree = {entry.path: entry for entry in entries if isinstance(entry, RepoFile)}
    changed = [path for path, source in contents.files.items() if path in tree and not _is_same(source, tree[path])]
    stale = [path for path in tree if path not in contents.files and contents.stale.fullmatch(path)]
    last = _last_changes(api, contents, head, [*changed, *stale])
    changes = [Change(path, "add", size_of(contents.files[path])) for path in contents.files if path not in tree]
    changes += [Change(path, "change", size_of(contents.files[path]), *last[path]) for path in changed]
    changes += [Change(path, "delete", tree[path].size, *last[path]) for path in stale]
    settings: dict[str, tuple[str, str]] = {}
    visibility = "private" if info.private else "public"
    if wishes.visibility not in (None, visibility):
        settings["visibility"] = (visibility, str(wishes.visibility))
    if wishes.gated and info.gated != wishes.gated:
        settings["gated"] = (str(info.gated or "no"), wishes.gated)
    return Plan(
        contents,
        True,
        head,
        tuple(changes),
        len(contents.files) - sum(change.action != "delete" for change in changes),
        settings,
        _new_tag(api, contents, wishes.tag, head, bool(changes)),
        {path: entry.lfs.sha256 if entry.lfs else entry.blob_id for path, entry in tree.items()},
    )


def _gated(contents: Contents) -> Contents:
    """The same, with a card that says what readers of a gated dataset are asked."""
    card = contents.files.get("README.md")
    if contents.kind != "dataset" or card is None:
        return contents
    text = (card if isinstance(card, bytes) else card.read_bytes()).decode("utf-8")
    return replace(contents, files={**contents.files, "README.md": gated(text).encode("utf-8")})


def commit_title(contents: Contents) -> str:
    """The title of the commit; by its beginning later plans tell publications from what others did."""
    return f"{OURS}{package_version()}: {contents.title}"


def size_of(source: Path | bytes) -> int:
    """The bytes of a file."""
    return len(source) if isinstance(source, bytes) else source.stat().st_size


def _is_same(source: Path | bytes, entry: Any) -> bool:
    size = size_of(source)
    if entry.lfs is not None:
        return bool(size == entry.lfs.size and _digest(source, hashlib.sha256()) == entry.lfs.sha256)
    head = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    return bool(size == entry.size and _digest(source, head) == entry.blob_id)


def _digest(source: Path | bytes, digest: Any) -> str:
    if isinstance(source, bytes):
        digest.update(source)
    else:
        with source.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return str(digest.hexdigest())


def _last_changes(api: HfApi, contents: Contents, head: str | None, paths: list[str]) -> dict[str, tuple[str, bool]]:
    """Who changed each file last, and whether by publishing."""
    if not paths:
        return {}
    repo, kind = contents.repo, contents.kind
    found = api.get_paths_info(repo, paths, repo_type=kind, revision=head, expand=True)
    authors = {each.commit_id: each.authors for each in api.list_repo_commits(repo, repo_type=kind, revision=head)}
    said = {}
    for entry in found:
        commit: Any = entry.last_commit
        who = ", ".join(authors.get(commit.oid, [])) or "somebody"
        what = f"{who} on {commit.date:%Y-%m-%d}, {commit.title[:60]!r}"
        said[entry.path] = (what, commit.title.startswith(OURS) or commit.title == _FIRST_COMMIT)
    return {path: said.get(path, ("somebody", False)) for path in paths}


def _new_tag(api: HfApi, contents: Contents, tag: str | None, head: str | None, changes: bool) -> str | None:
    if tag is None:
        return None
    refs = api.list_repo_refs(contents.repo, repo_type=contents.kind)
    there = next((ref.target_commit for ref in refs.tags if ref.name == tag), None)
    if there is None:
        return tag
    if there == head and not changes:
        return None
    raise DataError(f"found the tag {tag!r} on the commit {there[:12]}, expected a new one", path=contents.repo)


def _bytes(size: int) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000  # type: ignore[assignment]
    return f"{size:.1f} GB"

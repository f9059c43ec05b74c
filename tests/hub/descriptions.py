"""How the Hub describes repositories, files and commits in JSON: the fields that clients read."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

import yaml

from .objects import File
from .repositories import Commit, Repository
from .state import HubState


def card_of(text: str) -> dict[str, Any] | None:
    """The YAML block at the head of a README; none without one. YAML errors are the caller's."""
    block = re.match(r"\s*---\r?\n(.*?)\r?\n---", text, re.DOTALL)
    if block is None:
        return None
    value = yaml.safe_load(block[1])
    return json.loads(json.dumps(value, default=str)) if isinstance(value, dict) else None


def repository(
    state: HubState, repo: Repository, commit: Commit, blobs: bool = False, expand: Sequence[str] = ()
) -> dict[str, Any]:
    """A repository at a commit: with the sizes and ids of its files, or only the fields in ``expand``."""
    value: dict[str, Any] = {
        "_id": hashlib.md5(repo.id.encode()).hexdigest()[:24],
        "id": repo.id,
        "author": repo.namespace,
        "sha": commit.oid,
        "lastModified": commit.date,
        "createdAt": repo.created,
        "private": repo.private,
        "gated": repo.gated,
        "disabled": False,
        "downloads": 0,
        "likes": 0,
        "tags": [],
        "siblings": [_sibling(path, file, blobs) for path, file in sorted(commit.tree.items())],
    }
    card = _card(state, commit)
    if card:
        value["cardData"] = card
        value["tags"] = list(card.get("tags") or [])
    if repo.kind == "models":
        value["modelId"] = repo.id
        value |= {key: card[key] for key in ("library_name", "pipeline_tag", "model-index") if card and key in card}
        if "config.json" in commit.tree:
            config = json.loads(state.objects.read(commit.tree["config.json"]))
            value["config"] = {key: config[key] for key in ("architectures", "model_type") if key in config}
    if repo.kind == "spaces":
        value["sdk"] = repo.sdk
        hardware = {"current": "cpu-basic", "requested": "cpu-basic"}
        value["runtime"] = {"stage": "RUNNING", "hardware": hardware, "storage": None, "gcTimeout": 172800}
    if expand:
        return {key: item for key, item in value.items() if key in {"_id", "id", *expand}}
    return value


def file(state: HubState, repo: Repository, commit: Commit, path: str, expand: bool) -> dict[str, Any]:
    """A file of a tree."""
    entry = commit.tree[path]
    value: dict[str, Any] = {"type": "file", "oid": entry.oid, "size": entry.size, "path": path}
    if entry.sha256:
        value["lfs"] = {"oid": entry.sha256, "size": entry.size, "pointerSize": len(entry.pointer)}
        xet_hash = state.xet.hash_of(entry.sha256) if state.settings.xet else None
        if xet_hash:
            value["xetHash"] = xet_hash
    if expand:
        value["lastCommit"] = _last_commit(repo, commit, path)
        value["securityFileStatus"] = {"status": "unscanned", "avScan": None, "pickleImportScan": None}
    return value


def folder(repo: Repository, commit: Commit, path: str, expand: bool) -> dict[str, Any]:
    """A folder of a tree."""
    said = json.dumps(sorted((name, entry.oid) for name, entry in commit.below(path).items()))
    value: dict[str, Any] = {
        "type": "directory",
        "oid": hashlib.sha1(said.encode()).hexdigest(),
        "size": 0,
        "path": path,
    }
    if expand:
        value["lastCommit"] = _last_commit(repo, commit, path)
    return value


def commit(value: Commit) -> dict[str, Any]:
    """An entry of the history."""
    return {
        "id": value.oid,
        "title": value.title,
        "message": value.message,
        "authors": [{"user": value.author, "avatar": ""}],
        "date": value.date,
    }


def refs(prefix: str, names: dict[str, str]) -> list[dict[str, str]]:
    """Branches, tags or pull requests."""
    return [{"name": name, "ref": prefix + name, "targetCommit": oid} for name, oid in sorted(names.items())]


def _sibling(path: str, entry: File, blobs: bool) -> dict[str, Any]:
    value: dict[str, Any] = {"rfilename": path}
    if blobs:
        value |= {"size": entry.size, "blobId": entry.oid}
        if entry.sha256:
            value["lfs"] = {"sha256": entry.sha256, "size": entry.size, "pointerSize": len(entry.pointer)}
    return value


def _last_commit(repo: Repository, commit: Commit, path: str) -> dict[str, str]:
    last = repo.last_change(commit.oid, path)
    return {"id": last.oid, "title": last.title, "date": last.date}


def _card(state: HubState, commit: Commit) -> dict[str, Any] | None:
    readme = commit.tree.get("README.md")
    if readme is None:
        return None
    try:
        return card_of(state.objects.read(readme).decode("utf-8", "replace"))
    except yaml.YAMLError:
        return None

"""Reading files: trees, paths, downloads, large files from the other origin, tokens of Xet."""

from __future__ import annotations

from typing import Any

from . import descriptions
from .repositories import Commit, Repository
from .state import HubState
from .wire import Call, HubError, Reply, Router, file_reply, is_true, json_reply, page_reply

router = Router()


@router.route("GET", "/api/{kind}/{repo}/tree/{rev}", "/api/{kind}/{repo}/tree/{rev}/{path}")
def tree(state: HubState, call: Call, kind: str, repo: str, rev: str, path: str = "") -> Reply:
    """The folders and files of a folder. A missing one is 404 with EntryNotFound: clients probe for some."""
    repository = state.open(call, kind, repo)
    commit = state.commit_of(repository, rev)
    entries = _entries(state, repository, commit, path.strip("/"), call.flag("recursive"), call.flag("expand"))
    return page_reply(call, state.endpoint, entries, state.settings.page_size)


@router.route("POST", "/api/{kind}/{repo}/paths-info/{rev}")
def paths_info(state: HubState, call: Call, kind: str, repo: str, rev: str) -> Reply:
    """The paths that exist, of those in the form; the others are left out."""
    repository = state.open(call, kind, repo)
    commit = state.commit_of(repository, rev)
    form = call.form()
    expand = is_true(form.get("expand", ["false"])[0])
    found = []
    for path in (path.strip("/") for path in form.get("paths", [])):
        if path in commit.tree:
            found.append(descriptions.file(state, repository, commit, path, expand))
        elif commit.below(path):
            found.append(descriptions.folder(repository, commit, path, expand))
    return json_reply(found)


@router.route("GET HEAD", "/{prefix}{repo}/resolve/{rev}/{path}")
def resolve(state: HubState, call: Call, prefix: str, repo: str, rev: str, path: str) -> Reply:
    """A file, or for a large one the way to it.

    Clients need X-Repo-Commit, an ETag and a length (X-Linked-Etag and X-Linked-Size in a redirect), and take a file to
    come by Xet if there are X-Xet-Hash and the link ``xet-auth``. A 404 carries the commit too: clients remember it.
    """
    repository = state.open(call, prefix.rstrip("/") or "models", repo)
    commit = state.commit_of(repository, rev)
    headers = {"x-repo-commit": commit.oid}
    file = commit.tree.get(path)
    if file is None:
        raise HubError(404, "Entry not found", "EntryNotFound", headers)
    if file.sha256 is None:
        return file_reply(call, state.objects.read(file), headers | {"etag": f'"{file.oid}"'})
    headers |= {"x-linked-etag": f'"{file.sha256}"', "x-linked-size": str(file.size)}
    xet_hash = state.xet.hash_of(file.sha256) if state.settings.xet else None
    if xet_hash:
        token = f"{state.endpoint}/api/{repository.kind}/{repository.id}/xet-read-token/{commit.oid}"
        headers |= {"x-xet-hash": xet_hash, "link": f'<{token}>; rel="xet-auth"'}
    if state.settings.lfs_delivery == "inline":
        return file_reply(call, state.objects.read(file), headers | {"etag": f'"{file.sha256}"'})
    same = state.settings.lfs_delivery == "redirect-same-origin"
    origin = state.endpoint if same else state.cdn_endpoint
    return Reply(302, headers | {"location": f"{origin}/large/{file.sha256}"})


@router.route("GET HEAD", "/{prefix}{repo}/raw/{rev}/{path}")
def raw(state: HubState, call: Call, prefix: str, repo: str, rev: str, path: str) -> Reply:
    """What git stores: the pointer of a large file."""
    repository = state.open(call, prefix.rstrip("/") or "models", repo)
    commit = state.commit_of(repository, rev)
    file = commit.tree.get(path)
    if file is None:
        raise HubError(404, "Entry not found", "EntryNotFound", {"x-repo-commit": commit.oid})
    data = file.pointer if file.sha256 else state.objects.read(file)
    return file_reply(call, data, {"x-repo-commit": commit.oid, "etag": f'"{file.oid}"'})


@router.route("GET HEAD", "/large/{sha256}")
def large_file(state: HubState, call: Call, sha256: str) -> Reply:
    """The other origin, which must never see a token."""
    if f":{call.port}" in state.cdn_endpoint and "authorization" in call.headers:
        raise HubError(400, "The token was sent to another origin")
    if state.objects.size_of_large(sha256) is None:
        raise HubError(404, "No such object")
    return file_reply(call, state.objects.read_large(sha256), {"etag": f'"{sha256}"'})


@router.route("GET", "/api/{kind}/{repo}/xet-read-token/{rev}")
def xet_read_token(state: HubState, call: Call, kind: str, repo: str, rev: str) -> Reply:
    state.open(call, kind, repo)
    if not state.settings.xet:
        raise HubError(404, "No Xet here")
    return state.xet.read_token()


@router.route("GET", "/api/{kind}/{repo}/xet-write-token/{rev}")
def xet_write_token(state: HubState, call: Call, kind: str, repo: str, rev: str) -> Reply:
    state.writable(call, kind, repo, pull_request=call.flag("create_pr"))
    if not state.settings.xet:
        raise HubError(404, "No Xet here")
    return state.xet.write_token()


def _entries(
    state: HubState, repository: Repository, commit: Commit, folder: str, recursive: bool, expand: bool
) -> list[dict[str, Any]]:
    below = commit.below(folder)
    if folder and not below:
        raise HubError(404, f"{folder} does not exist on {commit.oid}", "EntryNotFound")
    prefix = folder + "/" if folder else ""
    folders: set[str] = set()
    files: list[str] = []
    for path in sorted(below):
        parts = path.removeprefix(prefix).split("/")
        deepest = len(parts) if recursive else min(2, len(parts))
        folders |= {prefix + "/".join(parts[:depth]) for depth in range(1, deepest)}
        if recursive or len(parts) == 1:
            files.append(path)
    return [descriptions.folder(repository, commit, path, expand) for path in sorted(folders)] + [
        descriptions.file(state, repository, commit, path, expand) for path in files
    ]

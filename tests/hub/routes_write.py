"""Writing files: how each is to be sent, the LFS uploads, and the commit."""

from __future__ import annotations

import base64
import binascii
import fnmatch
from typing import Any

from .objects import File
from .repositories import Commit, Repository
from .state import HubState
from .wire import Call, HubError, Reply, Router, json_reply, read_json

router = Router()


@router.route("POST", "/api/{kind}/{repo}/preupload/{rev}")
def preupload(state: HubState, call: Call, kind: str, repo: str, rev: str) -> Reply:
    """For each file: large or regular, ignored or not, and the id of what is there.

    The id is SHA-256 for large files and git's for others; the client drops files whose id it finds unchanged.
    """
    repository, _ = state.writable(call, kind, repo, pull_request=call.flag("create_pr"))
    commit = state.commit_of(repository, rev)
    body = call.json()
    ignored = body.get("gitIgnore")
    if ignored is None:
        ignored = _text(state, commit, ".gitignore")
    large = [line.split()[0] for line in _text(state, commit, ".gitattributes").splitlines() if "filter=lfs" in line]
    files = []
    for file in body["files"]:
        path, present = file["path"], commit.tree.get(file["path"])
        binary = b"\0" in _decoded(file["sample"], path)
        is_large = binary or file["size"] > state.settings.large_over or _matches(path, large)
        files.append(
            {
                "path": path,
                "uploadMode": "lfs" if is_large and state.settings.upload_mode == "auto" else "regular",
                "shouldIgnore": _matches(path, _patterns(ignored)),
                "oid": present.content_id if present else None,
            }
        )
    return json_reply({"files": files, "commitOid": commit.oid})


@router.route("POST", "/{prefix}{repo}.git/info/lfs/objects/batch")
def lfs_batch(state: HubState, call: Call, prefix: str, repo: str) -> Reply:
    """Where to send each object, whole or in parts; no ``actions`` for one that is stored already."""
    state.writable(call, prefix.rstrip("/") or "models", repo)
    body = call.json()
    multipart = state.settings.multipart_over if "multipart" in body.get("transfers", []) else 0
    objects = []
    for item in body["objects"]:
        sha256, size = item["oid"], item["size"]
        answer: dict[str, Any] = {"oid": sha256, "size": size}
        if state.settings.lfs_errors:
            answer["error"] = {"code": 422, "message": "The object is refused"}
        elif state.objects.size_of_large(sha256) is None:
            answer["actions"] = {
                "upload": _upload_action(state.endpoint, sha256, size, multipart),
                "verify": {"href": f"{state.endpoint}/lfs/verify", "header": {}},
            }
        objects.append(answer)
    return json_reply(
        {"transfer": "basic", "objects": objects}, headers={"content-type": "application/vnd.git-lfs+json"}
    )


@router.route("PUT", "/lfs/objects/{sha256}")
def lfs_put(state: HubState, call: Call, sha256: str) -> Reply:
    if not state.objects.put_large(sha256, call.body):
        raise HubError(422, "The content is not what its SHA-256 says")
    return Reply(headers={"etag": f'"{sha256}"'})


@router.route("PUT", "/lfs/objects/{sha256}/parts/{number}")
def lfs_put_part(state: HubState, call: Call, sha256: str, number: str) -> Reply:
    """The client sends the ETag back when it has sent all parts."""
    return Reply(headers={"etag": state.objects.put_part(sha256, int(number), call.body)})


@router.route("POST", "/lfs/objects/{sha256}/complete")
def lfs_complete(state: HubState, call: Call, sha256: str) -> Reply:
    if not state.objects.join_parts(sha256, [int(part["partNumber"]) for part in call.json()["parts"]]):
        raise HubError(422, "The parts are not what the SHA-256 says")
    return json_reply({})


@router.route("POST", "/lfs/verify")
def lfs_verify(state: HubState, call: Call) -> Reply:
    state.known_login(call)
    body = call.json()
    if state.objects.size_of_large(str(body["oid"])) != body["size"]:
        raise HubError(404, "The object is missing or has another size")
    return json_reply({})


@router.route("POST", "/api/{kind}/{repo}/commit/{rev}")
def commit(state: HubState, call: Call, kind: str, repo: str, rev: str) -> Reply:
    """One JSON object a line: the header, then what is added, copied and deleted."""
    pull_request = call.flag("create_pr")
    repository, login = state.writable(call, kind, repo, pull_request)
    lines = _lines(call.body)
    header = lines[0]["value"]
    ref = rev.removeprefix("refs/heads/")
    head = repository.pulls.get(ref) or repository.branches.get(ref)
    if head is None:
        if repository.resolve(rev):
            raise HubError(400, f"{rev} is no branch: commits go to branches")
        raise HubError(404, f"Invalid rev id: {rev}", "RevisionNotFound")
    parent = header.get("parentCommit")
    if parent and not head.startswith(parent):
        raise HubError(412, "A commit has happened since. Please refresh and try again.")
    tree = dict(repository.commits[head].tree)
    _collect_from_xet(state, lines[1:])
    for line in lines[1:]:
        _apply(state, tree, line["key"], line["value"])
    made = Commit.make(tree, header.get("summary", ""), header.get("description", ""), head, login.account.name)
    page = state.endpoint + repository.url_path
    answer = {"success": True, "commitOid": made.oid, "commitUrl": f"{page}/commit/{made.oid}", "hookOutput": ""}
    if pull_request:
        number = repository.open_pull_request(made.title)
        ref = f"refs/pr/{number}"
        answer["pullRequestUrl"] = f"{page}/discussions/{number}"
    state.repositories.add_commit(repository, ref, made)
    return json_reply(answer)


@router.route("POST", "/api/{kind}/{repo}/discussions")
def open_pull_request(state: HubState, call: Call, kind: str, repo: str) -> Reply:
    """With Xet, ``upload_folder(create_pr=True)`` opens the pull request first, then commits to its ref."""
    repository, _ = state.writable(call, kind, repo, pull_request=True)
    body = call.json()
    if not body.get("pullRequest"):
        raise HubError(400, "The loopback Hub has pull requests, but no discussions")
    number = repository.open_pull_request(str(body["title"]))
    state.repositories.save(repository)
    return json_reply({"num": number}, 201)


@router.route("GET", "/api/{kind}/{repo}/discussions/{number}")
def pull_request(state: HubState, call: Call, kind: str, repo: str, number: str) -> Reply:
    repository = state.readable(call, kind, repo)
    ref = f"refs/pr/{number}"
    if ref not in repository.pulls:
        raise HubError(404, f"No pull request {number}")
    commit = repository.commits[repository.pulls[ref]]
    return json_reply(
        {
            "num": int(number),
            "title": repository.pull_titles[ref],
            "author": {"name": commit.author},
            "createdAt": commit.date,
            "status": "open",
            "repo": {"name": repo, "type": kind[:-1]},
            "isPullRequest": True,
            "changes": {"base": "refs/heads/main"},
            "filesWithConflicts": [],
            "events": [],
        }
    )


def commit_of_somebody_else(state: HubState, repository: Repository, branch: str) -> None:
    """Move a branch, so that the client's parent is stale."""
    head = repository.branches[branch]
    data = b"somebody else was here\n"
    tree = repository.commits[head].tree | {"somebody-else.txt": state.objects.put(data)}
    state.repositories.add_commit(repository, branch, Commit.make(tree, "Somebody else's", "", head, "somebody"))


def _lines(body: bytes) -> list[dict[str, Any]]:
    lines = [read_json(line) for line in body.splitlines() if line.strip()]
    if not lines or not all(isinstance(line, dict) and isinstance(line["value"], dict) for line in lines):
        raise HubError(400, "A commit is one JSON object a line, each with a key and a value")
    if lines[0]["key"] != "header":
        raise HubError(400, "A commit starts with its header")
    return lines


def _collect_from_xet(state: HubState, lines: list[dict[str, Any]]) -> None:
    if state.settings.xet:
        state.xet.collect(str(line["value"].get("oid")) for line in lines if line["key"] == "lfsFile")


def _apply(state: HubState, tree: dict[str, File], key: str, value: dict[str, Any]) -> None:
    path = str(value.get("path", ""))
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise HubError(400, f"Invalid path: {path!r}")
    if key == "file":
        tree[path] = state.objects.put(_decoded(value["content"], path))
    elif key == "lfsFile":
        size = state.objects.size_of_large(str(value["oid"]))
        if size is None or value.get("size", size) != size:
            raise HubError(400, f"LFS pointer pointed to a file that does not exist: {path}")
        tree[path] = File.large(value["oid"], size)
    elif key in {"deletedFile", "deletedFolder"}:
        folder = path.rstrip("/") + "/"
        gone = [name for name in tree if (name == path if key == "deletedFile" else name.startswith(folder))]
        if not gone:
            raise HubError(404, "A file with this name doesn't exist", "EntryNotFound")
        for name in gone:
            del tree[name]
    else:
        raise HubError(400, f"Unknown operation {key!r}")


def _decoded(content: str, path: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except binascii.Error:
        raise HubError(400, f"The content of {path} is not base64") from None


def _upload_action(endpoint: str, sha256: str, size: int, part_size: int) -> dict[str, Any]:
    if not part_size or size <= part_size:
        return {"href": f"{endpoint}/lfs/objects/{sha256}", "header": {}}
    header = {"chunk_size": str(part_size)}
    header |= {str(n): f"{endpoint}/lfs/objects/{sha256}/parts/{n}" for n in range(1, -(-size // part_size) + 1)}
    return {"href": f"{endpoint}/lfs/objects/{sha256}/complete", "header": header}


def _text(state: HubState, commit: Commit, path: str) -> str:
    file = commit.tree.get(path)
    return state.objects.read(file).decode("utf-8", "replace") if file else ""


def _patterns(gitignore: str) -> list[str]:
    lines = (line.strip() for line in gitignore.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _matches(path: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatch(path, p) or fnmatch.fnmatch(path.rsplit("/", 1)[-1], p) for p in patterns)

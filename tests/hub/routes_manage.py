"""Accounts and repositories: who am I, create, delete, move, settings, lists, refs, history."""

from __future__ import annotations

import re

import yaml

from . import descriptions
from .repositories import Commit
from .state import HubState
from .wire import Call, HubError, Reply, Router, json_reply, page_reply

router = Router()


@router.route("GET", "/api/whoami-v2")
def whoami(state: HubState, call: Call) -> Reply:
    login = state.known_login(call)
    account = login.account
    organizations = [
        {"type": "org", "id": name, "name": name, "fullname": name, "roleInOrg": role}
        for name, role in account.organizations.items()
    ]
    token = {"displayName": login.role, "role": login.role}
    return json_reply(
        {
            "type": "user",
            "id": account.name,
            "name": account.name,
            "fullname": account.name,
            "email": None,
            "isPro": False,
            "orgs": organizations,
            "auth": {"type": "access_token", "accessToken": token},
        }
    )


@router.route("POST", "/api/validate-yaml")
def validate_card(state: HubState, call: Call) -> Reply:
    """Asked before every commit that contains a README. Always JSON, with ``errors`` and ``warnings``."""
    try:
        card = descriptions.card_of(str(call.json().get("content", "")))
    except yaml.YAMLError as error:
        return json_reply({"errors": [{"message": str(error)}], "warnings": []}, 400)
    missing = {"message": "empty or missing yaml metadata in repo card"}
    return json_reply({"errors": [], "warnings": [] if card else [missing]})


@router.route("GET", "/api/agent-harnesses")
def agent_harnesses(state: HubState, call: Call) -> Reply:
    """Asked by the command line before anything else; must be a JSON object."""
    return json_reply({})


@router.route("POST", "/api/repos/create")
def create(state: HubState, call: Call) -> Reply:
    """With ``exist_ok`` the client reads ``url`` from the 409 too."""
    login = state.known_login(call)
    body = call.json()
    kind, name = f"{body.get('type') or 'model'}s", str(body.get("name", ""))
    namespace = body.get("organization") or login.account.name
    if not login.may_write(namespace):
        raise HubError(403, f'You don\'t have the rights to create a {kind[:-1]} under the namespace "{namespace}"')
    if kind not in {"models", "datasets", "spaces"} or not re.fullmatch(r"[\w.-]{1,96}", name):
        raise HubError(400, f"Invalid repository: {kind[:-1]} {namespace}/{name}")
    if kind == "spaces" and not body.get("sdk"):
        raise HubError(400, "A Space needs `sdk`")
    repo = f"{namespace}/{name}"
    existing = state.repositories.get(kind, repo)
    if existing:
        url = state.endpoint + existing.url_path
        raise HubError(409, f"You already created this {kind[:-1]} repo", url=url, name=repo)
    private = body.get("visibility") == "private"
    made = state.repositories.create(kind, repo, login.account.name, private, body.get("sdk"))
    return json_reply({"url": state.endpoint + made.url_path, "name": repo})


@router.route("DELETE", "/api/repos/delete")
def delete(state: HubState, call: Call) -> Reply:
    body = call.json()
    namespace = body.get("organization") or state.known_login(call).account.name
    kind = f"{body.get('type') or 'model'}s"
    repository, _ = state.writable(call, kind, f"{namespace}/{body.get('name')}")
    state.repositories.delete(repository)
    return Reply(body=b"OK")


@router.route("POST", "/api/repos/move")
def move(state: HubState, call: Call) -> Reply:
    body = call.json()
    kind, new = f"{body.get('type') or 'model'}s", str(body["toRepo"])
    repository, login = state.writable(call, kind, str(body["fromRepo"]))
    if not login.may_write(new.split("/")[0]):
        raise HubError(403, f"You don't have the rights to move a {kind[:-1]} to {new}")
    if state.repositories.get(kind, new):
        raise HubError(409, f"{new} exists already")
    state.repositories.move(repository, new)
    return json_reply({})


@router.route("GET", "/api/{kind}")
def list_repositories(state: HubState, call: Call, kind: str) -> Reply:
    """Only what the account may see, by author, search and tags."""
    login = state.login(call)
    author, search = call.parameter("author"), call.parameter("search")
    tags = call.query.get("filter", [])
    found = []
    for repository in state.repositories.of_kind(kind):
        seen = not repository.private or (login is not None and login.account.is_member(repository.namespace))
        if not seen or (author and repository.namespace != author) or search not in repository.id:
            continue
        value = descriptions.repository(state, repository, state.commit_of(repository, "main"))
        if set(tags) <= set(value["tags"]):
            found.append(value)
    size = min(state.settings.page_size, int(call.parameter("limit") or state.settings.page_size))
    return page_reply(call, state.endpoint, found, size)


@router.route("GET", "/api/{kind}/{repo}", "/api/{kind}/{repo}/revision/{rev}")
def info(state: HubState, call: Call, kind: str, repo: str, rev: str = "main") -> Reply:
    """Open even for gated repositories."""
    repository = state.readable(call, kind, repo)
    commit = state.commit_of(repository, rev)
    return json_reply(
        descriptions.repository(state, repository, commit, call.flag("blobs"), call.query.get("expand", []))
    )


@router.route("PUT", "/api/{kind}/{repo}/settings")
def change_settings(state: HubState, call: Call, kind: str, repo: str) -> Reply:
    repository, _ = state.writable(call, kind, repo)
    body = call.json()
    if "visibility" in body:
        repository.private = body["visibility"] == "private"
    if "gated" in body:
        repository.gated = body["gated"]
    state.repositories.save(repository)
    return json_reply({})


@router.route("POST", "/api/{kind}/{repo}/user-access-request/grant")
def grant_access(state: HubState, call: Call, kind: str, repo: str) -> Reply:
    """Let an account into a gated repository."""
    repository, _ = state.writable(call, kind, repo)
    repository.granted.append(str(call.json()["user"]))
    state.repositories.save(repository)
    return json_reply({})


@router.route("GET", "/api/{kind}/{repo}/auth-check", "/api/{kind}/{repo}/auth-check/{name}")
def auth_check(state: HubState, call: Call, kind: str, repo: str, name: str = "") -> Reply:
    state.open(call, kind, repo)
    if name == "write":
        state.writable(call, kind, repo)
    return Reply(body=b"OK")


@router.route("GET", "/api/{kind}/{repo}/refs")
def list_refs(state: HubState, call: Call, kind: str, repo: str) -> Reply:
    repository = state.readable(call, kind, repo)
    value = {
        "branches": descriptions.refs("refs/heads/", repository.branches),
        "converts": [],
        "tags": descriptions.refs("refs/tags/", repository.tags),
    }
    if call.flag("include_prs"):
        value["pullRequests"] = descriptions.refs("", repository.pulls)
    return json_reply(value)


@router.route("POST", "/api/{kind}/{repo}/branch/{name}")
def create_branch(state: HubState, call: Call, kind: str, repo: str, name: str) -> Reply:
    repository, _ = state.writable(call, kind, repo)
    if name in repository.branches:
        raise HubError(409, f"Reference already exists: refs/heads/{name}")
    start = state.commit_of(repository, str(call.json().get("startingPoint") or "main"))
    repository.branches[name] = start.oid
    state.repositories.save(repository)
    return json_reply({}, 201)


@router.route("DELETE", "/api/{kind}/{repo}/branch/{name}")
def delete_branch(state: HubState, call: Call, kind: str, repo: str, name: str) -> Reply:
    repository, _ = state.writable(call, kind, repo)
    if name == "main":
        raise HubError(403, "Cannot delete the default branch")
    if repository.branches.pop(name, None) is None:
        raise HubError(404, f"Branch not found: {name}", "RevisionNotFound")
    state.repositories.save(repository)
    return json_reply({})


@router.route("POST", "/api/{kind}/{repo}/tag/{rev}")
def create_tag(state: HubState, call: Call, kind: str, repo: str, rev: str) -> Reply:
    repository, _ = state.writable(call, kind, repo)
    commit, tag = state.commit_of(repository, rev), str(call.json()["tag"])
    if tag in repository.tags:
        raise HubError(409, f"Tag already exists: {tag}")
    repository.tags[tag] = commit.oid
    state.repositories.save(repository)
    return json_reply({}, 201)


@router.route("DELETE", "/api/{kind}/{repo}/tag/{name}")
def delete_tag(state: HubState, call: Call, kind: str, repo: str, name: str) -> Reply:
    repository, _ = state.writable(call, kind, repo)
    if repository.tags.pop(name, None) is None:
        raise HubError(404, f"Tag not found: {name}", "RevisionNotFound")
    state.repositories.save(repository)
    return json_reply({})


@router.route("GET", "/api/{kind}/{repo}/commits/{rev}")
def list_commits(state: HubState, call: Call, kind: str, repo: str, rev: str) -> Reply:
    repository = state.readable(call, kind, repo)
    history = repository.history(state.commit_of(repository, rev).oid)
    return page_reply(call, state.endpoint, [descriptions.commit(c) for c in history], state.settings.page_size)


@router.route("POST", "/api/{kind}/{repo}/super-squash/{name}")
def squash(state: HubState, call: Call, kind: str, repo: str, name: str) -> Reply:
    """Replace a branch's history by one commit."""
    repository, login = state.writable(call, kind, repo)
    if name not in repository.branches:
        raise HubError(404, f"Invalid rev id: {name}", "RevisionNotFound")
    tree = state.commit_of(repository, name).tree
    message = str(call.json().get("message") or f"Super-squash branch '{name}'")
    state.repositories.add_commit(repository, name, Commit.make(tree, message, "", None, login.account.name))
    return json_reply({})

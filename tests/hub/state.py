"""What the loopback Hub knows, and what an account may see and do of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .accounts import Login, login_of
from .faults import Faults, LogEntry
from .objects import ObjectStore
from .repositories import Commit, Repository, RepositoryStore
from .wire import Call, HubError
from .xet import XetStore


@dataclass
class Settings:
    """What the real Hub decides by itself."""

    lfs_delivery: Literal["redirect", "inline", "redirect-same-origin"] = "redirect"
    """Large files come from another origin, from resolve itself, or (which loses the metadata) by a redirect home."""
    upload_mode: Literal["auto", "regular"] = "auto"
    large_over: int = 10 * 2**20
    """Files above are large, whatever their name."""
    multipart_over: int = 0
    """Large files above are sent in parts of this size; 0: never."""
    page_size: int = 1000
    xet: bool = True
    """Whether tokens of Xet are handed out; a client without ``HF_HUB_DISABLE_XET`` cannot upload otherwise."""
    lfs_errors: bool = False
    """Whether the LFS batch endpoint refuses every object."""


class HubState:
    """All that handlers work on. They run one at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.objects = ObjectStore(folder)
        self.repositories = RepositoryStore(folder, self.objects)
        self.xet = XetStore(folder / "xet", self.objects)
        self.settings = Settings()
        self.faults = Faults()
        self.log: list[LogEntry] = []
        self.endpoint = ""
        self.cdn_endpoint = ""
        """Another origin, where large files come from: clients must not send their token there."""

    def forget_faults(self) -> None:
        """Default settings, no faults, an empty log; repositories stay."""
        self.settings = Settings()
        self.faults.clear()
        self.log.clear()

    def login(self, call: Call) -> Login | None:
        return login_of(call.headers.get("authorization"))

    def known_login(self, call: Call) -> Login:
        """The login, or 401."""
        login = self.login(call)
        if login is None:
            raise HubError(401, "Invalid username or password.")
        return login

    def readable(self, call: Call, kind: str, repo: str) -> Repository:
        """The repository, if the account may know of it. A private one is answered like a missing one.

        Anonymous clients get 401, others 404, both with the code RepoNotFound: over http the client takes a 401 for a
        missing repository by the code alone.
        """
        login = self.login(call)
        repository = self.repositories.get(kind, repo)
        member = login is not None and repository is not None and login.account.is_member(repository.namespace)
        if repository is None or (repository.private and not member):
            if login is None:
                raise HubError(401, "Invalid username or password.", "RepoNotFound")
            raise HubError(404, "Repository not found", "RepoNotFound")
        return repository

    def open(self, call: Call, kind: str, repo: str) -> Repository:
        """The repository, if the account may read its files: a gated one is closed to those who were not let in."""
        repository = self.readable(call, kind, repo)
        login = self.login(call)
        inside = login is not None and (
            login.account.is_member(repository.namespace) or login.account.name in repository.granted
        )
        if repository.gated and not inside:
            who = "you are not in the authorized list" if login else "you must be authenticated to access it"
            raise HubError(
                403 if login else 401,
                f"Access to {repository.kind[:-1]} {repo} is restricted and {who}.",
                "GatedRepo",
            )
        return repository

    def writable(self, call: Call, kind: str, repo: str, pull_request: bool = False) -> tuple[Repository, Login]:
        """The repository and who writes to it. Whoever may read can open a pull request, with a token that writes."""
        repository = self.open(call, kind, repo) if pull_request else self.readable(call, kind, repo)
        login = self.known_login(call)
        if login.role != "write":
            raise HubError(403, "Your token has the role read: a token with the role write is needed")
        if not pull_request and not login.may_write(repository.namespace):
            raise HubError(403, "Forbidden: pass `create_pr=1` as a query parameter to create a Pull Request")
        return repository, login

    def commit_of(self, repository: Repository, revision: str) -> Commit:
        """The commit of a revision, or 404 with the code RevisionNotFound."""
        oid = repository.resolve(revision)
        if oid is None:
            raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return repository.commits[oid]

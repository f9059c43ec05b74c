"""Repositories on disk: commits, branches, tags, pull requests, and who may see them."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from .objects import File, ObjectStore, write_file

Tree = dict[str, File]

_LARGE = "7z arrow bin gz h5 model msgpack npy npz onnx parquet pt safetensors tar zip"
GIT_ATTRIBUTES = "".join(f"*.{suffix} filter=lfs diff=lfs merge=lfs -text\n" for suffix in _LARGE.split()).encode()


def now() -> str:
    """The time as the Hub writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


@dataclass(frozen=True)
class Commit:
    """A state of all files."""

    oid: str
    tree: Tree
    title: str
    message: str
    parent: str | None
    author: str
    date: str

    @classmethod
    def make(cls, tree: Tree, title: str, message: str, parent: str | None, author: str) -> Commit:
        """A commit with an id that no other has, not even after a restart: clients cache by it for ever."""
        date = now()
        said = [sorted((path, file.oid) for path, file in tree.items()), title, message, parent, date, time.time_ns()]
        return cls(hashlib.sha1(json.dumps(said).encode()).hexdigest(), tree, title, message, parent, author, date)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"tree": {path: file.to_json() for path, file in self.tree.items()}}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Commit:
        return cls(**value | {"tree": {path: File(**file) for path, file in value["tree"].items()}})

    def below(self, folder: str) -> Tree:
        """The files in a folder, at any depth."""
        prefix = folder + "/" if folder else ""
        return {path: file for path, file in self.tree.items() if path.startswith(prefix)}


@dataclass
class Repository:
    """A model, dataset or Space."""

    kind: str
    id: str
    private: bool = False
    gated: Literal["auto", "manual", False] = False
    granted: list[str] = field(default_factory=list)
    sdk: str | None = None
    created: str = field(default_factory=now)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    pulls: dict[str, str] = field(default_factory=dict)
    """The commits of pull requests, by ref: ``refs/pr/1``."""
    pull_titles: dict[str, str] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict, repr=False)

    @property
    def namespace(self) -> str:
        return self.id.split("/")[0]

    @property
    def url_path(self) -> str:
        """The path of the repository's page: models have no prefix."""
        return f"/{self.id}" if self.kind == "models" else f"/{self.kind}/{self.id}"

    def open_pull_request(self, title: str) -> int:
        """The number of a new pull request on main."""
        number = len(self.pulls) + 1
        self.pulls[f"refs/pr/{number}"] = self.branches["main"]
        self.pull_titles[f"refs/pr/{number}"] = title
        return number

    def resolve(self, revision: str) -> str | None:
        """The commit of a branch, tag, pull request, full ref or (short) commit id."""
        if revision in self.pulls:
            return self.pulls[revision]
        for prefix, names in (("refs/heads/", self.branches), ("refs/tags/", self.tags)):
            name = revision.removeprefix(prefix)
            if name in names:
                return names[name]
        if re.fullmatch("[0-9a-f]{7,40}", revision):
            return next((oid for oid in self.commits if oid.startswith(revision)), None)
        return None

    def history(self, oid: str) -> Iterator[Commit]:
        """A commit and its ancestors."""
        commit = self.commits.get(oid)
        while commit:
            yield commit
            commit = self.commits.get(commit.parent) if commit.parent else None

    def last_change(self, oid: str, path: str) -> Commit:
        """The commit that last touched a file or anything in a folder."""

        def state(commit: Commit) -> object:
            return commit.tree.get(path) or commit.below(path)

        history = list(self.history(oid))
        for commit, parent in itertools.pairwise(history):
            if state(commit) != state(parent):
                return commit
        return history[-1]


class RepositoryStore:
    """All repositories, in memory and in the folder."""

    def __init__(self, folder: Path, objects: ObjectStore) -> None:
        self._folder = folder / "repositories"
        self._objects = objects
        self._all: dict[tuple[str, str], Repository] = {}
        for path in sorted(self._folder.glob("*/*/repository.json")):
            value = json.loads(path.read_text("utf-8"))
            repository = Repository(**value)
            for commit in sorted((path.parent / "commits").glob("*.json")):
                repository.commits[commit.stem] = Commit.from_json(json.loads(commit.read_text("utf-8")))
            self._all[repository.kind, repository.id] = repository

    def get(self, kind: str, repo: str) -> Repository | None:
        return self._all.get((kind, repo))

    def of_kind(self, kind: str) -> list[Repository]:
        """All repositories of a kind, by name."""
        return [repository for (k, _), repository in sorted(self._all.items()) if k == kind]

    def create(self, kind: str, repo: str, author: str, private: bool = False, sdk: str | None = None) -> Repository:
        """A new repository with the Hub's first commit: a .gitattributes that says which files are large."""
        repository = Repository(kind, repo, private=private, sdk=sdk)
        self._all[kind, repo] = repository
        first = {".gitattributes": self._objects.put(GIT_ATTRIBUTES)}
        self.add_commit(repository, "main", Commit.make(first, "initial commit", "", None, author))
        return repository

    def add_commit(self, repository: Repository, ref: str, commit: Commit) -> None:
        """Store a commit and move a branch or pull request to it."""
        repository.commits[commit.oid] = commit
        write_file(
            self._path(repository) / "commits" / f"{commit.oid}.json",
            json.dumps(commit.to_json(), ensure_ascii=False).encode(),
        )
        (repository.pulls if ref.startswith("refs/pr/") else repository.branches)[ref] = commit.oid
        self.save(repository)

    def save(self, repository: Repository) -> None:
        """Write what is not a commit."""
        value = {name: getattr(repository, name) for name in Repository.__dataclass_fields__ if name != "commits"}
        write_file(self._path(repository) / "repository.json", json.dumps(value, ensure_ascii=False).encode())

    def delete(self, repository: Repository) -> None:
        del self._all[repository.kind, repository.id]
        shutil.rmtree(self._path(repository))

    def move(self, repository: Repository, new: str) -> None:
        """Give a repository another name."""
        source = self._path(repository)
        del self._all[repository.kind, repository.id]
        repository.id = new
        self._all[repository.kind, new] = repository
        source.rename(self._path(repository))
        self.save(repository)

    def _path(self, repository: Repository) -> Path:
        return self._folder / repository.kind / quote(repository.id, safe="")

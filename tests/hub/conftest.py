"""What the loopback Hub's own tests share: repositories with names of their own, waits that take no time."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from .accounts import ORGANIZATION
from .fixtures import api

if TYPE_CHECKING:
    from huggingface_hub import HfApi

__all__ = ["api"]

NewRepo = Callable[..., str]
"""What the fixture :func:`new_repo` gives: ``create_repo``'s options in, the id out."""

_numbers = itertools.count(1)


@pytest.fixture
def unused_id() -> str:
    """The id of a repository that does not exist; caches go by ids, so none is used twice."""
    return f"{ORGANIZATION}/repo-{next(_numbers)}"


@pytest.fixture
def new_repo(api: HfApi) -> NewRepo:
    """Make a repository of the organization."""

    def make(**options: object) -> str:
        repo = f"{ORGANIZATION}/repo-{next(_numbers)}"
        api.create_repo(repo, **options)  # type: ignore[arg-type]
        return repo

    return make


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that the client of this process would have slept before it tried again."""
    from huggingface_hub import file_download
    from huggingface_hub.utils import _http

    slept: list[float] = []
    for module in (file_download, _http):
        monkeypatch.setattr(module, "time", SimpleNamespace(sleep=slept.append))
    return slept

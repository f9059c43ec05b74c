"""The loopback Hub for what this package publishes and fetches: in this process, or in fresh ones."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from asqp_datasets import hub_client
from asqp_datasets.builder import build
from asqp_datasets.sources import open_source
from asqp_models.hub import publish
from tests.hub.accounts import OWNER_TOKEN
from tests.hub.fixtures import api

if TYPE_CHECKING:
    from huggingface_hub import HfApi

__all__ = ["api"]

_numbers = itertools.count(1)


@pytest.fixture
def login(api: HfApi, monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], None]:
    """Log in with a token in this process, from the start as the owner; waits between tries take no time."""
    from huggingface_hub import file_download
    from huggingface_hub.utils import _http

    for module in (file_download, _http, hub_client, publish):
        monkeypatch.setattr(module, "time", SimpleNamespace(sleep=lambda seconds: None))

    def become(token: str | None) -> None:
        if token:
            monkeypatch.setenv("HF_TOKEN", token)
        else:
            monkeypatch.delenv("HF_TOKEN", raising=False)

    become(OWNER_TOKEN)
    return become


@pytest.fixture
def repo() -> str:
    """The id of a repository that does not exist, with a name for synthetic reviews."""
    return f"asqp/synthetic-{next(_numbers)}"


@pytest.fixture(scope="session")
def _dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published") / "synthetic-car"
    build(open_source("synthetic-car", size=60, seed=5), folder)
    return folder


@pytest.fixture
def dataset(_dataset: Path, tmp_path: Path) -> Path:
    """A dataset folder of 60 synthetic reviews, to be changed at will."""
    return Path(shutil.copytree(_dataset, tmp_path / "synthetic-car"))


@pytest.fixture
def copy_of(tmp_path: Path) -> Callable[[Path], Path]:
    """Copy a folder, to change the copy."""

    def copy(folder: Path) -> Path:
        return Path(shutil.copytree(folder, tmp_path / f"{folder.name}-{next(_numbers)}"))

    return copy

"""A small dataset and a model trained on it, for the tests of what uses them."""

from __future__ import annotations

from pathlib import Path

import pytest

from asqp_datasets.builder import build
from asqp_datasets.sources import open_source
from asqp_models import training
from asqp_models.run_config import RunConfig


@pytest.fixture(scope="session")
def line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small synthetic dataset and a lexicon trained on it."""
    folder = tmp_path_factory.mktemp("line")
    build(open_source("synthetic-car", size=400, seed=2), folder / "car")
    training.train(RunConfig("lexicon", str(folder / "car")), folder / "run")
    return folder

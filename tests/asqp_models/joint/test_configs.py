"""The configurations that are shipped are ones that the method takes."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("transformers", reason="needs the train extra")

from asqp_models.run_config import RunConfig, read_config

CONFIGS = Path(__file__).parents[3] / "configs"
CORPORA = {path.name.split("_")[0] for path in CONFIGS.glob("*_extract-classify.yaml")}


@pytest.mark.parametrize("folder", [CONFIGS, CONFIGS / "quick"], ids=["full", "quick"])
def test_every_corpus_has_one(folder: Path) -> None:
    found = {path.name.split("_")[0]: path for path in folder.glob("*_joint.yaml")}
    assert set(found) == CORPORA
    for corpus, path in found.items():
        config = RunConfig.from_dict(read_config(path))
        config.check()
        assert (config.method, config.dataset) == ("joint", f"asqp/{corpus}")
        if folder != CONFIGS:
            assert config.settings["encoder"] == "scratch"

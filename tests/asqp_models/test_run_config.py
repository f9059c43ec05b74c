"""Configurations that come with the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from asqp_datasets.corpora import CORPORA
from asqp_models.run_config import RunConfig, read_config

CONFIGS = sorted((Path(__file__).parents[2] / "configs").rglob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.relative_to(path.parents[1]).as_posix())
def test_a_config_is_what_its_name_says(path: Path) -> None:
    pytest.importorskip("transformers", reason="needs the train extra")
    given = read_config(path)
    corpus, _, method = path.stem.partition("_")
    assert corpus in CORPORA
    assert given["dataset"] == f"asqp/{corpus}"
    assert given["method"] == method
    config = RunConfig.from_dict(given)
    config.check()
    if path.parent.name == "quick":  # no Hub
        assert config.settings["encoder"].startswith(("package:", "scratch"))
    elif method == "extract-classify":  # the paper, section 3
        assert (config.settings["epochs"], config.settings["batch_size"]) == (20, 32)
        assert config.settings["learning_rate"] == 2e-5
        chinese = CORPORA[corpus].language == "zh"
        assert config.settings["max_seq_length"] == (512 if chinese else 128)
        assert config.settings["encoder"] == ("hfl/chinese-macbert-base" if chinese else "bert-base-uncased")


def test_every_known_corpus_has_a_config() -> None:
    names = {path.relative_to(path.parents[1]).as_posix() for path in CONFIGS}
    for corpus, facts in CORPORA.items():
        if not facts.synthetic:
            for folder in ("configs", "quick"):
                assert f"{folder}/{corpus}_extract-classify.yaml" in names

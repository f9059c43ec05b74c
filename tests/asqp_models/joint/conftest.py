"""Models that have learned eight reviews by heart: one from scratch, one over a tiny BERT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.asqp_models.extract_classify.conftest import (  # noqa: F401 - fixtures
    REVIEWS,
    _one_thread,
    encoder,
    sample,
    tokenizer,
)

LEARNED = REVIEWS * 3
"""Three times, so that the dictionary of the other parts of the training set has seen each of them."""

SETTINGS: dict[str, Any] = {
    "epochs": 16,
    "batch_size": 4,
    "learning_rate": 1e-2,
    "averaging": 0.9,
    "empty": 1.0,
    "max_seq_length": 24,
    "doc_stride": 8,
    "hidden_size": 32,
    "embedding_size": 16,
    "bigram_buckets": 64,
    "bigram_size": 8,
    "feature_size": 8,
    "span_size": 32,
    "pair_size": 32,
    "dropout": 0.1,
    "unit_dropout": 0.0,
}


@pytest.fixture(scope="session")
def trained() -> Any:
    from asqp_models.joint import Joint

    return Joint.train(LEARNED, REVIEWS, language="en", **SETTINGS)


@pytest.fixture(scope="session")
def over_bert(encoder: Path) -> Any:  # noqa: F811
    from asqp_models.joint import Joint

    return Joint.train(LEARNED, REVIEWS, language="en", encoder=str(encoder), **(SETTINGS | {"learning_rate": 3e-3}))

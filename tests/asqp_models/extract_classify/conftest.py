"""A tiny BERT with a small vocabulary, and eight reviews with their quads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asqp_datasets.schema import NULL, Quad, Sample

MARK = re.compile(r"([\[{])(.+?)[\]}]")


def sample(marked: str, *labels: tuple[str, str, int | None, int | None], number: int = 0) -> Sample:
    """A sample from text with [aspects] and {opinions}, and (category, sentiment, number of aspect, of opinion)."""
    text, marks, last = "", [], 0
    for found in MARK.finditer(marked):
        text += marked[last : found.start()]
        marks.append((found[2], len(text), len(text) + len(found[2])))
        text += found[2]
        last = found.end()
    text += marked[last:]
    quads = []
    for category, sentiment, *terms in labels:
        a, o = ((NULL, -1, -1) if i is None else marks[i] for i in terms)
        quads.append(Quad(category, a[0], o[0], sentiment, *a[1:], *o[1:]))
    return Sample(str(number), text, quads)


REVIEWS = [
    sample("The [food] is {great} but the [waiter] {rude}.", ("FOOD", "POS", 0, 1), ("SERVICE", "NEG", 2, 3)),
    sample("[waiter] {great}", ("SERVICE", "POS", 0, 1)),
    sample("{rude}!", ("SERVICE", "NEG", None, 0)),
    sample("the [food]", ("FOOD", "NEU", 0, None)),
    sample("never again", ("PLACE", "NEG", None, None)),
    sample("it is the waiter"),
    sample("[座椅]{很舒服}，[屏幕]{不大}😀", ("内饰", "POS", 0, 1), ("屏幕", "NEG", 2, 3)),
    sample("[座椅]{不大}。", ("内饰", "NEG", 0, 1)),
]

_WORDS = "the food is great but waiter rude never again it ! . ， 。 😀 座 椅 很 舒 服 屏 幕 不 大 a b x ##x"


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint folder of a BERT of 2 layers x 32 dimensions with random weights."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    folder = tmp_path_factory.mktemp("encoder")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_WORDS.split()]
    BertTokenizer(vocab={word: i for i, word in enumerate(words)}).save_pretrained(folder)
    torch.manual_seed(0)
    BertModel(
        BertConfig(
            vocab_size=len(words),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=64,
        )
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tokenizer(encoder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(encoder)


SETTINGS: dict[str, Any] = {
    "epochs": 80,
    "batch_size": 4,
    "learning_rate": 3e-3,
    "max_seq_length": 32,
    "doc_stride": 8,
    "negatives": True,
}


@pytest.fixture(scope="session")
def trained(encoder: Path) -> Any:
    """A model that has learned the eight reviews by heart."""
    from asqp_models.extract_classify import ExtractClassify

    return ExtractClassify.train(REVIEWS, REVIEWS, language="en", encoder=str(encoder), **SETTINGS)

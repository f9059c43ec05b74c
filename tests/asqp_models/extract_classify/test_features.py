"""Characters to tokens and back, windows, and what is learned from gold quads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the train extra")

from asqp_datasets.errors import DataError
from asqp_datasets.schema import Quad, Sample
from asqp_models.extract_classify.features import (
    B_ASPECT,
    B_OPINION,
    I_ASPECT,
    I_OPINION,
    IMPLICIT,
    O,
    Unused,
    Windower,
    character_span,
    collate,
    examples,
    home_of,
    spans_of,
    token_span,
    tokens_of,
)
from tests.asqp_models.extract_classify.conftest import REVIEWS, sample

CATEGORIES = sorted({quad.category for each in REVIEWS for quad in each.quads})


@pytest.fixture
def windower(tokenizer: Any) -> Windower:
    return Windower(tokenizer, 32, 8)


@pytest.mark.parametrize("index", range(len(REVIEWS)))
def test_gold_terms_come_back_from_their_tokens(windower: Windower, index: int) -> None:
    text = REVIEWS[index].text
    (windows,) = windower([text])
    tokens = tokens_of(windows)
    for quad in REVIEWS[index].quads:
        for start, end in (quad[4:6], quad[6:8]):
            if start >= 0:
                span = token_span(tokens, start, end)
                assert span is not None
                assert character_span(tokens, span, text) == (start, end)


def test_tags_flags_and_pairs_of_a_review(windower: Windower) -> None:
    # [CLS] the food is great but the waiter rude . [SEP]
    (example,), unused = examples(REVIEWS[:1], windower, CATEGORIES, negatives=False, always=False)
    assert example.tags == [O, O, B_ASPECT, O, B_OPINION, O, O, B_ASPECT, B_OPINION, O, O]
    assert example.implicit == (0, 0)
    assert example.pairs == [(2, 3, 4, 5), (7, 8, 8, 9)]
    food, service = CATEGORIES.index("FOOD"), CATEGORIES.index("SERVICE")
    assert example.classes == [[3 * food + 2], [3 * service]]
    assert unused == Unused(0, 0)


def test_tags_of_a_chinese_review_with_an_emoji(windower: Windower) -> None:
    # [CLS] 座 椅 很 舒 服 ， 屏 幕 不 大 😀 [SEP]
    (example,), _ = examples(REVIEWS[6:7], windower, CATEGORIES, negatives=False, always=False)
    a, o = [B_ASPECT, I_ASPECT], [B_OPINION, I_OPINION]
    assert example.tags == [O, *a, *o, I_OPINION, O, *a, *o, O, O]
    assert example.pairs == [(1, 3, 3, 6), (7, 9, 9, 11)]


def test_implicit_terms_are_read_at_the_special_tokens(windower: Windower) -> None:
    # [CLS] rude ! [SEP];  [CLS] the food [SEP];  [CLS] never again [SEP];  [CLS] it is the waiter [SEP]
    got, _ = examples(REVIEWS[2:6], windower, CATEGORIES, negatives=False, always=False)
    assert [example.pairs for example in got] == [[(0, 1, 1, 2)], [(2, 3, 3, 4)], [(0, 1, 3, 4)], []]
    assert [example.implicit for example in got] == [(1, 0), (0, 1), (1, 1), (0, 0)]


@pytest.mark.parametrize(
    ("negatives", "always", "expected"),
    [
        (False, False, [2, 1, 1, 1, 1, 0, 2, 1]),
        # Two aspects by two opinions.
        (True, False, [4, 1, 1, 1, 1, 0, 4, 1]),
        # The implicit term beside the explicit ones: (2+1)(2+1), (1+1)(1+1), 1(1+1), (1+1)1, 1, 1, …
        (True, True, [9, 4, 2, 2, 1, 1, 9, 4]),
        # Without negatives there is nothing to add to.
        (False, True, [2, 1, 1, 1, 1, 0, 2, 1]),
    ],
)
def test_pairs_that_are_learned(windower: Windower, negatives: bool, always: bool, expected: list[int]) -> None:
    got, _ = examples(REVIEWS, windower, CATEGORIES, negatives=negatives, always=always)
    assert [len(example.pairs) for example in got] == expected
    assert [sum(map(bool, example.classes)) for example in got] == [2, 1, 1, 1, 1, 0, 2, 1]


def test_classes_of_one_pair_are_together(windower: Windower) -> None:
    both = sample("[food] {great}", ("FOOD", "POS", 0, 1), ("PLACE", "NEU", 0, 1), ("FOOD", "POS", 0, 1))
    (example,), _ = examples([both], windower, ["FOOD", "PLACE"], negatives=True, always=False)
    assert (example.pairs, example.classes) == ([(1, 2, 2, 3)], [[2, 4]])
    batch = collate([example], pad_token_id=0, num_classes=6)
    assert batch["pair_labels"].tolist() == [[[0, 0, 1, 0, 1, 0]]]


def test_what_cannot_be_learned_is_counted(windower: Windower) -> None:
    text = "food " + "x " * 40 + "great"
    quads = [
        Quad("FOOD", "food", "great", "POS", 0, 4, len(text) - 5, len(text)),  # further apart than a window
        Quad("FOOD", "food", "great", "POS", -1, -1, -1, -1),
        Quad("FOOD", "", "great", "POS", 5, 5, len(text) - 5, len(text)),
    ]
    got, unused = examples([Sample("1", text, quads)], windower, ["FOOD"], negatives=True, always=False)
    assert unused == Unused(unlocated=2, apart=1)
    assert not any(example.pairs for example in got)
    assert got[0].tags[1] == B_ASPECT
    assert got[-1].tags[-2] == B_OPINION


@pytest.mark.parametrize(
    "quad",
    [Quad("FOOD", "food", "NULL", "POS", 1, 5), Quad("FOOD", "food", "NULL", "POS", 0, 99), Quad("?", "a", "b", "")],
)
def test_wrong_gold_is_refused(windower: Windower, quad: Quad) -> None:
    with pytest.raises(DataError, match="in sample 'x', expected"):
        examples([Sample("x", "food", [quad])], windower, ["FOOD"], negatives=False, always=False)


def test_every_token_has_one_home(windower: Windower) -> None:
    words = [f"{'food' if i % 3 else 'x'}" for i in range(100)]
    text = " ".join(words)
    windows, short = windower([text, "food"])
    assert len(windows) > 3
    assert len(short) == 1
    assert all(len(window.input_ids) <= 32 for window in windows)
    assert [text[start:end] for start, end in tokens_of(windows)] == words
    for window in windows:
        for i, (start, end) in enumerate(window.offsets):
            assert text[start:end] == words[window.first + i]
        assert window.first <= window.home[0] < window.home[1] <= window.end
        # A home stands at least half the overlap from the window's inner borders.
        assert window.home[0] == 0 or window.home[0] - window.first >= 4
    assert [each.home[1] for each in windows[:-1]] == [each.home[0] for each in windows[1:]]


def test_the_home_of_a_pair_holds_both_terms(windower: Windower) -> None:
    (windows,) = windower(["x " * 100])  # of 30 tokens; they begin at 0, 22, 44, 66, 88
    assert [window.first for window in windows] == [0, 22, 44, 66, 88]
    assert home_of(windows, (0, 1), (29, 30)) == 0
    assert home_of(windows, (0, 1), (30, 31)) is None
    assert home_of(windows, (24, 25), IMPLICIT) == 0  # 5 from the border of window 0, 2 from that of window 1
    assert home_of(windows, (28, 29), IMPLICIT) == 1
    assert home_of(windows, IMPLICIT, (99, 100)) == 4


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        " \n\t\u3000",
        "\0",
        "a\0b",
        "\ud800",
        "food\udfff",
        "😀",
        "👩‍👩‍👧‍👦",
        "x" * 500,
        "[CLS] food [SEP]",
        "ﬁ Å",
    ],
)
def test_odd_texts_have_windows_with_true_offsets(windower: Windower, text: str) -> None:
    (windows,) = windower([text])
    assert windows
    for start, end in tokens_of(windows):
        assert 0 <= start <= end <= len(text)


def test_a_special_token_in_a_text_is_text(windower: Windower, tokenizer: Any) -> None:
    ((window,),) = windower(["[SEP] food"])
    assert window.input_ids.count(tokenizer.sep_token_id) == 1


def test_an_inside_tag_without_a_beginning_is_no_span() -> None:
    tags = [I_ASPECT, B_ASPECT, I_ASPECT, B_ASPECT, I_OPINION, O, B_OPINION, I_OPINION, I_ASPECT, B_ASPECT]
    assert spans_of(tags, B_ASPECT) == [(1, 3), (3, 4), (9, 10)]
    assert spans_of(tags, B_OPINION) == [(6, 8)]


def test_a_batch_is_padded_to_its_longest(windower: Windower) -> None:
    got, _ = examples(REVIEWS[:2], windower, CATEGORIES, negatives=True, always=False)
    batch = collate(got, pad_token_id=0, num_classes=3 * len(CATEGORIES))
    assert batch["input_ids"].shape == batch["tags"].shape == (2, 11)
    assert batch["attention_mask"].sum(1).tolist() == [11, 4]
    assert batch["pairs"].shape == (2, 4, 4)
    assert (batch["pairs"][1, 1:] == 0).all()
    assert batch["pair_labels"].sum((1, 2)).tolist() == [2, 1]


def test_a_slow_tokenizer_is_refused() -> None:
    with pytest.raises(DataError, match="found object, expected a fast tokenizer"):
        Windower(object(), 32, 8)


def test_real_chinese_terms_come_back_from_their_tokens(raw_dir: Path) -> None:
    from transformers import BertTokenizer

    from asqp_datasets.sources import open_source

    samples = open_source("zh-food-beverage").samples()["train"]
    characters = sorted({character for each in samples for character in each.text.lower()})
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *characters, *(f"##{each}" for each in characters)]
    windower = Windower(BertTokenizer(vocab={word: i for i, word in enumerate(words)}), 128, 32)
    compared = 0
    for each, windows in zip(samples, windower([each.text for each in samples]), strict=True):
        tokens = tokens_of(windows)
        for quad in each.quads:
            for start, end in (quad[4:6], quad[6:8]):
                if start >= 0:
                    span = token_span(tokens, start, end)
                    assert span is not None
                    assert character_span(tokens, span, each.text) == (start, end)
                    compared += 1
    assert compared > 20_000

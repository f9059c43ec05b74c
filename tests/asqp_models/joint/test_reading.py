"""What is read of texts, and what is to be learned from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("transformers", reason="needs the train extra")

from asqp_datasets.errors import DataError
from asqp_datasets.schema import Quad, Sample
from asqp_models.joint.examples import collate, examples, window_tensors
from asqp_models.joint.labels import LabelEvidence
from asqp_models.joint.reading import Reader
from asqp_models.lexicon import LexiconModel
from tests.asqp_models.extract_classify.conftest import REVIEWS, sample


@pytest.fixture
def lexicon() -> LexiconModel:
    return LexiconModel.train([*REVIEWS, sample("x, x, x! x!")], REVIEWS, language="en")


def reader(lexicon: LexiconModel, length: int = 8, stride: int = 4, tokenizer: Any = None) -> Reader:
    return Reader(lexicon, max_units=3, max_seq_length=length, doc_stride=stride, tokenizer=tokenizer)


def test_units_are_words_and_marks(lexicon: LexiconModel) -> None:
    text = "The food, 很好!"
    (read,) = reader(lexicon)([text])
    units = [text[s:e] for s, e in zip(read.start.tolist(), read.end.tolist(), strict=True)]
    assert units == ["The", "food", ",", "很", "好", "!"]
    assert read.borders[:, 0].tolist() == [0, 0, 1, 1, 1, 1]
    assert read.borders[:, 1].tolist() == [0, 0, 0, 0, 0, 1]
    assert read.features[1, 0, 0] == 1  # food is a term
    assert read.features[0, 1, 0] == 0  # The food is none
    assert lexicon.dictionary.terms[read.terms[1, 0]] == (read.ids[1],)


def test_windows_overlap_and_end_with_the_text(lexicon: LexiconModel) -> None:
    lengths = {0: [], 1: [(0, 1)], 8: [(0, 8)], 9: [(0, 8), (4, 9)], 13: [(0, 8), (4, 12), (8, 13)]}
    for count, expected in lengths.items():
        text = "x " * count
        (windows,) = reader(lexicon).windows([text], reader(lexicon)([text]))
        assert [(window.first, window.end) for window in windows] == expected


def test_pieces_know_their_units(lexicon: LexiconModel, tokenizer: Any) -> None:
    text = "the food bx rude " * 3
    whole = reader(lexicon, 10, 4, tokenizer)
    (windows,) = whole.windows([text], whole([text]))
    for window in windows:
        for piece, unit in zip(window.input_ids, window.units, strict=True):
            if unit >= 0:
                start, end = (int(side[window.first + unit]) for side in (window.text.start, window.text.end))
                assert tokenizer.convert_ids_to_tokens([piece])[0].strip("#") in text[start:end]
        assert sorted(set(window.units) - {-1}) == list(range(window.end - window.first))
    assert (windows[0].first, windows[-1].end) == (0, 12)


def test_a_text_is_read_with_a_dictionary_of_the_other_parts(lexicon: LexiconModel) -> None:
    texts, quads, readers = reader(lexicon).read_training(REVIEWS, 4)
    assert len(readers) == 4
    number = next(i for i, each in enumerate(REVIEWS) if "屏幕" in each.text)  # the only text with this term
    read = texts[number]
    unit = read.start.tolist().index(REVIEWS[number].text.index("屏幕"))
    assert read.features[unit, 1, 0] == 0
    assert read.terms[unit, 1] == -1
    (same,) = reader(lexicon)([REVIEWS[number].text])
    assert same.features[unit, 1, 0] == 1
    assert same.ids.tolist() == read.ids.tolist()
    quad = next(q for q in quads if q.text == number and q.aspect == (unit, 2))
    assert quad.category == "屏幕"
    number, unit = 1, 0  # waiter, which other parts have
    waiter = texts[number].terms[unit, 0]
    assert len(readers[number % 4].lexicon.dictionary.terms[waiter]) == 1


def test_examples_hold_roles_and_quads(lexicon: LexiconModel) -> None:
    learned, unused = examples(REVIEWS, reader(lexicon, 32, 8), lexicon.categories)
    assert unused == 0
    first = learned[0]  # The food is great but the waiter rude .
    assert first.roles.tolist() == [[1, 0, 0], [3, 0, 2], [6, 0, 0], [7, 0, 2]]
    assert first.quads[:, :4].tolist() == [[1, 1, 3, 1], [6, 1, 7, 1]]
    assert [lexicon.categories[i] for i in first.quads[:, 4]] == ["FOOD", "SERVICE"]
    assert first.quads[:, 5].tolist() == [2, 0]
    assert learned[2].roles.tolist() == [[0, 0, 3]]  # an opinion alone
    assert learned[3].roles.tolist() == [[1, 0, 1]]  # an aspect alone
    assert learned[4].quads[:, :4].tolist() == [[-1, 0, -1, 0]]
    batch = collate(learned[:3], pad_token_id=0)
    assert batch["roles"].sum() == 4 + 2 + 1
    assert batch["quads"][:, 0].tolist() == [0, 0, 1, 2]
    assert batch["lengths"].tolist() == [9, 2, 2]


def test_a_quad_is_in_every_window_that_holds_it_whole(lexicon: LexiconModel) -> None:
    long = sample("x " * 5 + "[food] {great} " + "x " * 5, ("FOOD", "POS", 0, 1))
    learned, unused = examples([*REVIEWS, long], reader(lexicon), lexicon.categories)
    assert unused == 0
    assert [each.quads[:, :4].tolist() for each in learned[-2:]] == [[[5, 1, 6, 1]], [[1, 1, 2, 1]]]
    far = sample("[food] " + "x " * 9 + "{great}", ("FOOD", "POS", 0, 1))
    learned, unused = examples([*REVIEWS, far], reader(lexicon), lexicon.categories)
    assert unused == 1
    assert [each.roles.tolist() for each in learned[-2:]] == [[[0, 0, 0]], [[6, 0, 2]]]


def test_wrong_offsets_are_refused(lexicon: LexiconModel) -> None:
    wrong = Sample("7", "the food", [Quad("FOOD", "food", "NULL", "POS", 3, 7)])
    with pytest.raises(DataError, match=r"found 'food' at 3, 7 in sample '7', expected text\[start:end\]"):
        examples([wrong], reader(lexicon), lexicon.categories)


def test_links_stay_within_their_window(lexicon: LexiconModel) -> None:
    text = "x " * 5 + "food great " + "x " * 5
    whole = reader(lexicon)
    (windows,) = whole.windows([text], whole([text]))
    for window in windows:
        links, odds = window.links()
        assert len(links) == len(odds)
        pairs = [row for row in links.tolist() if row[0] >= 0 and row[2] >= 0]
        assert [5 - window.first, 1, 6 - window.first, 1] in pairs
        assert all(row[0] + row[1] <= 8 and row[2] + row[3] <= 8 for row in pairs)
    tensors = window_tensors(windows, 0)
    assert tensors["input_ids"].shape == (2, 8)
    assert tensors["lengths"].tolist() == [8, 8]


def test_the_evidence_of_labels() -> None:
    # (aspect, opinion, label, count): term 0 with opinion 1, term 0 alone
    evidence = LabelEvidence(np.array([[0, 1, 0, 3], [0, -1, 1, 1]]), 2, 2)
    prior = np.array([3.1, 1.1]) / 4.2
    assert evidence.prior == pytest.approx(prior)
    aspect, opinion = np.array([0, 0, -2]), np.array([1, -2, -1])
    logs = np.exp(evidence(aspect, opinion))
    assert logs[0, 0] == pytest.approx((np.array([3, 1]) + 2 * prior) / 6)
    assert logs[0, 1] == pytest.approx((np.array([3, 0]) + 2 * prior) / 5)
    assert logs[0, 2] == pytest.approx((np.array([3, 0]) + 2 * prior) / 5)
    assert logs[1, 0] == pytest.approx(logs[0, 0])
    assert logs[1, 1:] == pytest.approx(np.stack([prior, prior]))
    assert logs[2, 0] == pytest.approx(prior)
    assert logs[2, 1] == pytest.approx((np.array([0, 1]) + 2 * prior) / 3)

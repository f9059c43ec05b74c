"""The published protocols against straight re-implementations of the original scorers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asqp_f1 import SUBTASKS, score
from tests.asqp_f1 import references as slow

UNPARSABLE = ("", "", "", "")
terms = st.sampled_from(["NULL", "a", "b"])
quads = st.tuples(st.sampled_from(["x#p", "y"]), terms, terms, st.sampled_from(["NEG", "POS"]))
with_unparsable = st.one_of(quads, quads, st.just(UNPARSABLE))
examples = settings(max_examples=120, deadline=None)


def headline(result: dict[str, Any]) -> tuple[int, int, int]:
    return result["tp"], result["predicted"], result["gold"]


def check(result: dict[str, Any], counts: tuple[int, int, int]) -> None:
    assert headline(result) == counts
    assert (result["precision"], result["recall"], result["f1"]) == pytest.approx(slow.f1(*counts))


@examples
@given(st.lists(st.tuples(st.lists(with_unparsable, max_size=6), st.lists(with_unparsable, max_size=5)), max_size=6))
def test_absa_quad(texts: Any) -> None:
    predictions, golds = [text[0] for text in texts], [text[1] for text in texts]
    check(score(predictions, golds, protocol="absa-quad"), slow.absa_quad(predictions, golds))


@examples
@given(st.lists(st.tuples(st.lists(with_unparsable, max_size=6), st.lists(quads, max_size=5)), max_size=6))
def test_acos(texts: Any) -> None:
    predictions, golds = [text[0] for text in texts], [text[1] for text in texts]
    check(score(predictions, golds, protocol="acos"), slow.acos(predictions, golds))


@examples
@given(st.lists(st.tuples(st.lists(quads, max_size=6), st.lists(quads, max_size=5)), max_size=6))
def test_acos_tables(texts: Any) -> None:
    predictions, golds = [text[0] for text in texts], [text[1] for text in texts]
    result = score(predictions, golds, protocol="acos", breakdown=True, subtasks=True)
    for kind, row in result["by_implicitness"].items():
        check(row, slow.acos_subset(predictions, golds, (0, 1, 2, 3), kind))
    places = {"category": 0, "aspect": 1, "opinion": 2, "sentiment": 3}
    for name, elements in SUBTASKS.items():
        expected = slow.acos_subset(predictions, golds, tuple(places[element] for element in elements))
        check(result["subtasks"][name], expected)


@examples
@given(st.lists(st.tuples(st.lists(quads, max_size=6), st.lists(quads, max_size=5)), max_size=6))
def test_a_protocol_changes_what_its_code_computes_and_nothing_else(texts: Any) -> None:
    predictions, golds = [text[0] for text in texts], [text[1] for text in texts]
    plain = score(predictions, golds, breakdown=True, subtasks=True, errors=True)
    own = {"precision", "recall", "f1", "tp", "predicted", "gold", "signature"}
    for protocol, more in (("absa-quad", set()), ("acos", {"by_implicitness", "subtasks"})):
        result = score(predictions, golds, protocol=protocol, breakdown=True, subtasks=True, errors=True)
        assert {key: result[key] for key in result if key not in own | more} == {
            key: plain[key] for key in plain if key not in own | more
        }
    distinct = [list(dict.fromkeys(quads)) for quads in predictions]
    golds = [list(dict.fromkeys(quads)) for quads in golds]
    assert headline(score(distinct, golds, protocol="absa-quad")) == headline(score(distinct, golds))


def test_texts_without_output() -> None:
    gold = [[("c", "a", "o", "POS")], [("c", "a", "o", "POS")]]
    for protocol in (None, "absa-quad", "acos"):
        assert headline(score([[], gold[1]], gold, protocol=protocol)) == (1, 1, 2)
        assert headline(score([], [], protocol=protocol)) == (0, 0, 0)


def test_order_within_a_shared_pair() -> None:
    # The original keeps the labels of a pair in one column and splits it at the last #.
    gold = [[("c", "a", "o", "POS"), ("d", "a", "o", "NEG")]]
    found = [("c", "a", "o", "POS")]
    tables = [score([found], [order], protocol="acos", subtasks=True)["subtasks"] for order in (gold[0], gold[0][::-1])]
    assert [(table["ASTE"]["tp"], table["ASTE"]["gold"], table["TASD"]["tp"]) for table in tables] == [
        (0, 1, 0),
        (1, 1, 0),
    ]

"""The analysis of errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from asqp_f1 import Error, ScoreError, find_errors, score
from asqp_f1.errors import overlap
from tests.asqp_f1 import references as slow
from tests.asqp_f1.test_properties import corpora
from tests.asqp_f1.test_worked import GOLD, PREDICTED


def summary(predicted: list[Any], gold: list[Any]) -> Any:
    return score([predicted], [gold], errors=True)["errors"]


def test_the_worked_example() -> None:
    assert summary(PREDICTED, GOLD) == {
        "wrong": 3,
        "missed": 0,
        "spurious": {"count": 1, "share": pytest.approx(1 / 3)},
        "elements": {
            "category": {"count": 0, "share": 0.0},
            # 屏幕不 / 屏幕, 不要购买 / 购买
            "aspect": {"count": 2, "share": pytest.approx(2 / 3), "boundary": 2, "implicit": 0, "other": 0},
            # 大 / 不大, NULL / 不要
            "opinion": {"count": 2, "share": pytest.approx(2 / 3), "boundary": 1, "implicit": 1, "other": 0},
            "sentiment": {"count": 0, "share": 0.0},
        },
        "combinations": {"aspect+opinion": {"count": 2, "share": pytest.approx(2 / 3)}},
    }
    assert find_errors([PREDICTED], [GOLD]) == [
        Error(0, "aspect+opinion", PREDICTED[1], 1, GOLD[1], 1, "boundary", "boundary"),
        Error(0, "aspect+opinion", PREDICTED[2], 2, GOLD[2], 2, "boundary", "implicit"),
        Error(0, "spurious", PREDICTED[3], 3),
    ]


def test_the_total_of_equal_elements_counts() -> None:
    # First come, first served joins p0-g0 (3 equal) and leaves p1-g1 with 0: 3. Crosswise: 2 + 2 = 4.
    p = [("c", "a", "o", "POS"), ("c", "a", "x", "NEG")]
    g = [("c", "a", "o", "NEU"), ("d", "b", "o", "POS")]
    made = [(e.prediction_index, e.gold_index, e.kind) for e in find_errors([p], [g])]
    assert made == [(0, 1, "category+aspect"), (1, 0, "opinion+sentiment")]


def test_ties_go_to_the_smaller_distance() -> None:
    # Both have category and sentiment in common with the gold; abx + o is 1 from abc + o, xyz + o is 3.
    p = [("c", "xyz", "p", "POS"), ("c", "abx", "o", "POS")]
    g = [("c", "abc", "o", "NEG"), ("c", "q", "p", "NEG")]
    made = [(e.prediction_index, e.gold_index, e.kind) for e in find_errors([p], [g])]
    assert made == [(0, 1, "aspect+sentiment"), (1, 0, "aspect+sentiment")]
    tied = [("c", "ab", "n", "POS"), ("c", "abcd", "m", "POS")]
    made = [(e.prediction_index, e.gold_index) for e in find_errors([tied], [[("c", "abcx", "o", "POS")]])]
    assert made == [(0, None), (1, 0)]


def test_nothing_in_common() -> None:
    found = find_errors([[], [("c", "a", "o", "POS")]], [[("c", "a", "o", "POS")], [("d", "b", "NULL", "NEG")]])
    assert found == [
        Error(0, "missed", gold=("c", "a", "o", "POS"), gold_index=0),
        Error(1, "spurious", prediction=("c", "a", "o", "POS"), prediction_index=0),
        Error(1, "missed", gold=("d", "b", "NULL", "NEG"), gold_index=0),
    ]
    assert summary([], []) == {
        "wrong": 0,
        "missed": 0,
        "spurious": {"count": 0, "share": 0.0},
        "elements": {
            "category": {"count": 0, "share": 0.0},
            "aspect": {"count": 0, "share": 0.0, "boundary": 0, "implicit": 0, "other": 0},
            "opinion": {"count": 0, "share": 0.0, "boundary": 0, "implicit": 0, "other": 0},
            "sentiment": {"count": 0, "share": 0.0},
        },
        "combinations": {},
    }


def test_shares_are_of_wrong_predictions() -> None:
    g = [("c", "a", "o", "POS"), ("c", "b", "p", "POS"), ("c", "d", "q", "POS"), ("c", "e", "r", "POS")]
    p = [g[0], ("c", "b", "p", "NEG"), ("x", "d", "q", "NEU"), ("c", "e", "NULL", "POS"), ("y", "z", "z", "NEG")]
    # One right; wrong: sentiment, category+sentiment, opinion, and one spurious.
    result = summary(p, g)
    assert (result["wrong"], result["missed"]) == (4, 0)
    assert {name: entry["share"] for name, entry in result["elements"].items()} == {
        "category": 0.25,
        "aspect": 0.0,
        "opinion": 0.25,
        "sentiment": 0.5,
    }
    assert result["spurious"] == {"count": 1, "share": 0.25}
    assert list(result["combinations"]) == ["category+sentiment", "opinion", "sentiment"]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("内饰", "内饰", True),
        ("屏幕", "车载屏幕", True),
        ("屏幕不", "不大", True),
        ("不好", "很差", False),
        ("battery life", "life span", True),
        ("screens", "screen", True),
        ("great price", "excellent", False),  # one letter in common is no common word
        ("iphone屏幕", "屏幕大", True),
        ("不错！", "！", True),
    ],
)
def test_overlap(a: str, b: str, expected: bool) -> None:
    assert overlap(a, b) is overlap(b, a) is expected


@settings(max_examples=120, deadline=None)
@given(corpora())
def test_the_assignment_is_the_best_of_all(corpus: Any) -> None:
    errors = find_errors(*corpus)
    for index, (predicted, gold) in enumerate(zip(*corpus, strict=True)):
        made = [error for error in errors if error.sample == index]
        pairs = [(error.prediction, error.gold) for error in made if error.prediction and error.gold]
        equal = sum(worth(p, g)[0] for p, g in pairs)
        assert (equal, -sum(slow.distance(p, g) for p, g in pairs)) == best(*rest(predicted, gold))
        assert len(made) == len(rest(predicted, gold)[0]) + len(rest(predicted, gold)[1]) - len(pairs)
        for error in made:
            assert error.prediction is None or predicted[error.prediction_index or 0] == error.prediction
            assert error.gold is None or gold[error.gold_index or 0] == error.gold
    counted = score(*corpus, errors=True)["errors"]
    kinds = [error.kind for error in errors]
    assert {kind: kinds.count(kind) for kind in kinds if kind not in ("missed", "spurious")} == {
        name: entry["count"] for name, entry in counted["combinations"].items()
    }
    assert (counted["missed"], counted["spurious"]["count"]) == (kinds.count("missed"), kinds.count("spurious"))
    assert counted["wrong"] == len(kinds) - counted["missed"]


def worth(p: slow.Quad, g: slow.Quad) -> tuple[int, int]:
    return sum(a == b for a, b in zip(p, g, strict=True)), -slow.distance(p, g)


def rest(predicted: list[slow.Quad], gold: list[slow.Quad]) -> tuple[list[slow.Quad], list[slow.Quad]]:
    left, right = list(predicted), list(gold)
    for quad in predicted:
        if quad in right:
            left.remove(quad)
            right.remove(quad)
    return left, right


def best(predicted: list[slow.Quad], gold: list[slow.Quad]) -> tuple[int, int]:
    """Greatest (equal elements, -distance) over all one-to-one assignments of pairs with an equal element."""
    if not predicted:
        return 0, 0
    found = best(predicted[1:], gold)
    for j, other in enumerate(gold):
        equal, nearness = worth(predicted[0], other)
        if equal:
            more = best(predicted[1:], gold[:j] + gold[j + 1 :])
            found = max(found, (equal + more[0], nearness + more[1]))
    return found


def test_folded_text() -> None:
    assert find_errors([[("C", "Ａ", "o", "POS")]], [[("c", "a", "O", "POS")]], normalize="nfkc") == []
    with pytest.raises(ScoreError, match="as many samples"):
        find_errors([[]], [])

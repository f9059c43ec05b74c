"""What holds for every input, checked on random ones against the slow scorers."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asqp_f1 import SUBTASKS, category_level1, score
from asqp_f1.inputs import encode
from asqp_f1.relaxed import _CHUNK, distances, maximum_matching, pairs
from asqp_f1.strict import pack
from tests.asqp_f1 import references as slow

ELEMENTS = ("category", "aspect", "opinion", "sentiment")
terms = st.one_of(st.just("NULL"), st.text("ab内😀", min_size=1, max_size=4))
quads = st.tuples(st.sampled_from(["x#p", "x#q", "y#p"]), terms, terms, st.sampled_from(["NEG", "POS", "NEU"]))
samples = st.tuples(st.lists(quads, max_size=4), st.lists(quads, max_size=4))


@st.composite
def corpora(draw: st.DrawFn) -> tuple[slow.Corpus, slow.Corpus]:
    """Predictions and golds, some predictions copied from the golds and changed in one element."""
    predictions, golds = [], []
    for predicted, gold in draw(st.lists(samples, max_size=8)):
        for quad in gold:
            if draw(st.booleans()):
                place = draw(st.integers(0, 4))
                other = draw(quads)
                predicted.append(tuple(other[i] if i == place else quad[i] for i in range(4)))  # type: ignore[arg-type]
        predictions.append(predicted[:5])
        golds.append(gold)
    return predictions, golds


examples = settings(max_examples=120, deadline=None)


@settings(max_examples=1000, deadline=None)
@given(corpora(), st.integers(0, 6))
def test_relaxed_matching_is_the_best_of_all(corpus: Any, threshold: int) -> None:
    result = score(*corpus, thresholds=(threshold,))
    assert result[f"aos_d{threshold}_tp"] == slow.relaxed_tp(*corpus, threshold)
    assert result[f"quad_d{threshold}_tp"] == slow.relaxed_tp(*corpus, threshold, category=True)
    right, found = slow.any_tp(*corpus, threshold)
    result = score(*corpus, thresholds=(threshold,), matching="any")
    assert (result[f"aos_d{threshold}_tp"], result[f"aos_d{threshold}_tp_gold"]) == (right, found)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(quads, quads), min_size=1, max_size=30), st.none() | st.integers(0, 5))
def test_distances_are_the_textbook_s(both: list[tuple[slow.Quad, slow.Quad]], limit: int | None) -> None:
    data = encode([[quad for quad, _ in both]], [[quad for _, quad in both]])
    rows = np.arange(len(both))
    expected = [slow.distance(*pair) for pair in both]
    if limit is not None:
        expected = [min(value, limit + 1) for value in expected]
    assert distances(data, rows, rows, limit).tolist() == expected


@examples
@given(corpora())
def test_strict_counts_are_multiset_intersections(corpus: Any) -> None:
    result = score(*corpus, breakdown=True, subtasks=True)
    predicted, gold = (sum(map(len, side)) for side in corpus)
    assert (result["tp"], result["predicted"], result["gold"]) == (slow.strict_tp(*corpus), predicted, gold)
    expected = slow.f1(result["tp"], predicted, gold)
    assert (result["precision"], result["recall"], result["f1"]) == pytest.approx(expected)
    triples = [[[quad[1:] for quad in quads] for quads in side] for side in corpus]
    assert result["aos_exact_tp"] == slow.strict_tp(*triples)

    def part(quad_of: Any, value: Any) -> tuple[int, int, int]:
        some = [[[quad for quad in quads if quad_of(quad) == value] for quads in side] for side in corpus]
        return slow.strict_tp(*some), sum(map(len, some[0])), sum(map(len, some[1]))

    groupings = {
        "by_implicitness": lambda q: f"{'I' if q[1] == 'NULL' else 'E'}A&{'I' if q[2] == 'NULL' else 'E'}O",
        "by_category": lambda q: q[0],
        "by_category_level1": lambda q: category_level1(q[0]),
        "by_sentiment": lambda q: q[3],
    }
    for name, quad_of in groupings.items():
        table = result[name]
        assert {value: counts(row) for value, row in table.items()} == {value: part(quad_of, value) for value in table}
        assert sum(row["predicted"] for row in table.values()) == predicted
        assert sum(row["gold"] for row in table.values()) == gold
    by_size = result["by_quads_per_sample"]
    assert [sum(row[key] for row in by_size.values()) for key in ("tp", "predicted", "gold")] == [
        result[key] for key in ("tp", "predicted", "gold")
    ]
    for name, elements in SUBTASKS.items():
        places = [ELEMENTS.index(element) for element in elements]
        tuples = [[{tuple(q[i] for i in places) for q in quads} for quads in side] for side in corpus]
        if name in ("ATE", "OTE"):
            tuples = [[some - {("NULL",)} for some in side] for side in tuples]
        tp = sum(len(a & b) for a, b in zip(*tuples, strict=True))
        assert counts(result["subtasks"][name]) == (tp, sum(map(len, tuples[0])), sum(map(len, tuples[1])))


def counts(row: dict[str, Any]) -> tuple[int, int, int]:
    return row["tp"], row["predicted"], row["gold"]


@examples
@given(corpora(), st.randoms(use_true_random=False))
def test_order_does_not_matter(corpus: Any, rng: random.Random) -> None:
    options: dict[str, Any] = {"breakdown": True, "subtasks": True, "errors": True, "bootstrap": 20}
    order = list(range(len(corpus[0])))
    rng.shuffle(order)
    mixed = [[rng.sample(side[i], len(side[i])) for i in order] for side in corpus]
    assert score(*mixed, **options) == score(*corpus, **options)


@examples
@given(corpora())
def test_f1_is_symmetric(corpus: Any) -> None:
    for matching in ("one_to_one", "any"):
        there, back = score(*corpus, matching=matching), score(*reversed(corpus), matching=matching)
        for key in [key for key in there if key.endswith("f1")]:
            assert there[key] == pytest.approx(back[key])
            assert there[key.replace("f1", "precision")] == back[key.replace("f1", "recall")]


@examples
@given(corpora())
def test_looser_is_never_less(corpus: Any) -> None:
    thresholds = (0, 1, 2, 4, 10**30)
    one, either = (score(*corpus, thresholds=thresholds, matching=how) for how in ("one_to_one", "any"))
    chain = ["tp", "aos_exact_tp", *(f"aos_d{threshold}_tp" for threshold in thresholds)]
    assert [one[key] for key in chain] == sorted(one[key] for key in chain)
    quad_chain = ["tp", *(f"quad_d{threshold}_tp" for threshold in thresholds)]
    assert [one[key] for key in quad_chain] == sorted(one[key] for key in quad_chain)
    for threshold in thresholds:
        assert one[f"quad_d{threshold}_tp"] <= one[f"aos_d{threshold}_tp"] <= either[f"aos_d{threshold}_tp"]
        for name in ("precision", "recall", "f1"):
            assert one[f"aos_d{threshold}_{name}"] <= either[f"aos_d{threshold}_{name}"] + 1e-12
    assert all(0 <= one[key] <= 1 for key in one if key.endswith("f1"))


@examples
@given(corpora())
def test_a_perfect_system(corpus: Any) -> None:
    golds = corpus[1]
    result = score(golds, golds, zero_division=1.0, errors=True)
    assert {result[key] for key in result if key.endswith(("f1", "precision", "recall"))} == {1.0}
    assert (result["errors"]["wrong"], result["errors"]["missed"]) == (0, 0)


@examples
@given(st.lists(st.integers(0, 5), max_size=12), st.lists(st.integers(0, 5), max_size=12), st.integers(1, 7))
def test_pairs_in_chunks(left: list[int], right: list[int], chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("asqp_f1.relaxed._CHUNK", chunk)
        parts = list(pairs(np.array(left, int), np.array(right, int)))
    found = [(int(i), int(j)) for rows, others in parts for i, j in zip(rows, others, strict=True)]
    assert sorted(found) == [(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if a == b]
    assert all(len(rows) <= max(chunk, max(map(right.count, right), default=0)) for rows, _ in parts)
    assert _CHUNK > 1000


@examples
@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5))))
def test_a_maximum_matching_of_edges(edges: set[tuple[int, int]]) -> None:
    rows, others = (np.array([edge[i] for edge in sorted(edges)], int) for i in (0, 1))
    made = [(int(i), int(j)) for i, j in zip(*maximum_matching(rows, others), strict=True)]
    assert set(made) <= edges
    assert len({i for i, _ in made}) == len({j for _, j in made}) == len(made)

    def grow(left: int, used: frozenset[int]) -> int:
        if left > 5:
            return 0
        options = [1 + grow(left + 1, used | {j}) for i, j in edges if i == left and j not in used]
        return max([grow(left + 1, used), *options])

    assert len(made) == grow(0, frozenset())


@examples
@given(st.lists(st.tuples(*[st.integers(0, 2**35 - 1)] * 3), min_size=1, max_size=20))
def test_keys_of_many_values_stay_apart(rows: list[tuple[int, int, int]]) -> None:
    # Three columns of 2^35 values each do not fit one 64-bit number side by side.
    rows = [*rows, rows[0], (0, rows[0][0], 0), (2**35 - 1, rows[0][1], 2**35 - 1)]
    packed = pack(*((np.array(column), 2**35) for column in zip(*rows, strict=True))).tolist()
    assert len(packed) == len(rows)
    assert [packed.index(key) for key in packed] == [rows.index(row) for row in rows]

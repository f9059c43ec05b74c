"""Candidate terms and pairs, worked out by hand."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")

from asqp_models.joint.candidates import (  # noqa: E402
    BUCKETS,
    DISTANCES,
    Terms,
    best_rivals,
    likely_terms,
    looked_up,
    pair_keys,
    paired,
    valid_spans,
)


def terms(*rows: tuple[int, int, int]) -> Terms:
    return Terms(*torch.tensor(rows).T)


def listed(found: Terms) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in found), strict=True))


def test_a_span_ends_in_its_window() -> None:
    valid = valid_spans(torch.tensor([3, 1]), 3, 2)
    assert valid.int().tolist() == [[[1, 1], [1, 1], [1, 0]], [[1, 0], [0, 0], [0, 0]]]


def test_likely_terms_are_sorted_and_hold_what_they_are_told_to() -> None:
    probability = torch.zeros(2, 3, 2)
    probability[0, 1, 1], probability[0, 0, 0], probability[1, 2, 0] = 0.9, 0.5, 0.2
    assert listed(likely_terms(probability, 0.3, 9, implicit=False)) == [(0, 0, 1), (0, 1, 2)]
    assert listed(likely_terms(probability, 0.3, 1, implicit=False)) == [(0, 1, 2)]
    also = torch.tensor([(1 * 3 + 2) * 2 + 0, (0 * 3 + 0) * 2 + 0])
    found = likely_terms(probability, 0.3, 9, implicit=True, also=also)
    assert listed(found) == [(0, -1, 0), (0, 0, 1), (0, 1, 2), (1, -1, 0), (1, 2, 1)]


def test_pairs_are_of_one_window_and_near() -> None:
    aspects = terms((0, -1, 0), (0, 0, 2), (0, 9, 1), (1, 4, 1))
    opinions = terms((0, -1, 0), (0, 0, 2), (0, 1, 2), (0, 3, 1), (1, 2, 1))
    found = paired(aspects, opinions, 2, 4)
    behind = len(DISTANCES) + 1
    overlapping, no_aspect, no_opinion, neither = range(BUCKETS - 4, BUCKETS)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == [
        (0, 0, neither),
        (0, 1, no_aspect),
        (0, 2, no_aspect),
        (0, 3, no_aspect),
        (1, 0, no_opinion),
        (1, 2, overlapping),  # not with itself
        (1, 3, 1),  # one unit between
        (2, 0, no_opinion),  # all else is too far
        (3, 4, behind + 1),
    ]


def test_no_aspect_and_no_opinion_give_no_pair() -> None:
    none = Terms(*torch.zeros(3, 0, dtype=torch.long))
    assert len(paired(none, terms((0, 1, 1)), 1, 9).aspect) == 0
    assert len(paired(terms((0, 1, 1)), none, 1, 9).aspect) == 0


def test_equal_pairs_have_equal_keys() -> None:
    rows = [(r, a, o) for r in range(2) for a in ((-1, 0), (0, 1), (0, 2), (1, 1)) for o in ((-1, 0), (1, 1), (1, 2))]
    row = torch.tensor([r for r, _, _ in rows])
    aspect, opinion = (Terms(row, *torch.tensor([each[i] for each in rows]).T) for i in (1, 2))
    keys = pair_keys(row, aspect, opinion, 3, 2)
    assert len(set(keys.tolist())) == len(rows)
    assert looked_up(keys.flip(0), keys).tolist() == list(range(len(rows)))[::-1]
    assert looked_up(keys, keys[:1]).tolist() == [0] + [-1] * (len(rows) - 1)
    assert looked_up(keys, keys[:0]).tolist() == [-1] * len(rows)


def test_the_best_rival() -> None:
    scores = torch.tensor([1.0, 3.0, 2.0, 5.0, 4.0, 4.0, -9.0])
    group = torch.tensor([0, 0, 0, 1, 2, 2, 3])
    assert best_rivals(scores, group, 4, -6.0).tolist() == [3.0, 2.0, 3.0, -6.0, 4.0, 4.0, -6.0]

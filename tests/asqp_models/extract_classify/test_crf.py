"""The CRF against an enumeration of all tag sequences."""

from __future__ import annotations

import math
from itertools import pairwise, product

import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")

from asqp_models.extract_classify.crf import LinearChainCRF  # noqa: E402

TAGS = 3
LENGTHS = (5, 1, 3)


@pytest.fixture
def case() -> tuple[LinearChainCRF, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    crf = LinearChainCRF(TAGS)
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.normal_()
    mask = torch.tensor([[int(i < n) for i in range(max(LENGTHS))] for n in LENGTHS])
    return crf, torch.randn(len(LENGTHS), max(LENGTHS), TAGS), mask


def by_hand(crf: LinearChainCRF, emissions: torch.Tensor, tags: tuple[int, ...]) -> float:
    start, end, transitions = crf.start.tolist(), crf.end.tolist(), crf.transitions.tolist()
    at_places = sum(float(emissions[i, tag]) for i, tag in enumerate(tags))
    return at_places + start[tags[0]] + end[tags[-1]] + sum(transitions[a][b] for a, b in pairwise(tags))


def test_nll_is_that_of_the_enumeration(case: tuple[LinearChainCRF, torch.Tensor, torch.Tensor]) -> None:
    crf, emissions, mask = case
    tags = torch.randint(TAGS, mask.shape)
    got = crf.nll(emissions, tags, mask).tolist()
    for row, n in enumerate(LENGTHS):
        scores = [by_hand(crf, emissions[row], each) for each in product(range(TAGS), repeat=n)]
        partition = math.log(sum(map(math.exp, scores)))
        expected = partition - by_hand(crf, emissions[row], tuple(tags[row, :n].tolist()))
        assert got[row] == pytest.approx(expected, abs=1e-4)


def test_viterbi_is_the_best_of_the_enumeration(case: tuple[LinearChainCRF, torch.Tensor, torch.Tensor]) -> None:
    crf, emissions, mask = case
    got = crf.viterbi(emissions, mask).tolist()
    for row, n in enumerate(LENGTHS):
        best = max(product(range(TAGS), repeat=n), key=lambda tags: by_hand(crf, emissions[row], tags))
        assert got[row] == [*best, *[0] * (max(LENGTHS) - n)]


def test_what_stands_behind_the_mask_has_no_effect(case: tuple[LinearChainCRF, torch.Tensor, torch.Tensor]) -> None:
    crf, emissions, mask = case
    tags = torch.randint(TAGS, mask.shape)
    other = torch.where(mask[:, :, None].bool(), emissions, torch.full_like(emissions, 50.0))
    assert torch.equal(crf.nll(emissions, tags, mask), crf.nll(other, tags, mask))
    assert torch.equal(crf.viterbi(emissions, mask), crf.viterbi(other, mask))
    assert torch.equal(crf.nll(emissions, tags, mask), crf.nll(emissions, tags * mask, mask))


def test_gradients_are_the_marginals(case: tuple[LinearChainCRF, torch.Tensor, torch.Tensor]) -> None:
    # d NLL / d emission = P(tag at place) - 1[gold]; over the tags of a place that sums to 0.
    crf, emissions, mask = case
    emissions.requires_grad_()
    crf.nll(emissions, torch.zeros_like(mask), mask).sum().backward()
    assert emissions.grad is not None
    assert emissions.grad.sum(2).abs().max() < 1e-5
    assert (emissions.grad[mask == 0] == 0).all()

"""Candidate terms of a batch of windows, and the pairs of them: array operations, no loop over spans."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

DISTANCES = (0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 24, 32, 48, 64)
"""Upper borders of the buckets of distances, in units."""

BUCKETS = 2 * (len(DISTANCES) + 1) + 4
"""Buckets of distances: opinion behind, opinion before, overlapping, aspect implicit, opinion implicit, both."""

_OVERLAPPING, _NO_ASPECT, _NO_OPINION, _NEITHER = range(BUCKETS - 4, BUCKETS)


class Terms(NamedTuple):
    """Aspects, or opinions, of a batch, sorted by window and place. All of shape (T,).

    Args:
        row: The window.
        start: The first unit, -1 if implicit.
        length: Units, 0 if implicit.
    """

    row: Tensor
    start: Tensor
    length: Tensor

    @property
    def end(self) -> Tensor:
        """The unit after the last."""
        return self.start + self.length

    @property
    def explicit(self) -> Tensor:
        """Whether the term stands in the text."""
        return self.start >= 0

    def at(self, places: Tensor) -> Terms:
        """Some of them."""
        return Terms(*(column[places] for column in self))


class Pairs(NamedTuple):
    """Pairs of an aspect and an opinion of the same window. All of shape (P,).

    Args:
        aspect: The number of the aspect.
        opinion: The number of the opinion.
        bucket: Of the distance.
    """

    aspect: Tensor
    opinion: Tensor
    bucket: Tensor


def valid_spans(lengths: Tensor, units: int, width: int) -> Tensor:
    """Whether the span of each length that begins at each unit ends in its window. Shape (B, units, width)."""
    places = torch.arange(units, device=lengths.device)[:, None] + torch.arange(width, device=lengths.device)
    return places < lengths[:, None, None]


def likely_terms(
    probability: Tensor, threshold: float, most: int, *, implicit: bool, also: Tensor | None = None
) -> Terms:
    """The spans whose probability reaches a threshold, and others.

    Args:
        probability: 0 where there is no span. Shape (B, L, K).
        threshold: The least probability.
        most: The most spans of a window, the likeliest ones.
        implicit: Whether the implicit term is one too, in each window.
        also: Numbers of spans, ``(row * L + start) * K + length - 1``, that are terms whatever their probability.
    """
    batch, length, width = probability.shape
    flat = probability.reshape(batch, -1)
    if flat.size(1) > most:
        least = flat.topk(most, 1).values[:, -1:]
        flat = torch.where(flat >= least, flat, torch.zeros_like(flat))
    found = (flat.reshape(-1) >= max(threshold, 1e-9)).nonzero().squeeze(1)
    if also is not None:
        found = torch.unique(torch.cat([found, also]))
    row, start = found // (length * width), found // width % length
    terms = Terms(row, start, found % width + 1)
    if not implicit:
        return terms
    rows = torch.arange(batch, device=found.device)
    none = Terms(rows, torch.full_like(rows, -1), torch.zeros_like(rows))
    joined = Terms(*(torch.cat(columns) for columns in zip(none, terms, strict=True)))
    return joined.at(torch.argsort(joined.row, stable=True))


def shifted_terms(spans: Tensor, valid: Tensor, share: float) -> Tensor:
    """Numbers, as :func:`likely_terms` takes them, of spans that begin or end a unit off some of the given ones.

    Args:
        spans: Whether each span is given. Shape (B, L, K).
        valid: Whether it is in its window. Shape (B, L, K).
        share: How many of the given ones are shifted, drawn by chance.
    """
    length, width = spans.shape[1:]
    row, start, last = spans.nonzero(as_tuple=True)
    drawn = torch.rand(2, len(row), device=row.device)
    by = torch.where(drawn[1] < 0.5, -1, 1)
    of_start = drawn[0] < share / 2
    start, last = torch.where(of_start, start + by, start), torch.where(of_start, last - by, last + by)
    good = (drawn[0] < share) & (start >= 0) & (start < length) & (last >= 0) & (last < width)
    row, start, last = row[good], start[good], last[good]
    inside = valid[row, start, last]
    return ((row * length + start) * width + last)[inside]


def paired(aspects: Terms, opinions: Terms, windows: int, most_distance: int) -> Pairs:
    """Every aspect with every opinion of its window that is near enough and not the same span.

    Args:
        aspects: Sorted by window.
        opinions: Likewise.
        windows: Number of windows.
        most_distance: Most units between the two.
    """
    of_row = torch.bincount(opinions.row, minlength=windows)
    first = of_row.cumsum(0) - of_row
    count = of_row[aspects.row]
    aspect = torch.repeat_interleave(torch.arange(len(count), device=count.device), count)
    within = torch.arange(len(aspect), device=count.device) - (count.cumsum(0) - count)[aspect]
    opinion = first[aspects.row[aspect]] + within
    a, o = aspects.at(aspect), opinions.at(opinion)
    gap = torch.maximum(o.start - a.end, a.start - o.end)
    explicit = a.explicit & o.explicit
    same = explicit & (a.start == o.start) & (a.length == o.length)
    keep = (~explicit | (gap <= most_distance)) & ~same
    borders = torch.tensor(DISTANCES, device=gap.device)
    bucket = torch.bucketize(gap.clamp(min=0), borders) + (a.start > o.start) * (len(DISTANCES) + 1)
    bucket = torch.where(gap < 0, _OVERLAPPING, bucket)
    bucket = torch.where(a.explicit, bucket, _NO_ASPECT)
    bucket = torch.where(o.explicit, bucket, torch.where(a.explicit, _NO_OPINION, _NEITHER))
    return Pairs(aspect[keep], opinion[keep], bucket[keep])


def pair_keys(row: Tensor, aspect: Terms, opinion: Terms, units: int, width: int) -> Tensor:
    """A number for each pair that is equal for equal pairs of a batch.

    Args:
        row: The window. Shape (P,).
        aspect: Of each pair.
        opinion: Likewise.
        units: Units of the longest window.
        width: Most units of a term.
    """
    size = units * width + 1
    codes = [
        torch.where(term.explicit, term.start * width + term.length, torch.zeros_like(term.start))
        for term in (aspect, opinion)
    ]
    return (row * size + codes[0]) * size + codes[1]


def looked_up(keys: Tensor, known: Tensor) -> Tensor:
    """The place of each key among known ones, the last of equals; -1 where it is none of them. Shape (keys,)."""
    if not len(known):
        return torch.full_like(keys, -1)
    order = torch.argsort(known, stable=True)
    ordered = known[order]
    at = (torch.searchsorted(ordered, keys, right=True) - 1).clamp(min=0)
    return torch.where(ordered[at] == keys, order[at], -1)


def best_rivals(scores: Tensor, group: Tensor, groups: int, none: float) -> Tensor:
    """The best other score in the group of each.

    Args:
        scores: Shape (P,).
        group: Shape (P,).
        groups: Number of groups.
        none: Where there is no other, and the least value of the answer.
    """
    best = torch.full((groups,), none, dtype=scores.dtype, device=scores.device)
    first = best.scatter_reduce(0, group, scores, "amax")
    is_best = scores >= first[group]
    ties = torch.zeros(groups, dtype=torch.long, device=group.device).scatter_add(0, group, is_best.long())
    second = best.scatter_reduce(0, group, torch.where(is_best, none, scores), "amax")
    second = torch.where(ties > 1, first, second)
    return torch.where(is_best, second[group], first[group])

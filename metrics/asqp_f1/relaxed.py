"""Relaxed matches of aspect, opinion and sentiment (paper, Table 3 and equation 1)."""

from __future__ import annotations

from collections.abc import Iterator
from operator import add
from typing import Any, NamedTuple

import numpy as np

from .inputs import UNPARSABLE, Encoded, Flags, Ints
from .strict import Tally, tally

_CHUNK = 1 << 20
"""Pairs looked at in one go: bounds the memory."""

_THREADED = 1 << 16
"""Pairs from which on the distances are computed on all cores."""


class Edges(NamedTuple):
    """Pairs of a prediction and a gold quad that can match, and their distance."""

    predicted: Ints
    gold: Ints
    distance: Ints


def near(data: Encoded, limit: int) -> Edges:
    """All pairs of the same sample and sentiment whose distance is at most `limit`.

    The distance of (a, o) and (a', o') is min(lev(a+o, a'+o'), lev(o+a, o'+a')) in Unicode code points,
    + concatenation, an implicit term the empty string (paper, equation 1).
    """
    lengths, letters = _profile(data.terms)
    p, g = data.predictions, data.references
    size = [lengths[side.aspect] + lengths[side.opinion] for side in (p, g)]
    bags = [letters[side.aspect] | letters[side.opinion] for side in (p, g)]
    limit = min(limit, 2 * int(lengths.max()))
    found = [Edges(*(np.zeros(0, np.int64),) * 3)]
    for rows, others in _same_sentiment(data):
        # Cheap lower bounds of the distance: the difference in length, and letters that only one side has.
        close = np.abs(size[0][rows] - size[1][others]) <= limit
        rows, others = rows[close], others[close]
        mine, theirs = bags[0][rows], bags[1][others]
        close = np.bitwise_count(mine & ~theirs) <= limit
        close &= np.bitwise_count(theirs & ~mine) <= limit
        rows, others = rows[close], others[close]
        distance = distances(data, rows, others, limit)
        close = distance <= limit
        found.append(Edges(rows[close], others[close], distance[close]))
    return Edges(*map(np.concatenate, zip(*found, strict=True)))


def distances(data: Encoded, predicted: Ints, gold: Ints, limit: int | None = None) -> Ints:
    """Distance of each pair of a prediction and a gold quad; `limit` + 1 stands for all above a limit."""
    p, g = data.predictions, data.references
    spelled = ["", *data.terms[1:]]
    a, o, b, q = p.aspect[predicted], p.opinion[predicted], g.aspect[gold], g.opinion[gold]

    def of(mine: tuple[Ints, ...], theirs: tuple[Ints, ...]) -> Any:
        return _levenshtein(_spell(spelled, mine), _spell(spelled, theirs), limit)

    result = np.zeros(len(predicted), np.int64)
    # A term that both sides share at one end adds nothing to the distance, whichever way round.
    rest = np.flatnonzero((a == b) & (o != q))
    result[rest] = of((o[rest],), (q[rest],))
    rest = np.flatnonzero((a != b) & (o == q))
    result[rest] = of((a[rest],), (b[rest],))
    rest = np.flatnonzero((a != b) & (o != q))
    result[rest] = of((a[rest], o[rest]), (b[rest], q[rest]))
    rest = rest[result[rest] > 0]
    result[rest] = np.minimum(result[rest], of((o[rest], a[rest]), (q[rest], b[rest])))
    return result


def _spell(spelled: list[str], terms: tuple[Ints, ...]) -> list[str]:
    columns = [map(spelled.__getitem__, codes.tolist()) for codes in terms]
    return list(columns[0] if len(columns) == 1 else map(add, *columns))


def _levenshtein(left: list[str], right: list[str], limit: int | None) -> Any:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cpdist

    workers = -1 if len(left) >= _THREADED else 1
    return cpdist(left, right, scorer=Levenshtein.distance, score_cutoff=limit, dtype=np.int64, workers=workers)


def _profile(terms: list[str]) -> tuple[Ints, Any]:
    """Length of each term, and its letters as bits of one 64-bit word. The implicit term is empty."""
    spelled = ["", *terms[1:]]
    lengths = np.fromiter(map(len, spelled), np.int64, len(spelled))
    points = np.frombuffer("".join(spelled).encode("utf-32-le", "surrogatepass"), np.uint32)
    bits = np.append(np.uint64(1) << (points % 61).astype(np.uint64), np.uint64(0))
    letters = np.bitwise_or.reduceat(bits, np.cumsum(lengths) - lengths)
    return lengths, np.where(lengths > 0, letters, np.uint64(0))


def _same_sentiment(data: Encoded) -> Iterator[tuple[Ints, Ints]]:
    """Pairs of rows of the same sample and sentiment, without unparsable ones."""
    sides = (data.predictions, data.references)
    rows = [np.flatnonzero(side.parsable) for side in sides]
    groups = [(side.sample * UNPARSABLE + side.sentiment)[kept] for side, kept in zip(sides, rows, strict=True)]
    for left, right in pairs(groups[0], groups[1]):
        yield rows[0][left], rows[1][right]


def pairs(left: Ints, right: Ints) -> Iterator[tuple[Ints, Ints]]:
    """All pairs of places in two lists whose groups are equal, in chunks.

    Args:
        left: Group of each member of one list, a non-negative integer.
        right: Group of each member of the other.
    """
    order = np.argsort(right, kind="stable")
    sizes = np.bincount(right, minlength=int(left.max(initial=-1)) + 1)
    starts = np.cumsum(sizes) - sizes
    partners = sizes[left]
    ends = np.cumsum(partners)
    row = 0
    while row < len(left):
        before = int(ends[row - 1]) if row else 0
        stop = max(int(np.searchsorted(ends, before + _CHUNK, side="right")), row + 1)
        some = slice(row, stop)
        rows = np.repeat(np.arange(row, stop), partners[some])
        within = np.arange(len(rows)) - np.repeat(ends[some] - partners[some] - before, partners[some])
        yield rows, order[starts[left[rows]] + within]
        row = stop


def matched(data: Encoded, edges: Edges, threshold: int, matching: str, *, category: bool) -> Tally:
    """Counts of what matches within a threshold.

    Args:
        data: Both sides.
        edges: Pairs up to a distance of at least `threshold`.
        threshold: Largest distance of a match.
        matching: ``"one_to_one"`` takes a maximum-cardinality matching in each sample; ``"any"`` takes
            every row that has a partner.
        category: Whether the categories must be equal too.
    """
    keep = edges.distance <= threshold
    if category:
        keep &= data.predictions.category[edges.predicted] == data.references.category[edges.gold]
    rows, others = edges.predicted[keep], edges.gold[keep]
    right = np.zeros(len(data.predictions.sample), bool)
    found = np.zeros(len(data.references.sample), bool)
    if matching == "one_to_one":
        rows, others = maximum_matching(rows, others)
    right[rows], found[others] = True, True
    return tally(data, right, found)


def maximum_matching(rows: Ints, others: Ints) -> tuple[Ints, Ints]:
    """Pairs of a maximum-cardinality matching of a bipartite graph, given by its edges.

    The graphs of all samples are one graph here: what is largest overall is largest in each.
    """
    alone = lone(rows, others)
    if alone.all():
        return rows, others
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    left, i = np.unique(rows[~alone], return_inverse=True)
    right, j = np.unique(others[~alone], return_inverse=True)
    graph = csr_array((np.ones(len(i), np.int8), (i, j)), shape=(len(left), len(right)))
    partner = maximum_bipartite_matching(graph, perm_type="column")
    matched = partner >= 0
    return (
        np.concatenate([rows[alone], left[matched]]),
        np.concatenate([others[alone], right[partner[matched]]]),
    )


def lone(rows: Ints, others: Ints) -> Flags:
    """Which edges touch no other edge."""
    if not len(rows):
        return np.zeros(0, bool)
    single: Flags = (np.bincount(rows)[rows] == 1) & (np.bincount(others)[others] == 1)
    return single

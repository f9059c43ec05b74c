"""What is wrong with the wrong predictions (paper, Figure 3)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .inputs import ELEMENTS, Encoded, Flags, Ints, Quads, encode
from .relaxed import distances, lone, pairs
from .strict import exact

SPANS = ("boundary", "implicit", "other")
"""How two different terms relate: they overlap, one of them is implicit, neither."""


class Error(NamedTuple):
    """One wrong prediction with the gold quad it is nearest to, or one of them alone.

    Args:
        sample: Index of the sample.
        kind: The elements that differ, joined by ``+``; ``"spurious"`` for a prediction and ``"missed"``
            for a gold quad without a partner.
        prediction: The predicted quad.
        prediction_index: Its place in the sample.
        gold: The gold quad.
        gold_index: Its place in the sample.
        aspect: If the aspects differ, one of :data:`SPANS`.
        opinion: If the opinions differ, one of :data:`SPANS`.
    """

    sample: int
    kind: str
    prediction: tuple[str, str, str, str] | None = None
    prediction_index: int | None = None
    gold: tuple[str, str, str, str] | None = None
    gold_index: int | None = None
    aspect: str | None = None
    opinion: str | None = None


def find_errors(predictions: Any, references: Any, *, normalize: str | None = None) -> list[Error]:
    """Name every error, in the order of the samples.

    After the exact matches are taken out, the predictions and golds that remain in a sample are assigned to
    each other one to one so that the total number of equal elements is greatest, and of such assignments
    the total distance (see :func:`asqp_f1.score`) least. Pairs with no equal element are not made.

    Args:
        predictions: In any form that :func:`asqp_f1.score` takes.
        references: Gold quads.
        normalize: As in :func:`asqp_f1.score`; the quads of the result are folded too.

    Raises:
        ScoreError: As :func:`asqp_f1.score`.
    """
    data = encode(predictions, references, normalize=normalize)
    return sorted(_named(data, *exact(data, ELEMENTS)), key=_place)


def _place(error: Error) -> tuple[int, bool, int]:
    index = error.gold_index if error.prediction_index is None else error.prediction_index
    return error.sample, error.prediction_index is None, index or 0


def _named(data: Encoded, right: Flags, found: Flags) -> Iterator[Error]:
    sides = (data.predictions, data.references)
    firsts = [np.cumsum(side.counts) - side.counts for side in sides]
    spans = _Spans(data.terms)

    def about(which: int, row: int) -> dict[str, Any]:
        index = row - int(firsts[which][sides[which].sample[row]])
        name = ("prediction", "gold")[which]
        return {name: data.strings(sides[which], row), f"{name}_index": index}

    rows = assign(data, ~right, ~found)
    for i, j in zip(*(side.tolist() for side in rows), strict=True):
        differ = [name for name in ELEMENTS if getattr(sides[0], name)[i] != getattr(sides[1], name)[j]]
        how: dict[str, Any] = {
            name: spans.relation(int(getattr(sides[0], name)[i]), int(getattr(sides[1], name)[j]))
            for name in differ
            if name in ("aspect", "opinion")
        }
        yield Error(int(sides[0].sample[i]), "+".join(differ), **about(0, i), **about(1, j), **how)
    for which, wrong, kind in ((0, ~right, "spurious"), (1, ~found, "missed")):
        for row in np.setdiff1d(np.flatnonzero(wrong), rows[which]).tolist():
            yield Error(int(sides[which].sample[row]), kind, **about(which, row))


def summary(data: Encoded, right: Flags, found: Flags) -> dict[str, Any]:
    """Counts of errors, and their shares of the wrong predictions.

    Args:
        data: Both sides.
        right: Predictions with an exact match.
        found: Gold quads with an exact match.

    Returns:
        ``wrong`` predictions and ``missed`` golds; ``spurious`` predictions; ``elements``, for each the pairs
        in which it differs, for aspect and opinion by :data:`SPANS` too; ``combinations`` of elements that
        differ. A prediction is in one combination or spurious, and in several elements.
    """
    rows, others = assign(data, ~right, ~found)
    wrong, spans = int((~right).sum()), _Spans(data.terms)

    def entry(count: int) -> dict[str, Any]:
        return {"count": count, "share": count / wrong if wrong else 0.0}

    codes = np.zeros(len(rows), np.int64)
    elements: dict[str, dict[str, Any]] = {}
    for bit, name in enumerate(ELEMENTS):
        mine, theirs = getattr(data.predictions, name)[rows], getattr(data.references, name)[others]
        differ = mine != theirs
        codes += differ * (1 << bit)
        elements[name] = entry(int(differ.sum()))
        if name in ("aspect", "opinion"):
            kinds = Counter(map(spans.relation, mine[differ].tolist(), theirs[differ].tolist()))
            elements[name] |= {kind: kinds[kind] for kind in SPANS}
    combinations = {
        "+".join(name for bit, name in enumerate(ELEMENTS) if code >> bit & 1): count
        for code, count in Counter(codes.tolist()).items()
    }
    return {
        "wrong": wrong,
        "missed": int((~found).sum()) - len(rows),
        "spurious": entry(wrong - len(rows)),
        "elements": elements,
        "combinations": {
            name: entry(count) for name, count in sorted(combinations.items(), key=lambda x: (-x[1], x[0]))
        },
    }


def assign(data: Encoded, wrong: Flags, missed: Flags) -> tuple[Ints, Ints]:
    """Pairs of rows of wrong predictions and golds not found; see :func:`find_errors`.

    What the two rules leave open is settled by the order of the strings, so that the result does not depend on
    the order of the input.
    """
    p, g = data.predictions, data.references
    rows = _in_order(data, p, wrong & p.parsable), _in_order(data, g, missed & g.parsable)
    edges = [(np.zeros(0, np.int64),) * 3]
    for left, right in pairs(p.sample[rows[0]], g.sample[rows[1]]):
        i, j = rows[0][left], rows[1][right]
        equal = sum((getattr(p, name)[i] == getattr(g, name)[j]).astype(np.int64) for name in ELEMENTS)
        some = equal > 0
        edges.append((left[some], right[some], equal[some]))
    left, right, equal = map(np.concatenate, zip(*edges, strict=True))
    alone = lone(left, right)
    distance = np.zeros(len(left), np.int64)
    distance[~alone] = distances(data, rows[0][left[~alone]], rows[1][right[~alone]])
    crowded = _assign_crowded(
        p.sample[rows[0][left[~alone]]], left[~alone], right[~alone], equal[~alone], distance[~alone]
    )
    chosen = (np.concatenate([left[alone], crowded[0]]), np.concatenate([right[alone], crowded[1]]))
    return rows[0][chosen[0]], rows[1][chosen[1]]


def _in_order(data: Encoded, quads: Quads, mask: Flags) -> Ints:
    """Rows of a side by sample and strings."""
    ranks = []
    for names in (data.categories, data.terms):
        rank = np.empty(len(names), np.int64)
        rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        ranks.append(rank)
    rows = np.flatnonzero(mask)
    columns = (ranks[0][quads.category], ranks[1][quads.aspect], ranks[1][quads.opinion], quads.sentiment)
    return rows[np.lexsort([column[rows] for column in (*reversed(columns), quads.sample)])]


def _assign_crowded(sample: Ints, left: Ints, right: Ints, equal: Ints, distance: Ints) -> tuple[Ints, Ints]:
    """The best assignment in each sample, from the edges of all, sorted by sample."""
    from scipy.optimize import linear_sum_assignment

    if not len(sample):
        return left, right
    starts = np.flatnonzero(np.diff(sample, prepend=-1))
    sizes = np.diff([*starts, len(sample)])
    # Rows are numbered by sample first, so that those of one sample are a range of the distinct ones.
    (mine, i), (theirs, j) = (np.unique(side, return_inverse=True) for side in (left, right))
    first = [np.minimum.reduceat(side, starts) for side in (i, j)]
    shape = [np.maximum.reduceat(side, starts) - low + 1 for side, low in zip((i, j), first, strict=True)]
    # One equal element more outweighs any sum of distances.
    unit = 1 + np.maximum.reduceat(distance, starts) * np.minimum(*shape)
    value = equal * np.repeat(unit, sizes) - distance
    i, j = i - np.repeat(first[0], sizes), j - np.repeat(first[1], sizes)
    made = ([np.zeros(0, np.int64)], [np.zeros(0, np.int64)])
    for k, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        edges = slice(start, start + size)
        worth = np.zeros((shape[0][k], shape[1][k]))
        worth[i[edges], j[edges]] = value[edges]
        row, column = linear_sum_assignment(worth, maximize=True)
        kept = worth[row, column] > 0
        made[0].append(row[kept] + first[0][k])
        made[1].append(column[kept] + first[1][k])
    return mine[np.concatenate(made[0])], theirs[np.concatenate(made[1])]


class _Spans:
    """How two terms relate, each pair of terms looked at once."""

    def __init__(self, terms: list[str]) -> None:
        self._terms = terms
        self._known: dict[tuple[int, int], str] = {}

    def relation(self, mine: int, theirs: int) -> str:
        if not mine or not theirs:
            return "implicit"
        known = self._known.get((mine, theirs))
        if known is None:
            known = "boundary" if overlap(self._terms[mine], self._terms[theirs]) else "other"
            self._known[mine, theirs] = known
        return known


_HAN_KANA = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_HAN_KANA}]|[^\W{_HAN_KANA}]+|[^\w\s]")


def overlap(a: str, b: str) -> bool:
    """Whether two terms can be overlapping spans of one text.

    So they are if one contains the other, or one ends with the words that the other begins with. A word is a
    run of letters and digits, in Chinese and Japanese a single character.

    Example:
        >>> overlap("不大", "大"), overlap("屏幕不", "不大"), overlap("great price", "excellent")
        (True, True, False)
    """
    if a in b or b in a:
        return True
    left, right = _WORD.findall(a), _WORD.findall(b)
    sizes = range(1, min(len(left), len(right)) + 1)
    return any(left[-size:] == right[:size] or right[-size:] == left[:size] for size in sizes)

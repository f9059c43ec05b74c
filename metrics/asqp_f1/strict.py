"""Exact matches: whole quads, exact triples, breakdowns, sub-tasks, and two published ways of counting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .inputs import ELEMENTS, SENTIMENTS, Encoded, Flags, Ints, Quads

SUBTASKS = {
    "ACD": ("category",),
    "ATE": ("aspect",),
    "OTE": ("opinion",),
    "AOPE": ("aspect", "opinion"),
    "ACSA": ("category", "sentiment"),
    "E2E-ABSA": ("aspect", "sentiment"),
    "TASD": ("category", "aspect", "sentiment"),
    "ASTE": ("aspect", "opinion", "sentiment"),
}
"""Sub-tasks of aspect-based sentiment analysis, and the elements of a quad that each is about."""

EXPLICITNESS = ("EA&EO", "EA&IO", "IA&EO", "IA&IO")
"""Explicit or implicit aspect and opinion (paper, Table 1)."""

QUADS_PER_SAMPLE = ("1", "2", "3", "4", "5+")


class Tally(NamedTuple):
    """Counts per sample; each an integer array of shape (samples,).

    Args:
        right: Right predictions, the numerator of precision.
        found: Gold quads found, the numerator of recall; the same number where matching is one to one.
        predicted: Predictions.
        gold: Gold quads.
    """

    right: Ints
    found: Ints
    predicted: Ints
    gold: Ints


def tally(data: Encoded, right: Flags, found: Flags) -> Tally:
    """Counts per sample from flags per row."""
    p, g = data.predictions, data.references
    tp = [np.bincount(samples, minlength=data.samples) for samples in (p.sample[right], g.sample[found])]
    return Tally(tp[0], tp[1], p.counts, g.counts)


def pack(*columns: tuple[Ints, int]) -> Ints:
    """One integer per row that is equal where all columns are; each comes with its number of values."""
    packed, size = columns[0]
    for column, values in columns[1:]:
        if size * values >= 2**62:
            distinct, packed = np.unique(packed, return_inverse=True)
            size = len(distinct)
        packed, size = packed * values + column, size * values
    return packed


def keys(data: Encoded, elements: Sequence[str]) -> tuple[Ints, Ints]:
    """Keys of predictions and golds that are equal for equal elements in the same sample."""
    sizes = {
        "category": len(data.categories),
        "aspect": len(data.terms),
        "opinion": len(data.terms),
        "sentiment": len(SENTIMENTS) + 1,
    }
    sides = (data.predictions, data.references)
    columns = [(np.concatenate([getattr(side, name) for side in sides]), sizes[name]) for name in elements]
    both = pack((np.concatenate([side.sample for side in sides]), max(data.samples, 1)), *columns)
    return both[: len(sides[0].sample)], both[len(sides[0].sample) :]


def occurrence(key: Ints) -> Ints:
    """How many equal keys stand before each key."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    first = np.concatenate([np.ones(min(len(key), 1), bool), ordered[1:] != ordered[:-1]])
    starts = np.flatnonzero(first)
    place = np.empty(len(key), np.int64)
    place[order] = np.arange(len(key)) - np.repeat(starts, np.diff([*starts, len(key)]))
    return place


def among(key: Ints, others: Ints) -> Ints:
    """How often each key stands among others."""
    distinct, counts = np.unique(others, return_counts=True)
    if not len(distinct):
        return np.zeros(len(key), np.int64)
    place = np.minimum(np.searchsorted(distinct, key), len(distinct) - 1)
    return np.where(distinct[place] == key, counts[place], 0)


def exact(data: Encoded, elements: Sequence[str]) -> tuple[Flags, Flags]:
    """Multiset intersection per sample: of k equal golds, the first k equal predictions are right.

    Returns:
        Which predictions are right, and which gold quads are found.
    """
    predicted, gold = keys(data, elements)
    right = (occurrence(predicted) < among(predicted, gold)) & data.predictions.parsable
    found = (occurrence(gold) < among(gold, predicted)) & data.references.parsable
    return right, found


def absa_quad(data: Encoded) -> Tally:
    """As ABSA-QUAD counts (Zhang et al., EMNLP 2021): each prediction that is in the gold list is right.

    A repeated prediction is right each time, so that recall can pass 1, and an unparsable output is one
    prediction, which is right where a gold target is unparsable too.
    """
    predicted, gold = keys(data, ELEMENTS)
    right = np.bincount(data.predictions.sample[among(predicted, gold) > 0], minlength=data.samples)
    return Tally(right, right, data.predictions.counts, data.references.counts)


def acos(data: Encoded) -> Tally:
    """As Extract-Classify-ACOS counts (Cai et al., ACL 2021): distinct classes for each pair of terms.

    Equal predictions count once. Gold quads of one sample that share aspect and opinion are one gold
    element, which no prediction equals. Pairs are told apart by their strings; the original has offsets.
    An unparsable output is one wrong prediction.
    """
    predicted, gold = keys(data, ELEMENTS)
    _, pair = keys(data, ("aspect", "opinion"))
    counted = occurrence(predicted) == 0
    alone = among(pair, pair) == 1
    right, distinct, pairs = (
        np.bincount(rows, minlength=data.samples)
        for rows in (
            data.predictions.sample[counted & (among(predicted, gold[alone]) > 0)],
            data.predictions.sample[counted],
            data.references.sample[occurrence(pair) == 0],
        )
    )
    return Tally(right, right, distinct, pairs)


def explicitness(quads: Quads) -> Ints:
    """Place of each quad in :data:`EXPLICITNESS`; -1 if unparsable."""
    return np.where(quads.parsable, 2 * (quads.aspect == 0) + (quads.opinion == 0), -1)


def category_level1(category: str) -> str:
    """First level of a category: what stands before ``#``, else before a space, else all of it."""
    for separator in ("#", " "):
        if separator in category:
            return category.split(separator, 1)[0]
    return category


Counts = tuple[int, int, int]
"""tp, predicted, gold."""


def _by_group(right: Flags, predicted: Ints, gold: Ints, names: Sequence[str]) -> dict[str, Counts]:
    """Counts per group; the group of a row is an index into `names`, -1 for none."""
    rows = (predicted[right & (predicted >= 0)], predicted[predicted >= 0], gold[gold >= 0])
    columns = [np.bincount(groups, minlength=len(names)).tolist() for groups in rows]
    return dict(zip(names, zip(*columns, strict=True), strict=True))


def breakdown(data: Encoded, right: Flags, protocol: str | None) -> dict[str, dict[str, Counts]]:
    """Strict counts by implicitness (Table 4), category, first category level, sentiment, golds per sample.

    A quad belongs to a group by what it says itself; with the protocol ``acos``, the groups by
    implicitness hold all quads of the samples that have at least one gold quad of that type.
    Unparsable outputs belong to no type, category or sentiment. Samples without gold quads make the group
    "0" of the last table, which is there only if such a sample has predictions.

    Args:
        data: Both sides.
        right: Which predictions are right.
        protocol: ``"acos"`` changes the groups by implicitness.
    """
    p, g = data.predictions, data.references
    categories = [np.where(side.parsable, side.category, -1) for side in (p, g)]
    sentiments = [np.where(side.parsable, side.sentiment, -1) for side in (p, g)]
    names = sorted(set(map(category_level1, data.categories)))
    codes = {name: code for code, name in enumerate(names)}
    level1 = np.array([*(codes[category_level1(name)] for name in data.categories), -1])
    sizes = np.minimum(g.counts, len(QUADS_PER_SAMPLE))
    by_size = _by_group(right, sizes[p.sample], sizes[g.sample], ("0", *QUADS_PER_SAMPLE))
    if not any(by_size["0"]):
        del by_size["0"]
    by_category = _by_group(right, categories[0], categories[1], data.categories)
    by_level1 = _by_group(right, level1[categories[0]], level1[categories[1]], names)
    return {
        "by_implicitness": _acos_implicitness(data)
        if protocol == "acos"
        else _by_group(right, explicitness(p), explicitness(g), EXPLICITNESS),
        "by_category": {name: counts for name, counts in sorted(by_category.items()) if any(counts)},
        "by_category_level1": {name: counts for name, counts in by_level1.items() if any(counts)},
        "by_sentiment": _by_group(right, sentiments[0], sentiments[1], SENTIMENTS),
        "by_quads_per_sample": by_size,
    }


def _acos_implicitness(data: Encoded) -> dict[str, Counts]:
    counts, types = acos(data), explicitness(data.references)
    table = {}
    for code, name in enumerate(EXPLICITNESS):
        samples = np.unique(data.references.sample[types == code])
        tp, _, predicted, gold = (int(column[samples].sum()) for column in counts)
        table[name] = (tp, predicted, gold)
    return table


def subtasks(data: Encoded, protocol: str | None) -> dict[str, Counts]:
    """Strict counts over the distinct sub-tuples of each sample, for each of :data:`SUBTASKS`.

    Implicit terms take part as ``NULL``, but for ATE and OTE. With the protocol ``acos`` they take part
    there too, and the gold quads of a shared pair are one element, with a category of its own and the
    sentiment of the last of them in the order given. Unparsable outputs take no part.
    """
    if protocol == "acos":
        data = _shared_pairs_joined(data)
    table = {}
    for name, elements in SUBTASKS.items():
        distinct = []
        for side, key in zip((data.predictions, data.references), keys(data, elements), strict=True):
            keep = side.parsable
            if protocol != "acos" and elements in (("aspect",), ("opinion",)):
                keep = keep & (getattr(side, elements[0]) != 0)
            distinct.append(np.unique(key[keep]))
        common = np.intersect1d(distinct[0], distinct[1], assume_unique=True)
        table[name] = (len(common), len(distinct[0]), len(distinct[1]))
    return table


def _shared_pairs_joined(data: Encoded) -> Encoded:
    g = data.references
    _, pair = keys(data, ("aspect", "opinion"))
    shared = np.flatnonzero(among(pair, pair) > 1)
    rows: dict[int, list[int]] = {}
    for row in shared.tolist():
        rows.setdefault(int(pair[row]), []).append(row)
    category, sentiment, names = g.category.copy(), g.sentiment.copy(), list(data.categories)
    joined: dict[str, int] = {}
    for same in rows.values():
        labels = [f"{data.categories[g.category[row]]}#{SENTIMENTS[g.sentiment[row]]}" for row in same]
        name = " ".join([*labels[:-1], data.categories[g.category[same[-1]]]])
        category[same] = joined.setdefault(name, len(names))
        if joined[name] == len(names):
            names.append(name)
        sentiment[same] = g.sentiment[same[-1]]
    return data._replace(references=g._replace(category=category, sentiment=sentiment), categories=names)

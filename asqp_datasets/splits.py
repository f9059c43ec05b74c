"""Splitting a corpus: exact sizes, seeded, stratified, and no text on two sides.

The paper splits Car-ASQP and Digital-ASQP 7:1.5:1.5 (section 3) and says no more. Here the sizes are exact by
largest remainder; copies and near copies of a text stay together (:mod:`asqp_datasets.duplicates`); and each
pair of first-level category and sentiment is spread in the same proportions, rarest first, as iterative
stratification does (Sechidis et al. 2011).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from asqp_datasets.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SPLITS = ("train", "validation", "test")
"""The names of the splits, in the order of a ratio's parts."""

DEFAULT_RATIO = "7:1.5:1.5"

_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


def parse_ratio(ratio: str) -> tuple[Fraction, ...]:
    """The shares of train, validation and test in ``7:1.5:1.5``.

    Raises:
        UsageError: It is not three non-negative numbers, the first of them positive.
    """
    fields = [part.strip() for part in ratio.split(":")]
    parts = [Fraction(part) for part in fields] if all(map(_NUMBER.fullmatch, fields)) else []
    if len(parts) != len(SPLITS) or min(parts) < 0 or parts[0] == 0:
        raise UsageError(f"split: found {ratio!r}, expected train:validation:test such as {DEFAULT_RATIO}")
    return tuple(part / sum(parts) for part in parts)


def sizes(total: int, shares: Sequence[Fraction]) -> list[int]:
    """Whole numbers that add up to ``total``, nearest to the shares, by largest remainder."""
    quotas = [total * share for share in shares]
    result = [int(quota) for quota in quotas]
    by_remainder = sorted(range(len(shares)), key=lambda i: (result[i] - quotas[i], i))
    for index in by_remainder[: total - sum(result)]:
        result[index] += 1
    return result


def assign(
    groups: Sequence[int] | npt.NDArray[np.int64],
    labels: Sequence[Sequence[int]],
    ratio: str = DEFAULT_RATIO,
    *,
    seed: int = 0,
) -> list[int]:
    """Choose a split for every sample.

    Groups of copies are dealt out first, the largest first, then single samples, those with the rarest labels first.
    Each goes to the split that lacks most of what it brings: the sum, over its labels and its place, of the share of
    the split's quota that is still open.

    Args:
        groups: A number for each sample; samples with the same number go to the same split.
        labels: For each sample, the numbers of its (first-level category, sentiment) pairs, from 0.
        ratio: Shares of train, validation and test.
        seed: Another seed, another split; the same seed and samples, the same split.

    Returns:
        An index into :data:`SPLITS` for each sample. The sizes are exact unless the groups of copies are so
        large that no exact filling was found; then they are as near as the groups allow.

    Raises:
        UsageError: The ratio cannot be read.
    """
    import numpy as np

    shares = parse_ratio(ratio)
    room = sizes(len(groups), shares)
    totals = [0] * (1 + max((label for own in labels for label in own), default=-1))
    for own in labels:
        for label in own:
            totals[label] += 1
    rarity = sorted(range(len(totals)), key=lambda label: (totals[label], label))
    rank = {label: place for place, label in enumerate(rarity)}

    _, group_of, counts = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    samples = np.argsort(group_of, kind="stable")  # the samples, group by group
    starts = np.concatenate([[0], np.cumsum(counts)])
    rarest_of = np.fromiter(
        (min((rank[label] for label in own), default=len(rank)) for own in labels), np.int32, len(labels)
    )
    rarest = np.minimum.reduceat(rarest_of[samples], starts[:-1]) if len(counts) else rarest_of
    shuffled = np.random.default_rng(seed).permutation(len(counts))
    queue = np.lexsort((shuffled, rarest, -counts))

    quotas = [[float(share) * total for total in totals] for share in shares]
    part = [[1 / quota if quota else 0.0 for quota in row] for row in quotas]  # what one sample is of the quota
    place = [1 / size if size else 0.0 for size in room]
    result = [0] * len(groups)
    for group in queue.tolist():
        members = samples[starts[group] : starts[group + 1]].tolist()
        own = [label for sample in members for label in labels[sample]]
        fitting = [split for split in range(len(shares)) if room[split] >= len(members)]
        best = _best(fitting, room, place, quotas, part, own)
        for sample in members:
            result[sample] = best
        room[best] -= len(members)
        for label in own:
            quotas[best][label] -= 1
    return result


def _best(
    fitting: list[int],
    room: list[int],
    place: list[float],
    quotas: list[list[float]],
    part: list[list[float]],
    own: list[int],
) -> int:
    """The split that lacks most of what a group brings; the roomiest where no split has room for all of it."""
    if not fitting:
        return max(range(len(room)), key=room.__getitem__)
    best, most = fitting[0], -math.inf
    for split in fitting:
        open_quotas, parts = quotas[split], part[split]
        need = room[split] * place[split]
        for label in own:
            need += open_quotas[label] * parts[label]
        if need > most:
            best, most = split, need
    return best

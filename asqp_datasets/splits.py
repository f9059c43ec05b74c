"""Splitting a corpus: exact sizes, seeded, stratified, and no text on two sides.

The paper splits Car-ASQP and Digital-ASQP 7:1.5:1.5 (section 3) and says no more. Here the sizes are exact by
largest remainder; copies and near copies of a text stay together (:mod:`asqp_datasets.duplicates`); and each
pair of first-level category and sentiment is spread in the same proportions, rarest first, as iterative
stratification does (Sechidis et al. 2011).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import groupby

from asqp_datasets.errors import UsageError

SPLITS = ("train", "validation", "test")
"""The names of the splits, in the order of a ratio's parts."""

DEFAULT_RATIO = "7:1.5:1.5"


def parse_ratio(ratio: str) -> tuple[Fraction, ...]:
    """The shares of train, validation and test in ``7:1.5:1.5``.

    Raises:
        UsageError: It is not three non-negative numbers, the first of them positive.
    """
    try:
        parts = [Fraction(part.strip()) for part in ratio.split(":")]
    except (ValueError, ZeroDivisionError):
        parts = []
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
    groups: Sequence[int], labels: Sequence[Iterable[int]], ratio: str = DEFAULT_RATIO, *, seed: int = 0
) -> list[int]:
    """Choose a split for every sample.

    Args:
        groups: A number for each sample; samples with the same number go to the same split.
        labels: For each sample, the numbers of its (first-level category, sentiment) pairs.
        ratio: Shares of train, validation and test.
        seed: Another seed, another split; the same seed and samples, the same split.

    Returns:
        An index into :data:`SPLITS` for each sample. The sizes are exact unless the groups of copies are so
        large that no exact filling was found; then they are as near as the groups allow.

    Raises:
        UsageError: The ratio cannot be read.
    """
    shares = parse_ratio(ratio)
    total = len(groups)
    room = sizes(total, shares)
    members: dict[int, list[int]] = {}
    for sample, group in enumerate(groups):
        members.setdefault(group, []).append(sample)
    order = list(members.values())
    random.Random(seed).shuffle(order)

    counts = [Counter(label for sample in group for label in labels[sample]) for group in order]
    totals: Counter[int] = Counter()
    for count in counts:
        totals.update(count)
    wanted = [{label: float(share * n) for label, n in totals.items()} for share in shares]
    rarest = [min(count, key=lambda label: (totals[label], label), default=-1) for count in counts]
    # Groups of copies first, largest first, while there is room for them anywhere; then the rarest label first.
    queue = sorted(range(len(order)), key=lambda i: (-len(order[i]), totals[rarest[i]], rarest[i]))
    result = [0] * total
    for size, group_ids in groupby(queue, key=lambda i: len(order[i])):
        for group in group_ids:
            label = rarest[group]
            fitting = [s for s in range(len(shares)) if room[s] >= size] or [
                max(range(len(shares)), key=room.__getitem__)
            ]
            split = max(fitting, key=lambda s: (wanted[s].get(label, 0.0), room[s] / (shares[s] or 1), -s))
            for sample in order[group]:
                result[sample] = split
            room[split] -= size
            for other, n in counts[group].items():
                wanted[split][other] -= n
    return result

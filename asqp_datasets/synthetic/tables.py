"""Weighted tables, and the weights at which the mean length of what they hold is a given one."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Random = Callable[[], float]


class Table(Generic[T]):
    """Items with weights; ``items[bisect(cumulative, r())]`` draws one.

    Args:
        items: What to draw.
        weights: As many positive numbers, of any sum.
    """

    __slots__ = ("cumulative", "items", "weights")

    def __init__(self, items: Sequence[T], weights: Sequence[float]) -> None:
        self.items = list(items)
        self._weigh(weights)

    def _weigh(self, weights: Sequence[float]) -> None:
        total = math.fsum(weights)
        self.weights = [weight / total for weight in weights]
        self.cumulative = list(accumulate(self.weights))
        if self.cumulative:
            self.cumulative[-1] = 1.0

    def draw(self, r: Random) -> T:
        """An item by its weight."""
        return self.items[bisect(self.cumulative, r())]

    def tilt(self, length: Callable[[T], float], factor: float) -> None:
        """Multiply the weights by ``exp(factor * length(item))``."""
        pairs = zip(self.items, self.weights, strict=True)
        self._weigh([weight * math.exp(factor * length(item)) for item, weight in pairs])


def ranked(count: int, exponent: float) -> list[float]:
    """Weights that fall with the rank, ``rank ** -exponent``, and sum to 1."""
    weights = [(rank + 1.0) ** -exponent for rank in range(count)]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def fit(parts: Sequence[tuple[float, Table[Any]]], length: Callable[[Any], float], target: float) -> None:
    """Tilt tables by one factor, so that ``sum(share * mean length)`` over them is the target.

    Args:
        parts: Shares and tables; a table may come several times.
        length: The length of an item.
        target: What the sum is to be.
    """
    histograms: dict[int, dict[float, float]] = {}
    shares: dict[int, float] = {}
    tables = {id(table): table for _, table in parts}
    for share, table in parts:
        shares[id(table)] = shares.get(id(table), 0.0) + share
    for key, table in tables.items():
        histogram = histograms[key] = {}
        for item, weight in zip(table.items, table.weights, strict=True):
            n = length(item)
            histogram[n] = histogram.get(n, 0.0) + weight

    def value(factor: float) -> float:
        total = 0.0
        for key, histogram in histograms.items():
            tilted = [(n, weight * math.exp(factor * n)) for n, weight in histogram.items()]
            total += shares[key] * sum(n * weight for n, weight in tilted) / sum(weight for _, weight in tilted)
        return total

    low, high = -3.0, 3.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if value(middle) < target else (low, middle)
    for table in tables.values():
        table.tilt(length, (low + high) / 2)

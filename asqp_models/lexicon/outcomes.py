"""The category or the sentiment of a pair of terms, and of a text with neither."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from asqp_models.lexicon.matching import Floats, Ints

_WORD_STRENGTH = 5.0
_WORD_WEIGHT = 0.5


class Outcomes:
    """What was annotated with which label.

    Args:
        pairs: Rows of (aspect, opinion, label, count), -1 for an implicit term. Shape (rows, 4).
        words: Rows of (token, label, count), from texts with a quad with neither term. Shape (rows, 3).
        labels: Number of labels.
        aspect: Strength of the prior of an aspect's distribution, in occurrences.
        opinion: The same of an opinion's.
        pair: Strength of the back-off of a pair's, in occurrences.
    """

    def __init__(self, pairs: Ints, words: Ints, labels: int, *, aspect: float, opinion: float, pair: float) -> None:
        self._none = np.zeros(labels)
        self._pair = pair
        self._pairs: dict[tuple[int, int], Floats] = {}
        parts: tuple[dict[int, Floats], dict[int, Floats]] = ({}, {})
        for a, o, label, n in pairs.tolist():
            for part, key in zip(parts, (a, o), strict=True):
                part.setdefault(key, np.zeros(labels))[label] += n
            self._pairs.setdefault((a, o), np.zeros(labels))[label] += n
        total = np.bincount(pairs[:, 2], pairs[:, 3], labels) + 0.1
        self._prior = total / total.sum()
        self._parts = [
            {key: np.log((n + strength * self._prior) / (n.sum() + strength)) for key, n in part.items()}
            for part, strength in zip(parts, (aspect, opinion), strict=True)
        ]
        neither = self._pairs.get((-1, -1), self._none) + 0.1 * self._prior
        self._neither = neither / max(neither.sum(), 1e-9)
        self._words: dict[int, Floats] = {}
        for token, label, n in words.tolist():
            self._words.setdefault(token, np.zeros(labels))[label] += n

    def of_pairs(self, pairs: Sequence[tuple[int, int]]) -> Floats:
        """The distribution over labels of each pair.

        It is that of the pair's annotations, as far as there are any; else that of its parts, taken as
        independent.

        Args:
            pairs: Indexes of the terms of aspect and opinion, -1 if implicit.

        Returns:
            Shape (pairs, labels).
        """
        if not pairs:
            return np.zeros((0, len(self._none)))
        unknown = np.log(self._prior)
        aspects, opinions = (
            np.stack([part.get(pair[i], unknown) for pair in pairs]) for i, part in enumerate(self._parts)
        )
        backoff = _shares(aspects + opinions - unknown)
        counts = np.stack([self._pairs.get(pair, self._none) for pair in pairs])
        shares: Floats = (counts + self._pair * backoff) / (counts.sum(1, keepdims=True) + self._pair)
        return shares

    def of_text(self, tokens: Ints) -> Floats:
        """The distribution over labels of a quad with neither term, by the tokens of its text. Shape (labels,)."""
        score = np.log(self._neither)
        for token in sorted(set(tokens.tolist()) & self._words.keys()):
            counts = self._words[token]
            shares = (counts + _WORD_STRENGTH * self._neither) / (counts.sum() + _WORD_STRENGTH)
            score += _WORD_WEIGHT * (np.log(shares) - np.log(self._neither))
        return _shares(score)


def _shares(log: Floats) -> Floats:
    p = np.exp(log - log.max(-1, keepdims=True))
    shares: Floats = p / p.sum(-1, keepdims=True)
    return shares

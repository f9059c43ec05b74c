"""What the training set says of the category and the sentiment of a pair of terms."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from asqp_models.lexicon.matching import Floats, Ints

SOURCES = 3
"""Sources of evidence: the annotations of the aspect, of the opinion, and of the pair."""

_STRENGTH = 2.0  # of the prior, in occurrences

Logs = npt.NDArray[np.float32]


class LabelEvidence:
    """Shares of labels among the annotations of terms.

    Args:
        outcomes: Rows of (aspect, opinion, label, count): terms, or -1 if implicit. Shape (rows, 4).
        terms: Number of terms.
        labels: Number of labels.
    """

    def __init__(self, outcomes: Ints, terms: int, labels: int) -> None:
        self.terms, self.labels = terms, labels
        aspect, opinion, label, count = outcomes.T if len(outcomes) else np.zeros((4, 0), np.int64)
        total = np.bincount(label, count, labels) + 0.1
        self.prior: Floats = np.asarray(total / total.sum(), np.float64)
        self._keys = np.unique(self._pair(aspect, opinion))
        rows = (aspect + 1, opinion + 1, np.searchsorted(self._keys, self._pair(aspect, opinion)))
        sizes = (terms + 2, terms + 2, len(self._keys) + 1)
        self._counts: list[Any] = [
            csr_matrix((count.astype(np.float64), (row, label)), shape=(size, labels))
            for row, size in zip(rows, sizes, strict=True)
        ]

    def _pair(self, aspect: Ints, opinion: Ints) -> Ints:
        key: Ints = (aspect + 1) * (self.terms + 1) + opinion + 1
        return key

    def __call__(self, aspect: Ints, opinion: Ints) -> Logs:
        """Logarithms of the shares of each label, drawn towards those in the whole training set.

        Args:
            aspect: Terms, -1 if implicit, -2 if the training set does not know it. Shape (N,).
            opinion: Likewise. Shape (N,).

        Returns:
            Shape (N, SOURCES, labels).
        """
        unknown = (aspect < -1) | (opinion < -1)
        at = np.minimum(np.searchsorted(self._keys, self._pair(aspect, opinion)), max(0, len(self._keys) - 1))
        found = ~unknown & (self._keys[at] == self._pair(aspect, opinion)) if len(self._keys) else unknown & False
        rows = (
            np.where(aspect < -1, self.terms + 1, aspect + 1),
            np.where(opinion < -1, self.terms + 1, opinion + 1),
            np.where(found, at, len(self._keys)),
        )
        counts = (
            np.stack([table[row].toarray() for table, row in zip(self._counts, rows, strict=True)], 1)
            if len(aspect)
            else np.zeros((0, SOURCES, self.labels))
        )
        counts = counts + _STRENGTH * self.prior
        logs: Logs = np.log(counts / counts.sum(2, keepdims=True)).astype(np.float32)
        return logs

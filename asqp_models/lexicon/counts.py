"""Counts by key, and the few weights that put rates made of them together."""

from __future__ import annotations

import numpy as np

from asqp_models.lexicon.matching import Bools, Floats, Ints


class Table:
    """How often something occurred, and with which labels.

    Args:
        keys: Sorted, each once. Shape (keys,).
        counts: Occurrences, then occurrences with each label. Shape (keys, 1 + labels).
    """

    def __init__(self, keys: Ints, counts: Ints) -> None:
        self.keys, self.counts = keys, counts

    @classmethod
    def count(cls, keys: Ints, labels: Bools) -> Table:
        """Count occurrences.

        Args:
            keys: One an occurrence. Shape (occurrences,).
            labels: Shape (occurrences, labels).
        """
        unique, inverse = np.unique(keys, return_inverse=True)
        columns = [np.bincount(inverse, minlength=len(unique))]
        columns += [np.bincount(inverse, weights=label, minlength=len(unique)) for label in labels.T]
        return cls(unique, np.column_stack(columns).astype(np.int64))

    def pruned(self) -> Table:
        """The table without keys that were seen once and without a label: they say next to nothing."""
        keep = ~_says_nothing(self.counts)
        return Table(self.keys[keep], self.counts[keep])

    def get(self, keys: Ints, own: tuple[Ints, Bools] | None = None) -> Ints:
        """The counts of keys, zeros for those not in the table.

        Args:
            keys: Shape (occurrences,).
            own: In training, the text and the labels of each occurrence. What the same text added to the
                counts is then taken off them, so that a rate is what another text would have seen.

        Returns:
            Shape (occurrences, 1 + labels).
        """
        if not len(self.keys):
            return np.zeros((len(keys), self.counts.shape[1]), np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        counts: Ints = self.counts[at] * (self.keys[at] == keys)[:, None]
        if own is None:
            return counts
        text, labels = own
        in_text = at * (int(text.max(initial=0)) + 1) + text
        counts = np.maximum(counts - Table.count(in_text, labels).get(in_text), 0)
        return counts * ~_says_nothing(counts)[:, None]


def _says_nothing(counts: Ints) -> Bools:
    nothing: Bools = (counts[:, 0] < 2) & (counts[:, 1:].sum(1) == 0)
    return nothing


def rate(counts: Ints, prior: Floats | float, strength: float) -> Floats:
    """The rate of each label, drawn towards a prior worth ``strength`` occurrences.

    Args:
        counts: Shape (occurrences, 1 + labels).
        prior: Broadcast to (occurrences, labels).
        strength: In occurrences.
    """
    return np.clip((counts[:, 1:] + strength * np.asarray(prior)) / (counts[:, :1] + strength), 1e-5, 0.995)


def logit(p: Floats) -> Floats:
    """Log-odds."""
    odds: Floats = np.log(p) - np.log1p(-p)
    return odds


def sigmoid(x: Floats) -> Floats:
    """Probability from log-odds."""
    p: Floats = 1.0 / (1.0 + np.exp(-np.clip(x, -30.0, 30.0)))
    return p


def fit(x: Floats, y: Bools, *, ridge: float = 1.0) -> Floats:
    """Logistic regression by Newton's method with step halving.

    Args:
        x: Shape (rows, features).
        y: Shape (rows,).
        ridge: Penalty on the squares of the weights of standardised features.

    Returns:
        Intercept and weights, to five decimals. Shape (1 + features,). Without a row of either kind the
        answer is the rate alone.
    """
    weights: Floats = np.zeros(x.shape[1] + 1)
    share = (y.sum() + 0.5) / (len(y) + 1)
    weights[0] = np.log(share / (1 - share)) if y.any() else -9.0
    if y.any() and not y.all():
        mean, scale = x.mean(0), x.std(0) + 1e-6
        x = np.column_stack([np.ones(len(x)), (x - mean) / scale])

        def loss(w: Floats) -> float:
            z = x @ w
            return float(np.logaddexp(0, z).sum() - z @ y + ridge / 2 * w @ w)

        now = loss(weights)
        for _ in range(25):
            p = sigmoid(x @ weights)
            hessian = (x * (p * (1 - p))[:, None]).T @ x + ridge * np.eye(len(weights))
            step = np.linalg.solve(hessian, x.T @ (y - p) - ridge * weights)
            while loss(weights + step) > now and np.abs(step).max() > 1e-6:
                step = step / 2
            before, weights = now, weights + step
            now = loss(weights)
            if before - now < 1e-6 * abs(now):
                break
        weights[1:] /= scale
        weights[0] -= weights[1:] @ mean
    rounded: Floats = np.round(weights, 5)
    return rounded


def log_odds(weights: Floats, x: Floats) -> Floats:
    """What :func:`fit` predicts. Shape (rows,)."""
    odds: Floats = x @ weights[1:] + weights[0]
    return odds

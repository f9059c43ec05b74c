"""Which occurrences of terms are annotated, and which belong together.

An occurrence of a term can be an aspect with an opinion, an aspect alone, an opinion with an aspect, or an
opinion alone (its roles). Each role has a rate by term, by term and neighbouring tokens, and by neighbouring
tokens alone. A pair has a rate by its shape (order, distance, clause borders between) and by its terms.
Logistic regressions of at most 17 weights put the log-odds of these rates together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from asqp_datasets.schema import NULL, Sample
from asqp_models.lexicon.counts import Table, fit, log_odds, logit, rate, sigmoid
from asqp_models.lexicon.matching import EDGE, Bools, Dictionary, Floats, Ints, Spans, Stream

KINDS = ("EA&EO", "EA&IO", "IA&EO", "IA&IO")
"""Kinds of candidates, in the order of their numbers: which of aspect and opinion are explicit."""

WINDOW = 24
"""Most tokens between an aspect and its opinion. 98% of the pairs of a Chinese corpus lie within."""

_ASPECT, _ASPECT_ALONE, _OPINION, _OPINION_ALONE = range(4)
_BY_TERM = ("term+left", "term+right", "term+left2", "term+right2", "term+both")
_BY_PLACE = ("left", "right", "both", "left2", "right2")
TABLES = dict.fromkeys(("term", *_BY_TERM, *_BY_PLACE), 4) | {
    "shape": 1,
    "pair": 1,
    "text": 1,
}
"""The number of labels of each table."""
WEIGHTS = {f"role{role}": 17 for role in range(4)} | {
    "pair": 8,
    "pair among rivals": 10,
    "EA&IO": 6,
    "IA&EO": 6,
    "IA&IO": 4,
}
"""The number of weights of each regression, the intercept included."""
_DISTANCES = np.array([0, 1, 2, 3, 5, 8, 12, 17])
_UNLIKELY = 0.02
_NONE = -6.0


class Candidates(NamedTuple):
    """Possible quads, before they get a category and a sentiment. All of shape (candidates,).

    Args:
        kind: Index in ``KINDS``.
        aspect: Index of the span, -1 if implicit.
        opinion: Index of the span, -1 if implicit.
        text: Index of the text.
        score: Probability that the quad is annotated.
    """

    kind: Ints
    aspect: Ints
    opinion: Ints
    text: Ints
    score: Floats


class Evidence(NamedTuple):
    """What a dictionary says of texts.

    Args:
        roles: Log-odds that each span has each role: aspect with an opinion, aspect alone, opinion with an aspect,
            opinion alone; -30 where the training set says nothing. Shape (spans, 4).
        candidates: The possible quads.
    """

    roles: Floats
    candidates: Candidates


class GoldQuad(NamedTuple):
    """An annotated quad on tokens: (first token, tokens) of aspect and opinion, None if implicit."""

    text: int
    aspect: tuple[int, int] | None
    opinion: tuple[int, int] | None
    category: str
    sentiment: str


class Gold:
    """The annotations of a stream."""

    def __init__(self, quads: Sequence[GoldQuad]) -> None:
        self.quads = quads

    @classmethod
    def read(cls, stream: Stream, samples: Sequence[Sample]) -> Gold:
        """Find the tokens of each quad.

        A term without offsets is looked up in the text: of several occurrences, those of aspect and opinion
        that are nearest to each other count. Quads with a term that is not a sequence of tokens are left out.
        """
        quads = []
        for i, sample in enumerate(samples):
            tokens = range(stream.first[i], stream.first[i] + stream.size[i])
            starts = {int(stream.start[k]): k for k in tokens}
            ends = {int(stream.end[k]): k + 1 for k in tokens}
            for q in sample.quads:
                aspects = _places(sample.text, q.aspect, q.aspect_start, q.aspect_end, starts, ends)
                opinions = _places(sample.text, q.opinion, q.opinion_start, q.opinion_end, starts, ends)
                both = [(a, o) for a in aspects for o in opinions]
                if both:
                    a, o = min(both, key=lambda ao: abs(ao[0][0] - ao[1][0]) if ao[0] and ao[1] else 0)
                    quads.append(GoldQuad(i, a, o, q.category, q.sentiment))
        return cls(quads)

    def spans(self) -> Iterator[tuple[int, int]]:
        """(first token, tokens) of every explicit term."""
        for q in self.quads:
            yield from (span for span in (q.aspect, q.opinion) if span)

    def roles(self, spans: Spans) -> Bools:
        """Which roles each span has. Shape (spans, 4)."""
        roles: list[set[tuple[int, int]]] = [set() for _ in range(4)]
        for q in self.quads:
            if q.aspect:
                roles[_ASPECT if q.opinion else _ASPECT_ALONE].add(q.aspect)
            if q.opinion:
                roles[_OPINION if q.aspect else _OPINION_ALONE].add(q.opinion)
        keys = list(zip(spans.at.tolist(), spans.length.tolist(), strict=True))
        return np.array([[key in role for role in roles] for key in keys], np.bool_).reshape(len(keys), 4)

    def pairs(self, spans: Spans, aspect: Ints, opinion: Ints) -> Bools:
        """Which pairs of spans are annotated. Shape (pairs,)."""
        keys = list(zip(spans.at.tolist(), spans.length.tolist(), strict=True))
        gold = {(q.aspect, q.opinion) for q in self.quads}
        pairs = zip(aspect.tolist(), opinion.tolist(), strict=True)
        return np.array([(keys[a], keys[o]) in gold for a, o in pairs], np.bool_)

    def texts(self, count: int) -> Bools:
        """Which texts have a quad with neither term. Shape (texts,)."""
        found = np.zeros(count, np.bool_)
        found[[q.text for q in self.quads if not q.aspect and not q.opinion]] = True
        return found


def _places(
    text: str, term: str, start: int, end: int, starts: dict[int, int], ends: dict[int, int]
) -> list[tuple[int, int] | None]:
    if start < 0 and term == NULL:
        return [None]
    places = [(start, end)]
    if start < 0:
        places, at = [], text.find(term) if term else -1
        while at >= 0:
            places.append((at, at + len(term)))
            at = text.find(term, at + 1)
    return [(starts[s], ends[e] - starts[s]) for s, e in places if s in starts and e in ends and starts[s] < ends[e]]


class Linker:
    """Scores spans, pairs of them, and what is left alone.

    Args:
        dictionary: The terms.
        tables: One for each name in ``TABLES``.
        weights: One array for each name in ``WEIGHTS``.
    """

    def __init__(self, dictionary: Dictionary, tables: dict[str, Table], weights: dict[str, Floats]) -> None:
        self.dictionary, self.tables, self.weights = dictionary, tables, weights

    def score(self, stream: Stream, spans: Spans, gold: Gold | None = None) -> Candidates:
        """The candidates of the texts of a stream, as in :meth:`read`."""
        return self.read(stream, spans, gold).candidates

    def read(self, stream: Stream, spans: Spans, gold: Gold | None = None) -> Evidence:
        """The roles of the spans of a stream, and the candidates of its texts.

        Args:
            stream: From ``Dictionary.read``.
            spans: From ``Dictionary.find``.
            gold: The annotations to train on: tables and weights are then counted and fitted on the way,
                and no text is scored by what it added to the counts itself.
        """
        labels = None if gold is None else gold.roles(spans)
        roles = self._roles(stream, spans, labels)
        p = sigmoid(roles)
        aspects = np.flatnonzero(p[:, [_ASPECT, _ASPECT_ALONE]].max(1) > _UNLIKELY)
        opinions = np.flatnonzero(p[:, [_OPINION, _OPINION_ALONE]].max(1) > _UNLIKELY)
        a, o = _near(spans, self.dictionary.longest, aspects, opinions)
        link, best = self._pairs(stream, spans, roles, a, o, gold)
        aspect_alone = self._fitted(
            "EA&IO",
            [
                roles[aspects, _ASPECT_ALONE],
                roles[aspects, _ASPECT],
                *best[:, aspects],
                roles[aspects, _OPINION],
            ],
            None if labels is None else labels[aspects, _ASPECT_ALONE],
        )
        opinion_alone = self._fitted(
            "IA&EO",
            [
                roles[opinions, _OPINION_ALONE],
                roles[opinions, _OPINION],
                *best[::-1, opinions],
                roles[opinions, _ASPECT],
            ],
            None if labels is None else labels[opinions, _OPINION_ALONE],
        )
        texts = np.arange(len(stream.size))
        spelled_out = np.full(len(texts), _NONE)
        for scores, at in ((link, a), (aspect_alone, aspects), (opinion_alone, opinions)):
            np.maximum.at(spelled_out, spans.text[at], scores)
        nothing = self._texts(stream, spelled_out, gold)
        none = [np.full(len(x), -1) for x in (aspects, opinions, texts)]
        scores = np.concatenate([link, aspect_alone, opinion_alone, nothing])
        candidates = Candidates(
            kind=np.repeat(np.arange(4), [len(a), len(aspects), len(opinions), len(texts)]),
            aspect=np.concatenate([a, aspects, none[1], none[2]]),
            opinion=np.concatenate([o, none[0], opinions, none[2]]),
            text=np.concatenate([spans.text[a], spans.text[aspects], spans.text[opinions], texts]),
            score=sigmoid(scores),
        )
        return Evidence(roles, candidates)

    def _fitted(self, name: str, features: Sequence[Floats], labels: Bools | None) -> Floats:
        x = np.column_stack(features)
        if labels is not None:
            self.weights[name] = fit(x, labels)
        return log_odds(self.weights[name], x)

    def _counted(self, name: str, keys: Ints, own: tuple[Ints, Bools] | None) -> Ints:
        if own is not None:
            table = Table.count(keys, own[1])
            self.tables[name] = table if name in ("term", "shape") else table.pruned()
        return self.tables[name].get(keys, own)

    def _roles(self, stream: Stream, spans: Spans, labels: Bools | None) -> Floats:
        """Log-odds that each span has each role. Shape (spans, 4)."""
        own = None if labels is None else (spans.text, labels)
        ids, size, term, end = stream.ids, self.dictionary.size, spans.term, spans.at + spans.length
        left, left2, right, right2 = ids[spans.at - 1], ids[spans.at - 2], ids[end], ids[end + 1]
        by_place = (left, right, left * size + right, left * size + left2, right * size + right2)
        by_term = (
            term * size + left,
            term * size + right,
            (term * size + left) * size + left2,
            (term * size + right) * size + right2,
            (term * size + left) * size + right,
        )
        counts = self._counted("term", term, own)
        total = self.tables["term"].counts.sum(0)
        prior = (total[1:] + 0.1) / (total[0] + 1)
        known = counts[:, 1:].any(1)
        rates = rate(counts, 0.2 * prior, 2.0)
        base = logit(rates)
        evidence = [base]
        for name, keys in zip(_BY_TERM, by_term, strict=True):
            evidence.append(logit(rate(self._counted(name, keys, own), rates, 2.0)) - base)
        for name, keys in zip(_BY_PLACE, by_place, strict=True):
            evidence.append(logit(rate(self._counted(name, keys, own), prior, 5.0)) - logit(prior))
        strength = np.where(known, logit(np.clip(rates.sum(1), 1e-4, 0.99)), _NONE)
        longer = _longer(spans, strength, len(ids))
        often = np.log1p(counts[:, 0])
        odds = np.full((len(term), 4), -30.0)
        for role in range(4):
            features = [
                *(e[known, role] for e in evidence),
                longer[known],
                spans.length[known],
                np.log1p(stream.size[spans.text[known]]),
                often[known],
                often[known] * base[known, role],
            ]
            odds[known, role] = self._fitted(f"role{role}", features, None if labels is None else labels[known, role])
        return odds

    def _pairs(
        self, stream: Stream, spans: Spans, roles: Floats, a: Ints, o: Ints, gold: Gold | None
    ) -> tuple[Floats, Floats]:
        """Log-odds that each pair is annotated; and the best of them for each span, as aspect and as opinion.

        Shapes (pairs,) and (2, spans).
        """
        labels = None if gold is None else gold.pairs(spans, a, o)
        own = None if labels is None else (spans.text[a], labels[:, None])
        begin, end = _gap(spans, a, o)
        after = (spans.at[o] > spans.at[a]).astype(np.int64)
        distance = np.searchsorted(_DISTANCES, end - begin)
        commas = np.minimum(stream.commas[end - 1] - stream.commas[begin - 1], 2)
        stops = np.minimum(stream.stops[end - 1] - stream.stops[begin - 1], 1)
        shape = ((after * (len(_DISTANCES) + 1) + distance) * 3 + commas) * 2 + stops
        self._counted("shape", shape, own)
        total = self.tables["shape"].counts.sum(0)
        prior = (total[1] + 1) / (total[0] + 2)
        by_shape = rate(self.tables["shape"].get(shape), prior, 4.0)
        terms = spans.term[a] * len(self.dictionary.terms) + spans.term[o]
        by_terms = rate(self._counted("pair", terms, own), prior, 2.0)
        mass = np.zeros((2, len(stream.ids) + 1))
        for row, role in enumerate((_ASPECT, _OPINION)):
            np.add.at(mass[row], spans.at + 1, sigmoid(roles[:, role]))
        mass = np.cumsum(mass, 1)
        features = [
            roles[a, _ASPECT],
            roles[o, _OPINION],
            logit(by_shape)[:, 0],
            logit(by_terms)[:, 0],
            *np.minimum(mass[:, end] - mass[:, begin], 2.0),
            np.maximum(roles[a, _ASPECT_ALONE], -9.0),
        ]
        alone = self._fitted("pair", features, labels)
        best = np.full((2, len(spans.at)), _NONE)
        np.maximum.at(best[0], a, alone)
        np.maximum.at(best[1], o, alone)
        rivals = [_rival(alone, a, best[0]), _rival(alone, o, best[1])]
        return self._fitted("pair among rivals", [*features, *rivals], labels), best

    def _texts(self, stream: Stream, spelled_out: Floats, gold: Gold | None) -> Floats:
        """Log-odds that a text has a quad with neither term, by its tokens. Shape (texts,)."""
        keys = np.unique(stream.text * self.dictionary.size + stream.ids)
        text, token = keys // self.dictionary.size, keys % self.dictionary.size
        text, token = text[token != EDGE], token[token != EDGE]
        labels = None if gold is None else gold.texts(len(stream.size))
        own = None if labels is None else (text, labels[text][:, None])
        counts = self._counted("text", token, own)
        total = self.tables["text"].counts.sum(0)
        prior = (total[1] + 0.1) / (total[0] + 1)
        evidence = np.zeros(len(stream.size))
        np.add.at(evidence, text, logit(rate(counts, prior, 5.0))[:, 0] - np.log(prior / (1 - prior)))
        size = np.log1p(stream.size)
        return self._fitted("IA&IO", [evidence, spelled_out, size], labels)


def _gap(spans: Spans, a: Ints, o: Ints) -> tuple[Ints, Ints]:
    """First token between two spans that do not overlap, and the token after the last between."""
    a_end, o_end = spans.at[a] + spans.length[a], spans.at[o] + spans.length[o]
    return np.minimum(a_end, o_end), np.maximum(spans.at[a], spans.at[o])


def _near(spans: Spans, longest: int, aspects: Ints, opinions: Ints) -> tuple[Ints, Ints]:
    """Every aspect with every opinion of its text that is at most ``WINDOW`` tokens away."""
    low = np.searchsorted(spans.at[opinions], spans.at[aspects] - WINDOW - longest)
    high = np.searchsorted(spans.at[opinions], spans.at[aspects] + spans.length[aspects] + WINDOW, side="right")
    n = high - low
    a = np.repeat(aspects, n)
    o = opinions[np.arange(len(a)) + np.repeat(low - np.cumsum(n) + n, n)]
    begin, end = _gap(spans, a, o)
    keep = (end >= begin) & (end - begin <= WINDOW) & (spans.text[a] == spans.text[o])
    return a[keep], o[keep]


def _longer(spans: Spans, strength: Floats, tokens: int) -> Floats:
    """The best strength of the longer spans that share a token with each. Shape (spans,)."""
    longer, best = np.full(len(spans.at), -4.0), np.full(tokens, -4.0)
    for length in np.unique(spans.length)[::-1].tolist():
        index = np.flatnonzero(spans.length == length)
        for k in range(length):
            longer[index] = np.maximum(longer[index], best[spans.at[index] + k])
        for k in range(length):
            np.maximum.at(best, spans.at[index] + k, strength[index])
    return longer


def _rival(scores: Floats, group: Ints, best: Floats) -> Floats:
    """The best other score in the group of each. Shape (pairs,)."""
    is_best = scores >= best[group]
    second = np.full(len(best), _NONE)
    np.maximum.at(second, group[~is_best], scores[~is_best])
    tied = np.bincount(group[is_best], minlength=len(best)) > 1
    second[tied] = best[tied]
    rival: Floats = np.where(is_best, second[group], best[group])
    return rival

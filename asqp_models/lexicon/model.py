"""Training, prediction and the checkpoint folder of the dictionary baseline."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from asqp_datasets.errors import UsageError
from asqp_datasets.schema import NULL, SENTIMENTS, Quad, Sample
from asqp_models.lexicon import checkpoint
from asqp_models.lexicon.linking import KINDS, Gold, Linker
from asqp_models.lexicon.matching import FIRST, HAN, Dictionary, Floats, Ints, Stream, normalise, split
from asqp_models.lexicon.outcomes import Outcomes
from asqp_models.methods import ScoredQuad

UNSPACED_LANGUAGES = ("zh", "ja")
"""Languages in which white space does not set words apart: there it is read as a clause border."""

_GRID = (0.1, 0.14, 0.18, 0.22, 0.26, 0.3, 0.34, 0.38, 0.42, 0.46, 0.5, 0.55, 0.6, 0.7, 0.8, 2.0)
_BATCH = 30_000  # characters at a time
_PIECE = 4_000  # characters of a text that are read together
_CLAUSE_END = re.compile(r"[。！？；!?;\n]|[，,.](?=\s|\D)")


class _Candidate(NamedTuple):
    score: float
    kind: int
    quad: Quad
    aspect: range
    opinion: range


class LexiconModel:
    """ASQP by a dictionary of the training set.

    Made by :meth:`train` or :meth:`from_pretrained`.

    Args:
        counts: The counts and weights, as in ``lexicon.json``.
        language: ``zh``, ``en`` or another code.
        categories: All categories of the training set, sorted.
        thresholds: Least score of a quad of each kind in ``KINDS``. Shape (4,).
        reuse: Whether an aspect, and whether an opinion, may stand in several quads.
    """

    def __init__(
        self,
        counts: checkpoint.Counts,
        *,
        language: str,
        categories: Sequence[str],
        thresholds: Sequence[float] = (0.3, 0.3, 0.3, 0.3),
        reuse: Sequence[bool] = (False, False),
    ) -> None:
        self.language, self.categories = language, list(categories)
        self.thresholds, self.reuse = list(thresholds), list(reuse)
        self._counts = counts
        self._dictionary = Dictionary(counts.tokens, counts.terms, spaced=language not in UNSPACED_LANGUAGES)
        self._linker = Linker(self._dictionary, counts.tables, counts.weights)

    @cached_property
    def _categories(self) -> Outcomes:
        pairs, words = self._counts.outcomes, self._counts.words
        return Outcomes(
            pairs[:, [0, 1, 2, 4]], words[:, [0, 1, 3]], len(self.categories), aspect=0.5, opinion=4.0, pair=4.0
        )

    @cached_property
    def _sentiments(self) -> Outcomes:
        pairs, words = self._counts.outcomes, self._counts.words
        return Outcomes(pairs[:, [0, 1, 3, 4]], words[:, [0, 2, 3]], len(SENTIMENTS), aspect=2.0, opinion=0.5, pair=2.0)

    keeps_checkpoints = False

    @property
    def dictionary(self) -> Dictionary:
        """The terms."""
        return self._dictionary

    @property
    def linker(self) -> Linker:
        """What scores occurrences of the terms."""
        return self._linker

    @property
    def counts(self) -> checkpoint.Counts:
        """The counts and weights."""
        return self._counts._replace(tables=self._linker.tables, weights=self._linker.weights)

    @staticmethod
    def check_settings(settings: Mapping[str, Any]) -> None:
        """Raise :class:`UsageError` if there is any: the lexicon has none."""
        if settings:
            raise UsageError(
                f"{next(iter(settings))}: found an unknown key, expected none: {checkpoint.METHOD} has no settings"
            )

    @property
    def config(self) -> dict[str, Any]:
        """What config.json holds: ``model_type``, and the block ``asqp``: method, categories, thresholds and so on."""
        try:
            version = metadata.version("asqp")
        except metadata.PackageNotFoundError:
            version = "unknown"
        return {
            "model_type": f"asqp-{checkpoint.METHOD}",  # as ``AutoConfig`` knows it
            "asqp": {
                "method": checkpoint.METHOD,
                "format_version": checkpoint.FORMAT_VERSION,
                "package_version": version,
                "language": self.language,
                "categories": self.categories,
                "thresholds": dict(zip(KINDS, self.thresholds, strict=True)),
                "reuse": dict(zip(("aspect", "opinion"), self.reuse, strict=True)),
            },
        }

    @classmethod
    def train(
        cls,
        train: Sequence[Sample],
        validation: Sequence[Sample],
        *,
        language: str | None = None,
        seed: int = 0,
        progress: bool = False,
    ) -> LexiconModel:
        """Count the training set and choose thresholds for the validation set.

        Args:
            train: Any number of samples, none included.
            validation: If empty, thresholds are chosen on ``train``, on which the model flatters itself.
            language: ``zh`` and ``ja`` do without blanks between words, every other language has them.
                Default: ``zh`` if a fifth of the characters of ``train`` is Chinese or Japanese, else ``en``.
            seed: Taken as by every method, without effect: nothing is drawn at random.
            progress: Whether to say on standard error what is being done.
        """

        def say(what: str) -> None:
            if progress:
                print(f"lexicon: {what}", file=sys.stderr)

        say(f"counting {len(train)} samples")
        model = cls.count(train, language=language)
        say(f"choosing thresholds on {len(validation) or len(train)} samples")
        model._choose_thresholds(validation or train)
        return model

    @classmethod
    def count(cls, train: Sequence[Sample], *, language: str | None = None) -> LexiconModel:
        """Count the training set; thresholds are not chosen, else as :meth:`train`."""
        if language is None:
            han = sum(len(re.findall(f"[{HAN}]", s.text)) for s in train)
            language = "zh" if han > sum(len(s.text) for s in train) / 5 else "en"
        dictionary, gold = _dictionary(train, spaced=language not in UNSPACED_LANGUAGES)
        stream = dictionary.read([s.text for s in train])
        categories = sorted({q.category for s in train for q in s.quads})
        counts = checkpoint.Counts(
            tokens=dictionary.tokens,
            terms=dictionary.terms,
            tables={},
            weights={},
            **_outcome_counts(stream, gold, dictionary.terms, categories),
        )
        model = cls(counts, language=language, categories=categories, reuse=_reuse(gold))
        model._linker.score(stream, dictionary.find(stream), gold)
        return model

    def predict(self, text: str) -> list[Quad]:
        """The quads of a text, by place; none twice. Many texts are faster in :meth:`predict_batch`."""
        return self.predict_batch([text])[0]

    def predict_batch(self, texts: Sequence[str]) -> list[list[Quad]]:
        """The quads of each text, their offsets true in the text as it is given."""
        return [[each.quad for each in quads] for quads in self.predict_scored(texts)]

    def predict_scored(self, texts: Sequence[str], threshold: float | None = None) -> list[list[ScoredQuad]]:
        """The quads of each text, by place, none twice, with the estimated probability that each is annotated.

        Args:
            texts: Of any length; time grows in proportion to it. A text of more than 4,000 characters, longer than
                reviews are, is read in pieces that end where a clause does.
            threshold: Least probability, above 0; default: the one chosen for each kind of quad in training.
        """
        thresholds = self.thresholds if threshold is None else [max(threshold, 1e-9)] * len(KINDS)
        pieces = [(number, start, end) for number, text in enumerate(texts) for start, end in _pieces(text)]
        found = self._candidates([texts[number][start:end] for number, start, end in pieces], thresholds)
        result: list[dict[Quad, float]] = [{} for _ in texts]
        for (number, start, _), candidates in zip(pieces, found, strict=True):
            for candidate in self._select(candidates, thresholds):
                result[number].setdefault(_moved(candidate.quad, start), candidate.score)
        return [list(map(ScoredQuad._make, quads.items())) for quads in result]

    def save_pretrained(self, folder: str | Path) -> None:
        """Write ``config.json`` and ``lexicon.json``: the same model always gives the same bytes.

        Args:
            folder: Made if missing.
        """
        checkpoint.save(folder, self.config, self._counts)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> LexiconModel:
        """Read what :meth:`save_pretrained` wrote.

        Raises:
            DataError: A file is missing, damaged, of another method or of another format version.
        """
        config, counts = checkpoint.load(folder)
        return cls(counts, **config)

    def _candidates(self, texts: Sequence[str], least: Sequence[float]) -> Iterator[list[_Candidate]]:
        """The candidates of each text that reach the least score of their kind."""
        first = size = 0
        for i, text in enumerate(texts, 1):
            size += len(text) + 2
            if i == len(texts) or size > _BATCH:
                yield from self._candidates_of_batch(texts[first:i], np.array(least))
                first, size = i, 0

    def _candidates_of_batch(self, texts: Sequence[str], least: Floats) -> list[list[_Candidate]]:
        found: list[list[_Candidate]] = [[] for _ in texts]
        if not self.categories:
            return found
        stream = self._dictionary.read(texts)
        spans = self._dictionary.find(stream)
        candidates = self._linker.score(stream, spans)
        keep = np.flatnonzero(candidates.score >= least[candidates.kind])
        kinds, aspects, opinions = (column[keep].tolist() for column in candidates[:3])
        pairs = [
            (int(spans.term[a]) if a >= 0 else -1, int(spans.term[o]) if o >= 0 else -1)
            for a, o in zip(aspects, opinions, strict=True)
        ]
        places = [
            tuple(range(int(spans.at[i]), int(spans.at[i] + spans.length[i])) if i >= 0 else range(0) for i in pair)
            for pair in zip(aspects, opinions, strict=True)
        ]
        where = candidates.text[keep].tolist()
        category, sentiment = self._categories.of_pairs(pairs), self._sentiments.of_pairs(pairs)
        for i, pair in enumerate(pairs):
            if pair == (-1, -1):
                tokens = _tokens(stream, where[i])
                category[i], sentiment[i] = self._categories.of_text(tokens), self._sentiments.of_text(tokens)
        score = candidates.score[keep]
        if len(keep):
            score = score * category.max(1) * sentiment.max(1)
        for i in np.flatnonzero(score >= least[candidates.kind[keep]]).tolist():
            text = texts[where[i]]
            (aspect, a), (opinion, o) = (_term(stream, text, place) for place in places[i])
            quad = Quad(
                self.categories[int(category[i].argmax())],
                aspect,
                opinion,
                SENTIMENTS[int(sentiment[i].argmax())],
                *a,
                *o,
            )
            found[where[i]].append(_Candidate(float(score[i]), kinds[i], quad, *places[i]))
        return found

    def _select(self, candidates: Sequence[_Candidate], thresholds: Sequence[float]) -> list[_Candidate]:
        """The best candidates whose terms do not overlap, from the surest to the threshold."""
        reached = [c for c in candidates if c.score >= thresholds[c.kind]]
        taken: dict[int, tuple[int, range] | None] = {}
        chosen = []
        for c in sorted(reached, key=lambda c: (-c.score / thresholds[c.kind], c.quad[4:])):
            roles = ((0, c.aspect), (1, c.opinion))
            shared = KINDS[c.kind] == "EA&EO"
            if any(
                i in taken and not (shared and self.reuse[role] and taken[i] == (role, place))
                for role, place in roles
                for i in place
            ):
                continue
            for role, place in roles:
                taken |= dict.fromkeys(place, (role, place) if shared else None)
            chosen.append(c)
        return sorted(chosen, key=lambda c: (c.quad.aspect_start, c.quad.opinion_start, c.quad))

    def _choose_thresholds(self, samples: Sequence[Sample]) -> None:
        """Set the thresholds with the best strict F1, one kind after the other, twice around."""
        candidates = list(self._candidates([s.text for s in samples], [_GRID[0]] * len(KINDS)))
        gold = [Counter(q.strings for q in s.quads) for s in samples]
        annotated = sum(len(s.quads) for s in samples)

        def f1(thresholds: Sequence[float]) -> float:
            right = predicted = 0
            for found, expected in zip(candidates, gold, strict=True):
                if found:
                    quads = Counter(c.quad.strings for c in self._select(found, thresholds))
                    predicted += quads.total()
                    right += (quads & expected).total()
            return 2 * right / max(1, predicted + annotated)

        best = f1(self.thresholds)
        present = sorted({c.kind for found in candidates for c in found})
        for kind in present * 2:
            for threshold in _GRID:
                tried = [*self.thresholds[:kind], threshold, *self.thresholds[kind + 1 :]]
                score = f1(tried)
                if score > best:
                    best, self.thresholds = score, tried


def _dictionary(samples: Sequence[Sample], *, spaced: bool) -> tuple[Dictionary, Gold]:
    """The terms of the quads, and the tokens that occur twice or in a term; and where the quads stand."""
    counts = Counter(normalise(token) for s in samples for token in split(s.text))
    everything = Dictionary(sorted(counts), [], spaced=spaced)
    stream = everything.read([s.text for s in samples])
    gold = Gold.read(stream, samples)
    terms = sorted({tuple(stream.ids[at : at + n].tolist()) for at, n in gold.spans()})
    needed = {token for term in terms for token in term}
    kept = [i for i, token in enumerate(everything.tokens, FIRST) if counts[token] > 1 or i in needed]
    new = {old: i for i, old in enumerate(kept, FIRST)}
    tokens = [everything.tokens[i - FIRST] for i in kept]
    return Dictionary(tokens, [[new[token] for token in term] for term in terms], spaced=spaced), gold


def _tokens(stream: Stream, text: int) -> Ints:
    return stream.ids[stream.first[text] : stream.first[text] + stream.size[text]]


def _term(stream: Stream, text: str, place: range) -> tuple[str, tuple[int, int]]:
    if not place:
        return NULL, (-1, -1)
    start, end = int(stream.start[place.start]), int(stream.end[place.stop - 1])
    return text[start:end], (start, end)


def _outcome_counts(
    stream: Stream, gold: Gold, terms: Sequence[tuple[int, ...]], categories: Sequence[str]
) -> dict[str, Ints]:
    """Rows (aspect, opinion, category, sentiment, count) and (token, category, sentiment, count)."""
    index = {term: i for i, term in enumerate(terms)}
    category_index = {category: i for i, category in enumerate(categories)}

    def term(q: tuple[int, int] | None) -> int:
        return index[tuple(stream.ids[q[0] : sum(q)].tolist())] if q else -1

    outcomes: Counter[tuple[int, ...]] = Counter()
    words: Counter[tuple[int, ...]] = Counter()
    for q in gold.quads:
        label = (category_index[q.category], SENTIMENTS.index(q.sentiment))
        outcomes[term(q.aspect), term(q.opinion), *label] += 1
        if not q.aspect and not q.opinion:
            words.update((token, *label) for token in set(_tokens(stream, q.text).tolist()) if token >= FIRST)
    return {
        "outcomes": np.array([(*key, n) for key, n in sorted(outcomes.items())], np.int64).reshape(-1, 5),
        "words": np.array([(*key, n) for key, n in sorted(words.items())], np.int64).reshape(-1, 4),
    }


def _reuse(gold: Gold) -> list[bool]:
    """Whether more than one in fifty aspects, and opinions, stands in several quads."""
    answer = []
    for spans in ([q.aspect for q in gold.quads if q.aspect], [q.opinion for q in gold.quads if q.opinion]):
        counts = Counter(spans)
        answer.append(sum(n > 1 for n in counts.values()) > len(counts) / 50)
    return answer


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Where to cut a text so that no piece is longer than :data:`_PIECE`, after a clause if there is one."""
    start = 0
    while len(text) - start > _PIECE:
        ends = [match.end() for match in _CLAUSE_END.finditer(text, start + _PIECE // 2, start + _PIECE)]
        end = ends[-1] if ends else start + _PIECE
        yield start, end
        start = end
    yield start, len(text)


def _moved(quad: Quad, by: int) -> Quad:
    """The quad of a piece in the text that it was cut from."""
    return Quad(*quad[:4], *(offset + by if offset >= 0 else offset for offset in quad[4:]))

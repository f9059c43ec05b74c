"""From texts to windows of units, with what the dictionary of the training set says of them.

A unit is a token of the dictionary: a Chinese character, a word, a punctuation mark. Aspects and opinions are sequences
of units, whatever pieces an encoder's tokenizer makes of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from asqp_datasets.schema import Sample
from asqp_models.lexicon import LexiconModel
from asqp_models.lexicon.linking import Candidates, Evidence, Gold, GoldQuad
from asqp_models.lexicon.matching import Ints, Spans, Stream
from asqp_models.windows import Window as Pieces
from asqp_models.windows import Windower

FEATURES = 5
"""Numbers that the dictionary has for a span: whether it is a known term, and the log-odds of its four roles."""

_LEAST_ODDS, _SCALE = -12.0, 4.0


class Text(NamedTuple):
    """A text as it is read.

    Args:
        ids: Ids of the units in the dictionary. Shape (U,).
        start: Code point at which each unit begins. Shape (U,).
        end: Code point after it. Shape (U,).
        borders: Weak clause borders, and sentence ends, up to and with each unit. Shape (U, 2).
        features: Of the span of each length that begins at each unit. Shape (U, K, FEATURES).
        terms: Number of the dictionary's term that the span is, -1 if none. Shape (U, K).
        links: First unit and length of aspect and opinion of the dictionary's candidates; -1 and 0 if implicit.
            Shape (N, 4).
        odds: Log-odds of the candidates. Shape (N,).
    """

    ids: Ints
    start: Ints
    end: Ints
    borders: npt.NDArray[np.float32]
    features: npt.NDArray[np.float16]
    terms: npt.NDArray[np.int32]
    links: npt.NDArray[np.int32]
    odds: npt.NDArray[np.float32]


class Window(NamedTuple):
    """Successive units of a text, and how the encoder reads them.

    Args:
        text: The text.
        first: The first unit.
        end: The unit after the last.
        input_ids: What the encoder reads.
        units: The unit, counted from ``first``, that each of ``input_ids`` is a piece of; -1 for none.
    """

    text: Text
    first: int
    end: int
    input_ids: Sequence[int]
    units: Sequence[int]

    def links(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """The dictionary's candidates within the window, counted from its first unit."""
        links = self.text.links
        inside = np.ones(len(links), np.bool_)
        for role in (0, 2):
            explicit = links[:, role] >= 0
            within = (links[:, role] >= self.first) & (links[:, role] + links[:, role + 1] <= self.end)
            inside &= within | ~explicit
        found = links[inside].copy()
        for role in (0, 2):
            found[found[:, role] >= 0, role] -= self.first
        return found, self.text.odds[inside]


class Reader:
    """Reads texts.

    Args:
        lexicon: The dictionary of the training set.
        max_units: Most units of a term, K.
        max_seq_length: Units of a window; with a tokenizer, its pieces, special tokens included.
        doc_stride: Units, or pieces, that successive windows share.
        tokenizer: That of a pretrained encoder. Without one, the units themselves are what the encoder reads.
        known: Whether the dictionary says anything of a text but its units.
    """

    def __init__(
        self,
        lexicon: LexiconModel,
        *,
        max_units: int,
        max_seq_length: int,
        doc_stride: int,
        tokenizer: Any = None,
        known: bool = True,
    ) -> None:
        self.lexicon, self.max_units, self.known = lexicon, max_units, known
        self.max_seq_length, self.doc_stride = max_seq_length, doc_stride
        self._windower = None if tokenizer is None else Windower(tokenizer, max_seq_length, doc_stride)
        self.pad_token_id = self._windower.pad_token_id if self._windower else 0

    def __call__(self, texts: Sequence[str]) -> list[Text]:
        """Texts with the dictionary's evidence."""
        dictionary = self.lexicon.dictionary
        stream = dictionary.read(texts)
        spans = dictionary.find(stream)
        return self._texts(stream, spans, self.lexicon.linker.read(stream, spans))

    def read_training(self, samples: Sequence[Sample], folds: int) -> tuple[list[Text], list[GoldQuad], list[Reader]]:
        """The training texts with the evidence that others give.

        Evidence from counts of which a text's own are taken off would tell a network what was taken off, once it knows
        the term; so the texts are dealt into parts, and each is read with a dictionary of the other parts.

        Args:
            samples: What the dictionary was made of.
            folds: Number of parts.

        Returns:
            The texts, whose ``ids`` are those of this dictionary and whose ``terms`` those of their part's; the quads,
            in units of their text; and the reader of each part, text i being of part i modulo their number.
        """
        dictionary = self.lexicon.dictionary
        stream = dictionary.read([sample.text for sample in samples])
        first = stream.first.tolist()
        quads = [
            quad._replace(
                aspect=quad.aspect and (quad.aspect[0] - first[quad.text], quad.aspect[1]),
                opinion=quad.opinion and (quad.opinion[0] - first[quad.text], quad.opinion[1]),
            )
            for quad in Gold.read(stream, samples).quads
        ]
        folds = max(1, min(folds, len(samples)))
        texts: list[Text | None] = [None] * len(samples)
        readers = []
        for fold in range(folds):
            others = [sample for i, sample in enumerate(samples) if i % folds != fold]
            reader = copy(self)
            reader.lexicon = LexiconModel.count(others, language=self.lexicon.language)
            readers.append(reader)
            own = range(fold, len(samples), folds)
            for i, text in zip(own, reader([samples[i].text for i in own]), strict=True):
                texts[i] = text._replace(ids=stream.ids[first[i] : first[i] + len(text.ids)])
        return [text for text in texts if text is not None], quads, readers

    def _texts(self, stream: Stream, spans: Spans, evidence: Evidence) -> list[Text]:
        width = self.max_units
        units = len(stream.ids)
        features = np.zeros((units, width, FEATURES), np.float16)
        terms = np.full((units, width), -1, np.int32)
        known = (evidence.roles > -30).any(1) & (spans.length <= width) & self.known
        at, length = spans.at[known], spans.length[known] - 1
        features[at, length, 0] = 1
        features[at, length, 1:] = np.maximum(evidence.roles[known], _LEAST_ODDS) / _SCALE
        terms[at, length] = spans.term[known]
        borders = np.column_stack([stream.commas, stream.stops])
        links, odds, bounds = _links(stream, spans, evidence.candidates, width if self.known else -1)
        result = []
        for i, (first, size) in enumerate(zip(stream.first.tolist(), stream.size.tolist(), strict=True)):
            part = slice(first, first + size)
            own = slice(bounds[i], bounds[i + 1])
            counted = (borders[part] - borders[first - 1]).astype(np.float32)
            result.append(
                Text(
                    stream.ids[part],
                    stream.start[part],
                    stream.end[part],
                    counted,
                    features[part],
                    terms[part],
                    links[own],
                    odds[own],
                )
            )
        return result

    def windows(self, strings: Sequence[str], texts: Sequence[Text]) -> list[list[Window]]:
        """The windows of each text; none for a text without units.

        Args:
            strings: The texts.
            texts: The same as they are read.
        """
        if self._windower is None:
            return [self._cut(text) for text in texts]
        return [
            [_of_pieces(text, pieces, i == 0, i + 1 == len(parts)) for i, pieces in enumerate(parts)]
            if len(text.ids)
            else []
            for text, parts in zip(texts, self._windower(strings), strict=True)
        ]

    def _cut(self, text: Text) -> list[Window]:
        step = self.max_seq_length - self.doc_stride
        count = len(text.ids)
        starts = range(0, max(1, count - self.doc_stride), step) if count else ()
        ends = [min(start + self.max_seq_length, count) for start in starts]
        return [
            Window(text, start, end, text.ids[start:end].tolist(), range(end - start))
            for start, end in zip(starts, ends, strict=True)
        ]


def _of_pieces(text: Text, pieces: Pieces, is_first: bool, is_last: bool) -> Window:
    offsets = np.array(pieces.offsets, np.int64).reshape(-1, 2)
    start = 0 if is_first or not len(offsets) else int(offsets[0, 0])
    first = 0 if is_first else int(np.searchsorted(text.start, start))
    end = len(text.ids) if is_last else int(np.searchsorted(text.end, offsets[-1, 1] if len(offsets) else 0, "right"))
    end = max(first, end)
    at = np.minimum(np.searchsorted(text.end, offsets[:, 0], "right"), len(text.ids) - 1)
    inside = (text.start[at] < offsets[:, 1]) & (at >= first) & (at < end)
    units = np.full(len(pieces.input_ids), -1, np.int64)
    units[pieces.lead : pieces.lead + len(at)] = np.where(inside, at - first, -1)
    return Window(text, first, end, pieces.input_ids, units.tolist())


def _links(
    stream: Stream, spans: Spans, candidates: Candidates, width: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32], list[int]]:
    """The candidates by text, in units of their texts, and where those of each text begin."""
    places = []
    for role in (candidates.aspect, candidates.opinion):
        explicit = role >= 0
        if len(spans.at):
            at = spans.at[role] - stream.first[candidates.text]
            places += [np.where(explicit, at, -1), np.where(explicit, spans.length[role], 0)]
        else:
            places += [np.full(len(role), -1), np.zeros(len(role), np.int64)]
    links = np.column_stack(places).astype(np.int32)
    keep = np.flatnonzero((links[:, 1] <= width) & (links[:, 3] <= width))
    order = keep[np.argsort(candidates.text[keep], kind="stable")]
    bounds = np.searchsorted(candidates.text[order], np.arange(len(stream.size) + 1)).tolist()
    score = np.clip(candidates.score[order], 1e-6, 1 - 1e-6)
    return links[order], (np.log(score) - np.log1p(-score)).astype(np.float32), bounds

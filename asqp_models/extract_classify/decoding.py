"""From texts to quads: windows, tags, candidate pairs, classes, character offsets."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from asqp_datasets.schema import NULL, SENTIMENTS, Quad
from asqp_models.extract_classify.features import (
    B_ASPECT,
    B_OPINION,
    IMPLICIT,
    Span,
    Window,
    Windower,
    candidate_pairs,
    character_span,
    home_of,
    pad,
    spans_of,
    tokens_of,
)
from asqp_models.extract_classify.modeling import ExtractClassifyModel
from asqp_models.methods import ScoredQuad

_PAIRS = 4096  # classified at a time


class _Text(NamedTuple):
    text: str
    windows: list[Window]
    offsets: list[tuple[int, int]]  # of its tokens
    rows: range  # of its windows in the batch


class _Pair(NamedTuple):
    text: int
    aspect: Span
    opinion: Span
    row: int
    positions: tuple[int, int, int, int]


def _pair(text: int, aspect: Span, opinion: Span, row: int, window: Window) -> _Pair:
    return _Pair(text, aspect, opinion, row, window.positions(aspect, opinion))


class Decoder:
    """Predicts the quads of texts.

    Args:
        model: The model, in whose configuration the windows and the threshold are given.
        tokenizer: The tokenizer of its encoder.
        batch_size: Windows that are encoded together.
    """

    def __init__(self, model: ExtractClassifyModel, tokenizer: Any, batch_size: int = 32) -> None:
        config = model.config
        self.model, self.batch_size = model, batch_size
        self.windower = Windower(tokenizer, config.max_seq_length, config.doc_stride)
        self.categories = config.categories

    def __call__(self, texts: Sequence[str], threshold: float | None = None) -> list[list[ScoredQuad]]:
        """The quads of each text, by place, with true offsets; none twice.

        Args:
            texts: Of any length.
            threshold: Least score of a quad; default: the configuration's.
        """
        threshold = self.model.config.threshold if threshold is None else threshold
        training = self.model.training
        self.model.eval()
        result: list[list[ScoredQuad]] = [[] for _ in texts]
        with torch.inference_mode():
            for numbers, batch in self._batches(texts):
                for number, quads in zip(numbers, self._quads(batch, threshold), strict=True):
                    result[number] = quads
        self.model.train(training)
        return result

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[_Text]]]:
        """Texts of about the same length; the windows of one text stay together."""
        windows = self.windower(texts)
        order = sorted(range(len(texts)), key=lambda i: (len(windows[i]), len(windows[i][0].input_ids), i))
        numbers: list[int] = []
        batch: list[_Text] = []
        for i in order:
            row = batch[-1].rows.stop if batch else 0
            if batch and row + len(windows[i]) > self.batch_size:
                yield numbers, batch
                numbers, batch, row = [], [], 0
            numbers.append(i)
            batch.append(_Text(texts[i], windows[i], tokens_of(windows[i]), range(row, row + len(windows[i]))))
        if batch:
            yield numbers, batch

    def _quads(self, batch: Sequence[_Text], threshold: float) -> list[list[ScoredQuad]]:
        windows = [window for text in batch for window in text.windows]
        hidden = self._encode(self.model.extraction_encoder, windows, range(len(windows)))
        pairs = self._candidates(batch, hidden)
        best: list[dict[Quad, float]] = [{} for _ in batch]
        if pairs and not self.model.config.share_encoder:
            needed = sorted({pair.row for pair in pairs})
            hidden = self._encode(self.model.classification_encoder, windows, needed)
        for i, label, score in self._classes(pairs, hidden, threshold):
            pair = pairs[i]
            quad = self._quad(batch[pair.text], pair, label)
            if quad is not None:
                best[pair.text][quad] = max(score, best[pair.text].get(quad, 0.0))
        return [[ScoredQuad(quad, found[quad]) for quad in sorted(found, key=lambda q: (q[4:], q))] for found in best]

    def _encode(self, encoder: torch.nn.Module, windows: Sequence[Window], rows: Sequence[int]) -> dict[int, Tensor]:
        """Hidden states of the windows in some rows, without padding. Shape of each: (tokens, hidden)."""
        states: dict[int, Tensor] = {}
        for start in range(0, len(rows), self.batch_size):
            part = rows[start : start + self.batch_size]
            inputs = pad([windows[row].input_ids for row in part], self.windower.pad_token_id)
            inputs = {name: value.to(self.model.device) for name, value in inputs.items()}
            hidden = self.model.encode(encoder, **inputs)
            for i, row in enumerate(part):
                states[row] = hidden[i, : len(windows[row].input_ids)]
        return states

    def _candidates(self, batch: Sequence[_Text], hidden: dict[int, Tensor]) -> list[_Pair]:
        """Step 1, and its aspects crossed with its opinions."""
        padded = torch.nn.utils.rnn.pad_sequence(list(hidden.values()), batch_first=True)
        lengths = torch.tensor([len(states) for states in hidden.values()], device=padded.device)
        mask = torch.arange(padded.size(1), device=padded.device) < lengths[:, None]
        emissions, flag_logits = self.model.extract(padded, mask.long())
        flags = (flag_logits > 0).tolist()
        merged = [self._merge(text, emissions) for text in batch]
        lengths = torch.tensor([len(each) for each in merged], device=padded.device)
        padded = torch.nn.utils.rnn.pad_sequence(merged, batch_first=True)
        mask = torch.arange(padded.size(1), device=padded.device) < lengths[:, None]
        tags = self.model.crf.viterbi(padded, mask).tolist()
        pairs: list[_Pair] = []
        for number, text in enumerate(batch):
            lead = text.windows[0].lead
            of_text = tags[number][lead : lead + text.windows[-1].end]
            found = [spans_of(of_text, begin) for begin in (B_ASPECT, B_OPINION)]
            pairs += self._pairs(number, text, found, flags)
        return pairs

    def _pairs(
        self, number: int, text: _Text, found: Sequence[Sequence[Span]], flags: Sequence[Sequence[bool]]
    ) -> Iterator[_Pair]:
        """The pairs of a text's terms. A term that would be in none is paired with the implicit one."""
        always = self.model.config.implicit == "always"
        alone = [set(spans) for spans in found]
        for row, window in zip(text.rows, text.windows, strict=True):
            terms = [
                set(spans[bisect_left(spans, (window.first, 0)) : bisect_left(spans, (window.end, 0))])
                | ({IMPLICIT} if flag or always else set())
                for spans, flag in zip(found, flags[row], strict=True)
            ]
            if not all(terms):
                if IMPLICIT in terms[0] | terms[1]:
                    yield _pair(number, IMPLICIT, IMPLICIT, row, window)
                continue
            for aspect, opinion in candidate_pairs(window, text.windows, terms[0], terms[1]):
                yield _pair(number, aspect, opinion, row, window)
                alone[0].discard(aspect)
                alone[1].discard(opinion)
        for role, spans in enumerate(alone):
            for span in sorted(spans):
                aspect, opinion = (IMPLICIT, span) if role else (span, IMPLICIT)
                home = home_of(text.windows, aspect, opinion)
                if home is not None:
                    yield _pair(number, aspect, opinion, text.rows[home], text.windows[home])

    def _merge(self, text: _Text, emissions: Tensor) -> Tensor:
        """The scores of a text's tokens, each from its home, between those of the special tokens at both ends."""
        last = text.windows[-1]
        parts = [emissions[text.rows[0], : last.lead]]
        for row, window in zip(text.rows, text.windows, strict=True):
            shift = window.lead - window.first
            parts.append(emissions[row, window.home[0] + shift : window.home[1] + shift])
        parts.append(emissions[text.rows[-1], last.lead + len(last.offsets) : len(last.input_ids)])
        return torch.cat(parts)

    def _classes(
        self, pairs: Sequence[_Pair], hidden: dict[int, Tensor], threshold: float
    ) -> Iterator[tuple[int, int, float]]:
        """Step 2: (pair, class, probability) of each class that reaches the threshold."""
        for start in range(0, len(pairs), _PAIRS):
            part = pairs[start : start + _PAIRS]
            needed = sorted({pair.row for pair in part})
            place = {row: i for i, row in enumerate(needed)}
            padded = torch.nn.utils.rnn.pad_sequence([hidden[row] for row in needed], batch_first=True)
            rows = torch.tensor([place[pair.row] for pair in part], device=padded.device)
            positions = torch.tensor([pair.positions for pair in part], device=padded.device)
            probabilities = self.model.classify(padded, rows, positions).sigmoid()
            kept = probabilities >= threshold
            for (i, label), score in zip(kept.nonzero().tolist(), probabilities[kept].tolist(), strict=True):
                yield start + i, label, score

    def _quad(self, text: _Text, pair: _Pair, label: int) -> Quad | None:
        terms = []
        for span in (pair.aspect, pair.opinion):
            if span == IMPLICIT:
                terms.append((NULL, (-1, -1)))
            else:
                characters = character_span(text.offsets, span, text.text)
                if characters is None:
                    return None
                terms.append((text.text[characters[0] : characters[1]], characters))
        category, sentiment = divmod(label, len(SENTIMENTS))
        (aspect, a), (opinion, o) = terms
        return Quad(self.categories[category], aspect, opinion, SENTIMENTS[sentiment], *a, *o)

"""Between characters and tokens: windows of a text, tags and pairs of its gold quads, padded batches.

A text that is longer than a window is read in several, which overlap. Every token belongs to the window in which it
stands furthest from an inner border, its home.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.schema import NULL, SENTIMENTS, Sample

O, B_ASPECT, I_ASPECT, B_OPINION, I_OPINION = range(5)  # noqa: E741 - the field's name
NUM_TAGS = 5

Span = tuple[int, int]
"""Tokens from start to end, end exclusive; counted in the text or, where said, in a window."""

IMPLICIT: Span = (-1, -1)

_SURROGATES = re.compile("[\ud800-\udfff]")


class Window(NamedTuple):
    """Successive tokens of a text, as an encoder reads them.

    Args:
        input_ids: With the special tokens at both ends.
        offsets: Characters of each token of the text, without the special tokens.
        first: Number of the window's first token in its text.
        lead: Number of special tokens before the first.
        home: First and last token whose home the window is, end exclusive, counted in the text.
    """

    input_ids: list[int]
    offsets: list[tuple[int, int]]
    first: int
    lead: int
    home: Span

    @property
    def end(self) -> int:
        """The token of the text after the window's last."""
        return self.first + len(self.offsets)

    def positions(self, aspect: Span, opinion: Span) -> tuple[int, int, int, int]:
        """Where a pair is read: the spans as positions in ``input_ids``.

        An implicit aspect is read at the first position, an implicit opinion at the last.
        """
        shift = self.lead - self.first
        last = len(self.input_ids)
        a = (0, 1) if aspect == IMPLICIT else (aspect[0] + shift, aspect[1] + shift)
        o = (last - 1, last) if opinion == IMPLICIT else (opinion[0] + shift, opinion[1] + shift)
        return (*a, *o)


class Windower:
    """Cuts texts into windows of tokens.

    Args:
        tokenizer: A fast tokenizer that puts special tokens before and after a text.
        max_seq_length: Tokens of a window, special tokens included.
        doc_stride: Tokens that successive windows share.

    Raises:
        DataError: The tokenizer is not as described.
        UsageError: A window is longer than the tokenizer says that its encoder can read.
    """

    def __init__(self, tokenizer: Any, max_seq_length: int, doc_stride: int) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise DataError(f"found {type(tokenizer).__name__}, expected a fast tokenizer, which knows offsets")
        most = tokenizer.model_max_length
        if max_seq_length > most:
            raise UsageError(f"max_seq_length: found {max_seq_length}, expected at most {most}, as the tokenizer")
        self.tokenizer, self.max_seq_length, self.doc_stride = tokenizer, max_seq_length, doc_stride
        tokenizer.truncation_side = "right"
        of_text = [i for i, part in enumerate(tokenizer("a").sequence_ids(0)) if part == 0]
        self._lead = of_text[0] if of_text else 0
        self._tail = len(tokenizer("a")["input_ids"]) - self._lead - len(of_text)
        if not of_text or not self._lead or not self._tail:
            raise DataError("found a tokenizer without special tokens before and after a text, expected one with both")
        self.pad_token_id = tokenizer.pad_token_id or 0

    def __call__(self, texts: Sequence[str]) -> list[list[Window]]:
        """The windows of each text, at least one. A lone surrogate is read as U+FFFD."""
        if not texts:
            return []
        encoded = self.tokenizer(
            [_SURROGATES.sub("\ufffd", text) for text in texts],
            truncation=True,
            max_length=self.max_seq_length,
            stride=self.doc_stride,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_token_type_ids=False,
            return_attention_mask=False,
            split_special_tokens=True,
        )
        cut: list[list[tuple[list[int], list[tuple[int, int]]]]] = [[] for _ in texts]
        for text, ids, offsets in zip(
            encoded["overflow_to_sample_mapping"], encoded["input_ids"], encoded["offset_mapping"], strict=True
        ):
            cut[text].append((ids, offsets[self._lead : len(offsets) - self._tail]))
        return [self._windows(parts) for parts in cut]

    def _windows(self, parts: Sequence[tuple[list[int], list[tuple[int, int]]]]) -> list[Window]:
        step = self.max_seq_length - self._lead - self._tail - self.doc_stride
        borders = [0, *(i * step + self.doc_stride // 2 for i in range(1, len(parts)))]
        ends = [*borders[1:], (len(parts) - 1) * step + len(parts[-1][1])]
        return [
            Window(ids, offsets, i * step, self._lead, (borders[i], ends[i])) for i, (ids, offsets) in enumerate(parts)
        ]


def home_of(windows: Sequence[Window], aspect: Span, opinion: Span) -> int | None:
    """The window that holds both spans furthest from its inner borders; None if no window holds both.

    Args:
        windows: The windows of a text.
        aspect: Counted in the text, or ``IMPLICIT``; not both.
        opinion: Likewise.
    """
    explicit = [span for span in (aspect, opinion) if span != IMPLICIT]
    start, end = min(span[0] for span in explicit), max(span[1] for span in explicit)
    best, home = -1, None
    for i, window in enumerate(windows):
        if window.first <= start and end <= window.end:
            before = start - window.first if i else window.end
            after = window.end - end if i + 1 < len(windows) else window.end
            if min(before, after) > best:
                best, home = min(before, after), i
    return home


class Example(NamedTuple):
    """A window with what is to be learned from it.

    Args:
        input_ids: With the special tokens.
        tags: One for each position; ``O`` at the special tokens.
        implicit: Whether a quad of the window has an implicit aspect, and an implicit opinion.
        pairs: Start and end of aspect and opinion of each pair, as :meth:`Window.positions`.
        classes: The classes of each pair, none for a wrong one.
    """

    input_ids: list[int]
    tags: list[int]
    implicit: tuple[int, int]
    pairs: list[tuple[int, int, int, int]]
    classes: list[list[int]]


class Unused(NamedTuple):
    """Gold quads that a training set cannot use in full.

    Args:
        unlocated: Quads with a term whose place in the text is not known, or that no token covers.
        apart: Quads whose terms stand in no common window.

    The terms that have a place are learned, the pair is not.
    """

    unlocated: int = 0
    apart: int = 0


def examples(
    samples: Sequence[Sample], windower: Windower, categories: Sequence[str], *, negatives: bool, always: bool
) -> tuple[list[Example], Unused]:
    """What is to be learned from samples, one example a window.

    Args:
        samples: The samples.
        windower: Cuts their texts.
        categories: The categories, in the order of the classes.
        negatives: Whether the wrong pairs of gold aspects and gold opinions are pairs too.
        always: With ``negatives``, whether the implicit aspect and opinion are taken as gold terms of every text.

    Returns:
        The examples, and what is not in them.

    Raises:
        DataError: A quad's offsets are not those of its term, or its category is unknown.
    """
    result = []
    unlocated = apart = 0
    index = {category: i for i, category in enumerate(categories)}
    for sample, windows in zip(samples, windower([sample.text for sample in samples]), strict=True):
        gold: dict[tuple[Span, Span], set[int]] = {}
        tagged: list[tuple[Span, Span]] = []
        tokens = tokens_of(windows)
        for quad in sample.quads:
            if quad.category not in index:
                raise DataError(f"found {quad.category!r:.60} in sample {sample.id!r:.60}, expected a known category")
            aspect = _span(quad.aspect, quad.aspect_start, quad.aspect_end, sample, tokens)
            opinion = _span(quad.opinion, quad.opinion_start, quad.opinion_end, sample, tokens)
            tagged.append((aspect or IMPLICIT, opinion or IMPLICIT))
            if aspect is None or opinion is None:
                unlocated += 1
                continue
            label = index[quad.category] * len(SENTIMENTS) + SENTIMENTS.index(quad.sentiment)
            gold.setdefault((aspect, opinion), set()).add(label)
        in_window: list[dict[tuple[Span, Span], set[int]]] = [{} for _ in windows]
        for terms, labels in gold.items():
            homes = range(len(windows)) if terms == (IMPLICIT, IMPLICIT) else [home_of(windows, *terms)]
            for home in homes:
                if home is None:
                    apart += len(labels)
                else:
                    in_window[home][terms] = labels
        for window, right in zip(windows, in_window, strict=True):
            pairs = sorted(_candidates(window, windows, tagged, right, always) if negatives else right)
            flags = [any(terms[role] == IMPLICIT for terms in right) for role in (0, 1)]
            result.append(
                Example(
                    window.input_ids,
                    _tags(window, tagged),
                    (int(flags[0]), int(flags[1])),
                    [window.positions(*pair) for pair in pairs],
                    [sorted(right.get(pair, ())) for pair in pairs],
                )
            )
    return result, Unused(unlocated, apart)


def _candidates(
    window: Window,
    windows: Sequence[Window],
    tagged: Sequence[tuple[Span, Span]],
    right: dict[tuple[Span, Span], set[int]],
    always: bool,
) -> set[tuple[Span, Span]]:
    aspects, opinions = ({terms[role] for terms in tagged} - {IMPLICIT} for role in (0, 1))
    for role, spans in enumerate((aspects, opinions)):
        if always or any(terms[role] == IMPLICIT for terms in right):
            spans.add(IMPLICIT)
    return set(candidate_pairs(window, windows, aspects, opinions)) | set(right)


def candidate_pairs(
    window: Window, windows: Sequence[Window], aspects: set[Span], opinions: set[Span]
) -> Iterator[tuple[Span, Span]]:
    """The pairs of an aspect and an opinion whose home a window is, in order; with both implicit, every window.

    Args:
        window: One of the windows.
        windows: The windows of the text.
        aspects: Spans counted in the text, ``IMPLICIT`` among them if it is a candidate.
        opinions: Likewise.
    """
    near = [
        sorted(span for span in spans if span == IMPLICIT or (window.first <= span[0] and span[1] <= window.end))
        for spans in (aspects, opinions)
    ]
    for aspect, opinion in product(near[0], near[1]):
        if len(windows) > 1 and (aspect, opinion) != (IMPLICIT, IMPLICIT):
            home = home_of(windows, aspect, opinion)
            if home is None or windows[home] is not window:
                continue
        yield aspect, opinion


def tokens_of(windows: Sequence[Window]) -> list[tuple[int, int]]:
    """The offsets of all tokens of a text."""
    return [offset for w in windows for offset in w.offsets[w.home[0] - w.first : w.home[1] - w.first]]


def _span(term: str, start: int, end: int, sample: Sample, tokens: Sequence[tuple[int, int]]) -> Span | None:
    if (start, end) == (-1, -1):
        return IMPLICIT if term == NULL else None
    if not 0 <= start <= end <= len(sample.text) or sample.text[start:end] != term:
        raise DataError(f"found {term!r:.60} at {start}, {end} in sample {sample.id!r:.60}, expected text[start:end]")
    return token_span(tokens, start, end) if start < end else None


def token_span(tokens: Sequence[tuple[int, int]], start: int, end: int) -> Span | None:
    """The tokens that hold some of the characters from start to end; None if there are none.

    Args:
        tokens: Offsets of tokens, in order.
        start: In characters.
        end: In characters, exclusive.
    """
    first = bisect_right(tokens, start, key=lambda offset: offset[1])
    last = bisect_left(tokens, end, key=lambda offset: offset[0])
    return (first, last) if first < last else None


def character_span(tokens: Sequence[tuple[int, int]], span: Span, text: str) -> tuple[int, int] | None:
    """The characters of tokens, without white space at either end; None if that leaves none.

    Args:
        tokens: Offsets of the text's tokens.
        span: Tokens.
        text: The text.
    """
    start = min(offset[0] for offset in tokens[span[0] : span[1]])
    end = max(offset[1] for offset in tokens[span[0] : span[1]])
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None


def _tags(window: Window, tagged: Sequence[tuple[Span, Span]]) -> list[int]:
    """Aspect, then opinion of one quad after the other: where terms overlap, the later stands, as in the original."""
    tags = [O] * len(window.input_ids)
    for terms in tagged:
        for span, begin in zip(terms, (B_ASPECT, B_OPINION), strict=True):
            for token in range(max(span[0], window.first), min(span[1], window.end)):
                tags[token - window.first + window.lead] = begin if token == span[0] else begin + 1
    return tags


def spans_of(tags: Sequence[int], begin: int) -> list[Span]:
    """The spans that begin with a tag; an inside tag without a beginning is none.

    Args:
        tags: One a token.
        begin: ``B_ASPECT`` or ``B_OPINION``.
    """
    spans = []
    start = None
    for i, tag in enumerate((*tags, O)):
        if start is not None and tag != begin + 1:
            spans.append((start, i))
            start = None
        if tag == begin:
            start = i
    return spans


def collate(batch: Sequence[Example], *, pad_token_id: int, num_classes: int) -> dict[str, Tensor]:
    """Examples as tensors, padded to the longest of the batch.

    Returns:
        The arguments of :meth:`ExtractClassifyModel.forward`.
    """
    inputs = pad([example.input_ids for example in batch], pad_token_id)
    width = max(1, *(len(example.pairs) for example in batch))
    pairs = torch.zeros(len(batch), width, 4, dtype=torch.long)
    labels = torch.zeros(len(batch), width, num_classes)
    for row, example in enumerate(batch):
        if example.pairs:
            pairs[row, : len(example.pairs)] = torch.tensor(example.pairs)
        for i, classes in enumerate(example.classes):
            labels[row, i, classes] = 1.0
    tags = torch.full_like(inputs["input_ids"], O)
    for row, example in enumerate(batch):
        tags[row, : len(example.tags)] = torch.tensor(example.tags)
    implicit = torch.tensor([example.implicit for example in batch], dtype=torch.float)
    return {**inputs, "tags": tags, "implicit": implicit, "pairs": pairs, "pair_labels": labels}


def pad(sequences: Sequence[Sequence[int]], pad_token_id: int) -> dict[str, Tensor]:
    """``input_ids`` and ``attention_mask``, padded at the end. Shapes (sequences, longest)."""
    longest = max(len(ids) for ids in sequences)
    input_ids = torch.full((len(sequences), longest), pad_token_id, dtype=torch.long)
    mask = torch.zeros(len(sequences), longest, dtype=torch.long)
    for row, ids in enumerate(sequences):
        input_ids[row, : len(ids)] = torch.tensor(ids)
        mask[row, : len(ids)] = 1
    return {"input_ids": input_ids, "attention_mask": mask}

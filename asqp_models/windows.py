"""Windows of a text: how long texts are read, shared by the neural methods.

A text that is longer than a window is read in several, which overlap. Every token belongs to the window in which it
stands furthest from an inner border, its home.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from asqp_datasets.errors import DataError, UsageError

Span = tuple[int, int]
"""Tokens from start to end, end exclusive; counted in the text or, where said, in a window."""

IMPLICIT: Span = (-1, -1)

_SURROGATES = re.compile("[\ud800-\udfff]")


class Cut(Protocol):
    """Successive tokens of a text, from first to end, end exclusive."""

    @property
    def first(self) -> int:
        """Number of the first token in its text."""

    @property
    def end(self) -> int:
        """The token of the text after the last."""


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


def home_of(windows: Sequence[Cut], aspect: Span, opinion: Span) -> int | None:
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


def pad(sequences: Sequence[Sequence[int]], pad_token_id: int) -> dict[str, Tensor]:
    """``input_ids`` and ``attention_mask``, padded at the end. Shapes (sequences, longest)."""
    longest = max(len(ids) for ids in sequences)
    input_ids = torch.full((len(sequences), longest), pad_token_id, dtype=torch.long)
    mask = torch.zeros(len(sequences), longest, dtype=torch.long)
    for row, ids in enumerate(sequences):
        input_ids[row, : len(ids)] = torch.tensor(ids)
        mask[row, : len(ids)] = 1
    return {"input_ids": input_ids, "attention_mask": mask}

"""Between characters and tokens: tags and pairs of the gold quads of a window, padded batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from asqp_datasets.errors import DataError
from asqp_datasets.schema import NULL, SENTIMENTS, Sample
from asqp_models.windows import (
    IMPLICIT,
    Span,
    Window,
    Windower,
    candidate_pairs,
    character_span,
    home_of,
    pad,
    token_span,
    tokens_of,
)

__all__ = [
    "B_ASPECT",
    "B_OPINION",
    "IMPLICIT",
    "I_ASPECT",
    "I_OPINION",
    "NUM_TAGS",
    "Example",
    "O",
    "Span",
    "Unused",
    "Window",
    "Windower",
    "candidate_pairs",
    "character_span",
    "collate",
    "examples",
    "home_of",
    "pad",
    "spans_of",
    "token_span",
    "tokens_of",
]

O, B_ASPECT, I_ASPECT, B_OPINION, I_OPINION = range(5)  # noqa: E741 - the field's name
NUM_TAGS = 5


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


def _span(term: str, start: int, end: int, sample: Sample, tokens: Sequence[tuple[int, int]]) -> Span | None:
    if (start, end) == (-1, -1):
        return IMPLICIT if term == NULL else None
    if not 0 <= start <= end <= len(sample.text) or sample.text[start:end] != term:
        raise DataError(f"found {term!r:.60} at {start}, {end} in sample {sample.id!r:.60}, expected text[start:end]")
    return token_span(tokens, start, end) if start < end else None


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

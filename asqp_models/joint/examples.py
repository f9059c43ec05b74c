"""Training examples, and batches of windows as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from asqp_datasets.errors import DataError
from asqp_datasets.schema import SENTIMENTS, Sample
from asqp_models.joint.labels import SOURCES, LabelEvidence, Logs
from asqp_models.joint.reading import FEATURES, Reader, Window
from asqp_models.lexicon.matching import Ints

ROLES = 4
"""Aspect with an opinion, aspect alone, opinion with an aspect, opinion alone."""


class Example(NamedTuple):
    """A window with what is to be learned from it.

    Args:
        window: The window.
        roles: Unit, length - 1 and role of each gold term; a term may have several. Shape (R, 3).
        quads: First unit and length of aspect and opinion, -1 and 0 if implicit; category; sentiment. Shape (Q, 6).
        categories: Evidence of the categories of each quad. Shape (Q, SOURCES, categories).
        sentiments: Likewise of the sentiments.
    """

    window: Window
    roles: Ints
    quads: Ints
    categories: Logs
    sentiments: Logs

    @property
    def input_ids(self) -> Sequence[int]:
        """What the encoder reads."""
        return self.window.input_ids


def label_evidence(reader: Reader, categories: Sequence[str]) -> tuple[LabelEvidence, LabelEvidence]:
    """That of categories, and that of sentiments, from the reader's dictionary.

    Args:
        reader: The reader.
        categories: The categories in the order of the classes, at least those of the dictionary.
    """
    outcomes, terms = reader.lexicon.counts.outcomes, len(reader.lexicon.dictionary.terms)
    if not reader.known:
        outcomes = outcomes[:0]
    index = {category: i for i, category in enumerate(categories)}
    classes = np.array([index[category] for category in reader.lexicon.categories], np.int64)
    of_category = np.column_stack([outcomes[:, :2], classes[outcomes[:, 2]], outcomes[:, 4]])
    return (
        LabelEvidence(of_category, terms, len(categories)),
        LabelEvidence(outcomes[:, [0, 1, 3, 4]], terms, len(SENTIMENTS)),
    )


def examples(
    samples: Sequence[Sample], reader: Reader, categories: Sequence[str], *, folds: int = 5
) -> tuple[list[Example], int]:
    """What is to be learned from samples, one example a window.

    Args:
        samples: The samples.
        reader: Reads their texts, with the dictionary that was made of them.
        categories: The categories, in the order of the classes.
        folds: As in :meth:`Reader.read_training`.

    Returns:
        The examples; and how many quads they lack, as no sequence of units is their aspect or opinion, or it is longer
        than ``max_units``, or no window holds both.

    Raises:
        DataError: A quad's offsets are not those of its term.
    """
    _check(samples)
    texts, gold, readers = reader.read_training(samples, folds)
    index = {category: i for i, category in enumerate(categories)}
    rows = [
        (q.text, *(q.aspect or (-1, 0)), *(q.opinion or (-1, 0)), index[q.category], SENTIMENTS.index(q.sentiment))
        for q in gold
        if max((q.aspect or (0, 0))[1], (q.opinion or (0, 0))[1]) <= reader.max_units
    ]
    quads = np.array(sorted(rows), np.int64).reshape(-1, 7)
    terms = [np.array([_term(texts[r[0]].terms, r[i], r[i + 1]) for r in quads.tolist()], np.int64) for i in (1, 3)]
    evidence: list[Logs] = [
        np.zeros((len(quads), SOURCES, size), np.float32) for size in (len(categories), len(SENTIMENTS))
    ]
    for fold, part in enumerate(readers):
        own = np.flatnonzero(quads[:, 0] % len(readers) == fold)
        for whole, each in zip(evidence, label_evidence(part, categories), strict=True):
            whole[own] = each(terms[0][own], terms[1][own])
    first = np.searchsorted(quads[:, 0], np.arange(len(samples) + 1)).tolist()
    result = []
    used: set[int] = set()
    for number, windows in enumerate(reader.windows([sample.text for sample in samples], texts)):
        places = slice(first[number], first[number + 1])
        for window in windows:
            example, taken = _example(window, quads[places, 1:], [each[places] for each in evidence])
            result.append(example)
            used |= {first[number] + i for i in taken}
    return result, sum(len(sample.quads) for sample in samples) - len(used)


def _example(window: Window, quads: Ints, evidence: Sequence[Logs]) -> tuple[Example, list[int]]:
    roles: set[tuple[int, int, int]] = set()
    whole = np.ones(len(quads), np.bool_)
    shifted = quads.copy()
    for start, other, role in ((0, 2, 0), (2, 0, 2)):
        explicit = quads[:, start] >= 0
        inside = explicit & (quads[:, start] >= window.first) & (quads[:, start : start + 2].sum(1) <= window.end)
        whole &= inside | ~explicit
        shifted[explicit, start] -= window.first
        alone = (quads[:, other] < 0).astype(np.int64)
        for i in np.flatnonzero(inside).tolist():
            roles.add((int(shifted[i, start]), int(shifted[i, start + 1]) - 1, role + int(alone[i])))
    found = np.flatnonzero(whole)
    example = Example(
        window,
        np.array(sorted(roles), np.int64).reshape(-1, 3),
        shifted[found],
        evidence[0][found],
        evidence[1][found],
    )
    return example, found.tolist()


def _term(terms: npt.NDArray[np.int32], start: int, length: int) -> int:
    if start < 0:
        return -1
    term = int(terms[start, length - 1])
    return term if term >= 0 else -2


def _check(samples: Sequence[Sample]) -> None:
    for sample in samples:
        for quad in sample.quads:
            for term, start, end in ((quad.aspect, *quad[4:6]), (quad.opinion, *quad[6:8])):
                if (start, end) != (-1, -1) and sample.text[max(0, start) : max(0, end)] != term:
                    raise DataError(
                        f"found {term!r:.60} at {start}, {end} in sample {sample.id!r:.60}, expected text[start:end]"
                    )


def window_tensors(windows: Sequence[Window], pad_token_id: int) -> dict[str, Tensor]:
    """Windows as the arguments of :meth:`JointModel.forward`, padded to the longest of the batch."""
    batch, width = len(windows), windows[0].text.features.shape[1]
    units = max(1, *(window.end - window.first for window in windows))
    pieces = max(1, *(len(window.input_ids) for window in windows))
    input_ids = np.full((batch, pieces), pad_token_id, np.int64)
    mask = np.zeros((batch, pieces), np.int64)
    of_unit = np.full((batch, pieces), -1, np.int64)
    features = np.zeros((batch, units, width, FEATURES), np.float32)
    terms = np.full((batch, units, width), -1, np.int64)
    borders = np.zeros((batch, units, 2), np.float32)
    links, odds = [], []
    for row, window in enumerate(windows):
        count, read = window.end - window.first, len(window.input_ids)
        part = slice(window.first, window.end)
        input_ids[row, :read], mask[row, :read], of_unit[row, :read] = window.input_ids, 1, window.units
        features[row, :count] = window.text.features[part]
        terms[row, :count] = window.text.terms[part]
        borders[row, :count] = window.text.borders[part]
        found, score = window.links()
        links.append(np.column_stack([np.full(len(found), row), found]))
        odds.append(score)
    arrays = {
        "input_ids": input_ids,
        "attention_mask": mask,
        "units": of_unit,
        "lengths": np.array([window.end - window.first for window in windows]),
        "features": features,
        "terms": terms,
        "borders": borders,
        "links": np.concatenate(links).astype(np.int64),
        "odds": np.concatenate(odds),
    }
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def collate(batch: Sequence[Example], *, pad_token_id: int) -> dict[str, Tensor]:
    """Examples as tensors, padded to the longest of the batch.

    Returns:
        The arguments of :meth:`JointModel.forward`.
    """
    inputs = window_tensors([example.window for example in batch], pad_token_id)
    units, width = inputs["features"].shape[1:3]
    roles = torch.zeros(len(batch), units, width, ROLES)
    quads = []
    for row, example in enumerate(batch):
        at = torch.from_numpy(example.roles)
        roles[row, at[:, 0], at[:, 1], at[:, 2]] = 1.0
        quads.append(np.column_stack([np.full(len(example.quads), row), example.quads]))
    categories = np.concatenate([example.categories for example in batch])
    sentiments = np.concatenate([example.sentiments for example in batch])
    return {
        **inputs,
        "roles": roles,
        "quads": torch.from_numpy(np.concatenate(quads).astype(np.int64)),
        "category_evidence": torch.from_numpy(categories.reshape(-1, SOURCES, categories.shape[-1])),
        "sentiment_evidence": torch.from_numpy(sentiments.reshape(-1, SOURCES, sentiments.shape[-1])),
    }

"""The dictionary of a checkpoint: what the lexicon has counted, as arrays in ``dictionary.safetensors``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from asqp_datasets.errors import DataError, first_line
from asqp_datasets.schema import SENTIMENTS
from asqp_models.lexicon import LexiconModel
from asqp_models.lexicon.checkpoint import Counts
from asqp_models.lexicon.counts import Table
from asqp_models.lexicon.linking import TABLES, WEIGHTS
from asqp_models.lexicon.matching import FIRST, MOST_ENTRIES, Ints

FILE = "dictionary.safetensors"

Array = npt.NDArray[Any]


class StoredDictionary:
    """A dictionary with what writes it.

    Args:
        lexicon: The dictionary. Its thresholds, by which it would predict alone, are not stored.
    """

    def __init__(self, lexicon: LexiconModel) -> None:
        self.lexicon = lexicon

    def save_pretrained(self, folder: Path) -> None:
        """Write the file; the same dictionary gives the same bytes."""
        counts = self.lexicon.counts
        tokens = [token.encode("utf-8", "surrogatepass") for token in counts.tokens]
        arrays = {
            "tokens": np.frombuffer(b"".join(tokens), np.uint8),
            "token_sizes": _small(np.array([len(token) for token in tokens], np.int64)),
            "terms": _small(np.array([token for term in counts.terms for token in term], np.int64)),
            "term_sizes": _small(np.array([len(term) for term in counts.terms], np.int64)),
            "outcomes": counts.outcomes.astype(np.int32),
            "words": counts.words.astype(np.int32),
        }
        for name, table in counts.tables.items():
            arrays |= {f"{name}.keys": table.keys, f"{name}.counts": _small(table.counts)}
        arrays |= {f"{name}.weights": weights for name, weights in counts.weights.items()}
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, folder / FILE)


def load_dictionary(folder: Path, *, language: str, categories: Sequence[str], reuse: Sequence[bool]) -> LexiconModel:
    """Read what :class:`StoredDictionary` wrote, checking everything that a prediction relies on.

    Args:
        folder: The checkpoint folder.
        language: That of the checkpoint.
        categories: Likewise.
        reuse: Likewise.

    Raises:
        DataError: The file is missing, damaged, or not of these categories.
    """
    path = folder / FILE
    try:
        arrays = load_file(path)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"cannot be read as a dictionary: {first_line(error)}", path=path) from error
    read = _Checked(path, arrays)
    tokens = _strings(read)
    size = len(tokens) + FIRST
    flat = read.integers("terms", (None,), [range(FIRST, size)])
    sizes = read.integers("term_sizes", (None,), [range(1, 2**31)])
    read.expect(len(sizes) <= MOST_ENTRIES and int(sizes.sum()) == len(flat), "term_sizes", "the lengths of all terms")
    ends = np.cumsum(sizes).tolist()
    ids = flat.tolist()
    terms = [tuple(ids[end - length : end]) for end, length in zip(ends, sizes.tolist(), strict=True)]
    either, labels = range(-1, len(terms)), [range(len(categories)), range(len(SENTIMENTS))]
    count = range(2**40)
    tables = {}
    for name, number in TABLES.items():
        keys = read.integers(f"{name}.keys", (None,), [range(2**63 - 1)])
        read.expect(bool((np.diff(keys) > 0).all()), f"{name}.keys", "sorted numbers, each once")
        tables[name] = Table(keys, read.integers(f"{name}.counts", (len(keys), 1 + number), [count] * (1 + number)))
    weights = {}
    for name, number in WEIGHTS.items():
        array = read.array(f"{name}.weights", (number,))
        read.expect(array.dtype == np.float64 and bool(np.isfinite(array).all()), f"{name}.weights", "finite numbers")
        weights[name] = array
    counts = Counts(
        tokens=tokens,
        terms=terms,
        tables=tables,
        weights=weights,
        outcomes=read.integers("outcomes", (None, 5), [either, either, *labels, count]),
        words=read.integers("words", (None, 4), [range(FIRST, size), *labels, count]),
    )
    return LexiconModel(counts, language=language, categories=categories, reuse=reuse)


def _small(array: Ints) -> Array:
    """The numbers in as few bytes as hold them all."""
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def _strings(read: _Checked) -> list[str]:
    sizes = read.integers("token_sizes", (None,), [range(1, 2**31)])
    array = read.array("tokens", (None,))
    good = array.dtype == np.uint8 and int(sizes.sum()) == len(array) and len(sizes) <= MOST_ENTRIES
    read.expect(good, "tokens", "the bytes of all tokens")
    whole, ends = array.tobytes(), np.cumsum(sizes).tolist()
    try:
        strings = [
            whole[end - size : end].decode("utf-8", "surrogatepass")
            for end, size in zip(ends, sizes.tolist(), strict=True)
        ]
    except UnicodeDecodeError:
        strings = []
    read.expect(len(strings) == len(sizes) == len(set(strings)), "tokens", "different strings")
    return strings


class _Checked:
    """The arrays of a file, which are checked as they are taken."""

    def __init__(self, path: Path, arrays: Mapping[str, Array]) -> None:
        self.path, self.arrays = path, arrays

    def expect(self, good: bool, name: str, expected: str) -> None:
        if not good:
            raise DataError(f"found something else, expected {expected}", path=self.path, field=name)

    def array(self, name: str, shape: tuple[int | None, ...]) -> Array:
        """An array with that many axes, of those lengths where they are given."""
        if name not in self.arrays:
            raise DataError("found nothing, expected an array of a dictionary", path=self.path, field=name)
        array = self.arrays[name]
        good = len(array.shape) == len(shape)
        good = good and all(wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=True))
        self.expect(good, name, f"an array of shape {shape}")
        return array

    def integers(self, name: str, shape: tuple[int | None, ...], ranges: Sequence[range]) -> Ints:
        """An array of integers, each column within its range."""
        array = self.array(name, shape)
        self.expect(array.dtype.kind in "iu", name, "integers")
        for column, within in zip(array.reshape(len(array), len(ranges)).T, ranges, strict=True):
            good = not len(column) or (column.min() >= within.start and column.max() < within.stop)
            self.expect(bool(good), name, f"numbers from {within.start} to {within.stop - 1}")
        checked: Ints = array.astype(np.int64)
        return checked

"""Read predictions and gold quads, in any of the forms they come in, into integer codes.

Every measure of this package works on these codes; no string is looked at twice.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NULL = "NULL"
"""The implicit aspect or opinion. ``None`` and the empty string mean the same on input."""

SENTIMENTS = ("NEG", "NEU", "POS")
"""Sentiment polarities; the code of a sentiment is its place here."""

UNPARSABLE = len(SENTIMENTS)
"""Sentiment code of an output that could not be read as a quad."""

ELEMENTS = ("category", "aspect", "opinion", "sentiment")
"""The four strings of a quad, in the order of the paper."""

_A_LIST = "a list of quads (one list per sample)"
_A_QUAD = f"a quad: four strings, or a dict with {', '.join(ELEMENTS)}"
_NO_VALUE = object()


class ScoreError(ValueError):
    """Input or an option that cannot be scored.

    Args:
        expected: What should have been there.
        found: What was there; left out of the message if not given.
        side: ``"predictions"`` or ``"references"``.
        sample: Index of the sample, from 0.
        quad: Index of the quad in its sample, from 0.
        field: Element of the quad, or name of the option.

    Attributes:
        id: Name of the sample, for callers that know it; it joins the message once it is set.
    """

    def __init__(
        self,
        expected: str,
        found: object = _NO_VALUE,
        *,
        side: str | None = None,
        sample: int | None = None,
        quad: int | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(expected)
        self.expected = expected
        try:
            self.found = None if found is _NO_VALUE else f"{found!r:.80}"
        except RecursionError:
            self.found = f"a very deep {type(found).__name__}"
        self.side, self.sample, self.quad, self.field = side, sample, quad, field
        self.id: str | None = None

    def __str__(self) -> str:
        where = [self.side] if self.side else []
        if self.sample is not None:
            where.append(f"sample {self.sample}" + (f" ({self.id})" if self.id is not None else ""))
        if self.quad is not None:
            where.append(f"quad {self.quad}")
        if self.field:
            where.append(self.field)
        what = f"expected {self.expected}" if self.found is None else f"found {self.found}, expected {self.expected}"
        return f"{', '.join(where)}: {what}" if where else what


class Quads(NamedTuple):
    """The quads of one side, one row each, as codes into the vocabularies of :class:`Encoded`."""

    counts: Ints  # quads per sample
    sample: Ints
    category: Ints
    aspect: Ints
    opinion: Ints
    sentiment: Ints

    @property
    def parsable(self) -> Flags:
        """Which rows are quads; the others stand for outputs that could not be read."""
        parsable: Flags = self.sentiment != UNPARSABLE
        return parsable


class Encoded(NamedTuple):
    """Both sides over shared vocabularies. The code of the implicit term is 0."""

    predictions: Quads
    references: Quads
    categories: list[str]
    terms: list[str]

    @property
    def samples(self) -> int:
        """Number of samples."""
        return len(self.references.counts)

    def strings(self, quads: Quads, row: int) -> tuple[str, str, str, str]:
        """The quad of a row, as it was compared."""
        sentiment = int(quads.sentiment[row])
        return (
            self.categories[quads.category[row]],
            self.terms[quads.aspect[row]],
            self.terms[quads.opinion[row]],
            "" if sentiment == UNPARSABLE else SENTIMENTS[sentiment],
        )


class Columns(NamedTuple):
    """The quads of one side, before encoding: sequences of values or Arrow arrays."""

    counts: Ints
    category: Any
    aspect: Any
    opinion: Any
    sentiment: Any


class _Vocabulary:
    """Strings to codes; what has no code is -1.

    Args:
        known: Codes to begin with.
        names: The string of each code, continued by what is met; None to take in nothing.
        fold: What is done to a string before it is compared.
    """

    def __init__(
        self, known: dict[Any, int], names: list[str] | None, fold: Callable[[str], str] | None = None
    ) -> None:
        self._known, self._names, self._fold = known, names, fold
        self._codes: dict[str, int] = {}

    def codes(self, column: Any) -> Ints:
        """The code of each value of a sequence or an Arrow array."""
        if hasattr(column, "dictionary_encode"):
            # One piece: a dictionary of each chunk would hold the strings of all.
            column = column.cast("large_string").combine_chunks().dictionary_encode()
            table = self.codes([*column.dictionary.to_pylist(), None])
            rows: Ints = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            return table[rows]
        try:
            distinct = dict.fromkeys(column)
        except TypeError:  # what cannot be hashed is no string
            column = [value if isinstance(value, str) else _NO_VALUE for value in column]
            distinct = dict.fromkeys(column)
        self._learn([value for value in distinct if value not in self._known])
        return np.fromiter(map(self._known.__getitem__, column), np.int64, len(column))

    def _learn(self, values: list[Any]) -> None:
        if self._names is None or not set(map(type, values)) <= {str}:
            taken = [value for value in values if isinstance(value, str) and self._names is not None]
            self._known.update(dict.fromkeys(values, -1))
            values = list(map(str, taken))
        if self._names is None:
            return
        start = len(self._names)
        if self._fold is None:
            self._known.update(zip(values, range(start, start + len(values)), strict=True))
            self._names += values
            return
        for value in values:
            name = self._fold(value)
            self._known[value] = code = self._codes.setdefault(name, len(self._names))
            if code == len(self._names):
                self._names.append(name)


def encode(
    predictions: Any,
    references: Any,
    *,
    normalize: str | None = None,
    unparsable: tuple[bool, bool] = (False, False),
) -> Encoded:
    """Read both sides.

    Args:
        predictions: One list of quads per sample. A quad is four strings in the order category, aspect,
            opinion, sentiment, or a dict (or named tuple) with these names; anything else in a dict is
            ignored. The outer list may be a pandas Series, a numpy object array, a ``datasets`` column
            or an Arrow array of ``list<struct>``, which is the fastest.
        references: The gold quads, in the same form and order.
        normalize: ``"nfkc"`` folds width, case and runs of white space; ``None`` changes nothing.
        unparsable: Whether predictions and references may hold four empty strings.

    Raises:
        ScoreError: The sides differ in length, or hold something else than quads.
    """
    sides = {"predictions": _columns(predictions, "predictions"), "references": _columns(references, "references")}
    lengths = [len(columns.counts) for columns in sides.values()]
    if lengths[0] != lengths[1]:
        raise ScoreError(f"as many samples as there are references ({lengths[1]})", lengths[0], side="predictions")
    fold = _fold if normalize else None
    categories: list[str] = []
    terms = [NULL]
    both = _Vocabulary({NULL: 0, "": 0, None: 0}, terms, fold)
    vocabularies = {
        "category": _Vocabulary({}, categories, fold),
        "aspect": both,
        "opinion": both,
        "sentiment": _Vocabulary({name: code for code, name in enumerate((*SENTIMENTS, ""))}, None),
    }
    coded = [
        _encode_side(columns, side, vocabularies, categories, allowed)
        for (side, columns), allowed in zip(sides.items(), unparsable, strict=True)
    ]
    return Encoded(coded[0], coded[1], categories, terms)


def _fold(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", folded))


def _encode_side(
    columns: Columns, side: str, vocabularies: dict[str, _Vocabulary], categories: list[str], unparsable: bool
) -> Quads:
    codes = {name: vocabulary.codes(getattr(columns, name)) for name, vocabulary in vocabularies.items()}
    marked = codes["sentiment"] == UNPARSABLE
    if marked.any():
        empty = np.array([*(name == "" for name in categories), False])[codes["category"]]
        legal = unparsable & empty & (codes["aspect"] == 0) & (codes["opinion"] == 0)
        codes["sentiment"][marked & ~legal] = -1
    wrong = [(int(np.argmax(column < 0)), name) for name, column in codes.items() if (column < 0).any()]
    if wrong:
        row, name = min(wrong, key=itemgetter(0))
        value = getattr(columns, name)[row]
        value = value.as_py() if hasattr(value, "as_py") else value
        raise ScoreError(_expected(name, value), value, side=side, field=name, **_place(columns.counts, row))
    return Quads(columns.counts, np.repeat(np.arange(len(columns.counts)), columns.counts), **codes)


def _expected(name: str, value: object) -> str:
    if name != "sentiment":
        return "a string" if name == "category" else "a string, or None for an implicit term"
    hint = ""
    if value == "":
        hint = " (four empty strings, an unparsable output, are for the published protocols; here leave it out)"
    return f"one of {', '.join(SENTIMENTS)}{hint}"


def _place(counts: Ints, row: int) -> dict[str, Any]:
    ends = np.cumsum(counts)
    sample = int(np.searchsorted(ends, row, side="right"))
    return {"sample": sample, "quad": int(row - ends[sample] + counts[sample])}


def _columns(samples: Any, side: str) -> Columns:
    if samples is None or isinstance(samples, str | bytes | bytearray | Mapping):
        raise ScoreError(f"a list of samples, each {_A_LIST}", samples, side=side)
    samples = _unwrap(samples)
    if hasattr(samples, "type") and hasattr(samples, "to_pylist"):
        columns = _arrow_columns(samples, side)
        if columns is not None:
            return columns
        samples = samples.to_pylist()
    try:
        rows = list(samples)
    except TypeError:
        raise ScoreError(f"a list of samples, each {_A_LIST}", samples, side=side) from None
    if not set(map(type, rows)) <= {list, tuple}:
        rows = [_quad_list(row, index, side) for index, row in enumerate(rows)]
    counts = np.fromiter(map(len, rows), np.int64, len(rows))
    return Columns(counts, *_quad_columns(list(chain.from_iterable(rows)), counts, side))


def _unwrap(samples: Any) -> Any:
    """The Arrow data of a ``datasets`` column, where it is shown untransformed."""
    if type(samples).__module__.startswith("datasets.") and hasattr(samples, "column_name"):
        source, name = samples.source, samples.column_name
        if getattr(source, "format", {"type": "other"})["type"] is None:
            return source.select_columns([name]).with_format("arrow")[:][name]
        return samples[:]
    return samples


def _quad_list(row: Any, sample: int, side: str) -> Sequence[Any]:
    if not isinstance(row, Iterable) or isinstance(row, str | bytes | bytearray | Mapping):
        raise ScoreError(_A_LIST, row, side=side, sample=sample)
    return list(row)


def _quad_columns(quads: list[Any], counts: Ints, side: str) -> tuple[Sequence[Any], ...]:
    """Four columns of values from a flat list of quads."""
    kinds = set(map(type, quads))
    names: Sequence[Any] = range(len(ELEMENTS))
    getter: Callable[[Any], Callable[[Any], Any]] = itemgetter
    if kinds == {dict}:
        names = ELEMENTS
    elif len(kinds) == 1 and set(ELEMENTS) <= set(getattr(next(iter(kinds)), "_fields", ())):
        names, getter = ELEMENTS, attrgetter
    elif not (kinds <= {list, tuple} and set(map(len, quads)) <= {len(ELEMENTS)}):
        quads = _strings(quads, counts, side)
    try:
        return tuple(list(map(getter(name), quads)) for name in names)
    except KeyError:
        return _quad_columns(_strings(quads, counts, side), counts, side)


def _strings(quads: list[Any], counts: Ints, side: str) -> list[tuple[Any, ...]]:
    """The four values of each quad, whatever its form."""
    rows: list[tuple[Any, ...]] = []
    for row, quad in enumerate(quads):
        values = quad._asdict() if hasattr(quad, "_asdict") else quad
        if isinstance(values, Mapping):
            for name in ELEMENTS:
                if name not in values:
                    expected = f"a dict with {', '.join(ELEMENTS)}"
                    raise ScoreError(expected, quad, side=side, field=name, **_place(counts, row))
            values = [values[name] for name in ELEMENTS]
        if not isinstance(values, list | tuple | np.ndarray) or len(values) != 4:
            raise ScoreError(_A_QUAD, quad, side=side, **_place(counts, row))
        rows.append(tuple(values))
    return rows


def _arrow_columns(array: Any, side: str) -> Columns | None:
    """Columns of an Arrow array of lists of structs of strings; None if it has another type."""
    import pyarrow as pa

    chunked = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    kind = chunked.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return None
    struct = kind.value_type
    if not pa.types.is_struct(struct) or any(struct.get_field_index(name) < 0 for name in ELEMENTS):
        return None
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_null)
    if not all(any(test(struct.field(name).type) for test in tests) for name in ELEMENTS):
        return None
    if chunked.null_count:
        sample = chunked.is_null().to_pylist().index(True)
        raise ScoreError(_A_LIST, None, side=side, sample=sample)
    values = [chunk.flatten() for chunk in chunked.chunks]
    if any(chunk.null_count for chunk in values):
        return None
    counts = [chunk.value_lengths().to_numpy(zero_copy_only=False) for chunk in chunked.chunks]
    columns = [pa.chunked_array([v.field(name) for v in values], struct.field(name).type) for name in ELEMENTS]
    return Columns(np.concatenate([np.zeros(0, np.int64), *counts]), *columns)

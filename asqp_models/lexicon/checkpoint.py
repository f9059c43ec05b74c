"""The checkpoint folder of the dictionary baseline: ``config.json`` and ``lexicon.json``."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from asqp_datasets.errors import DataError
from asqp_datasets.schema import SENTIMENTS
from asqp_models.lexicon.counts import Table
from asqp_models.lexicon.linking import KINDS, TABLES, WEIGHTS
from asqp_models.lexicon.matching import FIRST, MOST_ENTRIES, Floats, Ints

METHOD = "lexicon"
FORMAT_VERSION = 1
_COUNT = range(2**40)


class Counts(NamedTuple):
    """What a model has counted and fitted.

    Args:
        tokens: The vocabulary, normalised.
        terms: Ids of the tokens of each term.
        tables: By the names in ``linking.TABLES``.
        weights: By the names in ``linking.WEIGHTS``.
        outcomes: Rows of (aspect, opinion, category, sentiment, count): terms, or -1 if implicit.
        words: Rows of (token, category, sentiment, count): texts with a quad with neither term.
    """

    tokens: Sequence[str]
    terms: Sequence[tuple[int, ...]]
    tables: dict[str, Table]
    weights: dict[str, Floats]
    outcomes: Ints
    words: Ints


def save(folder: str | Path, config: dict[str, Any], counts: Counts) -> None:
    """Write both files, each under a temporary name first."""
    content = {
        "format_version": FORMAT_VERSION,
        "tokens": counts.tokens,
        "terms": counts.terms,
        "tables": {
            name: {"keys": table.keys.tolist(), "counts": table.counts.tolist()}
            for name, table in counts.tables.items()
        },
        "weights": {name: weights.tolist() for name, weights in counts.weights.items()},
        "outcomes": counts.outcomes.tolist(),
        "words": counts.words.tolist(),
    }
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("lexicon.json", json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))),
        ("config.json", json.dumps(config, ensure_ascii=False, sort_keys=True, indent=2)),
    ):
        temporary = folder / f".{name}.{os.getpid()}.tmp"
        try:
            temporary.write_text(text + "\n", encoding="utf-8")
            temporary.replace(folder / name)
        finally:
            temporary.unlink(missing_ok=True)


def load(folder: str | Path) -> tuple[dict[str, Any], Counts]:
    """Read both files back, checking everything that a prediction relies on.

    Returns:
        The keyword arguments of ``LexiconModel`` but for its counts; and the counts.

    Raises:
        DataError: A file is missing, is not JSON, or is not what :func:`save` writes.
    """
    config = _Checked(Path(folder) / "config.json").inside("asqp")
    config.expect(config.value("method") == METHOD, "method", repr(METHOD))
    version = f"{FORMAT_VERSION}, the version this package reads"
    config.expect(config.value("format_version") == FORMAT_VERSION, "format_version", version)
    language = config.value("language")
    config.expect(isinstance(language, str), "language", "a string")
    categories = config.strings("categories")
    thresholds = config.inside("thresholds")
    reuse = config.inside("reuse")
    arguments = {
        "language": language,
        "categories": categories,
        "thresholds": [thresholds.number(kind) for kind in KINDS],
        "reuse": [reuse.flag(name) for name in ("aspect", "opinion")],
    }
    thresholds.expect(min(arguments["thresholds"]) > 0, "thresholds", "numbers above 0")

    body = _Checked(Path(folder) / "lexicon.json")
    body.expect(body.value("format_version") == FORMAT_VERSION, "format_version", version)
    tokens = body.strings("tokens")
    size = len(tokens) + FIRST
    terms = body.value("terms")
    body.expect(
        isinstance(terms, list)
        and len(terms) <= MOST_ENTRIES
        and all(isinstance(t, list) and t and all(type(i) is int and FIRST <= i < size for i in t) for t in terms),
        "terms",
        f"lists of token ids from {FIRST} to {size - 1}",
    )
    either, label = range(-1, len(terms)), (range(len(categories)), range(len(SENTIMENTS)))
    stored_tables, stored_weights = body.inside("tables"), body.inside("weights")
    tables = {}
    for name, labels in TABLES.items():
        table = stored_tables.inside(name)
        keys = table.integers("keys", [range(2**63 - 1)])
        counts = table.integers("counts", [_COUNT] * (1 + labels), rows=True)
        table.expect(len(keys) == len(counts) and bool((np.diff(keys) > 0).all()), "keys", "as many as counts, sorted")
        tables[name] = Table(keys, counts)
    return arguments, Counts(
        tokens=tokens,
        terms=[tuple(term) for term in terms],
        tables=tables,
        weights={name: stored_weights.numbers(name, length) for name, length in WEIGHTS.items()},
        outcomes=body.integers("outcomes", [either, either, *label, _COUNT], rows=True),
        words=body.integers("words", [range(FIRST, size), *label, _COUNT], rows=True),
    )


class _Checked:
    """A JSON object of a file, whose values are checked as they are read."""

    def __init__(self, path: Path, content: Any = None, field: str = "") -> None:
        self.path, self.field = path, field
        if content is None:
            try:
                content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
            except OSError as e:
                raise DataError(f"cannot be read ({e.strerror}), expected a file of a {METHOD} model", path=path) from e
            except (ValueError, RecursionError) as e:
                raise DataError(f"found no valid JSON ({e}), expected a file of a {METHOD} model", path=path) from e
        if not isinstance(content, dict):
            raise DataError(f"found {content!r:.80}, expected an object", path=path, field=field or None)
        self.content = content

    def value(self, name: str) -> Any:
        return self.content.get(name)

    def expect(self, good: bool, name: str, expected: str) -> None:
        if not good:
            found = repr(self.content[name])[:80] if name in self.content else "nothing"
            raise DataError(f"found {found}, expected {expected}", path=self.path, field=self.field + name)

    def inside(self, name: str) -> _Checked:
        self.expect(isinstance(self.value(name), dict), name, "an object")
        return _Checked(self.path, self.value(name), f"{self.field}{name}.")

    def flag(self, name: str) -> bool:
        value = self.value(name)
        self.expect(isinstance(value, bool), name, "true or false")
        return bool(value)

    def strings(self, name: str) -> list[str]:
        value = self.value(name)
        good = isinstance(value, list) and all(isinstance(v, str) and _is_text(v) for v in value)
        self.expect(good and len(set(value)) == len(value) <= MOST_ENTRIES, name, "different strings")
        return list(value)

    def number(self, name: str) -> float:
        value = self.value(name)
        self.expect(_is_number(value), name, "a finite number")
        return float(value)

    def numbers(self, name: str, length: int) -> Floats:
        value = self.value(name)
        good = isinstance(value, list) and len(value) == length and all(map(_is_number, value))
        self.expect(good, name, f"{length} finite numbers")
        return np.array(value, np.float64)

    def integers(self, name: str, ranges: Sequence[range], *, rows: bool = False) -> Ints:
        """A list of integers, or of rows of integers, each column within its range."""
        expected = ", ".join(f"{r.start} to {r.stop - 1}" for r in ranges)
        expected = f"rows of {len(ranges)} integers ({expected})" if rows else f"integers ({expected})"
        value = self.value(name)
        self.expect(isinstance(value, list), name, expected)
        shape = (len(value), len(ranges)) if rows else (len(value),)
        try:
            array = np.array(value) if value else np.zeros(shape, np.int64)
        except (ValueError, OverflowError) as e:
            raise DataError(f"found uneven rows, expected {expected}", path=self.path, field=self.field + name) from e
        self.expect(array.dtype == np.int64 and array.shape == shape, name, expected)
        checked: Ints = array
        for column, within in zip(checked.reshape(len(value), len(ranges)).T, ranges, strict=True):
            wrong = np.flatnonzero((column < within.start) | (column >= within.stop))
            if len(wrong):
                found = f"{value[wrong[0]]!r:.80}"
                raise DataError(
                    f"found {found}, expected {expected}", path=self.path, field=f"{self.field}{name}[{wrong[0]}]"
                )
        return checked


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e9


def _is_text(value: str) -> bool:
    """Whether it can be written: JSON can hold halves of surrogate pairs."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")

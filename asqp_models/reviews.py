"""Reviews to predict, from whatever holds them: csv, tsv, jsonl, parquet, txt, a dataset, standard input.

Rows are read one after another, so a file of any size fits. A row that cannot be read is not lost and does not
stop the others: it comes out with the reason.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.readers import Record
from asqp_datasets.sources import Source, open_source

TEXT_COLUMNS = ("text", "review", "content", "sentence", "comment", "body", "评论", "评论内容", "内容", "文本", "评价")
"""Columns that hold the review, in the order they are looked for."""

ID_COLUMNS = ("id", "review_id", "sample_id", "uid", "编号")
"""Columns that hold an id, in the order they are looked for."""

FORMATS = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".txt": "txt"}


class Review(NamedTuple):
    """One row of the input. ``error`` says why there is no text, if there is none."""

    id: str
    text: str
    error: str | None = None


def read_reviews(
    source: str,
    *,
    format: str | None = None,
    text_column: str | None = None,
    id_column: str | None = None,
    split: str | None = None,
    encoding: str = "utf-8",
) -> Iterator[Review]:
    """Read the reviews of a file, a dataset, or standard input.

    Args:
        source: A path, ``-`` for standard input, or the name of a corpus or dataset.
        format: ``csv``, ``tsv``, ``jsonl``, ``parquet`` or ``txt`` (one review a line); default: by the suffix;
            for standard input jsonl if its first line is an object, else txt.
        text_column: The column of the review; default: the first of :data:`TEXT_COLUMNS` that is there, or the
            only column.
        id_column: The column of the id; default: the first of :data:`ID_COLUMNS` that is there. Rows without
            one are named by their number, from 1.
        split: Of a dataset: the split, or ``all``; default: ``test`` if there is one, else all.
        encoding: Of text files.

    Raises:
        DataError: The file is missing, or has no column of reviews.
        UsageError: The format or encoding is unknown, or the name means nothing.
    """
    if format not in (None, *FORMATS.values()):
        raise UsageError(f"format: found {format!r}, expected one of {', '.join(dict.fromkeys(FORMATS.values()))}")
    try:
        if not codecs.lookup(encoding)._is_text_encoding:
            raise LookupError
        "a\n".encode(encoding).decode(encoding, "surrogateescape")
    except (LookupError, UnicodeError):
        raise UsageError(f"encoding: found {encoding!r}, expected one such as utf-8 or gb18030") from None
    path = Path(source)
    regular = source != "-" and path.is_file()
    if source != "-" and not regular and (path.is_dir() or not path.exists()):
        if format or path.suffix in FORMATS:
            raise DataError("found no such file", path=path)
        yield from _dataset_reviews(source, split)
        return
    if split is not None:
        raise UsageError(f"split: found {split!r} for the file {source}, expected none: only datasets have splits")
    kind = format or FORMATS.get(path.suffix.lower(), "")
    if kind == "parquet":
        yield from _parquet_reviews(path, text_column, id_column)
        return
    if not kind and regular:
        raise UsageError(
            f"format: found the suffix {path.suffix!r} of {path}, expected --format or one of {', '.join(FORMATS)}"
        )
    try:
        with _open_text(source, encoding, kind) as file:
            if not kind:
                first = file.readline()
                kind = "jsonl" if first.lstrip("\ufeff \t").startswith("{") else "txt"
                lines: Iterable[str] = _chain(first, file)
            else:
                lines = file
            if kind == "txt":
                yield from _text_reviews(lines, encoding)
            elif kind == "jsonl":
                yield from _json_reviews(lines, text_column, id_column, encoding)
            else:
                yield from _table_reviews(file, source, kind, text_column, id_column, encoding)
    except UnicodeDecodeError as error:
        raise DataError(f"is not {encoding}: {error.reason}", path=source) from None


def count_reviews(source: str, *, format: str | None = None, split: str | None = None) -> int | None:
    """How many reviews there are, for a bar: at most, where a cell of a table has line breaks; None if unknown.

    Args:
        source: As for :func:`read_reviews`.
        format: Likewise.
        split: Likewise.
    """
    path = Path(source)
    if source == "-" or not path.is_file():
        return _count_of_dataset(source, split)
    kind = format or FORMATS.get(path.suffix.lower(), "")
    if kind == "parquet":
        return _rows_of_parquet(path)
    with path.open("rb") as file:
        ends, last = 0, b"\n"
        while block := file.read(1 << 20):
            ends, last = ends + block.count(b"\n"), block[-1:]
    return max(0, ends + (last != b"\n") - (kind in ("csv", "tsv")))


def _count_of_dataset(source: str, split: str | None) -> int | None:
    if source == "-" or (Path(source).exists() and not Path(source).is_dir()):
        return None
    try:
        opened = open_source(source)
        chosen = _chosen_split(opened, split)
    except (DataError, UsageError):
        return None  # reading it says what is wrong
    if opened.format != "parquet":
        return opened.size or None
    counts = [_rows_of_parquet(path) for name, path in opened.files if chosen in ("all", name)]
    return None if None in counts else sum(each or 0 for each in counts)


def _rows_of_parquet(path: Path) -> int | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.ParquetFile(path).metadata.num_rows)
    except (OSError, pa.ArrowException):
        return None  # reading it says what is wrong


@contextmanager
def _open_text(source: str, encoding: str, kind: str) -> Iterator[TextIO]:
    # What is not in the encoding comes through as lone surrogates, and is reported for its row alone. A table tells
    # its line ends by itself; elsewhere only LF ends a line.
    newline = "" if kind in ("csv", "tsv") else "\n"
    if source == "-":
        if sys.stdin is None:
            raise UsageError("input: found a closed standard input, expected reviews")
        yield io.TextIOWrapper(sys.stdin.buffer, encoding=encoding, errors="surrogateescape", newline=newline)
        return
    try:
        with Path(source).open(encoding=encoding, errors="surrogateescape", newline=newline) as file:
            yield file
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path=source) from error


def _chain(first: str, rest: Iterable[str]) -> Iterator[str]:
    if first:
        yield first
    yield from rest


def _review(review_id: Any, number: int, text: Any, encoding: str = "utf-8") -> Review:
    name = str(number) if review_id is None or review_id == "" else str(review_id)
    if not isinstance(text, str):
        return Review(name, "", f"found {text!r:.40} for the text, expected a string")
    try:
        text.encode("utf-8")
        name.encode("utf-8")
    except UnicodeEncodeError:
        escaped = any("\udc80" <= character <= "\udcff" for character in text + name)
        reason = f"found bytes that are not {encoding}" if escaped else "found half of a surrogate pair"
        return Review(_printable(name), _printable(text), reason)
    return Review(name, text)


def _printable(text: str) -> str:
    """Bytes that could not be decoded, and half surrogate pairs, as escapes that show them."""
    return "".join(
        f"\\x{ord(c) - 0xDC00:02x}"
        if "\udc80" <= c <= "\udcff"
        else f"\\u{ord(c):04x}"
        if "\ud800" <= c <= "\udfff"
        else c
        for c in text
    )


def _text_reviews(lines: Iterable[str], encoding: str) -> Iterator[Review]:
    for number, line in enumerate(lines, 1):
        text = line.removesuffix("\n").removesuffix("\r")
        yield _review(None, number, text.removeprefix("\ufeff") if number == 1 else text, encoding)


def _json_reviews(
    lines: Iterable[str], text_column: str | None, id_column: str | None, encoding: str
) -> Iterator[Review]:
    for number, line in enumerate(lines, 1):
        line = line.removeprefix("\ufeff") if number == 1 else line
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield Review(str(number), "", f"line {number} is not JSON ({str(error)[:80]})")
            continue
        if not isinstance(row, dict):
            yield Review(str(number), "", f"line {number}: found {line!r:.40}, expected an object")
            continue
        text = text_column or next((name for name in TEXT_COLUMNS if name in row), "text")
        name = id_column or next((name for name in ID_COLUMNS if name in row), "id")
        yield _review(row.get(name), number, row.get(text), encoding)


def _table_reviews(
    file: TextIO, source: str, kind: str, text_column: str | None, id_column: str | None, encoding: str
) -> Iterator[Review]:
    csv.field_size_limit(1 << 30)
    first = file.readline()
    lines = _chain(first, file)
    if kind == "tsv":  # a quote is a character there
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        rows = csv.reader(lines, delimiter=";" if ";" in first and "," not in first else ",", strict=True)
    began = 1
    try:
        header = next(rows, [])
        header = [name.removeprefix("\ufeff").strip() for name in header]
        if any("\udc80" <= character <= "\udcff" for name in header for character in name):
            raise DataError(
                f"found bytes that are not {encoding} in the header, expected --encoding", path=source, line=1
            )
        number, began = 0, rows.line_num + 1
        if _is_a_review(header, text_column):
            # One column without a name that is known: the first row is a review, as the others are.
            number, text, name = 1, 0, None
            yield _review(None, 1, header[0], encoding)
        else:
            text, name = _columns(header, source, text_column, id_column)
        for row in rows:
            if row:
                number += 1
                if len(row) > len(header):
                    reason = f"found {len(row)} cells in the row, expected {len(header)} as in the header"
                    shown = _printable((",", "\t")[kind == "tsv"].join(row))
                    yield Review(_printable(row[name]) if name is not None else str(number), shown, reason)
                    began = rows.line_num + 1
                    continue
                given = row[name] if name is not None and name < len(row) else ""
                # Where other rows have ids, a number could be one of them.
                fallback = f"row-{number}" if name is not None else str(number)
                yield _review(given or fallback, number, row[text] if text < len(row) else None, encoding)
            began = rows.line_num + 1
    except csv.Error as error:
        reason = "a quote that opens in this row is not closed" if "end of data" in str(error) else str(error)
        raise DataError(f"is no table: {reason}", path=source, line=began) from None


def _is_a_review(header: Sequence[str], text_column: str | None) -> bool:
    if len(header) != 1 or text_column or header[0].lower() in TEXT_COLUMNS:
        return False
    return not any(delimiter in header[0] for delimiter in "\t|;,")


def _columns(
    header: Sequence[str], source: str | Path, text_column: str | None, id_column: str | None
) -> tuple[int, int | None]:
    for wanted in (text_column, id_column):
        if wanted and wanted not in header:
            raise DataError(f"found the columns {', '.join(header)[:200]}, expected {wanted!r} among them", path=source)
    for column in header:
        if header.count(column) > 1 and column:
            raise DataError(f"found the column {column!r:.60} twice, expected every name once", path=source)
    lower = [name.lower() for name in header]
    text = text_column or next((name for name in TEXT_COLUMNS if name in lower), None)
    if text is None:
        if len(header) == 1 and header[0]:
            raise DataError(
                f"found the one column {_printable(header[0])!r:.80}, expected commas between columns; for tabs, "
                "--format tsv",
                path=source,
                line=1,
            )
        if len(header) != 1:
            raise DataError(
                f"found the columns {', '.join(header)[:200] or '(none)'}, expected one of {', '.join(TEXT_COLUMNS)}, "
                "or --text-column",
                path=source,
            )
        text = header[0]
    name = id_column or next((name for name in ID_COLUMNS if name in lower), None)

    def place(column: str) -> int:
        return header.index(column) if column in header else lower.index(column)

    return place(text), place(name) if name else None


def _parquet_reviews(path: Path, text_column: str | None, id_column: str | None) -> Iterator[Review]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            header = file.schema_arrow.names
            text, name = _columns(header, path, text_column, id_column)
            wanted = [header[text], *([header[name]] if name is not None else [])]
            number = 0
            for batch in file.iter_batches(5000, columns=wanted):
                texts = _strings(batch.column(header[text]))
                names = batch.column(header[name]).to_pylist() if name is not None else [None] * len(texts)
                for each, value in zip(names, texts, strict=True):
                    number += 1
                    yield _review(each, number, value)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"cannot be read as Parquet: {str(error).splitlines()[0][:200]}", path=path) from error


def _strings(column: Any) -> list[Any]:
    """The values of an Arrow column; bytes that are no UTF-8 come through as lone surrogates."""
    import pyarrow as pa

    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        values = column.cast(pa.large_binary()).to_pylist()
        return [value if value is None else value.decode("utf-8", "surrogateescape") for value in values]


def _dataset_reviews(name: str, split: str | None) -> Iterator[Review]:
    try:
        source = open_source(name)
    except UsageError as error:
        raise UsageError(f"input: {error}") from None
    for record in split_records(source, split):
        if record.sample is not None:
            yield Review(record.sample.id, record.sample.text)
        elif record.rejected:
            place = f"{record.path}:{record.line}"
            row = json.loads(record.raw) if source.format == "parquet" else {}
            if isinstance(row.get("text"), str):  # it is the gold that cannot be read; the text can
                yield _review(row.get("id") or place, record.line, row["text"])
                continue
            yield Review(place, _printable(record.raw), f"{place}: {record.issues[0].message}")


def split_records(source: Source, split: str | None) -> Iterator[Record]:
    """The records of one split of a source; by default ``test`` if there is one, else all.

    Raises:
        UsageError: There is no such split.
    """
    chosen = _chosen_split(source, split)
    return (record for record in source.records() if chosen in ("all", record.split))


def _chosen_split(source: Source, split: str | None) -> str:
    names = {name for name, _ in source.files}
    if split is None:
        return "test" if "test" in names else "all"
    if split != "all" and split not in names:
        known = ", ".join(sorted(name for name in names if name)) or "none"
        raise UsageError(f"split: found {split!r} for {source.name}, expected 'all' or one of: {known}")
    return split

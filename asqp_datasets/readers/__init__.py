"""The raw formats: one module each, one registry."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.readers import absa_quad, acos, datastory, jsonl
from asqp_datasets.readers.base import Issue, Reader, Record, read_file

READERS: dict[str, Reader] = {module.READER.name: module.READER for module in (datastory, acos, absa_quad, jsonl)}

__all__ = ["READERS", "Issue", "Reader", "Record", "get_reader", "guess_reader", "read_file"]


def get_reader(name: str) -> Reader:
    """The reader of a format.

    Raises:
        UsageError: No format has that name.
    """
    if name not in READERS:
        raise UsageError(f"format: found {name!r}, expected one of {', '.join(READERS)}")
    return READERS[name]


def guess_reader(path: str | Path) -> Reader:
    """The format that reads most of the file's first 50 lines; JSON Lines by the file's suffix.

    Raises:
        DataError: None reads any, or the file cannot be read.
    """
    path = Path(path)
    if path.suffix in (".jsonl", ".ndjson"):
        return jsonl.READER
    read = {
        reader: sum(record.sample is not None for record in islice(read_file(reader, path), 50))
        for reader in READERS.values()
    }
    best = max(read, key=read.__getitem__)
    if not read[best]:
        formats = "\n".join(f"  {reader.name}: {reader.description}" for reader in READERS.values())
        raise DataError(f"found no known format in its first 50 lines, expected one of\n{formats}", path=path)
    return best

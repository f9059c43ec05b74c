"""The raw formats: one module each, one registry."""

from __future__ import annotations

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
    """The first format that can read one of the file's first 50 samples.

    Raises:
        DataError: None can, or the file cannot be read.
    """
    for reader in READERS.values():
        found = 0
        for record in read_file(reader, path):
            if record.sample is not None and record.sample.quads:
                return reader
            found += record.sample is not None or record.rejected
            if found == 50:
                break
    formats = "\n".join(f"  {reader.name}: {reader.description}" for reader in READERS.values())
    raise DataError(f"found no known format, expected one of\n{formats}", path=path)

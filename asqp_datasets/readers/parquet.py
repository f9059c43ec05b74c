"""Parquet files of the schema: read as columns, or row by row and held to what a line of a raw file is held to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asqp_datasets.errors import DataError, shown
from asqp_datasets.readers.base import Record, Rejection, check_quads
from asqp_datasets.readers.jsonl import parse_row
from asqp_datasets.schema import SENTIMENTS, Sample, arrow_schema, from_arrow

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 5000
"""Rows that are read together."""


def read_records(path: Path, split: str | None) -> Iterator[Record]:
    """Every row of a file. Raises :class:`DataError` if it is no Parquet file of the schema."""
    row = 0
    for batch in read_batches(path):
        yield from rows(batch, path, split, row)
        row += batch.num_rows


def rows(batch: pa.RecordBatch, path: Path, split: str | None, before: int) -> Iterator[Record]:
    """The rows of a Parquet file, held to what a line of a raw file is held to; ``before`` rows came before."""
    name = shown(path)
    for row, item in enumerate(_items(batch), before + 1):
        try:
            if item is None:
                raise Rejection("invalid-utf8", "the row holds bytes that are not UTF-8")
            if isinstance(item, Sample):
                sample = item
            else:
                parsed = parse_row(item)
                sample = Sample(parsed.id or f"{split or shown(path.stem)}-{row}", parsed.text, parsed.quads)
            check_quads(sample.text, sample.quads)
        except Rejection as rejection:
            raw = json.dumps(item.to_dict() if isinstance(item, Sample) else item or {"row": row}, ensure_ascii=False)
            yield Record(name, row, split, None, (rejection.issue,), raw)
            continue
        yield Record(name, row, split, sample)


def _items(batch: pa.RecordBatch) -> Iterator[Sample | dict[str, Any] | None]:
    """The rows as samples; as dictionaries where there are nulls, and None where bytes are not UTF-8."""
    if _is_utf8(batch):
        yield from from_arrow(batch) if _has_no_nulls(batch) else batch.to_pylist()
        return
    for row in range(batch.num_rows):
        try:
            yield batch.slice(row, 1).to_pylist()[0]
        except UnicodeDecodeError:
            yield None


def _is_utf8(batch: pa.RecordBatch) -> bool:
    import pyarrow as pa

    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def is_sound(batch: pa.RecordBatch) -> bool:
    """Whether every row of the batch can be counted as it is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _has_no_nulls(batch) or not _is_utf8(batch):
        return False
    known = pc.is_in(batch.column("quads").flatten().field("sentiment"), value_set=pa.array(SENTIMENTS))
    return pc.all(known).as_py() is not False


def _has_no_nulls(batch: pa.RecordBatch) -> bool:
    quads = batch.column("quads")
    columns = [batch.column("id"), batch.column("text"), quads, quads.flatten(), *quads.flatten().flatten()]
    return not any(column.null_count for column in columns)


def read_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The columns of a file. Raises :class:`DataError` if it is no Parquet file of the schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = arrow_schema()
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH):
                yield _conform(batch, schema, path)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"cannot be read as Parquet: {str(error).splitlines()[0][:200]}", path=path) from error


def _conform(batch: pa.RecordBatch, schema: pa.Schema, path: Path) -> pa.RecordBatch:
    import pyarrow as pa

    names = batch.schema.names
    if "id" not in names and {"text", "quads"} <= set(names):
        batch = batch.append_column("id", pa.nulls(batch.num_rows, pa.string()))  # rows are named by their number
    missing = [name for name in schema.names if name not in batch.schema.names]
    if missing:
        raise DataError(
            f"found the columns {', '.join(names)}, expected id, text and quads", path=path, field=missing[0]
        )
    for name in ("id", "text"):
        kind = batch.schema.field(name).type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            raise DataError(f"found the type {kind}, expected string", path=path, field=name)
    try:
        return pa.RecordBatch.from_arrays(
            [batch.column(field.name).cast(field.type) for field in schema], schema=schema
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise DataError(f"the columns are not those of a dataset of quads: {str(error)[:200]}", path=path) from error

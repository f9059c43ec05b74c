"""Predicting the quads of many reviews: read, predict in batches, write in the same order.

A prediction file is JSON Lines or Parquet with ``id``, ``text``, ``quads`` and ``meta`` (model, method, error).
Every input row has its output row. The file appears under its name when it is complete.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from asqp_datasets.cards import package_version
from asqp_datasets.errors import DataError
from asqp_datasets.progress import Progress
from asqp_datasets.schema import Quad, Sample
from asqp_models.methods import Model
from asqp_models.reviews import Review

BATCH = 512
"""Reviews that are predicted together."""


class Prediction(NamedTuple):
    """One row of a prediction file."""

    id: str
    text: str
    quads: list[Quad]
    meta: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The row as it is written."""
        return Sample(self.id, self.text, self.quads).to_dict() | {"meta": self.meta}


class Summary(NamedTuple):
    """What a prediction run did."""

    rows: int
    quads: int
    errors: int
    seconds: float


def predict(model: Model, reviews: Iterable[Review], *, name: str = "", batch: int = BATCH) -> Iterator[Prediction]:
    """Predict reviews in the order they come.

    Args:
        model: The trained method.
        reviews: The reviews; one with an error gets no quads, and keeps its error.
        name: The model's name in ``meta``.
        batch: Reviews that are predicted together.
    """
    meta = {"model": name, "method": model.config["asqp"]["method"], "version": package_version(), "error": None}
    reviews = iter(reviews)
    while chunk := list(islice(reviews, batch)):
        readable = [review.text for review in chunk if review.error is None]
        predicted = iter(model.predict_batch(readable))
        for review in chunk:
            if review.error is None:
                yield Prediction(review.id, review.text, next(predicted), meta)
            else:
                yield Prediction(review.id, review.text, [], meta | {"error": review.error})


def write_predictions(
    predictions: Iterable[Prediction], out: str | Path, *, total: int | None = None, progress: bool = False
) -> Summary:
    """Write predictions to a file, ``-`` for standard output.

    Args:
        predictions: The rows, in order.
        out: A path; Parquet if it ends in ``.parquet``, else JSON Lines.
        total: How many there will be, for the bar.
        progress: Whether to show it.

    Raises:
        DataError: The file cannot be written.
    """
    rows = quads = errors = 0
    started = time.perf_counter()
    with _writer(out) as writer, Progress("predicting", total, "reviews", progress) as bar:
        for prediction in predictions:
            writer.write(prediction)
            rows += 1
            quads += len(prediction.quads)
            errors += prediction.meta["error"] is not None
            bar.advance()
    return Summary(rows, quads, errors, time.perf_counter() - started)


class _Writer(Protocol):
    def write(self, prediction: Prediction) -> None: ...


@contextmanager
def _writer(out: str | Path) -> Iterator[_Writer]:
    if str(out) == "-":
        yield _JsonLines(sys.stdout)
        return
    out = Path(out)
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.suffix == ".parquet":
            with _Parquet(partial) as writer:
                yield writer
        else:
            with partial.open("w", encoding="utf-8", newline="\n") as file:
                yield _JsonLines(file)
        partial.replace(out)
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", path=out) from error
    finally:
        partial.unlink(missing_ok=True)


class _JsonLines:
    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, prediction: Prediction) -> None:
        self._file.write(json.dumps(prediction.to_dict(), ensure_ascii=False) + "\n")


class _Parquet:
    """Rows collected to groups, so that memory stays bounded."""

    _GROUP = 10_000

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from asqp_datasets.schema import arrow_schema

        meta = pa.struct([(name, pa.string()) for name in ("model", "method", "version", "error")])
        self._schema = arrow_schema().remove_metadata().append(pa.field("meta", meta))
        self._rows: list[dict[str, Any]] = []
        self._file = pq.ParquetWriter(path, self._schema)

    def write(self, prediction: Prediction) -> None:
        self._rows.append(prediction.to_dict())
        if len(self._rows) == self._GROUP:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        self._file.write_table(pa.Table.from_pylist(self._rows, self._schema))
        self._rows = []

    def __enter__(self) -> _Parquet:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._rows:
            self._flush()
        self._file.close()


def as_reviews(samples: Sequence[Sample]) -> Iterator[Review]:
    """The texts of samples, without their gold quads."""
    return (Review(sample.id, sample.text) for sample in samples)

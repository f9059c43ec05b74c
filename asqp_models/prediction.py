"""Predictions and the file that holds them.

A prediction file is JSON Lines or Parquet with ``id``, ``text``, ``quads`` and ``meta``: ``model``, ``method``,
``version``, ``scores`` (one a quad, in [0, 1], to 4 places) and ``error`` (why a row could not be read, or null).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from asqp_datasets.cards import package_version
from asqp_datasets.errors import DataError
from asqp_datasets.hub_folder import lock_path
from asqp_datasets.schema import Quad, Sample
from asqp_models.methods import Model
from asqp_models.reviews import Review

BATCH = 512
"""Reviews that are predicted together; models sort them by length."""


class Prediction(NamedTuple):
    """One row of a prediction file."""

    id: str
    text: str
    quads: list[Quad]
    meta: dict[str, Any]

    def to_line(self) -> str:
        """The row as it is written."""
        row = Sample(self.id, self.text, self.quads).to_dict() | {"meta": self.meta}
        return json.dumps(row, ensure_ascii=False) + "\n"


def predict(
    model: Model, reviews: Iterable[Review], *, name: str = "", batch: int = BATCH, threshold: float | None = None
) -> Iterator[Prediction]:
    """Predict reviews in the order they come.

    Args:
        model: The trained method.
        reviews: The reviews; one with an error gets no quads, and keeps its error.
        name: The model's name in ``meta``.
        batch: Reviews that are predicted together.
        threshold: Least score of a quad; default: the checkpoint's.
    """
    meta = {"model": name, "method": model.config["asqp"]["method"], "version": package_version()}
    reviews = iter(reviews)
    while chunk := list(islice(reviews, batch)):
        readable = [review.text for review in chunk if review.error is None]
        predicted = iter(model.predict_scored(readable, threshold))
        for review in chunk:
            found = next(predicted) if review.error is None else []
            scores = [round(each.score, 4) for each in found]
            yield Prediction(
                review.id,
                review.text,
                [each.quad for each in found],
                meta | {"scores": scores, "error": review.error},
            )


def as_reviews(samples: Sequence[Sample]) -> Iterator[Review]:
    """The texts of samples, without their gold quads."""
    return (Review(sample.id, sample.text) for sample in samples)


def write_predictions(predictions: Iterable[Prediction], out: str | Path) -> None:
    """Write predictions that are there already to a file, Parquet if it ends in ``.parquet``, else JSON Lines.

    Raises:
        DataError: The file cannot be written, or another process is writing it.
    """
    out = Path(out).resolve()  # a link is followed
    with locked(out):
        partial = out.with_name(f".{out.name}.partial")
        try:
            with partial.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(prediction.to_line() for prediction in predictions)
            put_in_place(partial, out)
        except OSError as error:
            raise DataError(f"cannot be written: {error.strerror or error}", path=out) from error


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """A file that one process may write at a time.

    Raises:
        DataError: It cannot be written, or another process is writing it.
    """
    from filelock import FileLock, Timeout

    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(lock_path(out), timeout=0)
        lock.acquire()
    except Timeout:
        raise DataError("is being written by another process", path=out) from None
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", path=out) from error
    try:
        yield
    finally:
        lock.release()


def put_in_place(lines: Path, out: Path) -> None:
    """Give complete lines their name, as Parquet if it ends so."""
    if out.suffix == ".parquet":
        columns = lines.with_name(f"{lines.name}-parquet")
        to_parquet(lines, columns)
        columns.replace(out)
        lines.unlink()
    else:
        lines.replace(out)


META = ("model", "method", "version", "error", "scores")
"""What a prediction's ``meta`` holds."""


def to_parquet(lines: Path, out: Path, *, more: bool = False) -> None:
    """Rows of JSON to Parquet, a group at a time, so that memory stays bounded.

    Args:
        lines: JSON Lines.
        out: The Parquet file.
        more: Whether ``meta`` has a string ``more``, too.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from asqp_datasets.schema import arrow_schema

    strings = [(name, pa.string()) for name in (*META[:-1], *(["more"] if more else []))]
    meta = pa.struct([*strings, (META[-1], pa.list_(pa.float64()))])
    schema = arrow_schema().remove_metadata().append(pa.field("meta", meta))
    with lines.open(encoding="utf-8", newline="\n") as file, pq.ParquetWriter(out, schema) as writer:
        while group := [json.loads(line) for line in islice(file, 10_000)]:
            writer.write_table(pa.Table.from_pylist(group, schema))

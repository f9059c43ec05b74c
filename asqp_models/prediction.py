"""Predicting the quads of many reviews: read, predict in batches, write in the same order.

A prediction file is JSON Lines or Parquet with ``id``, ``text``, ``quads`` and ``meta`` (model, method, error).
Every input row has its output row. The file appears under its name when it is complete.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from asqp_datasets.cards import package_version
from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.hub_folder import lock_path
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
    """What a prediction run did: rows, quads and unreadable rows of the file; ``resumed`` rows were there before."""

    rows: int = 0
    quads: int = 0
    errors: int = 0
    seconds: float = 0.0
    resumed: int = 0


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


def predict_file(
    model: Model,
    reviews: Iterable[Review],
    out: str | Path,
    *,
    name: str = "",
    batch: int = BATCH,
    task: Mapping[str, Any] | None = None,
    progress: bool = False,
) -> Summary:
    """Predict reviews and write them to a file, in their order.

    Rows are collected in ``.OUT.partial`` and the file appears under its name when it is complete. If the process is
    killed, a later call for the same task takes up where it stopped: nothing is lost, nothing stands twice.

    Args:
        model: The trained method.
        reviews: The reviews, in the same order at every call for the same task.
        out: A path; Parquet if it ends in ``.parquet``, else JSON Lines; ``-`` for standard output.
        name: The model's name in ``meta``.
        batch: Reviews that are predicted together.
        task: What identifies the task, such as the input's size and the checkpoint's hash; None never resumes.
        progress: Whether to show a bar.

    Raises:
        DataError: The file cannot be written, or another process is writing it.
    """
    if not str(out):
        raise UsageError("out: found an empty name, expected a file")
    reviews = iter(reviews)
    # Input that cannot be read fails here, before anything is written; and opening it is no part of the speed.
    reviews = chain(list(islice(reviews, 1)), reviews)
    started = time.perf_counter()
    if str(out) == "-" or (Path(out).exists() and not Path(out).is_file()):
        with _stream(out) as stream, Progress("predicting", None, "reviews", progress) as bar:
            return _write(predict(model, reviews, name=name, batch=batch), stream, bar, Summary(), started)
    out = Path(out).resolve()  # a link is followed
    with _partial_of(out) as partial:
        before = _take_up(partial, task, reviews)
        try:
            with (
                partial.open("a", encoding="utf-8", newline="\n") as file,
                Progress("predicting", None, "reviews", progress) as bar,
            ):
                bar.advance(before.rows)
                done = _write(predict(model, reviews, name=name, batch=batch), file, bar, before, started)
            _finish(partial, out)
        except OSError as error:
            raise DataError(f"cannot be written: {error.strerror or error}", path=out) from error
        _task_of(partial).unlink(missing_ok=True)
        return done


def task_of(source: str, model: str | Path, options: Sequence[Any]) -> dict[str, Any] | None:
    """What tells one prediction task from another; None for standard input, which cannot be read again.

    Args:
        source: The input, a path or a name.
        model: The checkpoint folder.
        options: Whatever else changes the rows.
    """
    if source == "-":
        return None
    path, folder = Path(source), Path(model)
    stat = path.stat() if path.exists() else None
    checkpoint = hashlib.sha256()
    for file in sorted(each for each in folder.rglob("*") if each.suffix in (".json", ".safetensors")):
        with file.open("rb") as content:
            checkpoint.update(hashlib.file_digest(content, "sha256").digest())
    return {
        "source": str(path.resolve()) if stat else source,
        "size": stat.st_size if stat else None,
        "changed": stat.st_mtime_ns if stat else None,
        "model": checkpoint.hexdigest(),
        "name": folder.name,
        "options": list(options),
        "version": package_version(),
    }


def write_predictions(predictions: Iterable[Prediction], out: str | Path) -> None:
    """Write predictions that are there already to a file, Parquet if it ends in ``.parquet``, else JSON Lines.

    Raises:
        DataError: The file cannot be written, or another process is writing it.
    """
    out = Path(out).resolve()  # a link is followed
    with _partial_of(out) as partial:
        try:
            with partial.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(_line(prediction) for prediction in predictions)
            _finish(partial, out)
        except OSError as error:
            raise DataError(f"cannot be written: {error.strerror or error}", path=out) from error


@contextmanager
def _stream(out: str | Path) -> Iterator[TextIO]:
    """Standard output, or a pipe or device, which cannot be put in place when it is complete; in UTF-8."""
    if str(out) == "-":
        stream = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n", write_through=True)
        try:
            yield stream
        finally:
            stream.detach()
        return
    if Path(out).is_dir():
        raise UsageError(f"out: found the folder {out}, expected a file")
    with Path(out).open("w", encoding="utf-8", newline="\n") as file:
        yield file


def _line(prediction: Prediction) -> str:
    return json.dumps(prediction.to_dict(), ensure_ascii=False) + "\n"


def _write(predictions: Iterable[Prediction], file: TextIO, bar: Progress, before: Summary, started: float) -> Summary:
    rows, quads, errors, _, resumed = before
    for prediction in predictions:
        file.write(_line(prediction))
        rows += 1
        quads += len(prediction.quads)
        errors += prediction.meta["error"] is not None
        bar.advance()
    file.flush()
    return Summary(rows, quads, errors, time.perf_counter() - started, resumed)


@contextmanager
def _partial_of(out: Path) -> Iterator[Path]:
    """The file that collects the rows of ``out``, for one process at a time."""
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
        yield out.with_name(f".{out.name}.partial")
    finally:
        lock.release()


def _task_of(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}-task")


def _take_up(partial: Path, task: Mapping[str, Any] | None, reviews: Iterator[Review]) -> Summary:
    """Skip the reviews that an earlier, killed call has done; if it was another task, begin anew."""
    wanted = json.dumps(task, sort_keys=True) if task is not None else None
    note = _task_of(partial)
    try:
        same = wanted is not None and partial.is_file() and note.read_text(encoding="utf-8") == wanted
    except OSError:
        same = False
    rows = quads = errors = end = 0
    last = None
    if same:
        with partial.open("rb") as file:
            for line in file:
                try:
                    row = json.loads(line)
                except ValueError:
                    break  # the line that was being written
                if not line.endswith(b"\n"):
                    break
                rows, quads, errors = rows + 1, quads + len(row["quads"]), errors + (row["meta"]["error"] is not None)
                end, last = end + len(line), row["id"]
    skipped = list(islice(reviews, rows - 1, rows)) if rows else []
    if rows and (not skipped or skipped[0].id != last):
        raise DataError("found rows of another input, expected those of this one; remove the file", path=partial)
    try:
        with partial.open("ab") as file:
            file.truncate(end)
        if wanted is None:
            note.unlink(missing_ok=True)
        else:
            note.write_text(wanted, encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", path=partial) from error
    return Summary(rows, quads, errors, 0.0, rows)


def _finish(partial: Path, out: Path) -> None:
    if out.suffix == ".parquet":
        columns = partial.with_name(f"{partial.name}-parquet")
        _to_parquet(partial, columns)
        columns.replace(out)
        partial.unlink()
    else:
        partial.replace(out)


def _to_parquet(lines: Path, out: Path) -> None:
    """Rows of JSON to Parquet, a group at a time, so that memory stays bounded."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from asqp_datasets.schema import arrow_schema

    meta = pa.struct([(name, pa.string()) for name in ("model", "method", "version", "error")])
    schema = arrow_schema().remove_metadata().append(pa.field("meta", meta))
    with lines.open(encoding="utf-8", newline="\n") as file, pq.ParquetWriter(out, schema) as writer:
        while group := [json.loads(line) for line in islice(file, 10_000)]:
            writer.write_table(pa.Table.from_pylist(group, schema))


def as_reviews(samples: Sequence[Sample]) -> Iterator[Review]:
    """The texts of samples, without their gold quads."""
    return (Review(sample.id, sample.text) for sample in samples)

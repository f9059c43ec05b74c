"""Predicting many reviews into a file: in their order, in bounded memory, by one process or several, resumable.

Rows are collected in ``.OUT.partial`` and the file appears under its name when it is complete. With several processes
each collects its share in ``.OUT.partial-N-of-M``: every M-th batch of reviews; the main one puts the shares together.
If a process is killed, a later call for the same task takes up where it stopped: nothing is lost, nothing stands twice.
"""

from __future__ import annotations

import glob
import io
import json
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from asqp_datasets.cards import package_version
from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.progress import Progress
from asqp_models import processes
from asqp_models.methods import Model
from asqp_models.prediction import BATCH, Prediction, locked, predict, put_in_place
from asqp_models.reviews import Review


class Summary(NamedTuple):
    """What a prediction run did: rows, quads and unreadable rows of the file; ``resumed`` rows were there before."""

    rows: int = 0
    quads: int = 0
    errors: int = 0
    seconds: float = 0.0
    resumed: int = 0


def predict_file(
    model: Model,
    reviews: Iterable[Review],
    out: str | Path,
    *,
    name: str = "",
    batch: int = BATCH,
    threshold: float | None = None,
    task: Mapping[str, Any] | None = None,
    total: int | None = None,
    progress: bool = False,
) -> Summary:
    """Predict reviews and write them to a file, in their order; each process of a command calls it.

    Args:
        model: The trained method.
        reviews: The reviews, in the same order at every call for the same task.
        out: A path; Parquet if it ends in ``.parquet``, else JSON Lines; ``-`` for standard output.
        name: The model's name in ``meta``.
        batch: Reviews that are predicted together.
        threshold: Least score of a quad; default: the checkpoint's.
        task: What identifies the task, such as the input's size and the checkpoint's hash; None never resumes.
        total: How many reviews there are, if known, for the time that is left.
        progress: Whether to show a bar.

    Returns:
        What was done; in a process beside the main one, its share.

    Raises:
        UsageError: The name is empty or a folder's, or there are several processes and no task or no file.
        DataError: The file cannot be written, or another process is writing it.
    """
    if not str(out):
        raise UsageError("out: found an empty name, expected a file")
    rank, count = processes.rank(), processes.count()
    reviews = iter(reviews)
    # Input that cannot be read fails here, before anything is written; and opening it is no part of the speed.
    reviews = chain(list(islice(reviews, 1)), reviews)
    options: dict[str, Any] = {"name": name, "batch": batch, "threshold": threshold}
    started = time.perf_counter()
    is_stream = str(out) == "-" or (Path(out).exists() and not Path(out).is_file())
    if count > 1 and (is_stream or task is None):
        raise UsageError(
            f"out: found {count} processes, expected one: only from file to file do several share the work"
        )
    if is_stream:
        with _stream(out) as stream, Progress("predicting", total, "reviews", progress) as bar:
            return _write(predict(model, reviews, **options), stream, bar, Summary(), started)
    out = Path(out).resolve()  # a link is followed
    partial = _partial_of(out, rank, count)
    share = reviews if count == 1 else _share(reviews, batch, rank, count)
    with locked(out if rank == 0 else partial):
        if rank == 0:
            _share_out(out, task, batch, count)
        if count > 1:
            processes.wait_for_all()
        before = _take_up(partial, task, share, batch)
        if count > 1:
            processes.wait_for_all()  # from here on, a share that is said to be complete is
        bar = Progress("predicting", total and -(-total // count), "reviews", progress and rank == 0, done=before.rows)
        try:
            with partial.open("a", encoding="utf-8", newline="\n") as file, bar:
                done = _write(predict(model, share, **options), file, bar, before, started)
            if count > 1:
                _task_of(partial).write_text(_note(task, done), encoding="utf-8")
                if rank > 0:
                    return done
                done = _put_together(out, partial, task, batch, count, started)
            put_in_place(partial, out)
        except OSError as error:
            raise DataError(f"cannot be written: {error.strerror or error}", path=out) from error
        _task_of(partial).unlink(missing_ok=True)
        return done


def task_of(source: str, model: str, options: Sequence[Any]) -> dict[str, Any] | None:
    """What tells one prediction task from another; None for standard input, which cannot be read again.

    Args:
        source: The input, a path or a name.
        model: The checkpoint's name by :func:`asqp_models.methods.name_of`, which tells its content.
        options: Whatever else changes the rows.
    """
    if source == "-":
        return None
    path = Path(source)
    stat = path.stat() if path.exists() else None
    return {
        "source": str(path.resolve()) if stat else source,
        "size": stat.st_size if stat else None,
        "changed": stat.st_mtime_ns if stat else None,
        "model": model,
        "options": list(options),
        "version": package_version(),
    }


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


def _share(reviews: Iterator[Review], batch: int, rank: int, count: int) -> Iterator[Review]:
    """The batches of one process: the same as one process alone would predict, so that their rows are the same."""
    number = 0
    while chunk := list(islice(reviews, batch)):
        if number % count == rank:
            yield from chunk
        number += 1


def _write(predictions: Iterable[Prediction], file: TextIO, bar: Progress, before: Summary, started: float) -> Summary:
    rows, quads, errors, _, resumed = before
    for prediction in predictions:
        file.write(prediction.to_line())
        rows += 1
        quads += len(prediction.quads)
        errors += prediction.meta["error"] is not None
        bar.advance()
    file.flush()
    return Summary(rows, quads, errors, time.perf_counter() - started, resumed)


def _task_of(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}-task")


def _note(task: Mapping[str, Any] | None, done: Summary | None = None) -> str:
    """What stands beside a partial file: its task and, when the share of a process is complete, what was done."""
    return json.dumps({"task": task, "done": done and list(done)}, sort_keys=True)


def _read_note(partial: Path) -> dict[str, Any]:
    try:
        note = json.loads(_task_of(partial).read_text(encoding="utf-8"))
        return note if isinstance(note, dict) else {}
    except (OSError, ValueError):
        return {}


def _take_up(partial: Path, task: Mapping[str, Any] | None, reviews: Iterator[Review], batch: int) -> Summary:
    """Skip the batches that an earlier, killed call has done; if it was another task, begin anew."""
    rows = quads = errors = end = 0
    last = None
    note = _read_note(partial)
    if task is not None and partial.is_file() and note.get("task") == json.loads(json.dumps(task)):
        complete = Summary(), 0, None
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
                if rows % batch == 0 or note["done"]:
                    complete = Summary(rows, quads, errors), end, last
        (rows, quads, errors, *_), end, last = complete  # a batch that was cut is predicted again, whole
    skipped = list(islice(reviews, rows - 1, rows)) if rows else []
    if rows and (not skipped or skipped[0].id != last):
        raise DataError("found rows of another input, expected those of this one; remove the file", path=partial)
    try:
        with partial.open("ab") as file:
            file.truncate(end)
        if task is None:
            _task_of(partial).unlink(missing_ok=True)
        elif not (rows and note["done"]):
            _task_of(partial).write_text(_note(task), encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", path=partial) from error
    return Summary(rows, quads, errors, 0.0, rows)


def _share_out(out: Path, task: Mapping[str, Any] | None, batch: int, count: int) -> None:
    """Deal what another number of processes has done to this number; what was left of another task is removed."""
    wanted = json.loads(json.dumps(task))
    left: dict[int, list[Path]] = {}
    for path in out.parent.glob(f".{glob.escape(out.name)}.partial*"):
        found = re.fullmatch(r"\.partial(?:-(\d+)-of-(\d+))?", path.name.removeprefix(f".{out.name}"))
        if found:
            left.setdefault(int(found[2] or 1), []).append(path)
    own = left.pop(count, [])
    for before, paths in left.items():
        names = [_partial_of(out, rank, before) for rank in range(before)]
        if task is not None and not own and all(_read_note(path).get("task") == wanted for path in paths):
            own = [_partial_of(out, rank, count) for rank in range(count)]
            _deal(names, own, batch)
            for path in own:
                _task_of(path).write_text(_note(task), encoding="utf-8")
        for path in (*names, *paths):
            path.unlink(missing_ok=True)
            _task_of(path).unlink(missing_ok=True)


def _deal(old: Sequence[Path], new: Sequence[Path], batch: int) -> None:
    """Copy whole batches, in their order, until one is missing that a new share would need next."""
    with ExitStack() as stack:
        sources = [stack.enter_context(path.open("rb")) if path.is_file() else io.BytesIO() for path in old]
        targets = [stack.enter_context(path.open("wb")) for path in new]
        ended, number = [False] * len(new), 0
        gone = [False] * len(old)
        while not all(gone) and not all(ended):
            source, target = number % len(old), number % len(new)
            lines = list(islice(sources[source], batch))
            gone[source] |= len(lines) < batch or not lines[-1].endswith(b"\n")
            ended[target] |= gone[source]
            if not ended[target]:
                targets[target].writelines(lines)
            number += 1


def _partial_of(out: Path, rank: int, count: int) -> Path:
    """Where a process collects its share."""
    return out.with_name(f".{out.name}.partial" + (f"-{rank}-of-{count}" if count > 1 else ""))


def _put_together(
    out: Path, own: Path, task: Mapping[str, Any] | None, batch: int, count: int, started: float
) -> Summary:
    """Wait for the shares of all processes and put their batches in order into the main one's partial file."""
    shares = [_partial_of(out, rank, count) for rank in range(count)]
    wanted = json.loads(json.dumps(task))
    notes: list[dict[str, Any]] = []
    while len(notes) < count:  # whoever launched the processes ends all if one fails
        note = _read_note(shares[len(notes)])
        if note.get("task") == wanted and note.get("done"):
            notes.append(note)
        else:
            time.sleep(0.2)
    whole = own.with_name(f"{own.name}-whole")
    files = [share.open("rb") for share in shares]
    try:
        with whole.open("wb") as file:
            for number in range(sum(note["done"][0] for note in notes)):
                lines = list(islice(files[number % count], batch))
                if not lines:
                    break
                file.writelines(lines)
    finally:
        for each in files:
            each.close()
    whole.replace(own)
    for share in shares[1:]:
        share.unlink()
        _task_of(share).unlink()
    rows, quads, errors, _, resumed = map(sum, zip(*(note["done"] for note in notes), strict=True))
    return Summary(int(rows), int(quads), int(errors), time.perf_counter() - started, int(resumed))

"""Samples → a dataset folder as the Hub shows it: Parquet files a split, and a card.

The road is the same for ten samples and a million: records are read and checked in parts, each part goes to a
staging file, the splits are chosen from what was kept of each text, and the staging file is dealt out to the
splits. A folder is changed in one step, when everything is written: a reader sees the old dataset or the new.

The Parquet files carry their content's hash in their names, because ``datasets`` caches a local folder by its
file names: a rebuild with other content is another dataset to it, and is never served stale.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from asqp_datasets import cards
from asqp_datasets.checks import Checker, Report, repair
from asqp_datasets.errors import DataError
from asqp_datasets.hub_folder import install, named_by_content, refuse_foreign, work_folder
from asqp_datasets.parts import PART, in_parts
from asqp_datasets.progress import Progress
from asqp_datasets.readers import Record
from asqp_datasets.schema import Sample, arrow_schema, to_arrow
from asqp_datasets.sources import Source
from asqp_datasets.splits import DEFAULT_RATIO, SPLITS, assign, parse_ratio, sizes
from asqp_datasets.statistics import UNITS, Statistics
from asqp_f1 import category_level1

if TYPE_CHECKING:
    import pyarrow as pa

SHARD_BYTES = 500_000_000
"""Parquet files are cut at about so many bytes of Arrow data."""

_ROW_GROUP = 10_000
_PARALLEL_FROM = 20_000  # generate in several processes from this size on


@dataclass(frozen=True)
class Built:
    """What a build did.

    Args:
        folder: The dataset folder.
        report: What the checks found; its split rules see the final splits.
        statistics: Counts for each split that has samples.
        rejects: The file of rejected lines, if there are any.
        repairs: The file of repairs made, if there are any.
        changed: Whether the folder's content is other than before.
        ratio: The ratio it was split by; None if the source's split was kept.
        exact: Whether the sizes are exactly the ratio's; not so where copies, kept together, do not allow it.
        near_apart: Whether near copies stand in several splits, because exact sizes did not allow otherwise.
    """

    folder: Path
    report: Report
    statistics: dict[str, Statistics]
    rejects: Path | None
    repairs: Path | None
    changed: bool
    ratio: str | None
    exact: bool
    near_apart: bool


def _is_exact(chosen: Sequence[int], ratio: str) -> bool:
    counted = Counter(chosen)
    return [counted[split] for split in range(len(SPLITS))] == sizes(len(chosen), parse_ratio(ratio))


@dataclass
class _Part:
    batch: pa.RecordBatch
    checker: Checker
    labels: list[tuple[tuple[str, str], ...]]
    rejected: list[Record]
    repaired: list[dict[str, str]]


def build(
    source: Source,
    out: Path,
    *,
    ratio: str | None = None,
    seed: int = 0,
    repairs: frozenset[str] = frozenset(),
    processes: int | None = None,
    examples: int = 5,
    progress: bool = False,
) -> Built:
    """Build a dataset folder.

    Args:
        source: Where the samples come from.
        out: The folder; a dataset that is there already is replaced when the new one is complete.
        ratio: Split anew by these shares; default: keep the source's split, or 7:1.5:1.5 where it has none.
        seed: Seed of the split.
        repairs: Rules whose repairs are to be made.
        processes: Processes to generate synthetic samples with; default: one a core.
        examples: Places to keep for each finding.
        progress: Whether to show a bar.

    Raises:
        DataError: Not one sample could be read, or the folder holds something else.
        UsageError: The ratio cannot be read.
    """
    if ratio is not None:
        parse_ratio(ratio)
    refuse_foreign(out)
    with work_folder(out) as work:
        rejects, repaired = work / "rejects.jsonl", work / "repairs.jsonl"
        checker = Checker(source.language, examples)
        for path, issue in source.issues:
            checker.found(issue, str(path))
        staged = work / "staged.arrow"
        labels = _stage(source, repairs, staged, rejects, repaired, checker, processes, progress)
        if not checker.samples:
            kept = _put_beside(out, rejects)
            raise _nothing_read(checker, kept, source)
        near_apart = False
        if ratio is None and source.is_split:
            chosen = list(checker.split_of)
        else:
            ratio = ratio or DEFAULT_RATIO
            signatures = checker.signatures()
            chosen = assign(signatures.groups(), labels, ratio, seed=seed)
            if not _is_exact(chosen, ratio):
                # So many near copies that no exact split keeps them together: keep at least the copies so.
                near_apart = True
                chosen = assign(signatures.groups(near=False), labels, ratio, seed=seed)
        del labels
        statistics, files = _write_splits(staged, chosen, work, source.language, progress)
        checker.set_splits(chosen, {name: part.categories for name, part in statistics.items()})
        report = checker.report(source.name)
        card = cards.dataset_card(
            source, report, statistics, files, ratio=ratio, seed=seed, repairs=repairs, near_apart=near_apart
        )
        changed = install(work, out, card, files)
        return Built(
            folder=out,
            report=report,
            statistics=statistics,
            rejects=_put_beside(out, rejects),
            repairs=_put_beside(out, repaired),
            changed=changed,
            ratio=ratio,
            exact=ratio is None or _is_exact(chosen, ratio),
            near_apart=near_apart,
        )


def _nothing_read(checker: Checker, rejects: Path | None, source: Source) -> DataError:
    path = source.files[0][1] if source.files else source.name
    if rejects is None:
        return DataError(f"found {checker.lines} lines, none with a sample", path=path)
    with rejects.open(encoding="utf-8") as file:
        first = json.loads(file.readline())
    why = f"found no sample that can be read: {checker.rejected} lines were rejected, the reasons are in {rejects}"
    return DataError(f"{why}; the first: {first['message']} ({first['rule']})", path=first["file"], line=first["line"])


def _stage(
    source: Source,
    repairs: frozenset[str],
    staged: Path,
    rejects: Path,
    repaired: Path,
    checker: Checker,
    processes: int | None,
    progress: bool,
) -> list[list[int]]:
    """Read, check and repair everything; returns each sample's (first-level category, sentiment) numbers."""
    import pyarrow as pa

    numbers: dict[tuple[str, str], int] = {}
    labels: list[list[int]] = []
    interned: dict[tuple[tuple[str, str], ...], list[int]] = {}
    total = source.size if source.generates else None
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with (
        pa.OSFile(str(staged), "wb") as file,
        pa.ipc.new_stream(file, arrow_schema(), options=options) as writer,
        rejects.open("w", encoding="utf-8") as rejects_file,
        repaired.open("w", encoding="utf-8") as repairs_file,
        Progress("reading and checking", total, "samples", progress) as bar,
    ):
        for part in _parts(source, repairs, processes):
            writer.write_batch(part.batch)
            checker.merge(part.checker)
            for pairs in part.labels:
                known = interned.get(pairs)
                if known is None:
                    known = interned[pairs] = [numbers.setdefault(pair, len(numbers)) for pair in pairs]
                labels.append(known)
            _write_lines(rejects_file, map(_reject_row, part.rejected))
            _write_lines(repairs_file, part.repaired)
            bar.advance(part.batch.num_rows)
    return labels


def _reject_row(record: Record) -> dict[str, Any]:
    reason = record.issues[0]
    return {
        "file": record.path,
        "line": record.line,
        "split": record.split,
        "rule": reason.rule,
        "message": reason.message,
        "raw": record.raw,
    }


def _write_lines(file: TextIO, rows: Any) -> None:
    for row in rows:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _parts(source: Source, repairs: frozenset[str], processes: int | None) -> Iterator[_Part]:
    """The corpus in order, part by part; generated in several processes where that pays."""
    processes = processes or os.cpu_count() or 1
    if not source.generates or source.size < _PARALLEL_FROM or processes == 1:
        for chunk in in_parts(
            source.records(), lambda record: len(record.sample.text if record.sample else record.raw)
        ):
            yield _process(chunk, source.language, repairs)
        return
    from multiprocessing import get_context

    ranges = [(start, min(start + PART, source.size)) for start in range(0, source.size, PART)]
    waiting: list[Future[_Part]] = []
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
    try:
        for start, stop in ranges:
            waiting.append(pool.submit(_generate, source, start, stop, repairs))
            if len(waiting) > processes + 1:  # so many parts in memory, no more
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()
    finally:
        pool.shutdown(cancel_futures=True)


def _generate(source: Source, start: int, stop: int, repairs: frozenset[str]) -> _Part:
    return _process(list(source.generate(start, stop)), source.language, repairs)


def _process(records: list[Record], language: str, repairs: frozenset[str]) -> _Part:
    checker = Checker(language)
    repaired: list[dict[str, str]] = []
    if repairs:
        for index, record in enumerate(records):
            if record.sample:
                sample, log = repair(record.sample, repairs)
                repaired += [change._asdict() for change in log]
                records[index] = record._replace(sample=sample)
    checker.add(records)
    samples: list[Sample] = [record.sample for record in records if record.sample is not None]
    first_level = {category: category_level1(category) for names in checker.categories.values() for category in names}
    labels = [tuple(sorted({(first_level[q.category], q.sentiment) for q in sample.quads})) for sample in samples]
    batch = to_arrow(samples, arrow_schema())
    return _Part(batch, checker, labels, [record for record in records if record.rejected], repaired)


def _write_splits(
    staged: Path, chosen: Sequence[int], work: Path, language: str, progress: bool
) -> tuple[dict[str, Statistics], dict[str, list[Path]]]:
    """Deal the staged samples out to Parquet files named after their content."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    splits = np.array(chosen, np.int8)
    shards = max(1, -(-staged.stat().st_size * 2 // SHARD_BYTES))  # lz4 about halves the text
    statistics: dict[str, Statistics] = {}
    files: dict[str, list[Path]] = {}
    (work / "data").mkdir()
    with Progress("writing", len(splits), "samples", progress) as bar:
        writers: dict[tuple[int, int], pq.ParquetWriter] = {}
        held: dict[int, list[pa.RecordBatch]] = {}
        rows = dict.fromkeys(range(len(SPLITS)), 0)
        counts = np.bincount(splits, minlength=len(SPLITS))

        def flush(split: int, everything: bool) -> None:
            if not held[split]:
                return
            table = pa.Table.from_batches(held[split])
            limit = -(-int(counts[split]) // int(shards))
            while table.num_rows >= _ROW_GROUP or (everything and table.num_rows):
                shard = rows[split] // limit
                take = min(_ROW_GROUP, limit - rows[split] % limit, table.num_rows)
                group = table.slice(0, take)
                if (split, shard) not in writers:
                    path = work / "data" / f"{SPLITS[split]}-{shard:05d}"
                    writers[split, shard] = pq.ParquetWriter(path, group.schema)
                    files.setdefault(SPLITS[split], []).append(path)
                writers[split, shard].write_table(group, row_group_size=take)
                rows[split] += take
                table = table.slice(take)
            held[split] = table.to_batches()

        done = 0
        with pa.OSFile(str(staged)) as file, pa.ipc.open_stream(file) as reader:
            for batch in reader:
                here = splits[done : done + batch.num_rows]
                done += batch.num_rows
                for split in np.unique(here):
                    part = batch.filter(pa.array(here == split))
                    statistics.setdefault(SPLITS[split], Statistics(UNITS[language])).add(part)
                    held.setdefault(int(split), []).append(part)
                    if sum(b.num_rows for b in held[split]) >= 2 * _ROW_GROUP:
                        flush(int(split), everything=False)
                bar.advance(batch.num_rows)
        for split in list(held):
            flush(split, everything=True)
        for writer in writers.values():
            writer.close()
    return (
        {name: statistics[name] for name in SPLITS if name in statistics},
        {name: named_by_content(files[name]) for name in SPLITS if name in files},
    )


def _put_beside(out: Path, path: Path) -> Path | None:
    """Move a file of the work folder beside the dataset, or remove an older one if there is nothing to say."""
    target = out.resolve().parent / f"{out.resolve().name}.{path.name}"
    if not path.stat().st_size:
        target.unlink(missing_ok=True)
        return None
    return path.replace(target)

"""The simpler tasks that quads contain, as views of a dataset.

Each view lists the distinct sub-tuples of a sample, in the order of its quads, as the sub-task scores count
them: an implicit term stays as ``NULL``, but where the aspect or the opinion alone is asked for it is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asqp_datasets import cards
from asqp_datasets.errors import UsageError
from asqp_datasets.hub_folder import install, named_by_content, refuse_foreign, work_folder
from asqp_datasets.progress import Progress
from asqp_datasets.schema import NULL, Quad, from_arrow
from asqp_datasets.splits import SPLITS
from asqp_f1 import SUBTASKS

if TYPE_CHECKING:
    import datasets

    from asqp_datasets.readers import Record
    from asqp_datasets.sources import Source

NAMES = {
    "ACD": "aspect category detection",
    "ATE": "aspect term extraction",
    "OTE": "opinion term extraction",
    "AOPE": "aspect-opinion pair extraction",
    "ACSA": "aspect category sentiment analysis",
    "E2E-ABSA": "end-to-end aspect-based sentiment analysis",
    "TASD": "target aspect sentiment detection",
    "ASTE": "aspect sentiment triplet extraction",
}
"""What the sub-tasks' abbreviations stand for (paper, section 1)."""


def view(quads: Iterable[Quad], task: str) -> list[dict[str, Any]]:
    """The distinct labels of one sample in a sub-task.

    Args:
        quads: The sample's quads.
        task: A key of :data:`asqp_f1.SUBTASKS`.

    Returns:
        Dictionaries with the task's elements, and the offsets of its terms (of the first mention, where
        several mentions give the same label).
    """
    elements = elements_of(task)
    labels: dict[tuple[str, ...], dict[str, Any]] = {}
    for quad in quads:
        key = tuple(getattr(quad, element) for element in elements)
        if key in labels or (len(key) == 1 and elements[0] in ("aspect", "opinion") and key[0] == NULL):
            continue
        labels[key] = {name: getattr(quad, name) for name in _columns(elements)}
    return list(labels.values())


def elements_of(task: str) -> Sequence[str]:
    """The elements of a quad that a sub-task is about.

    Raises:
        UsageError: There is no such task.
    """
    if task not in SUBTASKS:
        raise UsageError(f"task: found {task!r}, expected one of {', '.join(SUBTASKS)}")
    return SUBTASKS[task]


def features(task: str) -> datasets.Features:
    """The ``datasets.Features`` of a view: id, text, and the labels as a list of structs."""
    from datasets import Features, List, Value

    label = {
        name: Value("int32" if name.endswith(("start", "end")) else "string") for name in _columns(elements_of(task))
    }
    return Features({"id": Value("string"), "text": Value("string"), "labels": List(label)})


def _columns(elements: Iterable[str]) -> Iterator[str]:
    for element in elements:
        yield element
        if element in ("aspect", "opinion"):
            yield from (f"{element}_start", f"{element}_end")


def build(
    source: Source,
    tasks: Sequence[str],
    out: Path,
    *,
    on_reject: Callable[[Record], None] | None = None,
    progress: bool = False,
) -> dict[str, dict[str, int]]:
    """Write views as a dataset folder with one configuration a task, its name in lower case.

    Args:
        source: A dataset that is split; samples without a split go to ``train``.
        tasks: Keys of :data:`asqp_f1.SUBTASKS`.
        out: The folder.
        on_reject: Called with every line that cannot be read; by default the first one is an error.
        progress: Whether to show a bar.

    Returns:
        The number of labels by task and split.

    Raises:
        UsageError: There is no such task.
        DataError: The source cannot be read, or the folder holds something else.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schemas = {task: features(task).arrow_schema for task in tasks}
    refuse_foreign(out, views=True)
    counts: dict[str, dict[str, int]] = {task: {} for task in tasks}
    samples: dict[str, int] = {}
    with work_folder(out) as work:
        writers: dict[tuple[str, str], pq.ParquetWriter] = {}
        with Progress("writing views", source.size or None, "samples", progress) as bar:
            for given, batch in source.batches(on_reject):
                split = given or SPLITS[0]
                samples[split] = samples.get(split, 0) + batch.num_rows
                quads = [sample.quads for sample in from_arrow(batch)]
                for task in tasks:
                    labels = [view(each, task) for each in quads]
                    counts[task][split] = counts[task].get(split, 0) + sum(map(len, labels))
                    column = pa.array(labels, schemas[task].field("labels").type)
                    arrays = [batch.column("id"), batch.column("text"), column]
                    if (task, split) not in writers:
                        path = _path(work, task, split)
                        path.parent.mkdir(exist_ok=True)
                        writers[task, split] = pq.ParquetWriter(path, schemas[task])
                    writers[task, split].write_batch(pa.RecordBatch.from_arrays(arrays, schema=schemas[task]))
                bar.advance(batch.num_rows)
        for writer in writers.values():
            writer.close()
        files = {f"{task}/{split}": named_by_content([_path(work, task, split)]) for task, split in writers}
        install(work, out, _card(source, tasks, files, counts, samples), files)
    return counts


def _path(work: Path, task: str, split: str) -> Path:
    return work / task.lower() / f"{split}-00000"


def _card(
    source: Source,
    tasks: Sequence[str],
    files: Mapping[str, list[Path]],
    counts: Mapping[str, Mapping[str, int]],
    samples: Mapping[str, int],
) -> str:
    configs = [
        {
            "config_name": task.lower(),
            "data_files": [
                {"split": split, "path": f"{task.lower()}/{files[f'{task}/{split}'][0].name}"} for split in counts[task]
            ],
        }
        for task in tasks
    ]
    rows = [
        {"task": task, "name": NAMES[task], "elements": ", ".join(SUBTASKS[task]), "labels": counts[task]}
        for task in tasks
    ]
    return cards.subtasks_card(source, configs, rows, samples)

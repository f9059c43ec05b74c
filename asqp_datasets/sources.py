"""Anything that holds samples, opened by name: a corpus, a raw file, a dataset folder, a Hub dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asqp_datasets import corpora
from asqp_datasets.checks.samples import chinese_share
from asqp_datasets.corpora import CORPORA, Corpus
from asqp_datasets.errors import DataError, UsageError, shown
from asqp_datasets.front_matter import SPLIT_NAMES, data_files, is_plain_name, read_facts
from asqp_datasets.hub_client import HubId, chosen_revision, parse_hub_id, snapshot
from asqp_datasets.parts import in_parts
from asqp_datasets.readers import Issue, Record, get_reader, guess_reader, parquet, read_file
from asqp_datasets.schema import Sample, arrow_schema, to_arrow
from asqp_datasets.splits import SPLITS

if TYPE_CHECKING:
    import pyarrow as pa

DEFAULT_SYNTHETIC_SIZE = 2000

_RAW_SUFFIXES = (".txt", ".tsv", ".jsonl")


@dataclass(frozen=True)
class Source:
    """Where samples come from.

    Args:
        name: The corpus's id, or the file's or folder's name.
        language: ``zh`` or ``en``.
        corpus: The known corpus, if it is one.
        files: The files to read, each with its split (None where the corpus is yet to be split).
        format: The raw format of the files; ``parquet`` for datasets.
        size: How many samples to generate, for a synthetic corpus.
        seed: The seed to generate them from.
        issues: What is wrong with the files as such.
    """

    name: str
    language: str
    corpus: Corpus | None = None
    files: tuple[tuple[str | None, Path], ...] = ()
    format: str = ""
    size: int = 0
    seed: int = 0
    issues: tuple[tuple[Path, Issue], ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def is_synthetic(self) -> bool:
        """Whether the text was generated, here or when the dataset was built."""
        return bool(self.facts.get("synthetic")) or (self.corpus is not None and self.corpus.synthetic)

    @property
    def generates(self) -> bool:
        """Whether samples are generated rather than read."""
        return not self.files and self.is_synthetic

    @property
    def is_split(self) -> bool:
        """Whether every sample belongs to a split already."""
        return bool(self.files) and all(split for split, _ in self.files)

    def records(self) -> Iterator[Record]:
        """Every line or row, in order."""
        if self.generates:
            yield from self.generate(0, self.size)
            return
        prefixes = _id_prefixes(self.files)
        for (split, path), prefix in zip(self.files, prefixes, strict=True):
            if self.format == "parquet":
                yield from parquet.read_records(path, split)
            else:
                yield from read_file(get_reader(self.format), path, split=split, id_prefix=prefix)

    def generate(self, start: int, stop: int) -> Iterator[Record]:
        """Samples ``start`` to ``stop`` of a synthetic corpus; the same in every process."""
        from asqp_datasets import synthetic

        samples = synthetic.generate(self.name, stop - start, seed=self.seed, start=start)
        for number, sample in enumerate(samples, start + 1):
            yield Record(self.name, number, None, sample)

    def batches(self, on_reject: Callable[[Record], None] | None = None) -> Iterator[tuple[str | None, pa.RecordBatch]]:
        """The samples as Arrow columns, with the split of each batch.

        Args:
            on_reject: Called with every line or row that cannot be read; by default the first one is an error.

        Raises:
            DataError: A line cannot be read, and nobody is told otherwise.
        """
        if self.format == "parquet":
            for split, path in self.files:
                row = 0
                for batch in parquet.read_batches(path):
                    if parquet.is_sound(batch):
                        yield split, batch
                    else:
                        rows = _readable(parquet.rows(batch, path, split, row), on_reject)
                        yield from ((split, part) for part in _as_batches(sample for _, sample in rows))
                    row += batch.num_rows
            return
        for split, rows in groupby(_readable(self.records(), on_reject), key=lambda item: item[0]):
            yield from ((split, part) for part in _as_batches(sample for _, sample in rows))

    def samples(self) -> dict[str, list[Sample]]:
        """All samples by split, in memory; ``""`` holds those without a split.

        Raises:
            DataError: A line cannot be read.
        """
        result: dict[str, list[Sample]] = {}
        for split, sample in _readable(self.records(), None):
            result.setdefault(split or "", []).append(sample)
        return result


def _readable(
    records: Iterable[Record], on_reject: Callable[[Record], None] | None
) -> Iterator[tuple[str | None, Sample]]:
    for record in records:
        if record.sample is not None:
            yield record.split, record.sample
        elif record.rejected:
            if on_reject is None:
                raise DataError(record.issues[0].message, path=record.path, line=record.line)
            on_reject(record)


def _as_batches(samples: Iterable[Sample]) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema()
    return (to_arrow(part, schema) for part in in_parts(samples, lambda sample: len(sample.text)))


def open_source(
    spec: str,
    *,
    raw: Sequence[str] = (),
    format: str | None = None,
    language: str | None = None,
    size: int | None = None,
    seed: int = 0,
    revision: str | None = None,
    progress: bool = False,
) -> Source:
    """Open a corpus by id, a raw file, a dataset folder, or a dataset on the Hub, in that order.

    Args:
        spec: The name or path; on the Hub ``namespace/name`` or ``namespace/name@revision``.
        raw: The owner's files for a corpus that is not public, or to use in place of the public ones; each a
            path, or ``train=PATH``, ``validation=PATH``, ``test=PATH`` to keep a split.
        format: The raw format; default: the corpus's, or guessed from the first lines.
        language: ``zh`` or ``en``; default: the corpus's, or guessed from the text.
        size: Samples of a synthetic corpus.
        seed: Seed of a synthetic corpus.
        revision: Revision of a Hub dataset.
        progress: Whether to show a bar for downloads.

    Raises:
        UsageError: The name means nothing, or an option does not go with it.
        DataError: Files are missing or cannot be read.
    """
    corpus = CORPORA.get(spec)
    if size is not None and not (corpus and corpus.synthetic):
        raise UsageError(f"size: found {size} for {spec!r}, expected a synthetic corpus: only those have any size")
    if corpus and corpus.synthetic:
        if raw or format or language:
            raise UsageError(f"{spec}: found --raw, --format or --language, expected none: the corpus is generated")
        wanted = DEFAULT_SYNTHETIC_SIZE if size is None else size
        return Source(spec, corpus.language, corpus, size=wanted, seed=seed)
    if corpus:
        return _corpus_source(corpus, raw, format, language, progress)
    if raw:
        if not is_plain_name(spec):
            raise UsageError(f"dataset: found {spec!r}, expected a name for the files: letters, digits, '_', '-', '.'")
        return _file_source(spec, _raw_files(raw), format, language)
    path = Path(spec)
    if path.is_dir():
        return _folder_source(path, format, language)
    if path.is_file():
        if path.suffix == ".parquet":
            return _dataset_source(path.stem, [(None, path)], language, {})
        return _file_source(path.stem, ((None, path),), format, language)
    if path.suffix in (".parquet", ".csv", *_RAW_SUFFIXES):
        raise DataError("found no such file", path=path)
    on_hub = parse_hub_id(spec)
    if on_hub:
        return _hub_source(on_hub, language, revision)
    raise UsageError(
        f"dataset: found {spec!r}, expected a corpus ({', '.join(CORPORA)}), a file, a dataset folder or a Hub dataset"
    )


def _corpus_source(
    corpus: Corpus, raw: Sequence[str], format: str | None, language: str | None, progress: bool
) -> Source:
    issues: list[tuple[Path, Issue]] = []
    if raw:
        files = _raw_files(raw)
    elif corpus.needs_owner_files:
        raise UsageError(f"corpus {corpus.id}: {corpus.note}")
    else:
        paths = corpora.fetch(corpus, progress=progress)
        files = tuple(paths.items())
        issues = corpora.check_files(corpus, paths)
    reader = format or corpus.reader or guess_reader(files[0][1]).name
    get_reader(reader)
    return Source(corpus.id, language or corpus.language, corpus, files, reader, issues=tuple(issues))


def _raw_files(raw: Sequence[str]) -> tuple[tuple[str | None, Path], ...]:
    """The owner's files: ``PATH`` or ``train=PATH`` and so on; a folder stands for the raw files in it."""
    files: list[tuple[str | None, Path]] = []
    for value in raw:
        name, equals, rest = value.partition("=")
        named = bool(equals) and name in SPLIT_NAMES and not Path(value).exists()
        path = Path(rest if named else value)
        inside = sorted(each for each in path.iterdir() if each.suffix in _RAW_SUFFIXES) if path.is_dir() else [path]
        if not inside:
            raise DataError(f"found no raw files, expected some of {', '.join(_RAW_SUFFIXES)}", path=path)
        files += [(SPLIT_NAMES[name] if named else None, each) for each in inside]
    if len({split is None for split, _ in files}) > 1:
        raise UsageError("raw: found files with and without a split, expected all or none as train=FILE …")
    for _, path in files:
        if not path.is_file():
            raise DataError("found no such file, expected raw annotations", path=path)
    return tuple(files)


def _file_source(
    name: str, files: tuple[tuple[str | None, Path], ...], format: str | None, language: str | None
) -> Source:
    reader = format or guess_reader(files[0][1]).name
    source = Source(name, language or "", None, files, get_reader(reader).name)
    return source if language else _with_language(source)


def _with_language(source: Source) -> Source:
    texts = [r.sample.text for r in islice((r for r in source.records() if r.sample), 200) if r.sample]
    shares = [chinese_share(text) for text in texts]
    language = "zh" if shares and sum(shares) / len(shares) > 0.3 else "en"
    return Source(**{**source.__dict__, "language": language})


def _folder_source(folder: Path, format: str | None, language: str | None, name: str = "") -> Source:
    name = name or folder.resolve().name
    facts = read_facts(folder)
    if "views" in facts:
        raise DataError("found views of a dataset for sub-tasks, expected a dataset of quads", path=folder)
    files = data_files(folder)
    if files:
        return _dataset_source(name, files, language or facts.get("language"), facts)
    raw = [
        (SPLIT_NAMES[path.stem.rsplit("_", 1)[-1]], path)
        for path in sorted(folder.iterdir())
        if path.suffix in _RAW_SUFFIXES and path.stem.rsplit("_", 1)[-1] in SPLIT_NAMES
    ]
    if not raw:
        raise DataError(
            "found no dataset, expected README.md with data/{train,validation,test}-*.parquet, "
            "or raw files named train, dev and test",
            path=folder,
        )
    raw.sort(key=lambda item: SPLITS.index(item[0]))
    return _file_source(name, tuple(raw), format, language)


def _dataset_source(
    name: str, files: Sequence[tuple[str | None, Path]], language: str | None, facts: dict[str, Any]
) -> Source:
    name = str(facts.get("corpus", name))
    corpus = CORPORA.get(name)
    language = language or (corpus.language if corpus else None)
    source = Source(name, language or "", corpus, tuple(files), "parquet", facts=facts)
    return source if language else _with_language(source)


def _hub_source(on_hub: HubId, language: str | None, revision: str | None) -> Source:
    try:
        folder = snapshot(on_hub.repo, "dataset", chosen_revision(on_hub, revision), ["README.md", "*.parquet"])
    except DataError as error:
        why = f"found no file or folder of that name, and the Hub gave none: {error.message}"
        raise DataError(why, path=on_hub.repo) from None
    return _folder_source(folder, None, language, on_hub.repo.partition("/")[2])


def _id_prefixes(files: Sequence[tuple[str | None, Path]]) -> list[str]:
    """What samples' ids begin with: the split, or the file's stem, made different where files share it."""
    prefixes: list[str] = []
    for split, path in files:
        base = prefix = split or shown(path.stem)
        number = 1
        while prefix in prefixes:
            number += 1
            prefix = f"{base}.{number}"
        prefixes.append(prefix)
    return prefixes

"""Anything that holds samples, opened by name: a corpus, a raw file, a dataset folder, a Hub dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asqp_datasets import corpora
from asqp_datasets.checks.samples import chinese_share
from asqp_datasets.corpora import CORPORA, Corpus
from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.readers import Issue, Record, get_reader, guess_reader, read_file
from asqp_datasets.schema import Sample, arrow_schema, from_arrow, to_arrow
from asqp_datasets.splits import SPLITS

if TYPE_CHECKING:
    import pyarrow as pa

DEFAULT_SYNTHETIC_SIZE = 2000

_RAW_SUFFIXES = (".txt", ".tsv", ".jsonl")
_SPLIT_NAMES = {
    "train": "train",
    "dev": "validation",
    "valid": "validation",
    "validation": "validation",
    "test": "test",
}


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
                yield from _parquet_records(path, split)
            else:
                yield from read_file(get_reader(self.format), path, split=split, id_prefix=prefix)

    def generate(self, start: int, stop: int) -> Iterator[Record]:
        """Samples ``start`` to ``stop`` of a synthetic corpus; the same in every process."""
        from asqp_datasets import synthetic

        samples = synthetic.generate(self.name, stop - start, seed=self.seed, start=start)
        for number, sample in enumerate(samples, start + 1):
            yield Record(self.name, number, None, sample)

    def batches(self) -> Iterator[tuple[str | None, pa.RecordBatch]]:
        """The samples as Arrow columns, with the split of each batch; rejected lines are left out."""
        schema = arrow_schema()
        if self.format == "parquet":
            for split, path in self.files:
                for batch in _parquet_batches(path):
                    yield split, batch
            return
        samples = (record for record in self.records() if record.sample is not None)
        for split, records in groupby(samples, key=lambda record: record.split):
            while chunk := [record.sample for record in islice(records, 5000) if record.sample is not None]:
                yield split, to_arrow(chunk, schema)

    def samples(self) -> dict[str, list[Sample]]:
        """All samples by split, in memory; ``""`` holds those without a split. Rejected lines are left out."""
        result: dict[str, list[Sample]] = {}
        for record in self.records():
            if record.sample is not None:
                result.setdefault(record.split or "", []).append(record.sample)
        return result


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
        spec: The name or path.
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
    if corpus and corpus.synthetic and not raw:
        wanted = DEFAULT_SYNTHETIC_SIZE if size is None else size
        return Source(spec, corpus.language, corpus, size=wanted, seed=seed)
    if corpus:
        return _corpus_source(corpus, raw, format, language, progress)
    if raw:
        return _file_source(spec, _raw_files(raw), format, language)
    path = Path(spec)
    if path.is_dir():
        return _folder_source(path, format, language)
    if path.is_file():
        if path.suffix == ".parquet":
            return _dataset_source(path.stem, [(None, path)], language, {})
        return _file_source(path.stem, ((None, path),), format, language)
    if spec.count("/") == 1 and not path.suffix and not spec.startswith((".", "/", "~")):
        return _hub_source(spec, language, revision)
    raise UsageError(
        f"dataset: found {spec!r}, expected a corpus ({', '.join(CORPORA)}), a file, a dataset folder or a Hub dataset"
    )


def _corpus_source(
    corpus: Corpus, raw: Sequence[str], format: str | None, language: str | None, progress: bool
) -> Source:
    issues = []
    if raw:
        files = _raw_files(raw)
    elif corpus.needs_owner_files:
        raise UsageError(f"corpus {corpus.id}: {corpus.note}")
    else:
        paths = corpora.fetch(corpus, progress=progress)
        files = tuple(paths.items())
        for file in corpus.files:
            found = corpora.sha256_of(paths[file.split])
            if found != file.sha256:
                message = f"SHA-256 is {found[:12]}…, upstream's is {file.sha256[:12]}…"
                issues.append((paths[file.split], Issue("checksum-differs", message)))
    reader = format or corpus.reader or guess_reader(files[0][1]).name
    get_reader(reader)
    return Source(corpus.id, language or corpus.language, corpus, files, reader, issues=tuple(issues))


def _raw_files(raw: Sequence[str]) -> tuple[tuple[str | None, Path], ...]:
    """The owner's files: ``PATH`` or ``train=PATH`` and so on; a folder stands for the raw files in it."""
    files: list[tuple[str | None, Path]] = []
    for value in raw:
        name, equals, rest = value.partition("=")
        named = bool(equals) and name in _SPLIT_NAMES and not Path(value).exists()
        path = Path(rest if named else value)
        inside = sorted(each for each in path.iterdir() if each.suffix in _RAW_SUFFIXES) if path.is_dir() else [path]
        if not inside:
            raise DataError(f"found no raw files, expected some of {', '.join(_RAW_SUFFIXES)}", path=path)
        files += [(_SPLIT_NAMES[name] if named else None, each) for each in inside]
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


def _folder_source(folder: Path, format: str | None, language: str | None) -> Source:
    facts = read_facts(folder)
    files = _dataset_files(folder)
    if files:
        return _dataset_source(folder.name, files, language or facts.get("language"), facts)
    raw = [
        (_SPLIT_NAMES[path.stem.rsplit("_", 1)[-1]], path)
        for path in sorted(folder.iterdir())
        if path.suffix in _RAW_SUFFIXES and path.stem.rsplit("_", 1)[-1] in _SPLIT_NAMES
    ]
    if not raw:
        raise DataError(
            "found no dataset, expected README.md with data/{train,validation,test}-*.parquet, "
            "or raw files named train, dev and test",
            path=folder,
        )
    raw.sort(key=lambda item: SPLITS.index(item[0]))
    return _file_source(folder.name, tuple(raw), format, language)


def _dataset_source(
    name: str, files: Sequence[tuple[str | None, Path]], language: str | None, facts: dict[str, Any]
) -> Source:
    name = str(facts.get("corpus", name))
    corpus = CORPORA.get(name)
    language = language or (corpus.language if corpus else None)
    source = Source(name, language or "", corpus, tuple(files), "parquet", facts=facts)
    return source if language else _with_language(source)


def read_facts(folder: Path) -> dict[str, Any]:
    """The ``asqp`` block that the builder wrote into a dataset folder's card; empty without one."""
    facts = _front_matter(folder).get("asqp")
    return facts if isinstance(facts, dict) else {}


def _front_matter(folder: Path) -> dict[str, Any]:
    import yaml

    card = folder / "README.md"
    if not card.is_file():
        return {}
    parts = card.read_text(encoding="utf-8").split("\n---\n", 1)
    if len(parts) != 2 or not parts[0].startswith("---\n"):
        return {}
    try:
        data = yaml.safe_load(parts[0][4:])
    except yaml.YAMLError as error:
        raise DataError(f"the front matter is not YAML ({type(error).__name__})", path=card) from None
    return data if isinstance(data, dict) else {}


def _dataset_files(folder: Path) -> list[tuple[str | None, Path]]:
    """The Parquet files of the default configuration, as ``datasets`` would find them."""
    configs = _front_matter(folder).get("configs")
    files: list[tuple[str | None, Path]] = []
    if isinstance(configs, list) and configs and isinstance(configs[0], dict):
        for entry in configs[0].get("data_files", []):
            patterns = entry["path"] if isinstance(entry["path"], list) else [entry["path"]]
            if any(not isinstance(p, str) or p.startswith("/") or ".." in p for p in patterns):
                raise DataError(
                    f"found {patterns!r:.120}, expected paths in the folder", path=folder, field="data_files"
                )
            if entry["split"] not in SPLITS:
                found = f"found the split {entry['split']!r:.60}, expected one of {', '.join(SPLITS)}"
                raise DataError(found, path=folder, field="data_files")
            files += [(entry["split"], path) for pattern in patterns for path in sorted(folder.glob(pattern))]
    else:
        for name in SPLITS:
            files += [(name, path) for path in sorted(folder.glob(f"data/{name}-*.parquet"))]
    return files


def _hub_source(spec: str, language: str | None, revision: str | None) -> Source:
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(
            spec, repo_type="dataset", revision=revision, allow_patterns=["README.md", "*.parquet"]
        )
    except Exception as error:
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise DataError(f"found no file or folder of that name, and the Hub gave none: {reason}", path=spec) from None
    return _folder_source(Path(folder), None, language)


def _parquet_records(path: Path, split: str | None) -> Iterator[Record]:
    row = 0
    for batch in _parquet_batches(path):
        for sample in from_arrow(batch):
            row += 1
            yield Record(str(path), row, split, sample)


def _parquet_batches(path: Path) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = arrow_schema()
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(5000):
                yield _conform(batch, schema, path)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"cannot be read as Parquet: {str(error).splitlines()[0][:200]}", path=path) from error


def _conform(batch: pa.RecordBatch, schema: pa.Schema, path: Path) -> pa.RecordBatch:
    import pyarrow as pa

    missing = [name for name in schema.names if name not in batch.schema.names]
    if missing:
        raise DataError(
            f"found the columns {', '.join(batch.schema.names)}, expected id, text and quads",
            path=path,
            field=missing[0],
        )
    try:
        return pa.RecordBatch.from_arrays(
            [batch.column(field.name).cast(field.type) for field in schema], schema=schema
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise DataError(f"the columns are not those of a dataset of quads: {str(error)[:200]}", path=path) from error


def _id_prefixes(files: Sequence[tuple[str | None, Path]]) -> list[str]:
    """What samples' ids begin with: the split, or the file's stem, made different where files share it."""
    prefixes: list[str] = []
    for split, path in files:
        base = prefix = split or path.stem
        number = 1
        while prefix in prefixes:
            number += 1
            prefix = f"{base}.{number}"
        prefixes.append(prefix)
    return prefixes

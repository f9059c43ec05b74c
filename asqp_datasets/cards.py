"""The card of a dataset, filled from what was measured when it was built."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asqp_datasets.card_text import front_matter, template
from asqp_datasets.checks.rules import RULES
from asqp_datasets.corpora import CORPORA, sha256_of
from asqp_datasets.schema import features
from asqp_datasets.statistics import beside_paper, describe

if TYPE_CHECKING:
    from asqp_datasets.checks import Report
    from asqp_datasets.sources import Source
    from asqp_datasets.statistics import Statistics

_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
)


def package_version() -> str:
    """The version of this package, as installed."""
    return metadata.version("asqp")


def size_category(samples: int) -> str:
    """What the Hub calls a dataset of so many samples."""
    return next((name for limit, name in _SIZES if samples < limit), "n>10M")


def dataset_card(
    source: Source,
    report: Report,
    statistics: Mapping[str, Statistics],
    files: Mapping[str, list[Path]],
    *,
    ratio: str | None,
    seed: int,
    repairs: frozenset[str] = frozenset(),
    near_apart: bool = False,
) -> str:
    """The README.md of a dataset folder: the front matter that ``datasets`` reads, and a text for people.

    Args:
        source: What the dataset was built from.
        report: What the checks found.
        statistics: Counts by split.
        files: Parquet files by split.
        ratio: The ratio it was split by; None if the source's split was kept.
        seed: Seed of the split.
        repairs: Rules whose repairs were made.
        near_apart: Whether near copies of a text stand in several splits.
    """
    corpus = source.corpus
    synthetic = source.is_synthetic
    described = describe(source.name, source.language, statistics)
    raw_files = source.facts.get("files") or [
        {"name": path.name, "split": split, "sha256": sha256_of(path)} for split, path in source.files
    ]
    title = _title(source)
    facts: dict[str, Any] = {
        "corpus": source.name,
        "language": source.language,
        "synthetic": synthetic,
        "version": package_version(),
        "split": {"ratio": ratio, "seed": seed, "together": "copies" if near_apart else "copies and near copies"}
        if ratio
        else source.facts.get("split", "official"),
        "files": raw_files,
    }
    if source.generates:
        facts["generator"] = {"size": source.size, "seed": source.seed}
    elif "generator" in source.facts:
        facts["generator"] = source.facts["generator"]
    rows = (
        beside_paper(corpus, described["all"])
        if corpus and corpus.paper
        else [{"key": key, "measured": value} for key, value in described["all"].items()]
    )
    body = template("dataset.md.j2").render(
        title=title,
        load_name=f"asqp/{source.name}" if source.name in CORPORA else "path/to/this/folder",
        synthetic=synthetic,
        note=corpus.note if corpus else "Built from files of its owner.",
        url=corpus.url if corpus else "",
        files=raw_files,
        report=report,
        repairs=sorted(repairs),
        split_text=_split_text(facts["split"]),
        splits=described["splits"],
        unit=described["unit"],
        rows=rows,
        paper=bool(corpus and corpus.paper),
        paper_title=CORPORA[corpus.id.removeprefix("synthetic-")].title if corpus and synthetic else "",
        rules=RULES,
        licence_text=_licence_text(source),
        filtered=bool(corpus and corpus.needs_owner_files),
        upstream=corpus.upstream.repository if corpus and corpus.upstream else "",
    )
    configs = [
        {
            "config_name": "default",
            "data_files": [
                {"split": name, "path": f"data/{name}-*-{paths[0].stem.rsplit('-', 1)[-1]}.parquet"}
                for name, paths in files.items()
            ],
        }
    ]
    info = _dataset_info(statistics, files)
    return _front_matter(source, title, report.samples, configs, facts, dataset_info=info) + body


def _split_text(split: Any) -> str:
    if split == "official":
        return "The official split of the source."
    return (
        f"Split {split['ratio']} with seed {split['seed']}: exact sizes, stratified by first-level category and "
        f"sentiment; {split['together']} of a text stand in one split."
    )


def _licence_text(source: Source) -> str:
    if source.is_synthetic:
        return "Apache-2.0."
    if source.corpus and source.corpus.url:
        return "Upstream states no licence; ask its authors before you publish these texts."
    return "To be stated by the owner of the texts before publishing."


def subtasks_card(
    source: Source, configs: list[dict[str, Any]], rows: list[dict[str, Any]], samples: Mapping[str, int]
) -> str:
    """The README.md of a folder of sub-task views.

    Args:
        source: What the views were made from.
        configs: The configurations, one a task, as ``datasets`` reads them.
        rows: ``{"task", "name", "elements", "labels": {split: count}}`` for each task.
        samples: Samples by split.
    """
    title = f"{_title(source)}: sub-tasks"
    facts = {
        "corpus": source.name,
        "language": source.language,
        "synthetic": source.is_synthetic,
        "version": package_version(),
        "views": [row["task"] for row in rows],
    }
    body = template("subtasks.md.j2").render(
        title=title, synthetic=source.is_synthetic, rows=rows, samples=samples, first=rows[0]["task"].lower()
    )
    return _front_matter(source, title, sum(samples.values()), configs, facts) + body


def _title(source: Source) -> str:
    title = source.corpus.title if source.corpus else source.name
    return f"{title} (synthetic)" if source.is_synthetic and "ynthetic" not in title else title


def _front_matter(
    source: Source, title: str, samples: int, configs: list[dict[str, Any]], facts: dict[str, Any], **more: Any
) -> str:
    synthetic = source.is_synthetic
    licence: dict[str, Any] = {"license": "apache-2.0"}
    if not synthetic:
        licence = {"license": "other", "license_name": "not-stated-by-upstream"}
        if source.corpus and source.corpus.url:
            licence["license_link"] = source.corpus.url
    data = {
        "language": [source.language],
        **licence,
        "pretty_name": title,
        "size_categories": [size_category(samples)],
        "task_categories": ["text-classification", "token-classification"],
        "annotations_creators": ["machine-generated" if synthetic else "expert-generated"],
        "language_creators": ["machine-generated" if synthetic else "found"],
        "source_datasets": ["original"],
        "tags": ["aspect-sentiment-quad-prediction", "asqp", "acos", *(["synthetic"] if synthetic else [])],
        "configs": configs,
        **more,
        "asqp": facts,
    }
    return front_matter(data)


def _dataset_info(statistics: Mapping[str, Statistics], files: Mapping[str, list[Path]]) -> dict[str, Any]:
    import pyarrow.parquet as pq

    nbytes = dict.fromkeys(files, 0)
    for name, paths in files.items():
        for path in paths:
            meta = pq.read_metadata(path)
            nbytes[name] += sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
    return {
        "features": features()._to_yaml_list(),
        "splits": [
            {"name": name, "num_bytes": nbytes[name], "num_examples": part.samples} for name, part in statistics.items()
        ],
        "download_size": sum(path.stat().st_size for paths in files.values() for path in paths),
        "dataset_size": sum(nbytes.values()),
    }

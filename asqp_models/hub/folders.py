"""What a dataset folder, a run, the metric and a prediction file become as repositories; each is checked first."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from asqp_datasets.corpora import CORPORA
from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.front_matter import listed_files, read_facts, read_front_matter
from asqp_datasets.hub_folder import named_by_content
from asqp_datasets.readers.base import Rejection, check_quads
from asqp_datasets.schema import Sample
from asqp_datasets.splits import SPLITS
from asqp_models import cards
from asqp_models.hub import refusals
from asqp_models.hub.plan import Contents
from asqp_models.metric_cache import metric_folder
from asqp_models.prediction import META, to_parquet
from asqp_models.run_folder import Run, digests, load_run

_SHARDS = re.compile(r"[a-z0-9\-]+/[a-z]+-[0-9]{5}-of-[0-9]{5}-[0-9a-f]{16}\.parquet")
_WEIGHTS = re.compile(r"[^/]+\.(json|safetensors|txt|model)")
_LOADED = re.compile(r'(load_dataset\(")[^"\n]*(")')
_CHECKPOINT = {".json", ".safetensors", ".txt", ".model"}
_METRIC_NAME = "asqp_f1"
_EVALUATE_TAG = re.compile(r"v[0-9]+\.[0-9]+\.[0-9]+")


def dataset_contents(folder: str | Path, repo: str, *, may_republish: bool = False) -> Contents:
    """A dataset folder, of quads or of sub-task views: its card and the Parquet files that the card lists.

    Args:
        folder: What `asqp data build` or `asqp data subtasks` wrote.
        repo: ``namespace/name``.
        may_republish: Whether the owner says that texts without a known licence may be published.

    Raises:
        DataError: It was not built here, fails its checks, or holds secrets or pickle.
        UsageError: Its texts are not to be published under that name, or without the owner's word.
    """
    folder = Path(folder)
    facts = read_facts(folder) if folder.is_dir() else {}
    names = listed_files(folder) if facts else set()
    if not names:
        raise DataError("found no dataset, expected a folder that `asqp data build` wrote", path=folder)
    refusals.refuse_files(folder)
    refusals.refuse_dataset(folder, facts, repo, may_republish=may_republish)
    files: dict[str, Path | bytes] = {name.as_posix(): folder / name for name in sorted(names)}
    card = (folder / "README.md").read_text(encoding="utf-8")
    files["README.md"] = _LOADED.sub(rf"\g<1>{repo}\g<2>", card).encode("utf-8")
    left = [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).as_posix() not in files
    ]
    notes = list(_left_out(left))
    if read_front_matter(folder).get("license") in (None, "other", "unknown"):
        notes.append("the card states no licence of the texts")
    return Contents(repo, "dataset", f"dataset {facts.get('corpus', folder.name)}", files, _SHARDS, tuple(notes))


def model_contents(
    folder: str | Path, repo: str, *, licence: str | None = None, dataset: str | None = None
) -> Contents:
    """The checkpoint of a finished run, with a card of what was measured.

    Args:
        folder: The run folder.
        repo: ``namespace/name``.
        licence: Of the weights, as the Hub names licences.
        dataset: The dataset on the Hub that it was measured on.

    Raises:
        DataError: It is no finished run, its result is another checkpoint's, or it holds secrets or pickle.
        UsageError: A model of synthetic reviews would bear a real corpus's name.
    """
    run = measured_run(folder)
    refusals.refuse_files(run.folder / "checkpoint")
    refusals.refuse_texts(repo, run.corpus, run.synthetic, True, texts=False)
    files, left = _checkpoint_files(run.folder / "checkpoint")
    texts = {"README.md": cards.model_card(run, repo, licence=licence), **cards.eval_results(run, dataset)}
    for name, text in texts.items():
        refusals.refuse_text(text, name)
        files[name] = text.encode("utf-8")
    title = f"{run.config.method} on {run.corpus}, seed {run.config.seed}"
    return Contents(repo, "model", title, files, _WEIGHTS, _left_out(left))


def measured_run(folder: str | Path) -> Run:
    """A finished run whose checkpoint is the one that was measured.

    Raises:
        DataError: It is not.
    """
    folder = Path(folder)
    if (folder / "config.json").is_file() and not (folder / "run.json").is_file():
        raise DataError(
            "found a checkpoint without a measured result, expected the run folder that it is from", path=folder
        )
    run = load_run(folder)
    if not run.metrics:
        raise DataError("found a run without a measured result, expected scores on validation or test", path=folder)
    asked = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    measured = asked.get("files") or {}
    there = {name: sha for name, sha in digests(folder).items() if name in measured or name.startswith("checkpoint/")}
    if not measured or measured != there:
        name = min(measured.items() ^ there.items())[0] if measured else "run.json"
        raise DataError(
            "is not as it was when the result was measured, expected the run's own files", path=folder / name
        )
    return run


def _checkpoint_files(folder: Path) -> tuple[dict[str, Path | bytes], list[str]]:
    files: dict[str, Path | bytes] = {}
    left = []
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        name = path.relative_to(folder).as_posix()
        if path.suffix in _CHECKPOINT:
            files[name] = path
        else:
            left.append(name)
    return files, left


def metric_contents(repo: str, *, tag: str | None = None) -> Contents:
    """The metric as a Space that ``evaluate.load(repo)`` loads and that shows a page.

    Raises:
        UsageError: The repository's name is not the module's, or ``evaluate`` would take the tag for its own version.
    """
    if repo.partition("/")[2] != _METRIC_NAME:
        raise UsageError(
            f"repo: found {repo!r}, expected the name {_METRIC_NAME}: evaluate loads the file of that name"
        )
    if tag and _EVALUATE_TAG.fullmatch(tag):
        raise UsageError(
            f"tag: found {tag!r}, expected one such as {tag[1:]}: evaluate looks for its own version with a v first"
        )
    folder = metric_folder()
    names = [*sorted(path.name for path in folder.glob("*.py")), "requirements.txt"]
    files: dict[str, Path | bytes] = {name: folder / name for name in names}
    files["README.md"] = cards.metric_card().encode("utf-8")
    return Contents(repo, "space", f"metric {_METRIC_NAME}", files)


@contextmanager
def predictions_contents(
    source: str | Path, repo: str, *, split: str = "test", may_republish: bool = False
) -> Iterator[Contents]:
    """A prediction file, or that of a run, as a dataset of one Parquet file with a card; until the context ends.

    Args:
        source: A prediction file (JSON Lines or Parquet), or a run folder.
        repo: ``namespace/name``.
        split: The split that was predicted: ``train``, ``validation`` or ``test``.
        may_republish: Whether the owner says that texts without a known licence may be published.

    Raises:
        DataError: A row is no prediction, or holds a secret.
        UsageError: Its texts are not to be published under that name, or without the owner's word.
    """
    if split not in SPLITS:
        raise UsageError(f"split: found {split!r}, expected one of {', '.join(SPLITS)}")
    source = Path(source)
    path = source / "predictions" / f"{split}.jsonl" if source.is_dir() else source
    if not path.is_file():
        raise DataError("found no such file, expected predictions", path=path)
    facts: dict[str, Any] = {"split": split}
    home = path.resolve().parent.parent
    if path.resolve().parent.name == "predictions" and (home / "run.json").is_file():
        run = measured_run(home)
        facts |= {"corpus": run.corpus, "language": run.language, "synthetic": run.synthetic}
        facts |= {"method": run.config.method, "scores": run.scores(split)}
    else:
        if repo.partition("/")[2] in CORPORA:
            raise UsageError(f"repo: found {repo!r}, the name of a corpus, expected one for predictions")
        if not may_republish:
            raise UsageError(
                f"{path}: found predictions that are not in their run folder, whose texts may be anybody's, expected "
                "--i-may-republish to confirm that they may be published"
            )
    refusals.refuse_texts(repo, facts.get("corpus", ""), facts.get("synthetic", False), may_republish)
    refusals.refuse_file(path)
    with tempfile.TemporaryDirectory(prefix="asqp-predictions-") as scratch:
        work = Path(scratch, f"{split}-00000")
        facts |= _as_parquet(path, work)
        (shard,) = named_by_content([work])
        facts["path"] = f"data/{shard.name}"
        refusals.refuse_file(shard)
        card = cards.predictions_card(repo, predictions=shard, facts=facts)
        refusals.refuse_text(card, "README.md")
        files: dict[str, Path | bytes] = {facts["path"]: shard, "README.md": card.encode("utf-8")}
        title = f"predictions of {', '.join(facts['models'])[:60]}"
        yield Contents(repo, "dataset", title, files, _SHARDS)


def _as_parquet(path: Path, out: Path) -> dict[str, Any]:
    """Write predictions as Parquet; what is said of them as a whole."""
    models: set[str] = set()
    rows = quads = errors = 0
    more = False
    lines = out.with_name("rows.jsonl")
    with lines.open("w", encoding="utf-8", newline="\n") as file:
        for row in _rows(path):
            rows += 1
            meta = row.get("meta") if isinstance(row, dict) else None
            if not isinstance(meta, dict) or not isinstance(meta.get("model"), str):
                raise DataError("found no prediction, expected id, text, quads and meta.model", path=path, line=rows)
            try:
                sample = Sample.from_dict(row)
                check_quads(sample.text, sample.quads)
            except (DataError, Rejection) as error:
                message = error.issue.message if isinstance(error, Rejection) else str(error)
                raise DataError(message, path=path, line=rows) from None
            models.add(meta["model"])
            quads, errors = quads + len(sample.quads), errors + (meta.get("error") is not None)
            others = {key: value for key, value in meta.items() if key not in META and value is not None}
            more = more or bool(others)
            kept = {key: meta.get(key) for key in META}
            kept |= {"more": json.dumps(others, ensure_ascii=False, sort_keys=True)} if others else {}
            file.write(json.dumps(sample.to_dict() | {"meta": kept}, ensure_ascii=False) + "\n")
    if not rows:
        raise DataError("found no row, expected predictions", path=path)
    to_parquet(lines, out, more=more)
    return {"models": sorted(models), "rows": rows, "quads": quads, "errors": errors}


def _rows(path: Path) -> Iterator[Any]:
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(5000):
                    yield from batch.to_pylist()
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise DataError(f"cannot be read as Parquet: {str(error).splitlines()[0][:200]}", path=path) from error
        return
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                raise DataError("cannot be read as JSON", path=path, line=number) from None


def _left_out(names: list[str]) -> tuple[str, ...]:
    if not names:
        return ()
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (f"not published: {', '.join(names[:3])}{more}",)

"""The run folder: what a training leaves, how it is found again, how it is put in its place.

A run folder holds ``run.json`` (what was asked for, and the hashes of the data and of the files), ``environment.json``
(versions, machine, times), ``history.jsonl`` (what a neural method logged), ``metrics.jsonl``, ``calibration.jsonl``
(:mod:`asqp_models.reliability`), ``predictions/{validation,test}.jsonl`` and ``checkpoint/``; ``tensorboard/`` where
that is installed. It appears when it is complete. The same seed and data give the same bytes in everything but
``environment.json`` and ``tensorboard/``.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from asqp_datasets.corpora import sha256_of
from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.hub_folder import fill_folder
from asqp_models.run_config import RunConfig

_PARTS = {
    *("checkpoint", "predictions", "tensorboard"),
    *("calibration.jsonl", "history.jsonl", "metrics.jsonl", "environment.json", "run.json"),
}


@dataclass(frozen=True)
class Run:
    """A finished run.

    Args:
        folder: The run folder.
        corpus: The name of the corpus.
        synthetic: Whether its text is generated.
        metrics: The rows of ``metrics.jsonl``: ``split``, ``subset`` and the scores.
        environment: What ``environment.json`` holds.
        reused: Whether the run was there already.
        version: The version of this package that trained it.
        data: ``samples`` and ``sha256`` of each split.
        published: The commit on the Hub that holds it, if it was pushed.
    """

    folder: Path
    config: RunConfig
    corpus: str
    language: str
    synthetic: bool
    metrics: list[dict[str, Any]]
    environment: dict[str, Any]
    reused: bool = False
    version: str = ""
    data: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    published: str | None = None

    def scores(self, split: str, subset: str = "all") -> dict[str, Any]:
        """The scores on a split, empty if there is no such split; ``"unseen"`` leaves out texts that stand in train."""
        return next((row for row in self.metrics if row["split"] == split and row["subset"] == subset), {})


def load_run(folder: str | Path) -> Run:
    """Read a finished run.

    Raises:
        DataError: The folder holds none.
    """
    folder = Path(folder)
    try:
        asked = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        environment = json.loads((folder / "environment.json").read_text(encoding="utf-8"))
        metrics = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        config = RunConfig(asked["method"], asked["dataset"], asked["seed"], asked["revision"], asked["settings"])
        if not all(isinstance(row, dict) and {"split", "subset", "f1"} <= set(row) for row in metrics):
            raise TypeError
        return Run(
            folder,
            config,
            asked["corpus"],
            asked["language"],
            asked["synthetic"],
            metrics,
            environment,
            version=asked["version"],
            data=asked["data"],
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(
            f"found no finished run ({type(error).__name__}), expected run.json, environment.json and metrics.jsonl",
            path=folder,
        ) from None


def finished(output: Path, asked: dict[str, Any], overwrite: bool) -> Run | None:
    """The run that stands in a folder already, if it is the one that is asked for.

    Args:
        output: The run folder.
        asked: What ``run.json`` would hold.
        overwrite: Whether another run may stand there.

    Raises:
        UsageError: Something else stands there.
    """
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return None
    try:
        run = load_run(output)
        there = json.loads((output / "run.json").read_text(encoding="utf-8"))
    except DataError:
        if overwrite and output.is_dir() and {path.name for path in output.iterdir()} & _PARTS:
            return None  # a run, but a damaged one
        raise UsageError(f"output: found {output} with other content, expected a new folder or a run") from None
    files = there.pop("files", {})
    if there == asked and files.items() <= digests(output).items():
        return Run(**{**run.__dict__, "reused": True})
    if overwrite:
        return None
    differs = ", ".join(key for key in asked if there.get(key) != asked[key])
    what = f"another run in {output} (other {differs})" if differs else f"a damaged run in {output}"
    raise UsageError(f"output: found {what}, expected a new folder or --overwrite")


def put_in_place(work: Path, output: Path) -> None:
    """Put a finished run in its place. An older one goes, file by file; what else is there stays."""
    if output.is_dir():
        (output / "run.json").unlink(missing_ok=True)
        for name in sorted(_PARTS):
            if (output / name).is_dir():
                shutil.rmtree(output / name)
            else:
                (output / name).unlink(missing_ok=True)
    fill_folder(work, output, "run.json")


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file that the same run would give again."""
    own = {"run.json", "environment.json"}
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in own)
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    return {name: sha256_of(path) for name, path in names.items() if not name.startswith("tensorboard/")}


def unfinished_folder(output: Path, asked: dict[str, Any]) -> Path:
    """The folder, beside the run's, of what an unfinished training keeps; that of another training is dropped."""
    output = output.resolve()
    folder = output.with_name(f".{output.name}.unfinished")
    note = folder / "asked.json"
    wanted = json.dumps(asked, sort_keys=True)
    if not note.is_file() or note.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        note.write_text(wanted, encoding="utf-8")
    return folder


def environment() -> dict[str, Any]:
    """The versions and the machine that a run is made with."""
    packages = ("asqp", "datasets", "numpy", "pyarrow", "rapidfuzz", "scipy", "torch", "transformers")
    return {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "packages": {name: version for name in packages if (version := _version(name))},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def write_json(path: Path, value: Any) -> None:
    """A value as JSON, its keys sorted."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Rows as JSON Lines."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")

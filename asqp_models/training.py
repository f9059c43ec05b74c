"""Training a method on a dataset: one run folder with everything that the result rests on.

A run folder holds ``run.json`` (what was asked for, and the hashes of the data and of the files), ``environment.json``
(versions, machine, times), ``history.jsonl`` (what a neural method logged), ``metrics.jsonl``,
``predictions/{validation,test}.jsonl`` and ``checkpoint/``. It appears when it is complete. The same seed and data give
the same bytes in everything but ``environment.json``.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from asqp_datasets.cards import package_version
from asqp_datasets.corpora import sha256_of
from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.hub_folder import fill_folder, work_folder
from asqp_datasets.schema import Sample
from asqp_datasets.sources import open_source
from asqp_models.evaluation import evaluate_samples
from asqp_models.methods import get_method
from asqp_models.prediction import as_reviews, predict, write_predictions

_PARTS = {"checkpoint", "predictions", "history.jsonl", "metrics.jsonl", "environment.json", "run.json"}

CONFIG_KEYS = {"method": str, "dataset": str, "seed": int, "output": str, "revision": str}
"""What a configuration file may hold, and its types."""


@dataclass(frozen=True)
class RunConfig:
    """What to train.

    Args:
        method: A name of :data:`asqp_models.methods.METHODS`.
        dataset: A dataset folder, a corpus id or a Hub dataset, split into train, validation and test.
        seed: Random seed.
        revision: Revision of a Hub dataset.
        settings: The method's own hyper-parameters, by name.
    """

    method: str
    dataset: str
    seed: int = 0
    revision: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunConfig:
        """A configuration from the keys of a file and the command line; what is not general is the method's."""
        general = {key: value for key, value in values.items() if key in CONFIG_KEYS and key != "output"}
        own = {key: _as_number(value) for key, value in values.items() if key not in CONFIG_KEYS}
        return cls(**general, settings=own)

    def check(self) -> None:
        """Refuse settings that the method does not have, before anything is loaded.

        Raises:
            UsageError: The method, the seed or a setting is not as it should be.
        """
        method = get_method(self.method)
        if self.seed < 0:
            raise UsageError(f"seed: found {self.seed}, expected at least 0")
        check = getattr(method, "check_settings", None)
        if check is not None:
            check(self.settings)
        elif self.settings:
            found, expected = next(iter(self.settings)), ", ".join(CONFIG_KEYS)
            raise UsageError(
                f"{found}: found an unknown key, expected one of {expected}: {self.method} has no settings"
            )


@dataclass(frozen=True)
class Run:
    """A finished run.

    Args:
        folder: The run folder.
        corpus: The name of the corpus.
        synthetic: Whether its text is generated.
        metrics: The rows of ``metrics.jsonl``: ``split``, ``subset`` and the scores.
        reused: Whether the run was there already.
    """

    folder: Path
    config: RunConfig
    corpus: str
    language: str
    synthetic: bool
    metrics: list[dict[str, Any]]
    environment: dict[str, Any]
    reused: bool = False

    def scores(self, split: str, subset: str = "all") -> dict[str, Any]:
        """The scores on a split, empty if there is no such split; ``"unseen"`` leaves out texts that stand in train."""
        return next((row for row in self.metrics if row["split"] == split and row["subset"] == subset), {})


def read_config(path: str | Path) -> dict[str, Any]:
    """Read a configuration file.

    Raises:
        DataError: It is missing, not YAML, or holds a key that is unknown or has the wrong type.
    """
    import yaml

    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise DataError(f"cannot be read as YAML: {str(error).splitlines()[0][:200]}", path=path) from None
    if not isinstance(content, dict):
        raise DataError(f"found {content!r:.60}, expected keys: {', '.join(CONFIG_KEYS)}", path=path)
    for key, value in content.items():
        if not isinstance(key, str):
            raise DataError("found a key that is no string", path=path, field=str(key))
        if key in CONFIG_KEYS and (not isinstance(value, CONFIG_KEYS[key]) or isinstance(value, bool)):
            raise DataError(f"found {value!r:.60}, expected {CONFIG_KEYS[key].__name__}", path=path, field=key)
    return content


def train(config: RunConfig, output: Path, *, overwrite: bool = False, progress: bool = False) -> Run:
    """Train, predict validation and test, score, and leave a run folder.

    A folder that holds the same finished run (same configuration, data and version) is reused.

    Args:
        config: What to train.
        output: The run folder.
        overwrite: Whether to replace another run that stands there.
        progress: Whether to show bars.

    Raises:
        UsageError: The method is unknown, or another run stands in the folder.
        DataError: The dataset cannot be read or has no train split.
    """
    config.check()
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UsageError("found several processes, expected one: a run is trained by one process")
    method = get_method(config.method)
    source = open_source(config.dataset, revision=config.revision, progress=progress)
    splits = source.samples()
    if not splits.get("train"):
        found = ", ".join(name or "samples without a split" for name in splits) or "no samples"
        raise DataError(f"found {found}, expected a train split (see `asqp data build`)", path=config.dataset)
    asked = {
        **asdict(config),
        "version": package_version(),
        "corpus": source.name,
        "language": source.language,
        "synthetic": source.is_synthetic,
        "data": {name: {"samples": len(part), "sha256": _digest(part)} for name, part in splits.items()},
    }
    with work_folder(output) as work:  # for one process at a time: a second one finds the run of the first
        finished = _finished(output, asked, overwrite)
        if finished:
            return finished
        started = time.perf_counter()
        own: dict[str, Any] = dict(config.settings)
        unfinished = output.resolve().with_name(f".{output.resolve().name}.unfinished")
        if getattr(method, "keeps_checkpoints", False):
            own["folder"] = _take_up(unfinished, asked)
        model = method.train(
            splits["train"],
            splits.get("validation", []),
            language=source.language,
            seed=config.seed,
            progress=progress,
            **own,
        )
        times = {"training_seconds": round(time.perf_counter() - started, 3)}
        model.save_pretrained(work / "checkpoint")
        _write_lines(work / "history.jsonl", map(_without_times, getattr(model, "history", [])))
        seen = {sample.text for sample in splits["train"]}
        metrics = []
        for name in ("validation", "test"):
            if not (part := splits.get(name)):
                continue
            started = time.perf_counter()
            rows = list(predict(model, as_reviews(part), name=f"{config.method} on {source.name}"))
            times[f"{name}_samples_per_second"] = round(len(rows) / (time.perf_counter() - started), 1)
            write_predictions(rows, work / "predictions" / f"{name}.jsonl")
            quads = [row.quads for row in rows]
            for subset, keep in (("all", None), ("unseen", seen)):
                chosen = [i for i, sample in enumerate(part) if keep is None or sample.text not in keep]
                scores = evaluate_samples(
                    [quads[i] for i in chosen], [part[i].quads for i in chosen], source.language, breakdown=keep is None
                )
                metrics.append({"split": name, "subset": subset, **scores})
        _write_lines(work / "metrics.jsonl", metrics)
        _write_json(work / "environment.json", _environment() | times)
        _write_json(work / "run.json", asked | {"files": _digests(work)})
        _put_in_place(work, output)
        shutil.rmtree(unfinished, ignore_errors=True)
    return load_run(output)


def _take_up(folder: Path, asked: dict[str, Any]) -> Path:
    """The folder of an unfinished training's checkpoints; those of another training are dropped."""
    note = folder / "asked.json"
    wanted = json.dumps(asked, sort_keys=True)
    if not note.is_file() or note.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        note.write_text(wanted, encoding="utf-8")
    return folder / "checkpoints"


def _without_times(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if not key.endswith(("runtime", "_per_second"))}


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


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
        return Run(folder, config, asked["corpus"], asked["language"], asked["synthetic"], metrics, environment)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(
            f"found no finished run ({type(error).__name__}), expected run.json, environment.json and metrics.jsonl",
            path=folder,
        ) from None


def _finished(output: Path, asked: dict[str, Any], overwrite: bool) -> Run | None:
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
    if there == asked and files.items() <= _digests(output).items():
        return Run(**{**run.__dict__, "reused": True})
    if overwrite:
        return None
    differs = ", ".join(key for key in asked if there.get(key) != asked[key])
    what = f"another run in {output} (other {differs})" if differs else f"a damaged run in {output}"
    raise UsageError(f"output: found {what}, expected a new folder or --overwrite")


def _put_in_place(work: Path, output: Path) -> None:
    """Put a finished run in its place. An older one goes, file by file; what else is there stays."""
    if output.is_dir():
        (output / "run.json").unlink(missing_ok=True)
        for name in sorted(_PARTS):
            if (output / name).is_dir():
                shutil.rmtree(output / name)
            else:
                (output / name).unlink(missing_ok=True)
    fill_folder(work, output, "run.json")


def _digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file that the same run would give again."""
    own = {"run.json", "environment.json"}
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in own)
    return {path.relative_to(folder).as_posix(): sha256_of(path) for path in paths}


def _digest(samples: Sequence[Sample]) -> str:
    whole = hashlib.sha256()
    for sample in samples:
        whole.update(repr((sample.id, sample.text, [tuple(quad) for quad in sample.quads])).encode("utf-8"))
    return whole.hexdigest()


def _environment() -> dict[str, Any]:
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


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _as_number(value: Any) -> Any:
    """YAML takes 2e-5, without a point, for a string."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?[eE][+-]?[0-9]{1,3}", value):
        return float(value)
    return value


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """The keys and values of ``--set key=value``; a value is read as YAML would.

    Raises:
        UsageError: It has no ``=``, or a general key has not its type.
    """
    import yaml

    result: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key:
            raise UsageError(f"set: found {setting!r}, expected KEY=VALUE")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            value = text
        kind = CONFIG_KEYS.get(key)
        if kind is str:
            value = text
        if kind is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise UsageError(f"set: found {text!r} for {key}, expected {kind.__name__}")
        result[key] = value
    return result

"""Training a method on a dataset: one run folder with everything that the result rests on."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from asqp_datasets.cards import package_version
from asqp_datasets.errors import DataError
from asqp_datasets.hub_folder import work_folder
from asqp_datasets.schema import Sample
from asqp_datasets.sources import Source, open_source
from asqp_models import processes
from asqp_models.evaluation import evaluate_samples, group_intervals
from asqp_models.hub.push import Push, push_run
from asqp_models.methods import Method, Model, get_method, name_of
from asqp_models.prediction import as_reviews, predict, write_predictions
from asqp_models.reliability import FILE, scored_rows
from asqp_models.run_config import RunConfig
from asqp_models.run_folder import (
    Run,
    digests,
    environment,
    finished,
    load_run,
    put_in_place,
    unfinished_folder,
    write_json,
    write_lines,
)

RESAMPLES = 1_000
"""Resamples of the intervals that a run's scores have."""


def train(
    config: RunConfig, output: Path, *, overwrite: bool = False, push: Push | None = None, progress: bool = False
) -> Run:
    """Train, predict validation and test, score, and leave a run folder.

    A folder that holds the same finished run (same configuration, data and version) is reused. A training that was
    stopped goes on from its last checkpoint, if its method keeps some. Of several processes, as ``accelerate launch``
    starts them, the main one calls this and the others :func:`help_main`; they train one model together.

    Args:
        config: What to train.
        output: The run folder.
        overwrite: Whether to replace another run that stands there.
        push: Where to publish the model when the run is complete, and at each best epoch if wished. A push that fails
            is said on stderr, and changes nothing in the run.
        progress: Whether to show bars.

    Raises:
        UsageError: The method is unknown, another run stands in the folder, or there is no login to push with.
        DataError: The dataset cannot be read or has no train split.
    """
    config.check()
    method = get_method(config.method)
    source, splits = _open(config, progress)
    asked = {
        **asdict(config),
        "version": package_version(),
        "corpus": source.name,
        "language": source.language,
        "synthetic": source.is_synthetic,
        "data": {name: {"samples": len(part), "sha256": _digest(part)} for name, part in splits.items()},
    }
    if push:
        push.check(source.name, source.is_synthetic)
    with work_folder(output) as work:  # for one command at a time: a second one finds the run of the first
        run = finished(output, asked, overwrite)
        if run:
            _let_go(None)
            return _pushed(run, push)
        started = time.perf_counter()
        unfinished = None
        own: dict[str, Any] = {}
        if method.keeps_checkpoints:
            unfinished = unfinished_folder(output, asked | {"processes": processes.count()})
            own["folder"] = unfinished / "checkpoints"
        _let_go(own)
        if push and push.every_best and unfinished:
            own["on_best"] = partial(_push_best, push, asked, source, splits, unfinished / "best")
        model = _fit(method, config, source.language, splits, own, progress)
        times = {"processes": processes.count(), "training_seconds": round(time.perf_counter() - started, 3)}
        model.save_pretrained(work / "checkpoint")
        write_lines(work / "history.jsonl", map(_without_times, getattr(model, "history", [])))
        metrics, speeds = _measure(model, source, splits, work)
        write_lines(work / "metrics.jsonl", metrics)
        write_json(work / "environment.json", environment() | times | speeds)
        write_json(work / "run.json", asked | {"files": digests(work)})
        if unfinished and (unfinished / "checkpoints" / "runs").is_dir():
            (unfinished / "checkpoints" / "runs").rename(work / "tensorboard")
        put_in_place(work, output)
        if unfinished:
            shutil.rmtree(unfinished, ignore_errors=True)
    return _pushed(load_run(output), push)


def _pushed(run: Run, push: Push | None) -> Run:
    return replace(run, published=push_run(run.folder, push)) if push else run


def _push_best(
    push: Push, asked: dict[str, Any], source: Source, splits: dict[str, list[Sample]], folder: Path, model: Model
) -> None:
    """Publish the model as it is, as a run that was measured on validation alone."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.save_pretrained(folder / "checkpoint")
    known = {name: part for name, part in splits.items() if name in ("train", "validation")}
    metrics, speeds = _measure(model, source, known, folder)
    write_lines(folder / "metrics.jsonl", metrics)
    write_json(folder / "environment.json", environment() | speeds)
    write_json(folder / "run.json", asked | {"files": digests(folder)})
    push_run(folder, push, best=True)
    shutil.rmtree(folder, ignore_errors=True)


def help_main(config: RunConfig) -> None:
    """What the processes beside the main one do: their part of the training. Only the main one checks and writes."""
    own = processes.from_main()
    if own:
        source, splits = _open(config, False)
        _fit(get_method(config.method), config, source.language, splits, own, False)


def _let_go(own: dict[str, Any] | None) -> None:
    """Tell the other processes to train with these settings, or that there is nothing to be done."""
    if processes.count() > 1:
        processes.from_main(own)


def _open(config: RunConfig, progress: bool) -> tuple[Source, dict[str, list[Sample]]]:
    source = open_source(config.dataset, revision=config.revision, progress=progress)
    splits = source.samples()
    if not splits.get("train"):
        found = ", ".join(name or "samples without a split" for name in splits) or "no samples"
        raise DataError(f"found {found}, expected a train split (see `asqp data build`)", path=config.dataset)
    return source, splits


def _fit(
    method: Method,
    config: RunConfig,
    language: str,
    splits: dict[str, list[Sample]],
    own: dict[str, Any],
    progress: bool,
) -> Model:
    return method.train(
        splits["train"],
        splits.get("validation", []),
        language=language,
        seed=config.seed,
        progress=progress,
        **config.settings,
        **own,
    )


def _measure(
    model: Model, source: Source, splits: dict[str, list[Sample]], work: Path
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """Predict validation and test, write the predictions and how far to trust them, score them; scores and speeds."""
    seen = {sample.text for sample in splits["train"]}
    metrics, speeds = [], {}
    scored: list[dict[str, Any]] = []
    for name in ("validation", "test"):
        if not (part := splits.get(name)):
            continue
        started = time.perf_counter()
        rows = list(predict(model, as_reviews(part), name=name_of(work / "checkpoint")))
        speeds[f"{name}_samples_per_second"] = round(len(rows) / (time.perf_counter() - started), 1)
        write_predictions(rows, work / "predictions" / f"{name}.jsonl")
        quads = [row.quads for row in rows]
        for subset, keep in (("all", None), ("unseen", seen)):
            chosen = [i for i, sample in enumerate(part) if keep is None or sample.text not in keep]
            both = [quads[i] for i in chosen], [part[i].quads for i in chosen]
            scores = evaluate_samples(*both, source.language, breakdown=keep is None, bootstrap=RESAMPLES)
            if keep is None:
                scores["interval"] |= group_intervals(*both, resamples=RESAMPLES)
            metrics.append({"split": name, "subset": subset, **scores})
        scored += scored_rows(model, part, name)
    write_lines(work / FILE, scored)
    return metrics, speeds


def _without_times(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in sorted(row) if not key.endswith(("runtime", "_per_second"))}


def _digest(samples: Sequence[Sample]) -> str:
    whole = hashlib.sha256()
    for sample in samples:
        whole.update(repr((sample.id, sample.text, [tuple(quad) for quad in sample.quads])).encode("utf-8"))
    return whole.hexdigest()

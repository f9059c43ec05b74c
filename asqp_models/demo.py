"""The main job on the embedded default: build, load, train, predict, score, report."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from asqp_datasets.builder import build
from asqp_datasets.cards import package_version
from asqp_datasets.errors import DataError, UsageError
from asqp_datasets.sources import open_source
from asqp_models import evaluation, metric_cache, report, training
from asqp_models.run_config import RunConfig
from asqp_models.run_folder import Run, load_run

CORPORA = ("synthetic-car", "synthetic-digital")
METHODS: dict[str, dict[str, Any]] = {
    "lexicon": {},
    "joint": {
        "epochs": 2,
        "batch_size": 16,
        "num_hidden_layers": 1,
        "hidden_size": 96,
        "embedding_size": 64,
        "span_size": 48,
        "pair_size": 64,
        "max_units": 6,
        "max_distance": 16,
        "folds": 2,
    },
}
"""What is trained, and its settings: a small network, as synthetic reviews are soon learned."""
SIZE = 4000
"""Reviews of each corpus, unless asked otherwise."""


class Demo(NamedTuple):
    """What the demo left: its runs, its page, and whether it was all there before."""

    runs: list[Run]
    page: Path
    reused: bool


def run_demo(
    out: Path,
    *,
    size: int = SIZE,
    seed: int = 0,
    say: Callable[[str], None] = lambda line: None,
    progress: bool = False,
) -> Demo:
    """Run the main job from end to end in a folder; a second time, only what is missing.

    Args:
        out: The folder: datasets under ``asqp/``, runs beside it, and ``report.html``.
        size: Reviews of each corpus.
        seed: Seed of the reviews, the split and the training.
        say: Called with a line about each step.
        progress: Whether to show bars.

    Raises:
        UsageError: The folder holds something else.
    """
    stamp, page = out / "demo.json", out / "report.html"
    methods = [name for name in METHODS if name == "lexicon" or (find_spec("torch") and find_spec("transformers"))]
    asked = {"version": package_version(), "size": size, "seed": seed, "methods": methods}
    if out.exists() and any(out.iterdir()) and not stamp.exists():
        raise UsageError(f"out: found {out} with other content, expected a new folder or an earlier demo")
    done = _read(stamp)
    folders = [out / f"{corpus}_{method}" for corpus in CORPORA for method in methods]
    if done == asked | {"complete": True} and page.is_file():
        try:
            return Demo([load_run(folder) for folder in folders], page, True)
        except DataError:
            pass  # part of it was removed: run again what is missing
    out.mkdir(parents=True, exist_ok=True)
    stamp.write_text(json.dumps(asked), encoding="utf-8")
    try:
        metric_cache.install()
    except OSError as error:  # the cache may be read-only; the demo does not need it
        say(f"evaluate.load('asqp_f1') will not find the metric: {error.filename}: {error.strerror}")
    runs = []
    for corpus in CORPORA:
        started = time.perf_counter()
        dataset = out / "asqp" / corpus
        built = build(open_source(corpus, size=size, seed=seed), dataset, seed=seed, progress=progress)
        counts = ", ".join(f"{part.samples} {name}" for name, part in built.statistics.items())
        say(f"{corpus}: built {dataset} ({counts}) in {time.perf_counter() - started:.1f} s")
        for method in methods:
            config = RunConfig(method, str(dataset), seed, settings=METHODS[method])
            run = training.train(config, out / f"{corpus}_{method}", overwrite=True, progress=progress)
            runs.append(run)
            _check_against_loaded(run, dataset, progress)
            facts = run.environment
            say(
                f"{corpus}: trained {method} in {facts['training_seconds']:.1f} s, "
                f"predicted {facts['test_samples_per_second']:.0f} reviews/s"
            )
    if "joint" not in methods:
        say("the joint model, a neural network, was left out: it needs the extra train, with torch")
    report.write_report(runs, page)
    stamp.write_text(json.dumps(asked | {"complete": True}), encoding="utf-8")
    return Demo(runs, page, False)


def _check_against_loaded(run: Run, dataset: Path, progress: bool) -> None:
    """Score the prediction file against what ``load_dataset`` gives, as a user would: the same numbers."""
    from datasets import disable_progress_bars, load_dataset

    if not progress:
        disable_progress_bars()
    gold = load_dataset(str(dataset), split="test")
    predicted, language = evaluation.read_samples(run.folder / "predictions" / "test.jsonl")
    scores = evaluation.evaluate_samples([sample.quads for sample in predicted], gold["quads"], language)
    if scores["f1"] != run.scores("test")["f1"]:
        raise DataError("the prediction file's score differs from the run's", path=run.folder)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None

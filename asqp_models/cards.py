"""The cards of models, predictions and the metric, as the Hub shows them, filled from what was measured."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from asqp_datasets.card_text import front_matter, template, to_yaml
from asqp_datasets.errors import DataError
from asqp_datasets.splits import SPLITS
from asqp_models.card_parts import check_licence, check_repo_id, percent, score_row
from asqp_models.evaluation import measures
from asqp_models.methods import name_of
from asqp_models.prediction_cards import predictions_card
from asqp_models.reliability import LEAST_SCORE, Scored, bands, calibration_error, read_scored
from asqp_models.report import corpus_title
from asqp_models.run_folder import Run

__all__ = ["eval_results", "metric_card", "model_card", "predictions_card"]

TASK = "aspect-sentiment-quad-prediction"

PRECISION = 0.9
"""The precision for which a model card says the threshold, and what recall is left."""

EXAMPLES = {"zh": "内饰差、屏幕不大", "en": "The food was great but the waiter rude."}
"""The text in the code of a card, by language."""

_METHODS = {
    "lexicon": "The method is a dictionary of the training set, with no neural network: which terms are annotated how "
    "often, and with which category and sentiment.",
    "extract-classify": "The method is Extract-Classify (Cai et al., ACL 2021): an encoder tags aspects and opinions, "
    "then each pair of them is classified.",
    "joint": "The method is a joint model: from one encoding of a text, spans, pairs of them and their labels are "
    "scored together, with what the dictionary of the training set says of them.",
}
_HOLD_WORDS = ("lexicon", "joint")
_GROUPS = {
    "by_implicitness": "explicit (E) or implicit (I) aspect and opinion",
    "by_sentiment": "sentiment",
    "by_category_level1": "first-level category",
    "by_quads_per_sample": "gold quads of the text",
}
_FEW = 30  # a type with fewer gold quads is not called the weakest
_HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


def model_card(run: Run, repo_id: str, *, licence: str | None = None) -> str:
    """The README.md of a model repository.

    Args:
        run: A finished run of any method.
        repo_id: The repository on the Hub, ``namespace/name``.
        licence: The licence of the weights as the Hub names it, such as ``apache-2.0``; default: not stated.

    Raises:
        UsageError: The id or the licence is none.
        DataError: A file of the run cannot be read.
    """
    check_repo_id(repo_id)
    check_licence(licence)
    name, config = name_of(run.folder), _checkpoint_config(run)
    measured = run.scores("test") or run.scores("validation")
    groups = list(_groups(measured))
    kinds = [row for group in groups[:1] for row in group["rows"] if row["gold"] >= _FEW]
    settings = {key: _public(value) for key, value in sorted(run.config.settings.items())}
    body = template("model.md.j2").render(
        title=f"{run.config.method} on {corpus_title(run)}",
        repo=repo_id,
        synthetic=run.synthetic,
        method_text=_METHODS.get(run.config.method, ""),
        example=EXAMPLES.get(run.language, EXAMPLES["en"]),
        corpus=corpus_title(run),
        language=run.language,
        measured=measured,
        intervals="interval" in measured,
        measures=_measures(run, measured),
        groups=groups,
        **_worth(run),
        training=_training(run, name),
        data={split: run.data[split] for split in SPLITS if split in run.data},
        settings=settings,
        version=run.version,
        **_curve(run),
        categories=len(config["asqp"].get("categories", ())),
        least=min(kinds, key=lambda row: float(row["f1"]), default=None),
        holds_words=run.config.method in _HOLD_WORDS,
        licence=licence,
        generated=run.synthetic and _from_scratch(run),
        upstream="",
    )
    return front_matter(_metadata(run, repo_id, licence, name, settings)) + body


def eval_results(run: Run, dataset_id: str | None) -> dict[str, str]:
    """A run's test scores in the form that the Hub gathers for a dataset's leaderboard.

    Args:
        run: A finished run.
        dataset_id: The dataset on the Hub that was tested on, ``namespace/name``; None if it is not there.

    Returns:
        The YAML by its path in the model repository, ``.eval_results/NAME.yaml``; empty without a dataset or scores.

    Raises:
        UsageError: The id is none.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    scores = run.scores("test")
    if dataset_id is None or not scores:
        return {}
    check_repo_id(dataset_id)
    interval, revision = scores.get("interval", {}), _hub_dataset(run)[1]
    entries = []
    for prefix, name in measures(scores).items():
        bounds = interval.get(f"{prefix}f1")
        notes = f"F1 of {name}, micro-averaged, as a fraction"
        notes += f"; 95% interval {bounds[0]:.4f} to {bounds[1]:.4f}" if bounds else ""
        entries.append(
            EvalResultEntry(
                dataset_id=dataset_id,
                task_id=f"{prefix or 'quad_'}f1",
                value=scores[f"{prefix}f1"],
                dataset_revision=revision if _is_commit(revision) else None,
                notes=f"{notes}; {scores['signature']}",
            )
        )
    return {f".eval_results/{dataset_id.split('/')[1]}.yaml": to_yaml(eval_result_entries_to_yaml(entries))}


def metric_card() -> str:
    """The README.md of the metric's Space: that of ``asqp_f1`` itself."""
    return (files("asqp_f1") / "README.md").read_text(encoding="utf-8")


def _checkpoint_config(run: Run) -> dict[str, Any]:
    path = run.folder / "checkpoint" / "config.json"
    try:
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        len(config["asqp"].get("categories", ()))
        return config
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"cannot be read ({type(error).__name__}), expected a checkpoint", path=path) from None


def _metadata(run: Run, repo_id: str, licence: str | None, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    from huggingface_hub import ModelCardData

    method, (dataset, revision) = run.config.method, _hub_dataset(run)
    encoder = run.config.settings.get("encoder")
    is_hub = isinstance(encoder, str) and re.fullmatch(rf"(?:{_HUB_ID.pattern}|[\w-]+)", encoder) is not None
    based = is_hub and encoder != "scratch" and not Path(str(encoder)).exists()
    facts = {
        "model": name,
        "method": method,
        "corpus": run.corpus,
        "synthetic": run.synthetic,
        "seed": run.config.seed,
        "settings": dict(settings),
        "data": {split: dict(part) for split, part in run.data.items()},
        "version": run.version,
    }
    licence = licence or ("apache-2.0" if run.synthetic and _from_scratch(run) else None)
    card = ModelCardData(
        language=[run.language],
        license=licence or "other",
        license_name=None if licence else "not-stated",
        library_name="asqp",
        pipeline_tag="token-classification",
        tags=["asqp", TASK, "acos", method, *(["synthetic"] if run.synthetic else [])],
        datasets=[dataset] if dataset else None,
        base_model=str(encoder) if based else None,
        metrics=["f1", "precision", "recall"],
        model_name=repo_id.split("/")[1],
        eval_results=list(_results(run, dataset, revision)) or None,
    )
    data: dict[str, Any] = card.to_dict()  # type: ignore[no-untyped-call]
    return data | {"asqp": facts}


def _results(run: Run, dataset: str | None, revision: str | None) -> Iterator[Any]:
    """The test scores for the model-index; ``measure`` in the arguments of each says what it is in metrics.jsonl."""
    from huggingface_hub import EvalResult

    scores = run.scores("test")
    if not scores:
        return
    part = run.data.get("test", {})
    named = [
        (f"{prefix}{key}", key, f"{key.capitalize() if key != 'f1' else 'F1'}, {name}")
        for prefix, name in measures(scores).items()
        for key in ("precision", "recall", "f1")
    ]
    named += [
        (f"by_implicitness.{kind}.f1", "f1", f"F1, {kind}")
        for kind, row in scores.get("by_implicitness", {}).items()
        if row["gold"] or row["predicted"]
    ]
    for measure, key, name in named:
        value: Any = scores
        for step in measure.split("."):
            value = value[step]
        yield EvalResult(
            task_type=TASK,
            task_name="Aspect sentiment quad prediction",
            dataset_type=dataset or run.corpus,
            dataset_name=corpus_title(run),
            dataset_split="test",
            dataset_revision=revision,
            dataset_args={"sha256": part["sha256"]} if "sha256" in part else None,
            metric_type=key,
            metric_name=name,
            metric_value=value,
            metric_args={"measure": measure, "signature": scores["signature"]},
        )


def _from_scratch(run: Run) -> bool:
    """Whether nothing in the weights was trained by others."""
    default = "scratch" if run.config.method in _HOLD_WORDS else None
    return bool(run.config.settings.get("encoder", default) == "scratch")


def _hub_dataset(run: Run) -> tuple[str | None, str | None]:
    """The dataset's id on the Hub, and its revision; None for local files."""
    name, _, revision = run.config.dataset.partition("@")
    on_hub = bool(run.config.revision or revision) or not Path(name).exists()
    return (name, run.config.revision or revision or None) if on_hub and _HUB_ID.fullmatch(name) else (None, None)


def _is_commit(revision: str | None) -> bool:
    return revision is not None and re.fullmatch(r"[0-9a-f]{40}", revision) is not None


def _public(value: Any) -> Any:
    """A setting without the folders of this machine."""
    is_path = isinstance(value, str) and re.match(r"[/~.\\]|[A-Za-z]:[/\\]", value)
    return re.split(r"[/\\]", value.rstrip("/\\"))[-1] if is_path else value


def _measures(run: Run, measured: Mapping[str, Any]) -> list[dict[str, str]]:
    if not measured:
        return []
    interval = measured.get("interval", {})
    rows = [score_row(name, measured, interval.get(f"{key}f1"), key) for key, name in measures(measured).items()]
    for split, subset, name in (
        (measured["split"], "unseen", "quad (strict), texts not in train"),
        ("validation", "all", "quad (strict), validation"),
    ):
        scores = run.scores(split, subset)
        if scores and scores is not measured:
            rows.append(score_row(name, scores, scores.get("interval", {}).get("f1")))
    return rows


def _groups(measured: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for key, name in _GROUPS.items():
        if table := measured.get(key):
            interval = measured.get("interval", {}).get(key, {})
            rows = [
                score_row(kind, row, interval.get(kind)) | {"gold": row["gold"]}
                for kind, row in table.items()
                if row["gold"] or row["predicted"]
            ]
            yield {"name": name, "rows": rows, "intervals": bool(interval)}


def _worth(run: Run) -> dict[str, Any]:
    """The reliability of scores, and what thresholds give."""
    scored = {split: each for split, each in read_scored(run.folder).items() if len(each.scores) and run.scores(split)}
    if not scored:
        return {"points": []}
    split = "test" if "test" in scored else next(iter(scored))
    rows = bands(scored[split].scores, scored[split].right)
    wanted = scored["validation"].least_with(PRECISION) if "validation" in scored else None
    thresholds = sorted({i / 10 for i in range(1, 10)} | ({wanted.threshold} if wanted else set()))
    points = [{"threshold": "the default", "cells": _cells(run.scores(each, "all") for each in scored)}]
    points += [
        {"threshold": f"{threshold:.2f}", "cells": _cells(each.at(threshold)._asdict() for each in scored.values())}
        for threshold in thresholds
    ]
    return {
        "points": points,
        "splits": list(scored),
        "points_split": split,
        "least_score": LEAST_SCORE,
        "bands": rows,
        "calibration_error": percent(calibration_error(rows)),
        "precise": _precise(scored),
    }


def _cells(scores: Iterator[Mapping[str, Any]]) -> list[str]:
    return [percent(each[key]) for each in scores for key in ("precision", "recall", "f1")]


def _precise(scored: Mapping[str, Scored]) -> str:
    """What to take for the wanted precision, chosen on validation, and what recall it leaves on test."""
    if "validation" not in scored:
        return ""
    aim = f"{100 * PRECISION:.0f}%"
    point = scored["validation"].least_with(PRECISION)
    if point is None:
        return f"No threshold gives a precision of {aim} on validation."
    text = (
        f"For a precision of {aim}, take `threshold={point.threshold:.2f}`, the least that reaches it on validation "
        f"(precision {percent(point.precision)}%, recall {percent(point.recall)}%)."
    )
    if "test" not in scored:
        return text
    there = scored["test"].at(point.threshold)
    left = f"a precision of {percent(there.precision)}% and leaves a recall of {percent(there.recall)}%"
    return f"{text} On test it gives {left}."


def _training(run: Run, name: str) -> list[tuple[str, Any]]:
    environment = run.environment
    packages = environment.get("packages")
    versions = ", ".join(f"{key} {value}" for key, value in packages.items()) if isinstance(packages, dict) else None
    dataset, revision = _hub_dataset(run)
    rows = [
        ("model", name),
        ("method", run.config.method),
        ("seed", run.config.seed),
        ("corpus", run.corpus),
        ("dataset on the Hub", dataset),
        ("revision of the data", revision or ("not fixed" if dataset else "none: local files")),
        ("training, seconds", environment.get("training_seconds")),
        ("processes", environment.get("processes")),
        ("prediction of test, samples a second", environment.get("test_samples_per_second")),
        ("Python", environment.get("python")),
        ("platform", environment.get("platform")),
        ("cores", environment.get("cores")),
        ("packages", versions),
    ]
    return [(key, value) for key, value in rows if value is not None]


def _curve(run: Run) -> dict[str, Any]:
    """The training curve from ``history.jsonl``; empty for a method that logs none."""
    path = run.folder / "history.jsonl"
    epochs: dict[tuple[int, float], dict[str, Any]] = {}
    try:
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
            row = json.loads(line)
            epoch = epochs.setdefault((int(row.get("member", 0)), float(row["epoch"])), {})
            epoch |= {key: value for key, value in row.items() if key != "best" or value}
        rows = [
            {
                "member": member + 1,
                "epoch": f"{epoch:g}",
                "loss": f"{row['loss']:.4f}" if "loss" in row else "",
                "precision": percent(row["eval_precision"]) if "eval_precision" in row else "",
                "recall": percent(row["eval_recall"]) if "eval_recall" in row else "",
                "f1": percent(row["eval_f1"]) if "eval_f1" in row else "",
                "threshold": f"{row['eval_threshold']:g}" if "eval_threshold" in row else "",
                "kept": "yes" if row.get("best") else "",
            }
            for (member, epoch), row in epochs.items()
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"cannot be read ({type(error).__name__}), expected what a training logs", path=path) from None
    return {"curve": rows, "members": len({row["member"] for row in rows}) > 1}

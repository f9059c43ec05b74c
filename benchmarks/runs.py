"""What training runs reached: means over seeds, intervals, paired tests, errors; by our counting and by the original's.

    python benchmarks/runs.py NAME RUN...

Runs with the same dataset, method and settings are one row. Each run is compared with the first run of every other
method on its dataset that is named before it. Writes `results/NAME.json`.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from asqp_f1 import compare, score
from asqp_models.evaluation import align, read_samples
from asqp_models.run_folder import Run, load_run

RESULTS = Path(__file__).parent / "results"
KINDS = ("EA&EO", "EA&IO", "IA&EO", "IA&IO")
RESAMPLES = 10_000


def percent(scores: dict[str, Any]) -> dict[str, float]:
    """Precision, recall and F1 in percent."""
    return {name: round(100 * scores[name], 2) for name in ("precision", "recall", "f1")}


def measured(run: Run, predicted: list[Any], gold: list[Any]) -> dict[str, Any]:
    """One run on the test set."""
    ours = score(predicted, gold, thresholds=(), breakdown=True, errors=True, bootstrap=RESAMPLES)
    errors = ours["errors"]
    theirs = score(predicted, gold, thresholds=(), breakdown=True, protocol="acos")
    epochs = run.config.settings.get("epochs", 1)
    return {
        "seed": run.config.seed,
        "test": percent(ours),
        "f1_95_percent_interval": [round(100 * bound, 2) for bound in ours["interval"]["f1"]],
        "test_without_texts_of_train": percent(run.scores("test", "unseen")),
        "f1_by_implicitness": {kind: round(100 * ours["by_implicitness"][kind]["f1"], 2) for kind in KINDS},
        "errors": {"wrong": errors["wrong"], "missed": errors["missed"]}
        | {"spurious_percent_of_wrong": round(100 * errors["spurious"]["share"], 1)}
        | {
            f"{name}_percent_of_wrong": round(100 * element["share"], 1) for name, element in errors["elements"].items()
        },
        "acos_protocol": percent(theirs)
        | {"f1_by_implicitness": {kind: round(100 * theirs["by_implicitness"][kind]["f1"], 2) for kind in KINDS}},
        "validation": percent(run.scores("validation")),
        "minutes_per_epoch": round(run.environment["training_seconds"] / 60 / epochs, 2),
        "processes": run.environment.get("processes", 1),
    }


def mean(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Means and sample deviations of F1, and means of the rest."""
    f1 = [row["test"]["f1"] for row in rows]
    return {
        "test": {
            name: round(statistics.mean(row["test"][name] for row in rows), 2) for name in ("precision", "recall", "f1")
        },
        "deviation_of_f1": round(statistics.stdev(f1), 2) if len(f1) > 1 else None,
        "f1_by_implicitness": {
            kind: round(statistics.mean(row["f1_by_implicitness"][kind] for row in rows), 2) for kind in KINDS
        },
        "acos_protocol_f1": round(statistics.mean(row["acos_protocol"]["f1"] for row in rows), 2),
        "minutes_per_epoch": round(statistics.mean(row["minutes_per_epoch"] for row in rows), 2),
    }


def main() -> None:
    """Read the runs, score them anew, write the table."""
    name, *folders = sys.argv[1:]
    groups: dict[tuple[str, str, str], list[tuple[Run, Any, Any]]] = defaultdict(list)
    result = []
    for folder in folders:
        run = load_run(folder)
        gold_samples, _ = read_samples(run.config.dataset)
        predicted, gold = align(read_samples(run.folder / "predictions" / "test.jsonl")[0], gold_samples)
        key = (run.corpus, run.config.method, json.dumps(run.config.settings, sort_keys=True))
        groups[key].append((run, measured(run, predicted, gold), predicted))
        for (corpus, method, _), others in groups.items():
            name_of_p = f"p_against_{method}"
            if corpus == run.corpus and method != run.config.method and name_of_p not in groups[key][-1][1]:
                test = compare(predicted, others[0][2], gold, resamples=RESAMPLES)
                groups[key][-1][1][name_of_p] = test["p_value"]
    for (corpus, method, settings), runs in groups.items():
        rows = [row for _, row, _ in runs]
        result.append(
            {
                "corpus": corpus,
                "method": method,
                "settings": json.loads(settings),
                "environment": {
                    key: runs[0][0].environment[key] for key in ("cores", "packages", "platform", "python")
                },
                "mean": mean(rows),
                "runs": rows,
            }
        )
    text = json.dumps(result, indent=1, ensure_ascii=False)
    print(text)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

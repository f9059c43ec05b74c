"""The cards of models, predictions and the metric, filled from what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asqp_datasets.cards import escape_markdown
from asqp_models.metric_cache import metric_folder
from asqp_models.run_folder import Run


def model_card(run: Run, repo_id: str, *, licence: str | None = None) -> str:
    """The README.md of a model repository, from a finished run.

    Args:
        run: The run.
        repo_id: ``namespace/name``.
        licence: Of the weights, as the Hub names licences.
    """
    rows = "".join(f"| {row['split']} | {row['subset']} | {100 * row['f1']:.2f} |\n" for row in run.metrics)
    tags = ["aspect-sentiment-quad-prediction", "asqp", *(["synthetic"] if run.synthetic else [])]
    front = {"language": [run.language], "tags": tags, **({"license": licence} if licence else {})}
    body = f"# {escape_markdown(repo_id)}\n\n{run.config.method} on {escape_markdown(run.corpus)}.\n\n"
    return _front_matter(front) + body + f"| split | samples | F1 |\n|---|---|---|\n{rows}"


def eval_results(run: Run, dataset_id: str | None) -> dict[str, str]:
    """The files of measured results in a model repository: YAML by path.

    Args:
        run: The run.
        dataset_id: The dataset on the Hub that it was measured on, if it is there.
    """
    return {}


def predictions_card(repo_id: str, *, predictions: Path, facts: Mapping[str, Any]) -> str:
    """The README.md of a predictions dataset.

    Args:
        repo_id: ``namespace/name``.
        predictions: The prediction file.
        facts: What is known of it: ``path``, ``split``, ``rows``, ``quads``, ``errors``, ``models``, and of its run
            ``corpus``, ``language``, ``synthetic``.
    """
    config = {"config_name": "default", "data_files": [{"split": facts["split"], "path": facts["path"]}]}
    tags = ["aspect-sentiment-quad-prediction", "asqp", "predictions"]
    kept = {key: facts[key] for key in ("corpus", "language", "synthetic") if facts.get(key) is not None}
    front = {"tags": tags, "configs": [config], "asqp": kept | {"predictions": True}}
    models = ", ".join(map(escape_markdown, facts["models"]))
    return _front_matter(front) + f"# {escape_markdown(repo_id)}\n\n{facts['rows']} reviews, predicted by {models}.\n"


def metric_card() -> str:
    """The README.md of the metric's Space."""
    return (metric_folder() / "README.md").read_text(encoding="utf-8")


def _front_matter(data: Mapping[str, Any]) -> str:
    import yaml

    return f"---\n{yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True)}---\n\n"

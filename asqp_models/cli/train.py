"""``asqp train``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from asqp_models.cli.options import json_option, print_json, print_table, quiet_option, show_progress

if TYPE_CHECKING:
    from asqp_models.run_folder import Run


@click.command()
@click.argument("config", required=False, type=click.Path(path_type=Path))
@click.option("--method", metavar="METHOD", help="What to train: lexicon, extract-classify or joint.")
@click.option("--dataset", metavar="DATASET", help="Dataset folder, corpus id or Hub dataset.")
@click.option("--output", metavar="FOLDER", help="Run folder; default: runs/DATASET_METHOD_seedN.")
@click.option("--seed", type=click.IntRange(min=0), help="Random seed; default: 0.")
@click.option("--revision", metavar="REV", help="Revision of a dataset on the Hub.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set a key of CONFIG.")
@click.option("--overwrite", is_flag=True, help="Replace another run in the folder.")
@click.option("--push-to-hub", "push_to_hub", metavar="REPO", help="Publish the model when it is trained.")
@click.option("--push-every-best", is_flag=True, help="Publish each epoch that is the best so far, too.")
@json_option
@quiet_option
def train(
    config: Path | None,
    method: str | None,
    dataset: str | None,
    output: str | None,
    seed: int | None,
    revision: str | None,
    settings: tuple[str, ...],
    overwrite: bool,
    push_to_hub: str | None,
    push_every_best: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Train a method on a dataset and score it on validation and test.

    CONFIG is a YAML file with the keys method, dataset, seed, output, revision, push_to_hub, push_every_best and the
    method's own; options go before it. A run that is there already, with the same data and settings, is not run again;
    one that was stopped goes on from its last checkpoint. Where a push to the Hub fails, the run is kept, and the exit
    code is 1.

    \b
    Example:
      asqp train --method lexicon --dataset asqp/zh-food-beverage --output runs/zh
      asqp train configs/quick/zh-food-beverage_joint.yaml
      asqp train configs/restaurant-acos_extract-classify.yaml --set negatives=true --set epochs=10
      asqp train --method lexicon --dataset asqp/car@1.0 --output runs/car --push-to-hub asqp/lexicon-car
      accelerate launch train.py configs/restaurant-acos_extract-classify.yaml --seed 1
    """
    from asqp_datasets.errors import UsageError
    from asqp_models import processes, run_config, training
    from asqp_models.hub.push import Push

    given = run_config.read_config(config) if config else {}
    given |= run_config.parse_settings(settings)
    options = {"method": method, "dataset": dataset, "seed": seed, "revision": revision}
    given |= {key: value for key, value in options.items() if value is not None}
    for key in ("method", "dataset"):
        if key not in given:
            raise UsageError(f"{key}: found none, expected --{key} or a CONFIG with it")
    folder = given.get("output")
    wanted = run_config.RunConfig.from_dict(given)
    name = Path(wanted.dataset).name
    if "" in (output, folder):
        raise UsageError("output: found an empty name, expected a folder")
    target = Path(output or folder or f"runs/{name}_{wanted.method}_seed{wanted.seed}")
    if processes.rank() > 0:
        training.help_main(wanted)
        return
    if processes.fewer_than_asked():
        click.echo("asqp: one process was started; without a GPU, several need accelerate launch --multi_gpu", err=True)
    repo = push_to_hub or given.get("push_to_hub")
    push_every_best = push_every_best or given.get("push_every_best", False)
    if push_every_best and not repo:
        raise UsageError("push_every_best: found it without push_to_hub, expected a repository to publish to")
    push = Push(repo, push_every_best) if repo else None
    run = training.train(wanted, target, overwrite=overwrite, push=push, progress=show_progress(quiet))
    if not run.scores("validation"):
        click.echo("asqp: no validation split: no epoch or threshold was chosen on texts not in train", err=True)
    if as_json:
        print_json(
            {"folder": str(run.folder), "reused": run.reused, "published": run.published, "metrics": run.metrics}
        )
    else:
        _print_run(run)
    if push and not run.published:
        click.get_current_context().exit(1)


def _print_run(run: Run) -> None:
    relaxed = [key for key in run.metrics[0] if key.startswith("aos_d") and key.endswith("_f1")] if run.metrics else []
    rows = [
        (
            row["split"] + ("" if row["subset"] == "all" else ", texts not in train"),
            row["samples"],
            *(100 * row[key] for key in ("precision", "recall", "f1", *relaxed)),
        )
        for row in run.metrics
    ]
    heads = [f"AOS d≤{key[5:-3]} F1" for key in relaxed]
    title = f"{run.config.method} on {run.corpus}" + (" (synthetic text)" if run.synthetic else "")
    print_table(("split", "samples", "P", "R", "F1", *heads), rows, title=title)
    click.echo(f"{run.folder}{': done before' if run.reused else ''}")
    if run.published:
        click.echo(f"published: commit {run.published}")

"""``asqp publish``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from asqp_models.cli.options import json_option, print_json, printable, quiet_option, show_progress

if TYPE_CHECKING:
    from asqp_models.hub.plan import Contents, Plan

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group()
def publish() -> None:
    """Put a dataset, model, metric or predictions on the Hub: one plan, then one commit.

    What is there already as it should be is not sent again, so a command that was stopped can be given again. Log in
    first, by `hf auth login` or HF_TOKEN.
    """


def _options(command: Command) -> Command:
    for option in reversed(
        (
            click.option("--private/--public", default=None, help="Default: as it is; a new one is private."),
            click.option("--tag", metavar="NAME", help="Also name this version."),
            click.option("--overwrite", is_flag=True, help="Replace files that were changed by other means."),
            click.option("--dry-run", is_flag=True, help="Show the plan, change nothing."),
            json_option,
            quiet_option,
        )
    ):
        command = option(command)
    return command


_repo_option = click.option("--repo", required=True, metavar="NAMESPACE/NAME", help="The repository.")
_republish_option = click.option(
    "--i-may-republish", "may_republish", is_flag=True, help="Confirm that these texts may be published."
)
_gated_option = click.option(
    "--gated", type=click.Choice(["auto", "manual"]), help="Readers ask first, and are let in at once or by you."
)


@publish.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--repo", metavar="NAMESPACE/NAME", help="The repository; default: FOLDER, where it is such a name.")
@_gated_option
@_republish_option
@_options
def dataset(folder: Path, repo: str | None, may_republish: bool, **options: Any) -> None:
    """Publish a dataset folder, or one of sub-task views, after its checks.

    \b
    Example:
      asqp publish dataset asqp/car --dry-run
      asqp publish dataset asqp/car --tag 1.0
      asqp publish dataset asqp/car-subtasks --repo asqp/car-subtasks
    """
    from asqp_models.card_parts import check_repo_id
    from asqp_models.hub.folders import dataset_contents

    repo = repo or folder.as_posix()
    check_repo_id(repo)
    _publish(dataset_contents(folder, repo, may_republish=may_republish), **options)


@publish.command()
@click.argument("run", type=click.Path(path_type=Path))
@_repo_option
@click.option("--licence", metavar="ID", help="Of the weights, as the Hub names licences, such as apache-2.0.")
@click.option("--dataset", metavar="NAMESPACE/NAME", help="The dataset on the Hub that it was measured on.")
@_gated_option
@_options
def model(run: Path, repo: str, licence: str | None, dataset: str | None, **options: Any) -> None:
    """Publish the checkpoint of a run folder, with a card of what was measured.

    \b
    Example:
      asqp publish model runs/zh --repo asqp/lexicon-zh-food-beverage
      asqp publish model runs/zh --repo asqp/lexicon-zh-food-beverage --licence apache-2.0 --public --tag 1.0
    """
    from asqp_models.card_parts import check_repo_id
    from asqp_models.hub.folders import model_contents

    check_repo_id(repo)
    _publish(model_contents(run, repo, licence=licence, dataset=dataset), **options)


@publish.command()
@click.option("--repo", default="asqp/asqp_f1", show_default=True, metavar="NAMESPACE/asqp_f1", help="The Space.")
@_options
def metric(repo: str, tag: str | None, **options: Any) -> None:
    """Publish the metric as a Space: evaluate.load(REPO) loads it, and it has a page.

    \b
    Example:
      asqp publish metric --dry-run
      asqp publish metric --public
    """
    from asqp_models.card_parts import check_repo_id
    from asqp_models.hub.folders import metric_contents

    check_repo_id(repo)
    _publish(metric_contents(repo, tag=tag), tag=tag, **options)


@publish.command()
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@_repo_option
@click.option("--split", default="test", show_default=True, metavar="NAME", help="The split that was predicted.")
@_gated_option
@_republish_option
@_options
def predictions(source: Path, repo: str, split: str, may_republish: bool, **options: Any) -> None:
    """Publish a prediction file, or that of a run folder, as a dataset that asqp score reads.

    \b
    Example:
      asqp publish predictions test.jsonl --repo asqp/lexicon-zh-predictions
      asqp publish predictions runs/zh --repo asqp/lexicon-zh-predictions
      asqp score asqp/lexicon-zh-predictions asqp/zh-food-beverage
    """
    from asqp_models.card_parts import check_repo_id
    from asqp_models.hub.folders import predictions_contents

    check_repo_id(repo)
    with predictions_contents(source, repo, split=split, may_republish=may_republish) as contents:
        _publish(contents, **options)


def _publish(
    contents: Contents,
    *,
    private: bool | None,
    tag: str | None,
    overwrite: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    gated: Any = None,
) -> None:
    from huggingface_hub.utils.tqdm import disable_progress_bars

    from asqp_models.hub.plan import Wishes
    from asqp_models.hub.publish import publish

    def show(plan: Plan) -> None:
        click.echo(printable("\n".join(plan.lines())), err=as_json)

    if not show_progress(quiet):
        disable_progress_bars()
    visibility: Any = None if private is None else "private" if private else "public"
    done = publish(contents, Wishes(visibility, gated, tag, overwrite), dry_run=dry_run, show=show)
    if as_json:
        print_json(done.to_dict())
    elif dry_run:
        click.echo(f"{done.url}: dry run, nothing was changed")
    else:
        click.echo(f"{done.url}: {f'published, commit {done.commit}' if done.changed else 'nothing to change'}")

"""``asqp metric``: the metric as a module of ``evaluate``."""

from __future__ import annotations

import click


@click.group()
def metric() -> None:
    """Where evaluate.load finds the metric.

    \b
    Example:
      asqp metric install
      python -c 'import evaluate; print(evaluate.load("asqp_f1"))'
    """


@metric.command()
def install() -> None:
    """Make evaluate.load("asqp_f1") work from any directory, without a network."""
    from asqp_models.metric_cache import install as install_metric

    for path in install_metric():
        click.echo(path)


@metric.command()
def path() -> None:
    """Print the metric's folder, for evaluate.load(PATH)."""
    from asqp_models.metric_cache import metric_folder

    click.echo(metric_folder())

"""``asqp demo``."""

from __future__ import annotations

from pathlib import Path

import click

from asqp_models.cli.options import (
    json_option,
    print_json,
    print_table,
    quiet_option,
    seed_option,
    show_progress,
    terminal_width,
)


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("runs/demo"), show_default=True, help="Folder.")
@click.option("--size", type=click.IntRange(min=20), default=4000, show_default=True, help="Reviews of each corpus.")
@seed_option
@json_option
@quiet_option
def demo(out: Path, size: int, seed: int, as_json: bool, quiet: bool) -> None:
    """Run the main job on the embedded default, in a few minutes.

    Builds two corpora of synthetic Chinese reviews, loads them with load_dataset, trains the lexicon baseline and,
    where the extra train is installed, the joint model, predicts the test reviews, scores them strictly and relaxed,
    and writes a page with highlighted reviews. A second run skips what is done.

    \b
    Example:
      asqp demo
    """
    from asqp_models import report
    from asqp_models.demo import run_demo

    result = run_demo(
        out, size=size, seed=seed, say=lambda line: click.echo(line, err=True), progress=show_progress(quiet)
    )
    tables = report.tables(result.runs)
    if as_json:
        print_json({"page": str(result.page), "reused": result.reused, "tables": [table._asdict() for table in tables]})
        return
    click.echo("Synthetic reviews, generated from a grammar: the scores say nothing about real ones.")
    for table in tables:
        for part in report.fitting(table, terminal_width()):
            print_table(part.columns, part.rows, title=part.title)
    click.echo(f"{result.page}{': done before' if result.reused else ''}")

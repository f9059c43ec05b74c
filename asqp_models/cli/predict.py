"""``asqp predict``."""

from __future__ import annotations

from pathlib import Path

import click

from asqp_models.cli.options import not_nan, quiet_option, show_progress


@click.command()
@click.argument("source", metavar="INPUT")
@click.option("--model", required=True, metavar="MODEL", help="Checkpoint or run folder, or Hub id[@revision].")
@click.option("--out", required=True, metavar="FILE", help="JSON Lines, or Parquet by its suffix; - for stdout.")
@click.option("--format", "format_", metavar="NAME", help="csv, tsv, jsonl, parquet or txt; default: by the suffix.")
@click.option("--text-column", metavar="NAME", help="Column of the review; default: guessed.")
@click.option("--id-column", metavar="NAME", help="Column of the id; default: guessed, else the row's number.")
@click.option("--split", metavar="NAME", help="Of a dataset: a split or 'all'; default: test, else all.")
@click.option("--encoding", default="utf-8", show_default=True, help="Of text files.")
@click.option("--batch-size", type=click.IntRange(min=1), default=512, show_default=True)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    callback=not_nan,
    help="Least score of a quad; default: the checkpoint's.",
)
@quiet_option
def predict(
    source: str,
    model: str,
    out: str,
    format_: str | None,
    text_column: str | None,
    id_column: str | None,
    split: str | None,
    encoding: str,
    batch_size: int,
    threshold: float | None,
    quiet: bool,
) -> None:
    """Predict the quads of reviews, with exact character offsets.

    INPUT is a csv, tsv, jsonl, parquet or txt file (one review a line), a dataset, or - for standard input. Every row
    of it has its row in FILE; one that cannot be read has no quads and says why in its meta. If the command is stopped,
    running it again goes on where it was.

    \b
    Example:
      asqp predict reviews.csv --model runs/zh --out quads.jsonl
      asqp predict asqp/zh-food-beverage --model runs/zh --out test.jsonl
      asqp predict reviews.csv --model asqp/joint-zh@v1 --out quads.jsonl
      accelerate launch --multi_gpu --num_processes 2 -m asqp_models.cli predict in.csv --model runs/zh --out out.jsonl
      echo 内饰差、屏幕不大 | asqp predict - --model runs/zh --out -
    """
    from asqp_datasets.errors import UsageError
    from asqp_models import processes
    from asqp_models.hub.locate import locate
    from asqp_models.methods import load_model, name_of
    from asqp_models.prediction_file import predict_file, task_of
    from asqp_models.reviews import count_reviews, read_reviews

    if out != "-" and Path(source).is_file() and Path(out).exists() and Path(source).samefile(out):
        raise UsageError(f"out: found the input {source}, expected another file")
    folder = locate(model)
    loaded, name = load_model(folder), name_of(folder)
    reviews = read_reviews(
        source, format=format_, text_column=text_column, id_column=id_column, split=split, encoding=encoding
    )
    options = [format_, text_column, id_column, split, encoding, batch_size, threshold]
    progress = show_progress(quiet)
    done = predict_file(
        loaded,
        reviews,
        out,
        name=name,
        batch=batch_size,
        threshold=threshold,
        task=task_of(source, name, options),
        total=count_reviews(source, format=format_, split=split) if progress else None,
        progress=progress,
    )
    if processes.rank() > 0:
        return
    speed = (done.rows - done.resumed) / max(done.seconds, 1e-9)
    before = f" ({done.resumed} done before)" if done.resumed else ""
    click.echo(f"{out}: {done.rows} reviews{before}, {done.quads} quads, {speed:.0f} reviews/s", err=True)
    if done.errors:
        click.echo(f"asqp: {done.errors} rows could not be read; their meta.error says why", err=True)
        if done.errors == done.rows:
            click.get_current_context().exit(1)

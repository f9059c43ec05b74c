"""``asqp score``."""

from __future__ import annotations

from typing import Any

import click

from asqp_models.cli.options import json_option, print_json, print_table


@click.command()
@click.argument("predictions", metavar="PRED")
@click.argument("gold", metavar="GOLD")
@click.option(
    "--thresholds", metavar="LIST", help="Edit distances, such as 0,2; default: the paper's for the language."
)
@click.option("--split", metavar="NAME", help="Of a dataset: a split or 'all'; default: test, else all.")
@click.option("--matching", type=click.Choice(["one_to_one", "any"]), default="one_to_one", show_default=True)
@click.option("--normalize", type=click.Choice(["nfkc"]), help="Compare folded text.")
@click.option("--breakdown", is_flag=True, help="By implicitness, category, sentiment, quads a sample.")
@json_option
def score(
    predictions: str,
    gold: str,
    thresholds: str | None,
    split: str | None,
    matching: str,
    normalize: str | None,
    breakdown: bool,
    as_json: bool,
) -> None:
    """Score predictions against gold quads: strict, and relaxed by edit distance.

    PRED is a prediction file; GOLD is a file, a dataset folder or a corpus. Samples are lined up by id.

    \b
    Example:
      asqp score test.jsonl asqp/zh-food-beverage
      asqp score test.jsonl gold.jsonl --thresholds 0,2,5 --json
    """
    from asqp_models import evaluation

    gold_samples, language = evaluation.read_samples(gold, split)
    predicted, _ = evaluation.read_samples(predictions, "all")
    aligned = evaluation.align(predicted, gold_samples, names=(predictions, gold))
    options: dict[str, Any] = {"matching": matching, "normalize": normalize, "breakdown": breakdown}
    if thresholds:
        options["thresholds"] = evaluation.parse_thresholds(thresholds)
    result = evaluation.evaluate_samples(*aligned, language, **options)
    if as_json:
        print_json(result)
        return
    print_table(("measure", "P", "R", "F1", "right"), evaluation.table(result))
    if breakdown:
        for name, groups in result.items():
            if name.startswith("by_"):
                cells = [
                    (group, *(100 * row[key] for key in ("precision", "recall", "f1")), row["gold"])
                    for group, row in groups.items()
                ]
                print_table((name, "P", "R", "F1", "gold"), cells)
    click.echo(
        f"{result['samples']} samples, {result['predicted']} predicted, {result['gold']} gold quads; "
        f"{result['signature']}"
    )

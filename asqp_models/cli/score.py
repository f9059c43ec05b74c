"""``asqp score``, ``asqp compare``, ``asqp errors``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from asqp_models.cli.options import json_option, print_json, print_table, seed_option


@click.command()
@click.argument("predictions", metavar="PRED")
@click.argument("gold", metavar="GOLD")
@click.option(
    "--thresholds", metavar="LIST", help="Edit distances, such as 0,2; default: the paper's for the language."
)
@click.option("--split", metavar="NAME", help="Of a dataset: a split or 'all'; default: test, else all.")
@click.option("--matching", type=click.Choice(["one_to_one", "any"]), default="one_to_one", show_default=True)
@click.option("--normalize", type=click.Choice(["nfkc"]), help="Compare folded text.")
@click.option("--protocol", type=click.Choice(["absa-quad", "acos"]), help="Count as a published scorer does.")
@click.option("--breakdown", is_flag=True, help="By implicitness, category, sentiment, quads a sample.")
@click.option("--subtasks", is_flag=True, help="Also ACD, ATE, OTE, AOPE, ACSA, E2E-ABSA, TASD, ASTE.")
@click.option("--bootstrap", type=click.IntRange(min=0), default=0, help="Resamples for 95% intervals of every F1.")
@seed_option
@json_option
def score(
    predictions: str,
    gold: str,
    thresholds: str | None,
    split: str | None,
    matching: str,
    normalize: str | None,
    protocol: str | None,
    breakdown: bool,
    subtasks: bool,
    bootstrap: int,
    seed: int,
    as_json: bool,
) -> None:
    """Score predictions against gold quads: strict, and relaxed by edit distance.

    PRED is a prediction file; GOLD is a file, a dataset folder or a corpus. Either may be a dataset on the Hub, as
    NAMESPACE/NAME or NAMESPACE/NAME@REVISION. Samples are lined up by id.

    \b
    Example:
      asqp score test.jsonl asqp/zh-food-beverage
      asqp score asqp/joint-car-predictions asqp/car@1.0
      asqp score test.jsonl gold.jsonl --thresholds 0,2,5 --json
    """
    from asqp_models import evaluation

    gold_samples, language = evaluation.read_samples(gold, split)
    predicted, _ = evaluation.read_samples(predictions, "all")
    aligned = evaluation.align(predicted, gold_samples, names=(predictions, gold))
    options: dict[str, Any] = {
        "matching": matching,
        "normalize": normalize,
        "protocol": protocol,
        "breakdown": breakdown,
        "subtasks": subtasks,
        "bootstrap": bootstrap,
        "seed": seed,
    }
    if thresholds:
        options["thresholds"] = evaluation.parse_thresholds(thresholds)
    result = evaluation.evaluate_samples(*aligned, language, **options)
    if as_json:
        print_json(result)
        return
    print_table(("measure", "P", "R", "F1", "right"), evaluation.table(result))
    for name, groups in result.items():
        if name.startswith("by_") or name == "subtasks":
            cells = [
                (group, *(100 * row[key] for key in ("precision", "recall", "f1")), row["gold"])
                for group, row in groups.items()
            ]
            print_table((name, "P", "R", "F1", "gold"), cells)
    if bootstrap:
        bounds = [(name, *(100 * bound for bound in pair)) for name, pair in result["interval"].items()]
        print_table(("95% interval", "from", "to"), bounds)
    click.echo(
        f"{result['samples']} samples, {result['predicted']} predicted, {result['gold']} gold quads; "
        f"{result['signature']}"
    )


@click.command()
@click.argument("a", metavar="PRED_A")
@click.argument("b", metavar="PRED_B")
@click.argument("gold", metavar="GOLD")
@click.option(
    "--measure", default="f1", show_default=True, help="f1, aos_exact_f1, aos_d2_f1, quad_d2_f1 and the like."
)
@click.option("--resamples", type=click.IntRange(min=1), default=10_000, show_default=True)
@click.option("--alpha", type=click.FloatRange(0, 1), default=0.05, show_default=True, help="Level of significance.")
@click.option("--split", metavar="NAME", help="Of a dataset: a split or 'all'; default: test, else all.")
@click.option("--matching", type=click.Choice(["one_to_one", "any"]), default="one_to_one", show_default=True)
@click.option("--normalize", type=click.Choice(["nfkc"]), help="Compare folded text.")
@seed_option
@json_option
def compare(
    a: str,
    b: str,
    gold: str,
    measure: str,
    resamples: int,
    alpha: float,
    split: str | None,
    matching: str,
    normalize: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Test whether two systems differ on the same samples (paired approximate randomisation).

    The exit code is 1 if they do not differ significantly.

    \b
    Example:
      asqp compare lexicon.jsonl joint.jsonl asqp/zh-food-beverage
    """
    from asqp_datasets.errors import UsageError
    from asqp_f1 import compare as compare_systems
    from asqp_models import evaluation

    if alpha != alpha:
        raise UsageError("alpha: found nan, expected a number from 0 to 1")
    gold_samples, _ = evaluation.read_samples(gold, split)
    first, references = evaluation.align(evaluation.read_samples(a, "all")[0], gold_samples, names=(a, gold))
    second, _ = evaluation.align(evaluation.read_samples(b, "all")[0], gold_samples, names=(b, gold))
    result = compare_systems(
        first,
        second,
        references,
        measure=measure,
        matching=matching,
        normalize=normalize,
        resamples=resamples,
        seed=seed,
    )
    result |= {"alpha": alpha, "significant": result["p_value"] <= alpha}
    if as_json:
        print_json(result)
    else:
        rows = [(name, 100 * result[key]) for name, key in ((a, "a"), (b, "b"), ("difference", "difference"))]
        print_table((f"{result['samples']} samples", measure), rows)
        verdict = "significant" if result["significant"] else "not significant"
        click.echo(f"p = {result['p_value']:.4f}: {verdict} at {alpha}; {result['signature']}")
    if not result["significant"]:
        click.get_current_context().exit(1)


@click.command()
@click.argument("predictions", metavar="PRED")
@click.argument("gold", metavar="GOLD")
@click.option("--split", metavar="NAME", help="Of a dataset: a split or 'all'; default: test, else all.")
@click.option("--normalize", type=click.Choice(["nfkc"]), help="Compare folded text.")
@click.option("--examples", type=click.IntRange(min=0), default=10, show_default=True, help="Errors to list.")
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Also write a page with figures.")
@json_option
def errors(
    predictions: str,
    gold: str,
    split: str | None,
    normalize: str | None,
    examples: int,
    html: Path | None,
    as_json: bool,
) -> None:
    """Name what is wrong with predictions: which elements differ, what is spurious, what was missed (as Figure 3).

    \b
    Example:
      asqp errors test.jsonl asqp/zh-food-beverage --html errors.html
    """
    from asqp_models import error_report, evaluation

    gold_samples, language = evaluation.read_samples(gold, split)
    aligned = evaluation.align(evaluation.read_samples(predictions, "all")[0], gold_samples, names=(predictions, gold))
    analysis = error_report.analyse(*aligned, gold_samples, language, normalize=normalize)
    if html:
        error_report.write_errors(analysis, html, title=f"Errors of {Path(predictions).name}")
    if as_json:
        print_json(analysis.to_dict())
        return
    print_table(("error", "count", "% of wrong"), error_report.table(analysis))
    listed = [
        (analysis.id_of(e), e.kind, *(", ".join(q) if q else "-" for q in (e.prediction, e.gold)))
        for e in analysis.errors
    ]
    if listed[:examples]:
        print_table(("sample", "differs", "predicted", "gold"), listed[:examples])
    counted = analysis.summary
    click.echo(
        f"{counted['wrong']} wrong predictions, {counted['missed']} gold quads missed" + (f"; {html}" if html else "")
    )

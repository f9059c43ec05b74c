"""``asqp data``: corpora in, checked and split datasets out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asqp_models.cli.options import (
    Rejected,
    json_option,
    open_from,
    print_json,
    print_table,
    quiet_option,
    seed_option,
    show_progress,
    source_options,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from asqp_datasets.builder import Built
    from asqp_datasets.checks import Report
    from asqp_datasets.readers import Issue


@click.group()
def data() -> None:
    """Corpora: list, fetch, build, check, describe, split, sub-task views.

    DATASET is a corpus id (see `asqp data corpora`), a raw file, a dataset folder, or a dataset on the Hub.
    """


@data.command()
@json_option
def corpora(as_json: bool) -> None:
    """List the corpora that are known by name.

    \b
    Example:
      asqp data corpora
    """
    from asqp_datasets.corpora import CORPORA

    rows = [
        {
            "id": corpus.id,
            "title": corpus.title,
            "language": corpus.language,
            "format": corpus.reader,
            "synthetic": corpus.synthetic,
            "source": corpus.url or ("generated" if corpus.synthetic else "its owner's files"),
            "files": [file._asdict() for file in corpus.files],
            "note": corpus.note,
        }
        for corpus in CORPORA.values()
    ]
    if as_json:
        print_json(rows)
        return
    columns = ("id", "title", "language", "format", "source")
    print_table(columns, [[row[name] for name in columns] for row in rows])


@data.command()
@click.argument("corpus")
@json_option
@quiet_option
def fetch(corpus: str, as_json: bool, quiet: bool) -> None:
    """Find or download the raw files of a public corpus and check them.

    Files in ASQP_RAW_DIR/CORPUS go before the network. The exit code is 1 if one is not what was published.

    \b
    Example:
      asqp data fetch zh-food-beverage
    """
    from asqp_datasets.corpora import check_files, get_corpus
    from asqp_datasets.corpora import fetch as fetch_corpus

    known = get_corpus(corpus)
    files = fetch_corpus(known, progress=show_progress(quiet))
    if as_json:
        print_json({split: str(path) for split, path in files.items()})
    else:
        for split, path in files.items():
            click.echo(f"{split}\t{path}")
    differing = check_files(known, files)
    _say_what_differs(differing)
    if differing:
        click.get_current_context().exit(1)


def _say_what_differs(issues: Sequence[tuple[Path, Issue]]) -> None:
    for path, issue in issues:
        click.echo(f"asqp: {path}: not the file that was published: {issue.message}", err=True)


@data.command()
@source_options
@click.option("--out", type=click.Path(path_type=Path), help="Dataset folder; default: asqp/DATASET.")
@click.option(
    "--split", "ratio", metavar="RATIO", help="Split anew, such as 7:1.5:1.5; default: keep an official split."
)
@click.option("--repair", default="", metavar="RULES", help="Repairs to make: 'all', or rules joined by commas.")
@seed_option
@json_option
@quiet_option
def build(
    out: Path | None, ratio: str | None, repair: str, seed: int, as_json: bool, quiet: bool, **source: Any
) -> None:
    """Build a dataset folder: read, check, split, write Parquet and a card.

    Rejected lines go to OUT.rejects.jsonl with their reasons, repairs to OUT.repairs.jsonl; the exit code is 1 if
    lines were rejected.

    \b
    Example:
      asqp data build zh-food-beverage
      asqp data build car --raw reviews-1.txt reviews-2.txt
      asqp data build synthetic-car --size 10000 --seed 1
    """
    from asqp_datasets.builder import build as build_dataset
    from asqp_datasets.checks import parse_repairs

    progress = show_progress(quiet)
    opened = open_from(**source, seed=seed, progress=progress)
    _say_what_differs(opened.issues)
    built = build_dataset(
        opened,
        out or Path("asqp", opened.name),
        ratio=ratio,
        seed=seed,
        repairs=parse_repairs(repair),
        progress=progress,
    )
    _print_built(built, as_json)


@data.command()
@source_options
@click.option("--ratio", default="7:1.5:1.5", show_default=True, help="Shares of train, validation and test.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Dataset folder to write.")
@seed_option
@json_option
@quiet_option
def split(ratio: str, out: Path, seed: int, as_json: bool, quiet: bool, **source: Any) -> None:
    """Split a dataset anew: exact sizes, stratified, copies of a text never on two sides.

    \b
    Example:
      asqp data split asqp/zh-food-beverage --ratio 8:1:1 --seed 3 --out asqp/zh-811
    """
    from asqp_datasets.builder import build as build_dataset

    opened = open_from(**source, seed=seed, progress=show_progress(quiet))
    _print_built(build_dataset(opened, out, ratio=ratio, seed=seed, progress=show_progress(quiet)), as_json)


def _print_built(built: Built, as_json: bool) -> None:
    report = built.report
    splits = {name: part.to_dict() for name, part in built.statistics.items()}
    if as_json:
        print_json(
            {
                "folder": str(built.folder),
                "changed": built.changed,
                "lines": report.lines,
                "samples": report.samples,
                "rejected": report.rejected,
                "rejects": str(built.rejects) if built.rejects else None,
                "repairs": str(built.repairs) if built.repairs else None,
                "exact": built.exact,
                "splits": splits,
            }
        )
    else:
        print_table(("split", "samples", "quads"), [(n, s["samples"], s["quads"]) for n, s in splits.items()])
        blank = report.lines - report.samples - report.rejected
        click.echo(
            f"{built.folder}: {'written' if built.changed else 'unchanged'}; {report.lines} lines = "
            f"{report.samples} samples + {report.rejected} rejected + {blank} blank"
        )
        if built.repairs:
            click.echo(f"repairs: {built.repairs}")
    if built.near_apart:
        click.echo("asqp: near copies of a text stand in several splits: there are too many to keep together", err=True)
    if not built.exact:
        click.echo(f"asqp: the sizes are not exactly {built.ratio}: copies of a text are kept in one split", err=True)
    if built.rejects:
        click.echo(f"asqp: {report.rejected} lines were rejected; reasons: {built.rejects}", err=True)
        click.get_current_context().exit(1)


@data.command()
@source_options
@click.option("--examples", type=click.IntRange(min=0), default=5, show_default=True, help="Places to show a rule.")
@click.option("--against", metavar="DATASET", help="Also look for texts of this corpus or dataset.")
@seed_option
@json_option
@quiet_option
def check(examples: int, against: str | None, seed: int, as_json: bool, quiet: bool, **source: Any) -> None:
    """Check raw annotations or a dataset by every rule.

    The exit code is 1 if there are errors: lines that cannot be read, or annotations that cannot be meant.

    \b
    Example:
      asqp data check zh-food-beverage
      asqp data check reviews.txt --format datastory --json
      asqp data check asqp-rest15 --against restaurant-acos
    """
    from asqp_datasets.checks import check_source
    from asqp_datasets.sources import open_source

    progress = show_progress(quiet)
    opened = open_from(**source, seed=seed, progress=progress)
    other = open_source(against) if against else None
    report = check_source(opened, examples=examples, against=other, progress=progress)
    if as_json:
        print_json(report.to_dict())
    else:
        _print_report(report)
    if report.errors:
        click.get_current_context().exit(1)


def _print_report(report: Report) -> None:
    from asqp_datasets.checks import RULES

    rows: list[tuple[object, ...]] = []
    for finding in report.findings:
        rule = RULES[finding.rule]
        rows.append((rule.severity, finding.rule, finding.places, rule.unit, rule.description))
        for place in finding.examples:
            where = ":".join(str(part) for part in (place.file, place.line) if part)
            rows.append(("", "", "", "", f"  {where} {place.message}"))
    if rows:
        print_table(("severity", "rule", "count", "unit", "what"), rows)
    click.echo(
        f"{report.corpus}: {report.lines} lines, {report.samples} samples, {report.quads} quads, "
        f"{report.rejected} lines rejected, {report.errors} errors"
    )


@data.command()
@source_options
@click.option("--paper", is_flag=True, help="Beside the paper's Table 1, with each disagreement explained.")
@seed_option
@json_option
@quiet_option
def stats(paper: bool, seed: int, as_json: bool, quiet: bool, **source: Any) -> None:
    """Count a corpus as the paper's Table 1 does.

    \b
    Example:
      asqp data stats restaurant-acos --paper
      asqp data stats asqp/car --json
    """
    from asqp_datasets.errors import UsageError
    from asqp_datasets.statistics import KEYS, beside_paper, describe, measure

    opened = open_from(**source, seed=seed, progress=show_progress(quiet))
    if paper and not (opened.corpus and opened.corpus.paper):
        raise UsageError(f"paper: found {opened.name!r}, expected a corpus of the paper's Table 1")
    rejected = Rejected()
    counted = measure(opened, on_reject=rejected, progress=show_progress(quiet))
    described = describe(opened.name, opened.language, counted)
    rows = beside_paper(opened.corpus, described["all"]) if paper and opened.corpus else []
    if as_json:
        print_json(described | ({"paper": rows} if paper else {}))
    elif paper:
        cells = [(r["key"], r["measured"], "" if r["paper"] is None else r["paper"], r["note"]) for r in rows]
        print_table((opened.name, "measured", "paper", "note"), cells)
    else:
        names = list(described["splits"]) if len(described["splits"]) > 1 else []
        table = [(key, described["all"][key], *(described["splits"][name][key] for name in names)) for key in KEYS]
        print_table((f"{opened.name} ({described['unit']})", "all", *names), table)
    rejected.report()


@data.command()
@source_options
@click.option("--task", "tasks", multiple=True, metavar="TASK", help="Sub-task, such as ASTE; default: all eight.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder to write.")
@seed_option
@json_option
@quiet_option
def subtasks(tasks: tuple[str, ...], out: Path, seed: int, as_json: bool, quiet: bool, **source: Any) -> None:
    """Write a dataset as views for ACD, ATE, OTE, AOPE, ACSA, E2E-ABSA, TASD and ASTE.

    \b
    Example:
      asqp data subtasks asqp/zh-food-beverage --task ASTE --out asqp/zh-aste
    """
    from asqp_datasets.subtasks import NAMES
    from asqp_datasets.subtasks import build as build_views

    opened = open_from(**source, seed=seed, progress=show_progress(quiet))
    chosen = [task.upper() for task in tasks] or list(NAMES)
    rejected = Rejected()
    counts = build_views(opened, chosen, out, on_reject=rejected, progress=show_progress(quiet))
    if as_json:
        print_json({"folder": str(out), "labels": counts})
    else:
        splits = list(next(iter(counts.values())))
        rows = [(task, NAMES[task], *(labels[split] for split in splits)) for task, labels in counts.items()]
        print_table(("task", "what", *splits), rows, wrap=1)
    rejected.report()

"""Runs as tables in the form of the paper, and as one self-contained HTML page with highlighted reviews."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from asqp_datasets.corpora import CORPORA
from asqp_datasets.schema import Quad, Sample
from asqp_datasets.sources import open_source
from asqp_f1 import find_errors
from asqp_models.evaluation import align, read_samples, thresholds_of
from asqp_models.pages import ReviewView, write_page
from asqp_models.run_folder import Run


class Table(NamedTuple):
    """A table: a title, column heads (of one or two lines), and rows of cells. Scores are in percent."""

    title: str
    columns: list[str]
    rows: list[list[str | float]]


def corpus_title(run: Run) -> str:
    """The corpus's name as a table shows it; generated text is always named so."""
    title = CORPORA[run.corpus].title if run.corpus in CORPORA else run.corpus
    return f"{title} (synthetic)" if run.synthetic and "ynthetic" not in title else title


def tables(runs: Sequence[Run]) -> list[Table]:
    """The test scores of runs in the form of the paper's Tables 2, 3 and 4: a row a method, columns by corpus."""
    corpora = list(dict.fromkeys(run.corpus for run in runs))
    by_method: dict[str, dict[str, Run]] = {}
    for run in runs:
        by_method.setdefault(run.config.method, {})[run.corpus] = run
    titles = {run.corpus: corpus_title(run) for run in runs}
    thresholds = {run.corpus: thresholds_of(run.language) for run in runs}

    def table(title: str, cells: dict[str, list[tuple[str, str]]]) -> Table:
        columns = ["Method", *(f"{titles[corpus]}\n{name}" for corpus in corpora for name, _ in cells[corpus])]
        rows: list[list[str | float]] = []
        for method, found in by_method.items():
            row: list[str | float] = [method]
            for corpus in corpora:
                scores = found[corpus].scores("test") if corpus in found else {}
                row += [_percent(scores, key) if scores else "-" for _, key in cells[corpus]]
            rows.append(row)
        return Table(title, columns, rows)

    strict = [("P", "precision"), ("R", "recall"), ("F1", "f1")]
    relaxed = {corpus: [(f"d≤{t}" if t else "d=0", f"aos_d{t}_f1") for t in thresholds[corpus]] for corpus in corpora}
    implicit = [(name, f"by_implicitness.{name}.f1") for name in ("EA&EO", "EA&IO")]
    return [
        table("Strict quads: P, R, F1 (as the paper's Table 2)", dict.fromkeys(corpora, strict)),
        table("Relaxed aspect-opinion-sentiment: F1 (as the paper's Table 3)", relaxed),
        table("By implicit opinions: F1 (as the paper's Table 4)", dict.fromkeys(corpora, implicit)),
    ]


def fitting(table: Table, width: int) -> list[Table]:
    """The table as it is if it fits into so many characters, else a table for each corpus."""
    if sum(max(map(len, head.split("\n"))) + 3 for head in table.columns) < width:
        return [table]
    corpora = list(dict.fromkeys(head.split("\n")[0] for head in table.columns[1:]))
    parts = []
    for corpus in corpora:
        places = [0, *(i for i, head in enumerate(table.columns) if i and head.split("\n")[0] == corpus)]
        columns = [table.columns[i].split("\n")[-1] for i in places]
        parts.append(Table(f"{table.title}: {corpus}", columns, [[row[i] for i in places] for row in table.rows]))
    return parts


def _percent(scores: Any, path: str) -> float:
    for key in path.split("."):
        scores = scores[key]
    return 100 * float(scores)


def write_report(runs: Sequence[Run], out: Path, *, reviews: int = 30) -> Path:
    """Write the page.

    Args:
        runs: Finished runs.
        out: The file.
        reviews: Test reviews to show of each run, in their order.
    """
    sections = []
    for run in runs:
        predicted, gold = _test_samples(run)
        errors = defaultdict(list)
        for error in find_errors(predicted, [sample.quads for sample in gold]):
            errors[error.sample].append(error)
        pairs = zip(gold[:reviews], predicted, strict=False)
        shown = [ReviewView.of(sample, quads, errors[index]) for index, (sample, quads) in enumerate(pairs)]
        sections.append({"title": f"{run.config.method} on {corpus_title(run)}", "run": run, "reviews": shown})
    synthetic = any(run.synthetic for run in runs)
    return write_page("report.html.j2", out, tables=tables(runs), sections=sections, synthetic=synthetic)


def _test_samples(run: Run) -> tuple[list[list[Quad]], list[Sample]]:
    gold = open_source(run.config.dataset, revision=run.config.revision).samples().get("test", [])
    if not gold:
        return [], []
    predicted, _ = read_samples(run.folder / "predictions" / "test.jsonl")
    return align(predicted, gold)[0], gold

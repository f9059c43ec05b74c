"""Runs as tables in the form of the paper, and as one self-contained HTML page with highlighted reviews."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from asqp_datasets.corpora import CORPORA
from asqp_datasets.schema import Quad, Sample
from asqp_datasets.sources import open_source
from asqp_models.evaluation import align, read_samples, thresholds_of
from asqp_models.training import Run


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


def _percent(scores: Any, path: str) -> float:
    for key in path.split("."):
        scores = scores[key]
    return 100 * float(scores)


class Piece(NamedTuple):
    """A stretch of a review, and what stands in it: classes such as ``gold-aspect``."""

    text: str
    classes: str


class Shown(NamedTuple):
    """A quad as the page lists it: ``right``, ``wrong`` or ``missed``."""

    verdict: str
    strings: tuple[str, str, str, str]


def highlight(text: str, quads: Iterable[Quad]) -> list[Piece]:
    """Cut a review at the borders of its terms, so that each piece lies in the same terms throughout."""
    spans = [
        (start, end, name)
        for quad in quads
        for name, start, end in (
            ("aspect", quad.aspect_start, quad.aspect_end),
            ("opinion", quad.opinion_start, quad.opinion_end),
        )
        if 0 <= start < end
    ]
    borders = sorted({0, len(text), *(border for start, end, _ in spans for border in (start, end))})
    pieces = []
    for left, right in pairwise(borders):
        inside = sorted({name for start, end, name in spans if start <= left and right <= end})
        pieces.append(Piece(text[left:right], " ".join(inside)))
    return pieces


def verdicts(predicted: Sequence[Quad], gold: Sequence[Quad]) -> Iterator[Shown]:
    """Predicted quads as right or wrong, then the gold quads that no prediction found; each gold counts once."""
    left = [quad.strings for quad in gold]
    for quad in predicted:
        if quad.strings in left:
            left.remove(quad.strings)
            yield Shown("right", quad.strings)
        else:
            yield Shown("wrong", quad.strings)
    for strings in left:
        yield Shown("missed", strings)


def write_report(runs: Sequence[Run], out: Path, *, reviews: int = 30) -> Path:
    """Write the page.

    Args:
        runs: Finished runs.
        out: The file.
        reviews: Test reviews to show of each run, in their order.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    source = (files("asqp_models") / "templates" / "report.html.j2").read_text(encoding="utf-8")
    sections = []
    for run in runs:
        predicted, gold = _test_samples(run)
        shown = [
            {
                "id": sample.id,
                "gold": highlight(sample.text, sample.quads),
                "predicted": highlight(sample.text, quads),
                "quads": list(verdicts(quads, sample.quads)),
            }
            for sample, quads in zip(gold[:reviews], predicted, strict=False)
        ]
        sections.append({"title": f"{run.config.method} on {corpus_title(run)}", "run": run, "reviews": shown})
    page = environment.from_string(source).render(
        tables=tables(runs), sections=sections, synthetic=any(run.synthetic for run in runs)
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(f".{out.name}.partial")
    partial.write_text(page, encoding="utf-8")
    return partial.replace(out)


def _test_samples(run: Run) -> tuple[list[list[Quad]], list[Sample]]:
    gold = open_source(run.config.dataset, revision=run.config.revision).samples().get("test", [])
    if not gold:
        return [], []
    predicted, _ = read_samples(run.folder / "predictions" / "test.jsonl")
    return align(predicted, gold)[0], gold

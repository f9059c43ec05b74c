"""What is wrong with predictions, as tables and as one page with figures (paper, section 3.4 and Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from asqp_datasets.schema import Quad, Sample
from asqp_f1 import Error, find_errors
from asqp_models.evaluation import evaluate_samples
from asqp_models.pages import ReviewView, write_page


class Bar(NamedTuple):
    """One bar of a figure: a label, a value in percent, and what stands beside it."""

    label: str
    percent: float
    note: str


class Analysis(NamedTuple):
    """The scores, the counts of errors, and every error with its review."""

    scores: dict[str, Any]
    summary: dict[str, Any]
    errors: list[Error]
    samples: list[tuple[Sample, list[Quad]]]

    def to_dict(self) -> dict[str, Any]:
        """The JSON of ``asqp errors``."""
        errors = [{"id": self.id_of(error), **error._asdict()} for error in self.errors]
        return {"summary": self.summary, "errors": errors}

    def id_of(self, error: Error) -> str:
        """The id of the sample that an error stands in."""
        return self.samples[error.sample][0].id


def analyse(
    predicted: Sequence[list[Quad]],
    gold: Sequence[list[Quad]],
    samples: Sequence[Sample],
    language: str,
    *,
    normalize: str | None = None,
) -> Analysis:
    """Analyse predictions against gold.

    Args:
        predicted: Predicted quads, one list a sample.
        gold: Gold quads, in the same order.
        samples: The gold samples, for their ids and texts.
        language: ``zh`` or ``en``.
        normalize: As in :func:`asqp_f1.score`.
    """
    scores = evaluate_samples(predicted, gold, language, breakdown=True, errors=True, normalize=normalize)
    errors = find_errors(predicted, gold, normalize=normalize)
    return Analysis(scores, scores["errors"], errors, list(zip(samples, predicted, strict=True)))


def table(analysis: Analysis) -> list[tuple[str, int, float]]:
    """The error types with their counts and their shares of the wrong predictions in percent."""
    summary = analysis.summary
    rows = []
    for name, entry in summary["elements"].items():
        rows.append((name, entry["count"], 100 * entry["share"]))
        rows += [
            (f"  {name}: {kind}", entry[kind], 100 * entry[kind] / summary["wrong"] if summary["wrong"] else 0.0)
            for kind in ("boundary", "implicit", "other")
            if kind in entry
        ]
    rows.append(("spurious", summary["spurious"]["count"], 100 * summary["spurious"]["share"]))
    return rows


def figures(analysis: Analysis, *, categories: int = 30) -> list[tuple[str, list[Bar]]]:
    """The page's figures: error shares, and F1 by implicitness, by sentiment and by category.

    Args:
        analysis: What was found.
        categories: The most frequent categories to show.
    """
    result = [
        (
            "Errors, in percent of the wrong predictions (as Figure 3)",
            [Bar(name, share, str(count)) for name, count, share in table(analysis)],
        )
    ]
    for title, key in (
        ("F1 by explicit and implicit terms", "by_implicitness"),
        ("F1 by sentiment", "by_sentiment"),
        (f"F1 by category: the {categories} most frequent", "by_category"),
    ):
        groups = sorted(analysis.scores[key].items(), key=lambda item: -item[1]["gold"])
        bars = [Bar(name, 100 * row["f1"], f"{row['gold']} gold") for name, row in groups if row["gold"]]
        result.append((title, bars[:categories]))
    return result


def write_errors(analysis: Analysis, out: Path, *, title: str, reviews: int = 200) -> Path:
    """Write a self-contained page with the figures and the reviews that hold errors.

    Args:
        analysis: What was found.
        out: The file.
        title: Its title.
        reviews: Reviews with errors to show, in their order.
    """
    by_sample: dict[int, list[Error]] = {}
    for error in analysis.errors:
        by_sample.setdefault(error.sample, []).append(error)
    shown = [ReviewView.of(*analysis.samples[index], errors) for index, errors in list(by_sample.items())[:reviews]]
    return write_page(
        "errors.html.j2",
        out,
        title=title,
        scores=analysis.scores,
        figures=figures(analysis),
        reviews=shown,
        wrong=len(by_sample),
    )

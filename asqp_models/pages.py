"""Self-contained HTML pages with highlighted reviews. Review text is hostile: every bit of it is escaped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from asqp_datasets.errors import UsageError
from asqp_datasets.schema import Quad, Sample
from asqp_f1 import Error


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


def verdicts(predicted: Sequence[Quad], gold: Sequence[Quad], errors: Iterable[Error]) -> Iterator[Shown]:
    """Predicted quads as right or wrong, then the gold quads that no prediction equals.

    Args:
        predicted: The predicted quads of one review.
        gold: Its gold quads.
        errors: The errors of the review, as :func:`asqp_f1.find_errors` names them.
    """
    errors = list(errors)
    wrong = {error.prediction_index for error in errors}
    missed = {error.gold_index for error in errors}
    for index, quad in enumerate(predicted):
        yield Shown("wrong" if index in wrong else "right", quad.strings)
    for index, quad in enumerate(gold):
        if index in missed:
            yield Shown("missed", quad.strings)


class ReviewView(NamedTuple):
    """A review as a page shows it: its text as annotated and as predicted, and its quads with their verdicts."""

    id: str
    gold: list[Piece]
    predicted: list[Piece]
    quads: list[Shown]

    @classmethod
    def of(cls, sample: Sample, predicted: Sequence[Quad], errors: Iterable[Error]) -> ReviewView:
        """Show a gold sample beside its predicted quads and the errors in them."""
        gold, text = sample.quads, sample.text
        shown = list(verdicts(predicted, gold, errors))
        return cls(sample.id, highlight(text, gold), highlight(text, predicted), shown)


def write_page(template: str, out: Path, **context: Any) -> Path:
    """Render a template of this package to a file, in one step.

    Args:
        template: Its name under ``templates/``.
        out: The file.
        context: What the template shows.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    folder = files("asqp_models") / "templates"
    environment = Environment(
        loader=FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template(template).render(**context)
    out = out.resolve()
    if out.is_dir():
        raise UsageError(f"found the folder {out}, expected a file to write the page to")
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        partial.write_text(page, encoding="utf-8")
        return partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)

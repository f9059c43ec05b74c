"""The page of the metric's Space: scores, highlighted terms and named errors of pasted or uploaded quads.

``python app.py`` serves it, from this folder or from a copy of it alone. Only :func:`build` and :func:`main` need
Gradio.
"""

from __future__ import annotations

import html
import json
import os
import sys
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

if not __package__:  # run as a script: whatever this folder is called, it is the package
    _package = ModuleType("asqp_f1")
    _package.__path__ = [str(Path(__file__).resolve().parent)]
    sys.modules["asqp_f1"] = _package

from asqp_f1.errors import Error, find_errors
from asqp_f1.inputs import ELEMENTS, NULL, ScoreError
from asqp_f1.measures import MATCHINGS, PROTOCOLS
from asqp_f1.scoring import score

if TYPE_CHECKING:
    import gradio as gr

LIMIT = 200
"""Reviews that are shown, with their errors; those with errors come first."""

SCORE_HEADERS = ["measure", "precision", "recall", "F1", "right"]
ERROR_HEADERS = ["review", "error", "aspect", "opinion", "predicted", "gold"]

_TEXT = "内饰差，屏幕不大，劝大家不要购买"
EXAMPLE = (
    f'{{"id": "1", "text": "{_TEXT}", "quads": [["内饰#内饰整体", "内饰", "差", "NEG"], '
    '["内饰#车载屏幕", "屏幕", "不大", "NEG"], ["买家态度#购买意愿", "购买", "不要", "NEG"]]}',
    f'{{"id": "1", "text": "{_TEXT}", "quads": [["内饰#内饰整体", "内饰", "差", "NEG"], '
    '["内饰#车载屏幕", "屏幕不", "大", "NEG"], ["买家态度#购买意愿", "不要购买", "NULL", "NEG"], '
    '["内饰#内饰整体", "内饰", "差", "NEG"]]}',
)
"""Gold and predictions that the page begins with."""

_ABOUT = """
# ASQP F1

Scores of aspect sentiment quad prediction: strict, and relaxed by edit distance under a one-to-one matching. Paste or
upload gold quads and predictions as JSON Lines, one review a line:

`{"id": "1", "text": "…", "quads": [{"category": "…", "aspect": "…", "opinion": "…", "sentiment": "NEG"}]}`

Offsets (`aspect_start`, `opinion_start`) say where a term stands; without them, its first occurrence is marked. A quad
may also be four strings in this order, a line just the list of quads, and the whole one JSON list. An implicit term is
`NULL`. Reviews are lined up by `id` if both sides have ids, else by their order.
"""

_STYLE = """<style>
.asqp article { border-top: 1px solid #8886; padding: .6em 0; }
.asqp .text { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.9; }
.asqp mark { color: #111; border-radius: 3px; padding: .1em 0; }
.asqp mark.aspect { background: #9fc9f5; }
.asqp mark.opinion { background: #ffd58a; }
.asqp mark.aspect.opinion { background: linear-gradient(#9fc9f5 50%, #ffd58a 50%); }
.asqp mark.wrong { text-decoration: underline wavy #d00000; }
</style>"""

_LEGEND = (
    '<p><mark class="aspect">aspect</mark> <mark class="opinion">opinion</mark> '
    '<mark class="wrong aspect">of a quad that is</mark> <mark class="wrong opinion">wrong or missed</mark></p>'
)


class Row(NamedTuple):
    """One review as it was given: its quads, and its id and text if there are any."""

    id: str | None
    text: str | None
    quads: list[Any]


class Report(NamedTuple):
    """What the page shows: rows of two tables, the signature, and the reviews as HTML."""

    scores: list[list[str]]
    signature: str
    errors: list[list[str]]
    reviews: str


class Mark(NamedTuple):
    """A stretch of a text, and what it is: ``aspect`` or ``opinion``, and ``wrong``."""

    start: int
    end: int
    labels: tuple[str, ...]


def parse(content: str, side: str) -> list[Row]:
    """Read pasted text: JSON Lines, or one JSON value.

    Args:
        content: A line or an element is an object with ``quads``, and maybe ``id`` and ``text``, or a list of quads.
        side: What to call it in an error.

    Raises:
        ScoreError: It is something else; the message says in which line.
    """
    content = content.removeprefix("\ufeff")
    lines = [(number, line) for number, line in enumerate(content.split("\n"), 1) if line.strip()]
    if not lines:
        raise ScoreError("JSON Lines, one review a line, or a JSON list", "nothing", side=side)
    try:
        values = [_json(lines[0][1], side, lines[0][0])]
    except ScoreError:
        lines, values = [], [_json(content, side, 1)]  # one value over several lines
    if len(lines) > 1:
        values += [_json(line, side, number) for number, line in lines[1:]]
        return [_row(value, side, f"line {number}") for (number, _), value in zip(lines, values, strict=True)]
    value = values[0]
    samples = value if isinstance(value, list) and any(map(_is_sample, value)) else [value]
    return [_row(sample, side, f"sample {index}") for index, sample in enumerate(samples)]


def _json(text: str, side: str, line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        what, line = f"JSON ({error.msg}, column {error.colno})", line + error.lineno - 1
        text = text.split("\n")[error.lineno - 1]
    except (ValueError, RecursionError):
        what = "JSON that is less deep, with shorter numbers"
    raise ScoreError(what, text[:80], side=side, field=f"line {line}")


def _is_sample(value: Any) -> bool:
    """Whether an element of a list is a sample rather than a quad."""
    if isinstance(value, dict):
        return "category" not in value
    return isinstance(value, list) and all(isinstance(item, list | dict) for item in value)


def _row(value: Any, side: str, where: str) -> Row:
    if isinstance(value, list):
        return Row(None, None, value)
    if not isinstance(value, dict) or not isinstance(value.get("quads"), list):
        raise ScoreError('a list of quads, or an object with such a list as "quads"', value, side=side, field=where)
    name, text = value.get("id"), value.get("text")
    name = str(name) if type(name) is int else name
    for key, found in (("id", name), ("text", text)):
        if not isinstance(found, str | None):
            raise ScoreError("a string", found, side=side, field=f"{where}, {key}")
    return Row(name, text, value["quads"])


def read_file(path: str | Path, side: str) -> list[Row]:
    """Read an uploaded file: Parquet by its suffix, else what :func:`parse` takes.

    Raises:
        ScoreError: It holds something else.
    """
    if Path(path).suffix != ".parquet":
        try:
            return parse(Path(path).read_text("utf-8-sig"), side)
        except UnicodeDecodeError:
            raise ScoreError("a file in UTF-8", side=side) from None
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(path).to_pylist()
    except (pa.ArrowException, OSError):
        raise ScoreError("a Parquet file", side=side) from None
    return [_row(row, side, f"sample {index}") for index, row in enumerate(rows)]


def align(predicted: Sequence[Row], gold: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Pairs of predicted and gold, in the order of the gold reviews: by id if both sides have ids, else by order.

    Raises:
        ScoreError: An id stands twice or on one side alone, the numbers of reviews or two texts differ.
    """
    names = _ids(predicted, "predictions"), _ids(gold, "gold")
    if names[0] and names[1]:
        by_id = dict(zip(names[0], predicted, strict=True))
        missing, extra = names[1].keys() - names[0].keys(), names[0].keys() - names[1].keys()
        for ids, side, other in ((missing, "predictions", "gold"), (extra, "gold", "predictions")):
            if ids:
                raise ScoreError(f"the ids of {other}: {len(ids)} are missing, such as {min(ids)!r:.60}", side=side)
        pairs = [(by_id[name], row) for name, row in zip(names[1], gold, strict=True)]
    elif len(predicted) != len(gold):
        raise ScoreError(f"as many reviews as in gold ({len(gold)})", len(predicted), side="predictions")
    else:
        pairs = list(zip(predicted, gold, strict=True))
    for index, (mine, theirs) in enumerate(pairs):
        if mine.text is not None and theirs.text is not None and mine.text != theirs.text:
            raise ScoreError(f"the text in gold, {theirs.text!r:.80}", mine.text, side="predictions", sample=index)
    return pairs


def _ids(rows: Sequence[Row], side: str) -> dict[str, int]:
    places: dict[str, int] = {}
    for index, row in enumerate(rows):
        if row.id is not None and places.setdefault(row.id, index) != index:
            raise ScoreError("every id once", row.id, side=side, sample=index)
    if places and len(places) < len(rows):
        raise ScoreError("an id in every review or in none", side=side)
    return places


def parse_thresholds(value: str) -> tuple[int, ...]:
    """The edit distances of ``0, 2``.

    Raises:
        ScoreError: They are not non-negative integers.
    """
    parts = [part.strip() for part in value.split(",")] if value.strip() else []
    if not all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts):
        raise ScoreError("integers from 0 to 9999 such as 0, 2", value, field="thresholds")
    return tuple(map(int, parts))


def evaluate(predicted: Sequence[Row], gold: Sequence[Row], **options: Any) -> Report:
    """Line the two sides up, score them and name the errors.

    Args:
        predicted: Reviews with predicted quads.
        gold: Reviews with gold quads.
        options: Keywords of :func:`asqp_f1.score`.

    Raises:
        ScoreError: They do not line up or cannot be scored.
    """
    pairs = align(predicted, gold)
    try:
        result = score([mine.quads for mine, _ in pairs], [theirs.quads for _, theirs in pairs], **options)
    except ScoreError as error:
        if error.sample is not None:
            error.id = pairs[error.sample][1].id or pairs[error.sample][0].id
        error.side = "gold" if error.side == "references" else error.side
        raise
    pairs = [(_readable(mine), _readable(theirs)) for mine, theirs in pairs]
    strings = [[list(map(_strings, pair[side].quads)) for pair in pairs] for side in (0, 1)]
    errors: dict[int, list[Error]] = defaultdict(list)
    for wrong in find_errors(*strings, normalize=options.get("normalize")):
        errors[wrong.sample].append(wrong)
    names = [_clean(theirs.id or mine.id or f"sample {index}") for index, (mine, theirs) in enumerate(pairs)]
    shown = sorted(range(len(pairs)), key=lambda index: index not in errors)[:LIMIT]
    named = [[names[index], *_named(error, pairs[index])] for index in shown for error in errors.get(index, ())]
    reviews = "".join(review(names[index], *pairs[index], errors.get(index, ())) for index in shown)
    note = (
        f"<p>{result['samples']} reviews, {result['predicted']} predicted and {result['gold']} gold quads. "
        f"Shown: {len(shown)}, those with errors first.</p>"
    )
    return Report(
        score_table(result, options.get("thresholds", (0, 2))),
        result["signature"],
        named,
        f'{_STYLE}<div class="asqp">{_LEGEND}{note}{reviews}</div>',
    )


def score_table(result: Mapping[str, Any], thresholds: Iterable[int]) -> list[list[str]]:
    """Rows under :data:`SCORE_HEADERS`: strict, exact triple, and relaxed at each threshold."""
    names = {"": "quad, strict", "aos_exact_": "aspect-opinion-sentiment, exact"}
    for threshold in thresholds:
        names[f"aos_d{threshold}_"] = f"aspect-opinion-sentiment, d ≤ {threshold}"
        names[f"quad_d{threshold}_"] = f"quad, d ≤ {threshold}"
    return [
        [name, *(f"{result[prefix + key]:.4f}" for key in ("precision", "recall", "f1")), str(result[f"{prefix}tp"])]
        for prefix, name in names.items()
    ]


def _strings(quad: Any) -> tuple[str, str, str, str]:
    category, aspect, opinion, sentiment = (quad[name] for name in ELEMENTS) if isinstance(quad, dict) else quad
    return category, aspect or NULL, opinion or NULL, sentiment


def _readable(row: Row) -> Row:
    """The review without the quads that stand for outputs that could not be read."""
    return row._replace(quads=[quad for quad in row.quads if _strings(quad)[3]])


def _named(error: Error, pair: tuple[Row, Row]) -> list[str]:
    """What follows the name of the review in a row under :data:`ERROR_HEADERS`; quads as they were given."""
    quads = [
        "" if index is None else _clean(f"({', '.join(_strings(row.quads[index]))})")
        for row, index in zip(pair, (error.prediction_index, error.gold_index), strict=True)
    ]
    return [error.kind, error.aspect or "", error.opinion or "", *quads]


def review(name: str, predicted: Row, gold: Row, errors: Sequence[Error]) -> str:
    """One review as HTML: its text with the gold and with the predicted terms marked, and its errors named."""
    text = predicted.text if gold.text is None else gold.text
    parts = [f"<article><h4>{_escape(name)}</h4>"]
    if text is not None:
        for title, row, index in (("Gold", gold, "gold_index"), ("Predicted", predicted, "prediction_index")):
            wrong = {getattr(error, index) for error in errors}
            marked = highlight(text, find_marks(text, row.quads, wrong))
            parts.append(f'<p>{title}: <span class="text {title.lower()}">{marked}</span></p>')
    parts.append("<ul>")
    for error in errors:
        kind, aspect, opinion, mine, theirs = map(_escape, _named(error, (predicted, gold)))
        how = (("aspect", aspect), ("opinion", opinion), ("predicted", mine), ("gold", theirs))
        details = ", ".join(f"{key} {value}" for key, value in how if value)
        parts.append(f"<li><b>{kind}</b>: {details}</li>")
    return "".join(parts) + ("</ul></article>" if errors else "<li>no errors</li></ul></article>")


def find_marks(text: str, quads: Sequence[Any], wrong: Container[int]) -> list[Mark]:
    """Where the terms of quads stand; the quads at some places are wrong."""
    return [
        Mark(*place, (element, "wrong") if index in wrong else (element,))
        for index, quad in enumerate(quads)
        for element in ("aspect", "opinion")
        if (place := find_span(text, quad, element))
    ]


def find_span(text: str, quad: Any, element: str) -> tuple[int, int] | None:
    """Where a term stands: by its offset if the text has it there, else where it occurs first."""
    term = _strings(quad)[ELEMENTS.index(element)]
    if term == NULL:
        return None
    start = quad.get(f"{element}_start") if isinstance(quad, dict) else None
    if not isinstance(start, int) or start < 0 or not text.startswith(term, start):
        start = text.find(term)
    return None if start < 0 else (start, start + len(term))


def highlight(text: str, marks: Iterable[Mark]) -> str:
    """A text as HTML with marks that may overlap."""
    marks = list(marks)
    edges = sorted({0, len(text)}.union(*((mark.start, mark.end) for mark in marks)))
    parts = []
    for start, end in pairwise(edges):
        labels = {label for mark in marks if mark.start <= start < mark.end for label in mark.labels}
        piece = _escape(text[start:end])
        parts.append(f'<mark class="{" ".join(sorted(labels))}">{piece}</mark>' if labels else piece)
    return "".join(parts)


def _clean(text: str) -> str:
    """Text that can be sent: JSON can hold halves of surrogate pairs."""
    return text.encode("utf-8", "replace").decode()


def _escape(text: str) -> str:
    """Text as HTML. Braces too, so that no template can take them for its own."""
    return html.escape(_clean(text)).replace("{", "&#123;").replace("}", "&#125;")


def respond(
    gold_text: str,
    predicted_text: str,
    gold_file: str | None,
    predicted_file: str | None,
    thresholds: str = "0, 2",
    matching: str = "one_to_one",
    normalize: str = "none",
    protocol: str = "none",
) -> tuple[str, list[list[str]], str, list[list[str]], str]:
    """What a click on "Score" gives: a message in HTML if something is wrong, else the parts of :class:`Report`."""
    try:
        options: dict[str, Any] = {"thresholds": parse_thresholds(thresholds), "matching": matching}
        options |= {
            "normalize": None if normalize == "none" else normalize,
            "protocol": None if protocol == "none" else protocol,
        }
        given = (("gold", gold_text, gold_file), ("predictions", predicted_text, predicted_file))
        gold, predicted = (read_file(file, side) if file else parse(text, side) for side, text, file in given)
        return "", *evaluate(predicted, gold, **options)
    except ScoreError as error:
        return f'<p role="alert"><strong>Not scored.</strong> {_escape(str(error))}</p>', [], "", [], ""


def build() -> gr.Blocks:
    """The page."""
    import gradio as gr

    page = gr.Blocks(title="ASQP F1", analytics_enabled=False)
    with page:
        gr.Markdown(_ABOUT)
        with gr.Row():
            texts = [
                gr.Textbox(value, label=label, lines=8, max_lines=20, elem_id=name)
                for name, label, value in zip(("gold", "predictions"), ("Gold", "Predictions"), EXAMPLE, strict=True)
            ]
        with gr.Accordion("Files instead", open=False), gr.Row():
            kinds = [".jsonl", ".json", ".parquet"]
            files = [
                gr.File(label=f"{side} file", file_types=kinds, elem_id=f"{side.lower()}-file")
                for side in ("Gold", "Prediction")
            ]
        with gr.Accordion("Options", open=False), gr.Row():
            options = [
                gr.Textbox("0, 2", label="Thresholds", info="edit distances; 0, 5 for English", elem_id="thresholds"),
                gr.Dropdown(list(MATCHINGS), label="Matching"),
                gr.Dropdown(["none", "nfkc"], label="Normalize"),
                gr.Dropdown(["none", *PROTOCOLS], label="Protocol"),
            ]
        with gr.Row():
            example = gr.Button("Example", elem_id="example")
            start = gr.Button("Score", variant="primary", elem_id="score")
        results = [
            gr.HTML(elem_id="message"),
            gr.Dataframe(headers=SCORE_HEADERS, label="Scores", interactive=False, elem_id="scores"),
            gr.Textbox(label="Signature", interactive=False, elem_id="signature"),
            gr.Dataframe(
                headers=ERROR_HEADERS,
                label="Errors in the reviews below",
                interactive=False,
                wrap=True,
                elem_id="errors",
            ),
            gr.HTML(elem_id="reviews"),
        ]
        example.click(lambda: [*EXAMPLE, None, None], outputs=[*texts, *files])
        start.click(respond, inputs=[*texts, *files, *options], outputs=results)
    return page


def main() -> None:
    """Serve the page."""
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    build().launch(max_file_size="20mb", ssr_mode=False, footer_links=["gradio"])


if __name__ == "__main__":
    main()

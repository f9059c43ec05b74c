"""This project's own format: one sample a line, as JSON.

``{"id": …, "text": …, "quads": [{"category", "aspect", "opinion", "sentiment", "aspect_start", …}]}``. The id
may be missing, and so may offsets; a term without them gets them where its place is certain. Other keys are ignored,
so prediction files are read too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from asqp_datasets.errors import DataError
from asqp_datasets.readers.base import Parsed, Reader, Rejection, locate
from asqp_datasets.schema import NULL, Quad, Sample


def parse(line: str) -> Parsed:
    """Read one line. Raises :class:`~asqp_datasets.readers.base.Rejection`."""
    try:
        row = json.loads(line, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        reason = f"{error.msg} at character {error.pos}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise Rejection("bad-literal", f"found {line!r:.60}, expected a JSON object ({reason})") from None
    if not isinstance(row, dict):
        raise Rejection("bad-literal", f"found {line!r:.60}, expected a JSON object")
    return parse_row(row)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return result


def parse_row(row: Mapping[str, Any]) -> Parsed:
    """Read a row of the schema, wherever it comes from; terms without offsets get them where their place is certain.

    Raises:
        Rejection: A field is missing or has the wrong type.
    """
    has_id = row.get("id") is not None
    try:
        sample = Sample.from_dict(row if has_id else {**row, "id": ""})
    except DataError as error:
        rule = "unknown-sentiment" if "expected one of NEG" in error.message else "bad-field"
        raise Rejection(rule, str(error)) from None
    return Parsed(sample.text, [_located(sample.text, quad) for quad in sample.quads], sample.id or None)


def _located(text: str, quad: Quad) -> Quad:
    if quad.aspect != NULL and quad[4:6] == (-1, -1):
        start, end = locate(text, quad.aspect)
        quad = quad._replace(aspect_start=start, aspect_end=end)
    if quad.opinion != NULL and quad[6:8] == (-1, -1):
        start, end = locate(text, quad.opinion)
        quad = quad._replace(opinion_start=start, opinion_end=end)
    return quad


READER = Reader("jsonl", '{"id": …, "text": …, "quads": [{"category": …, "aspect": …, …}]}', parse)

"""This project's own format: one sample a line, as JSON.

``{"id": …, "text": …, "quads": [{"category", "aspect", "opinion", "sentiment", "aspect_start", …}]}``. The id
may be missing, and so may offsets (then -1). Other keys are ignored, so prediction files are read too.
"""

from __future__ import annotations

import json

from asqp_datasets.errors import DataError
from asqp_datasets.readers.base import Parsed, Reader, Rejection
from asqp_datasets.schema import SENTIMENTS, Sample


def parse(line: str) -> Parsed:
    """Read one line. Raises :class:`~asqp_datasets.readers.base.Rejection`."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = f"{error.msg} at character {error.pos}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise Rejection("bad-literal", f"found {line!r:.60}, expected a JSON object ({reason})") from None
    if not isinstance(row, dict):
        raise Rejection("bad-literal", f"found {line!r:.60}, expected a JSON object")
    has_id = row.get("id") is not None
    try:
        sample = Sample.from_dict(row if has_id else {**row, "id": ""})
    except DataError as error:
        rule = "unknown-sentiment" if _is_sentiment_fault(error) else "bad-field"
        raise Rejection(rule, str(error)) from None
    return Parsed(sample.text, sample.quads, id=sample.id or None)


def _is_sentiment_fault(error: DataError) -> bool:
    return (error.field or "").endswith(".sentiment") and SENTIMENTS[0] in error.message


READER = Reader("jsonl", '{"id": …, "text": …, "quads": [{"category": …, "aspect": …, …}]}', parse)

"""The format of Car-ASQP, Digital-ASQP and their authors' public corpora.

``text####[['Level1#Level2', 'a0,a1', 'o0,o1', 's'], …]``: character offsets, end exclusive, ``-1,-1`` for
an implicit term, sentiment 0 NEG, 1 NEU, 2 POS. The list may be empty.
"""

from __future__ import annotations

from asqp_datasets.readers.base import (
    Parsed,
    Reader,
    check_range,
    fields_of,
    parse_sentiment,
    parse_span,
    split_annotation,
    term_at,
)
from asqp_datasets.schema import Quad

_FIELDS = ("category", "aspect span", "opinion span", "sentiment")


def parse(line: str) -> Parsed:
    """Read one line. Raises :class:`~asqp_datasets.readers.base.Rejection`."""
    text, items = split_annotation(line)
    quads = []
    for index, item in enumerate(items):
        category, aspect_span, opinion_span, sentiment = fields_of(item, index, _FIELDS)
        aspect = parse_span(aspect_span, index, "aspect")
        opinion = parse_span(opinion_span, index, "opinion")
        check_range(aspect, len(text), index, "aspect")
        check_range(opinion, len(text), index, "opinion")
        polarity = parse_sentiment(sentiment, index)
        quads.append(Quad(category, term_at(text, aspect), term_at(text, opinion), polarity, *aspect, *opinion))
    return Parsed(text, quads)


READER = Reader("datastory", "text####[['Level1#Level2', 'a0,a1', 'o0,o1', '0|1|2'], …], character offsets", parse)

"""The format of ASQP-Rest15 and ASQP-Rest16.

``text####[[aspect, category, sentiment, opinion], …]``: terms as strings, ``NULL`` for an implicit one,
sentiment in words. There are no offsets; a term gets them where its place is certain.
"""

from __future__ import annotations

from asqp_datasets.readers.base import Parsed, Reader, fields_of, locate, parse_sentiment, split_annotation
from asqp_datasets.schema import Quad

_FIELDS = ("aspect", "category", "sentiment", "opinion")
_SENTIMENTS = ("negative", "neutral", "positive")


def parse(line: str) -> Parsed:
    """Read one line. Raises :class:`~asqp_datasets.readers.base.Rejection`."""
    text, items = split_annotation(line)
    quads = []
    for index, item in enumerate(items):
        aspect, category, sentiment, opinion = fields_of(item, index, _FIELDS)
        polarity = parse_sentiment(sentiment, index, _SENTIMENTS)
        quads.append(Quad(category, aspect, opinion, polarity, *locate(text, aspect), *locate(text, opinion)))
    return Parsed(text, quads)


READER = Reader("absa_quad", "text####[[aspect, category, negative|neutral|positive, opinion], …], no offsets", parse)

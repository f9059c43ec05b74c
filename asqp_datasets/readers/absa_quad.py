"""The format of ASQP-Rest15 and ASQP-Rest16.

``text####[[aspect, category, sentiment, opinion], …]``: terms as strings, ``NULL`` for an implicit one,
sentiment in words. There are no offsets; a term gets them where its place is certain.
"""

from __future__ import annotations

import re

from asqp_datasets.readers.base import Issue, Parsed, Reader, fields_of, parse_sentiment, split_annotation
from asqp_datasets.schema import NULL, Quad

_FIELDS = ("aspect", "category", "sentiment", "opinion")
_SENTIMENTS = ("negative", "neutral", "positive")


def parse(line: str) -> Parsed:
    """Read one line. Raises :class:`~asqp_datasets.readers.base.Rejection`."""
    text, items = split_annotation(line)
    quads = []
    issues: list[Issue] = []
    for index, item in enumerate(items):
        aspect, category, sentiment, opinion = fields_of(item, index, _FIELDS)
        polarity = parse_sentiment(sentiment, index, _SENTIMENTS)
        spans = [_locate(text, term, index, name, issues) for name, term in (("aspect", aspect), ("opinion", opinion))]
        quads.append(Quad(category, aspect, opinion, polarity, *spans[0], *spans[1]))
    return Parsed(text, quads, tuple(issues))


def _locate(text: str, term: str, index: int, name: str, issues: list[Issue]) -> tuple[int, int]:
    """The span of the one place where the term stands; whole words go before parts of words."""
    if term == NULL:
        return -1, -1
    places = [match.start() for match in re.finditer(re.escape(term), text)]
    if len(places) > 1:
        whole = [place for place in places if _at_word_borders(text, place, place + len(term))]
        places = whole if whole else places
    if len(places) == 1:
        return places[0], places[0] + len(term)
    if places:
        message = f"quad {index + 1}, {name}: {term!r:.60} stands at {', '.join(map(str, places[:5]))}"
        issues.append(Issue("ambiguous-offset", message))
    else:
        issues.append(Issue("term-not-in-text", f"quad {index + 1}, {name}: {term!r:.60} does not occur in the text"))
    return -1, -1


def _at_word_borders(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before.isalnum() and text[start].isalnum()) and not (after.isalnum() and text[end - 1].isalnum())


READER = Reader("absa_quad", "text####[[aspect, category, negative|neutral|positive, opinion], …], no offsets", parse)

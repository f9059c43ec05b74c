"""The format of Restaurant-ACOS and Laptop-ACOS.

``text <TAB> a0,a1 CATEGORY#ATTRIBUTE s o0,o1 <TAB> …``: the text is white-space tokens, the spans are token
indexes, end exclusive, ``-1,-1`` for an implicit term, sentiment 0 NEG, 1 NEU, 2 POS. Token spans become
character spans of the untouched text.
"""

from __future__ import annotations

import re

from asqp_datasets.readers.base import (
    Parsed,
    Reader,
    Rejection,
    check_range,
    fields_of,
    parse_sentiment,
    parse_span,
    term_at,
)
from asqp_datasets.schema import Quad

_FIELDS = ("aspect span", "category", "sentiment", "opinion span")
_TOKEN = re.compile(r"\S+")


def parse(line: str) -> Parsed:
    """Read one line. Raises :class:`~asqp_datasets.readers.base.Rejection`."""
    text, tab, rest = line.partition("\t")
    if not tab:
        raise Rejection("missing-annotation", f"found no tab in {line!r:.60}, expected text<TAB>quad<TAB>…")
    tokens = [match.span() for match in _TOKEN.finditer(text)]
    quads = []
    for index, item in enumerate(rest.split("\t") if rest else []):
        aspect_span, category, sentiment, opinion_span = fields_of(item.split(" "), index, _FIELDS)
        aspect = _characters(parse_span(aspect_span, index, "aspect"), tokens, index, "aspect")
        opinion = _characters(parse_span(opinion_span, index, "opinion"), tokens, index, "opinion")
        polarity = parse_sentiment(sentiment, index)
        quads.append(Quad(category, term_at(text, aspect), term_at(text, opinion), polarity, *aspect, *opinion))
    return Parsed(text, quads)


def _characters(span: tuple[int, int], tokens: list[tuple[int, int]], index: int, name: str) -> tuple[int, int]:
    check_range(span, len(tokens), index, name, "tokens")
    start, end = span
    if start == -1:
        return span
    first = tokens[start][0] if start < len(tokens) else tokens[-1][1] if tokens else 0
    return first, tokens[end - 1][1] if end > start else first


READER = Reader("acos", "text<TAB>a0,a1 CATEGORY#ATTRIBUTE 0|1|2 o0,o1<TAB>…, token offsets", parse)

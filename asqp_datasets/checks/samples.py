"""The rules that look at one sample alone."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import cache

from asqp_datasets.checks.rules import MAX_CHARACTERS, MIN_CHARACTERS, MIN_CHINESE_SHARE
from asqp_datasets.readers.base import Issue, occurrences
from asqp_datasets.schema import NULL, Quad, Sample

HTML_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
EXCEL_ESCAPE = re.compile(r"_x[0-9A-Fa-f]{4}_")
_PRIVATE_USE = re.compile(r"[\ue000-\uf8ff\U000f0000-\U0010ffff]")
_LOST_CHARACTER = re.compile(r"\?{2,}|\s\?|(?<=\w)\?(?=\w)|\?(?=[，。、！；：])")
_ASTRAL = re.compile(r"[\U00010000-\U0010ffff]")
_HAN = "㐀-䶿一-鿿豈-﫿\U00020000-\U0003ffff"
_NOT_HAN = re.compile(f"[^{_HAN}]")
_SPACES = re.compile(r"\s\s")
# One look at a text tells whether any of the rarer faults above can be in it at all.
_SUSPECT = re.compile(r"[&#?\x00-\x08\x0b-\x1f\x7f-\x9f\ue000-\uf8ff\U00010000-\U0010ffff]|_x|\s\s")

TRADITIONAL_CHARACTERS = 3
"""So many characters of the traditional script make a text traditional."""


@cache
def _traditional() -> re.Pattern[str]:
    """Characters that Big5 has and GB 2312 has not."""

    def has(character: str, encoding: str) -> bool:
        try:
            character.encode(encoding)
        except UnicodeEncodeError:
            return False
        return True

    characters = map(chr, range(0x4E00, 0xA000))
    return re.compile(f"[{''.join(c for c in characters if has(c, 'big5') and not has(c, 'gb2312'))}]")


def chinese_share(text: str) -> float:
    """The share of Chinese characters among all characters of the text, 0 for an empty one."""
    return len(_NOT_HAN.sub("", text)) / len(text) if text else 0.0


def html_entities(text: str) -> Iterator[re.Match[str]]:
    """Where the text holds entities that HTML knows."""
    return (match for match in HTML_ENTITY.finditer(text) if html.unescape(match[0]) != match[0])


def sample_issues(sample: Sample, language: str) -> Iterator[Issue]:
    """Every rule that the sample breaks by itself; rules about spans and quads once for each."""
    text, quads = sample.text, sample.quads
    yield from _text_issues(text, quads, language)
    if not quads:
        yield Issue("no-quads", "the list of quads is empty")
    for index, quad in enumerate(quads):
        if not all(quad.category.split("#")):
            yield Issue("empty-category-level", f"quad {index + 1}: {quad.category!r:.60}")
        if "#" not in quad.category:
            yield Issue("missing-hash", f"quad {index + 1}: {quad.category!r:.60} has no '#'")
        if quad.aspect != NULL or quad.aspect_start >= 0:
            yield from _span_issues(text, quad.aspect, quad.aspect_start, quad.aspect_end, index, "aspect")
        if quad.opinion != NULL or quad.opinion_start >= 0:
            yield from _span_issues(text, quad.opinion, quad.opinion_start, quad.opinion_end, index, "opinion")
    if len(quads) > 1 and len({quad[:3] for quad in quads}) < len(quads):
        yield from _copies(quads)


def _text_issues(text: str, quads: list[Quad], language: str) -> Iterator[Issue]:
    length = len(text)
    if length < MIN_CHARACTERS:
        yield Issue("text-too-short", f"{length} characters: {text!r:.40}")
    elif length > MAX_CHARACTERS:
        yield Issue("text-too-long", f"{length} characters")
    if text[:1].isspace() or text[-1:].isspace():
        yield Issue("edge-space-in-text", f"{text[:10]!r} … {text[-10:]!r}")
    if language == "zh":
        share = chinese_share(text)
        if share < MIN_CHINESE_SHARE:
            yield Issue("low-chinese-share", f"{share:.0%} of the characters are Chinese: {text!r:.60}")
        traditional = _traditional().findall(text)
        if len(traditional) >= TRADITIONAL_CHARACTERS:
            yield Issue("traditional-script", f"{''.join(traditional[:10])}: {text!r:.60}")
    if not _SUSPECT.search(text):
        return
    for rule, pattern in (
        ("control-character", CONTROL_CHARACTER),
        ("excel-escape", EXCEL_ESCAPE),
        ("private-use-character", _PRIVATE_USE),
        ("double-space-in-text", _SPACES),
    ):
        if match := pattern.search(text):
            yield Issue(rule, f"{match[0]!r} at {match.start()}")
    if entity := next(html_entities(text), None):
        yield Issue("html-entity", f"{entity[0]!r} at {entity.start()}")
    if "?" in text and language == "zh":
        if 2 * text.count("?") > length:
            yield Issue("mostly-question-marks", f"{text.count('?')} of {length} characters are '?'")
        if match := _LOST_CHARACTER.search(text):
            yield Issue("replacement-question-mark", f"at {match.start()}: {_around(text, match.start())}")
    if "#" in text:
        yield Issue("hash-in-text", f"at {text.index('#')}: {_around(text, text.index('#'))}")
        if "####[" in text:
            yield Issue("separator-in-text", f"at {text.index('####[')}: {_around(text, text.index('####['))}")
    if astral := _ASTRAL.search(text):
        last = max((max(quad.aspect_start, quad.opinion_start) for quad in quads), default=-1)
        if last > astral.start():
            yield Issue("astral-before-span", f"U+{ord(astral[0]):X} at {astral.start()}, a span at {last}")


def _span_issues(text: str, term: str, start: int, end: int, index: int, name: str) -> Iterator[Issue]:
    here = f"quad {index + 1}, {name}:"
    if term == NULL:
        yield Issue("null-in-text", f"{here} {start},{end} is spelled NULL")
        return
    if start < 0:
        places = occurrences(text, term)
        if not places:
            yield Issue("term-not-in-text", f"{here} {term!r:.60} does not occur in the text")
        elif len(places) > 1:
            yield Issue("ambiguous-offset", f"{here} {term!r:.60} stands at {', '.join(map(str, places[:5]))}")
        else:
            yield Issue("missing-offset", f"{here} {term!r:.60} stands at {places[0]}, but has no offsets")
    if start >= 0 and start == end:
        yield Issue("empty-span", f"{here} {start},{end} is empty")
        return
    if term[:1].isspace() or term[-1:].isspace():
        yield Issue("edge-space-in-span", f"{here} {term!r:.60}")
    if not term.isalnum() and not any(map(str.isalnum, term)):
        yield Issue("punctuation-span", f"{here} {term!r:.60}")
    if start < 0:
        return
    if (start and _latin(text[start - 1]) and _latin(text[start])) or (
        end < len(text) and _latin(text[end - 1]) and _latin(text[end])
    ):
        yield Issue("span-inside-word", f"{here} {term!r:.60} in {_around(text, start)}")
    first = text.find(term)
    if first != start:
        yield Issue("first-match-differs", f"{here} {term!r:.60} is annotated at {start}, stands first at {first}")


def _copies(quads: list[Quad]) -> Iterator[Issue]:
    exact: set[Quad] = set()
    strings: dict[tuple[str, str, str], dict[str, int]] = {}
    for index, quad in enumerate(quads):
        sentiments = strings.setdefault(quad[:3], {})
        shown = ", ".join(quad.strings)
        if quad in exact:
            yield Issue("duplicate-quad", f"quad {index + 1}: ({shown:.80}) is listed before")
        elif quad.sentiment in sentiments:
            earlier = sentiments[quad.sentiment] + 1
            yield Issue("same-strings-quad", f"quad {index + 1}: ({shown:.80}) has the strings of quad {earlier}")
        elif any(quads[i][4:] == quad[4:] for i in sentiments.values()):
            others = ", ".join(sentiments)
            yield Issue("conflicting-sentiment", f"quad {index + 1}: ({shown:.80}) is also listed as {others}")
        exact.add(quad)
        sentiments.setdefault(quad.sentiment, index)


def _latin(character: str) -> bool:
    return character < "\u0250" and character.isalpha()


def _around(text: str, position: int) -> str:
    return repr(text[max(0, position - 10) : position + 15])

"""Reading raw annotation files line by line, losing nothing.

A raw format is one module with a :class:`Reader`: a name and a function from one line to a text and its
quads. Everything that is the same for all of them lives here: bytes to lines (byte order mark, CRLF, blank
lines, invalid UTF-8), ids, and the rules that every span must obey.
"""

from __future__ import annotations

import re
import warnings
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from asqp_datasets.errors import DataError, shown
from asqp_datasets.schema import NULL, SENTIMENTS, Quad, Sample


class Issue(NamedTuple):
    """A rule that a record breaks (a key of :data:`asqp_datasets.checks.RULES`), and the particulars."""

    rule: str
    message: str


class Record(NamedTuple):
    """What one line of a raw file gave.

    Args:
        path: The file, as text.
        line: The line in it, counted from 1.
        split: ``train``, ``validation`` or ``test``; None where the corpus is yet to be split.
        sample: The sample, or None if the line was rejected or holds none (a blank line).
        issues: What is wrong with the line. In a rejected line, the first one is the reason.
        raw: The line as it stands in the file, for a rejected line; else empty.
    """

    path: str
    line: int
    split: str | None
    sample: Sample | None
    issues: tuple[Issue, ...] = ()
    raw: str = ""

    @property
    def rejected(self) -> bool:
        """Whether the line holds something that could not be read as a sample."""
        return self.sample is None and bool(self.raw)


class Rejection(Exception):
    """Raised while parsing a line that cannot become a sample."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.issue = Issue(rule, message)


class Parsed(NamedTuple):
    """A line's content before it gets an id."""

    text: str
    quads: list[Quad]
    id: str | None = None


class Reader(NamedTuple):
    """A raw format.

    Args:
        name: What ``--format`` calls it.
        description: One line of how a sample looks.
        parse: From one line, without its end, to its content. Raises :class:`Rejection`.
    """

    name: str
    description: str
    parse: Callable[[str], Parsed]


_UTF8_BOM = b"\xef\xbb\xbf"
_NOT_TEXT = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"PAR1\x15": "Parquet",
}


def read_file(
    reader: Reader, path: str | Path, *, split: str | None = None, id_prefix: str | None = None
) -> Iterator[Record]:
    """Read every line of a raw file.

    Lines end at LF alone: U+2028, NEL, vertical tab and a lone CR belong to the text.

    Args:
        reader: The format.
        path: The file.
        split: The split that its samples belong to, if known.
        id_prefix: Samples without an id of their own get ``{id_prefix}-{line}``; default: the split, or
            else the file's stem.

    Yields:
        One record a line, blank and rejected ones included.

    Raises:
        DataError: The file is missing, unreadable, or plainly no UTF-8 text.
    """
    path = Path(path)
    name = shown(path)
    prefix = id_prefix or split or shown(path.stem)
    for number, line, issues in _lines(path):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            found = " ".join(f"{byte:02x}" for byte in line[error.start : error.end])
            issue = Issue("invalid-utf8", f"bytes {found} at byte {error.start} of the line are not UTF-8")
            yield Record(name, number, split, None, (issue, *issues), line.decode("utf-8", "backslashreplace"))
            continue
        if not text or text.isspace():
            issues.append(Issue("blank-line", "the line is empty"))
            yield Record(name, number, split, None, tuple(issues))
            continue
        try:
            parsed = reader.parse(text)
            check_quads(parsed.text, parsed.quads)
        except Rejection as rejection:
            yield Record(name, number, split, None, (rejection.issue, *issues), text)
            continue
        sample = Sample(parsed.id or f"{prefix}-{number}", parsed.text, parsed.quads)
        yield Record(name, number, split, sample, tuple(issues))


def _lines(path: Path) -> Iterator[tuple[int, bytes, list[Issue]]]:
    try:
        with path.open("rb") as file:
            head = file.peek(8)
            for magic, kind in _NOT_TEXT.items():
                if head.startswith(magic):
                    raise DataError(f"found a {kind} file, expected UTF-8 text", path=path)
            number = 0
            for number, line in enumerate(file, 1):
                issues = []
                if number == 1 and line.startswith(_UTF8_BOM):
                    line = line[len(_UTF8_BOM) :]
                    issues.append(Issue("byte-order-mark", "the file begins with a byte order mark"))
                if line.endswith(b"\n"):
                    line = line[:-1]
                else:
                    issues.append(Issue("missing-last-newline", "the last line has no end"))
                if line.endswith(b"\r"):
                    line = line[:-1]
                    issues.append(Issue("crlf", "the line ends in CR LF"))
                yield number, line, issues
            if not number:
                raise DataError("found an empty file, expected one sample a line", path=path)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path=path) from error


_SEPARATOR = "####["
_TRIES = 16  # separators that are tried from the end; more of them in one line are somebody's joke
_STRINGS = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)


def split_annotation(line: str) -> tuple[str, list[Any]]:
    """Split ``text####[[…], …]`` at the last ``####[`` that begins a list, and read the list.

    The list is a Python literal, not JSON: quotes mix. It is read by a literal parser that runs nothing. A separator
    may stand in the text, and in a string of the list, but nothing may follow the list.
    """
    cut = last = line.rfind(_SEPARATOR)
    if cut < 0:
        raise Rejection("missing-annotation", f"found no '####[' in {line!r:.60}, expected text####[[…], …]")
    reason = ""
    for _ in range(_TRIES):
        try:
            return line[:cut], _literal(line[cut + 4 :])
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
            reason = reason or (f"{error.msg}" if isinstance(error, SyntaxError) else type(error).__name__)
        cut = line.rfind(_SEPARATOR, 0, cut)
        if cut < 0:
            break
    raise Rejection("bad-literal", f"found {line[last + 4 :]!r:.80}, expected a list of quads ({reason})")


def _literal(source: str) -> list[Any]:
    if "#" in source and "#" in _STRINGS.sub("", source):
        raise SyntaxError("something follows the list")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # a backslash that escapes nothing stands for itself
        value = literal_eval(source)
    if not isinstance(value, list):
        raise TypeError
    return value


def fields_of(item: Any, index: int, names: tuple[str, ...]) -> list[str]:
    """The strings of one listed quad, or a :class:`Rejection` that says which is missing or no string."""
    if not isinstance(item, list | tuple):
        raise Rejection("wrong-arity", f"quad {index + 1}: found {item!r:.60}, expected [{', '.join(names)}]")
    if len(item) != len(names):
        raise Rejection(
            "wrong-arity",
            f"quad {index + 1}: found {len(item)} elements in {item!r:.80}, expected {len(names)}: {', '.join(names)}",
        )
    for name, value in zip(names, item, strict=True):
        if not isinstance(value, str) or not value:
            raise Rejection("bad-field", f"quad {index + 1}, {name}: found {value!r:.60}, expected a string")
    return list(item)


_SPAN = re.compile(r"\s*(-?[0-9]{1,9})\s*,\s*(-?[0-9]{1,9})\s*", re.ASCII)


def parse_span(value: str, index: int, name: str) -> tuple[int, int]:
    """Read ``start,end``."""
    match = _SPAN.fullmatch(value)
    if not match:
        raise Rejection("bad-span", f"quad {index + 1}, {name}: found {value!r:.60}, expected 'start,end' or '-1,-1'")
    return int(match[1]), int(match[2])


def check_range(span: tuple[int, int], length: int, index: int, name: str, unit: str = "characters") -> None:
    """Reject a span that no text of ``length`` units can hold; ``-1,-1`` and an empty span pass."""
    start, end = span
    if span == (-1, -1):
        return
    here = f"quad {index + 1}, {name}: found {start},{end}"
    if start < 0 or end < 0:
        rule = "span-one-sided" if -1 in span else "bad-span"
        raise Rejection(rule, f"{here}, expected both at least 0, or '-1,-1' for an implicit term")
    if start > end:
        raise Rejection("span-reversed", f"{here}, expected start before end")
    if end > length:
        raise Rejection("span-past-end", f"{here}, expected at most {length}: the text has {length} {unit}")


def parse_sentiment(value: str, index: int, names: tuple[str, ...] = ("0", "1", "2")) -> str:
    """NEG, NEU or POS for the raw format's word for it."""
    try:
        return SENTIMENTS[names.index(value)]
    except ValueError:
        raise Rejection(
            "unknown-sentiment", f"quad {index + 1}: found {value!r:.60}, expected one of {', '.join(names)}"
        ) from None


def check_quads(text: str, quads: Iterable[Quad]) -> None:
    """Hold every quad to what all rely on, whatever format it came from.

    Raises:
        Rejection: ``text[start:end]`` is not the term, a sentiment is unknown, a category is empty, or a string cannot
            be written as UTF-8.
    """
    for index, quad in enumerate(quads):
        for name, term, start, end in (
            ("aspect", quad.aspect, quad.aspect_start, quad.aspect_end),
            ("opinion", quad.opinion, quad.opinion_start, quad.opinion_end),
        ):
            check_range((start, end), len(text), index, name)
            if start >= 0 and text[start:end] != term:
                raise Rejection(
                    "span-mismatch",
                    f"quad {index + 1}, {name}: {start},{end} is {text[start:end]!r:.60}, expected {term!r:.60}"
                    + _utf16_hint(text, term, start, end),
                )
        if quad.sentiment not in SENTIMENTS:
            parse_sentiment(quad.sentiment, index, SENTIMENTS)
        if not quad.category:
            raise Rejection("bad-field", f"quad {index + 1}, category: found '', expected a string")
        if not all(map(_encodable, quad.strings)):
            raise Rejection(
                "invalid-utf8", f"quad {index + 1}: found half of a surrogate pair in {quad.strings!r:.120}"
            )
    if not _encodable(text):
        raise Rejection("invalid-utf8", f"found half of a surrogate pair in the text {text!r:.80}")


def locate(text: str, term: str) -> tuple[int, int]:
    """The span of the one place where a term stands, whole words before parts of words; -1, -1 if it is not certain."""
    places = occurrences(text, term)
    if len(places) > 1:
        places = [place for place in places if _at_word_borders(text, place, place + len(term))] or places
    return (places[0], places[0] + len(term)) if len(places) == 1 else (-1, -1)


def occurrences(text: str, term: str) -> list[int]:
    """Where a term begins in the text, overlapping places included; nowhere for an implicit or empty one."""
    if term in (NULL, ""):
        return []
    return [match.start() for match in re.finditer(f"(?={re.escape(term)})", text)]


def _at_word_borders(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before.isalnum() and text[start].isalnum()) and not (after.isalnum() and text[end - 1].isalnum())


def _utf16_hint(text: str, term: str, start: int, end: int) -> str:
    units = text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end]
    if units == term.encode("utf-16-le", "surrogatepass"):
        return " (the offsets count UTF-16 units; count code points)"
    return ""


def _encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def term_at(text: str, span: tuple[int, int]) -> str:
    """The term of a span: NULL for -1, -1."""
    return NULL if span == (-1, -1) else text[span[0] : span[1]]

"""Mending what can be mended safely; done only when asked for, and every change is logged.

A repair that edits the text moves every offset with it, so ``text[start:end] == term`` still holds. Where an
edit would cut a span in two or leave it empty, it is not made.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

from asqp_datasets.checks.rules import RULES
from asqp_datasets.checks.samples import CONTROL_CHARACTER, EXCEL_ESCAPE, html_entities
from asqp_datasets.errors import UsageError
from asqp_datasets.schema import NULL, Quad, Sample

REPAIRABLE = tuple(code for code, rule in RULES.items() if rule.repairable)


class Repair(NamedTuple):
    """One change: the sample, the rule, what stood there and what stands there now."""

    id: str
    rule: str
    before: str
    after: str


class _Edit(NamedTuple):
    start: int
    end: int
    replacement: str
    rule: str


def parse_repairs(value: str) -> frozenset[str]:
    """The rules of ``--repair``: ``all``, or some of :data:`REPAIRABLE` joined by commas.

    Raises:
        UsageError: A rule is unknown or has no repair.
    """
    if value == "all":
        return frozenset(REPAIRABLE)
    names = [name.strip() for name in value.split(",") if name.strip()]
    for name in names:
        if name not in REPAIRABLE:
            raise UsageError(f"repair: found {name!r}, expected 'all' or some of {', '.join(REPAIRABLE)}")
    return frozenset(names)


def repair(sample: Sample, rules: Collection[str]) -> tuple[Sample, list[Repair]]:
    """Mend what the rules name.

    Returns:
        The mended sample and the changes made, in the order they were made. With no change, the same sample.
    """
    text, quads, log = _edit_text(sample, rules)
    if "edge-space-in-span" in rules:
        quads = [_trim(text, quad, sample.id, log) for quad in quads]
    if "duplicate-quad" in rules:
        kept = list(dict.fromkeys(quads))
        log += [Repair(sample.id, "duplicate-quad", ", ".join(q.strings), "") for q in _dropped(quads)]
        quads = kept
    return (Sample(sample.id, text, quads), log) if log else (sample, [])


def _edits(text: str, rules: Collection[str]) -> Iterator[_Edit]:
    if "html-entity" in rules:
        for match in html_entities(text):
            yield _Edit(*match.span(), html.unescape(match[0]), "html-entity")
    if "excel-escape" in rules:
        for match in EXCEL_ESCAPE.finditer(text):
            character = chr(int(match[0][2:6], 16))
            printable = unicodedata.category(character)[0] not in "C"
            yield _Edit(*match.span(), character if printable else "", "excel-escape")
    if "control-character" in rules:
        for match in CONTROL_CHARACTER.finditer(text):
            yield _Edit(*match.span(), "", "control-character")


def _edit_text(sample: Sample, rules: Collection[str]) -> tuple[str, list[Quad], list[Repair]]:
    text = sample.text
    log: list[Repair] = []
    spans = [span for q in sample.quads for span in (q[4:6], q[6:8]) if span[0] >= 0]
    pieces: list[str] = []
    moves: list[tuple[int, int]] = []  # (end of an edit in the old text, how far what follows it moves)
    done = shift = 0
    for edit in sorted(_edits(text, rules)):
        cuts = any(edit.start < border < edit.end for span in spans for border in span)
        if edit.start < done or cuts:
            continue
        pieces += [text[done : edit.start], edit.replacement]
        done = edit.end
        shift += len(edit.replacement) - (edit.end - edit.start)
        moves.append((edit.end, shift))
        log.append(Repair(sample.id, edit.rule, text[edit.start : edit.end], edit.replacement))
    if not moves:
        return text, sample.quads, []
    new = "".join(pieces) + text[done:]

    def moved(start: int, end: int) -> tuple[int, int]:
        by = [next((shift for stop, shift in reversed(moves) if stop <= p), 0) for p in (start, end)]
        return start + by[0], end + by[1]

    if any(moved(*span)[0] == moved(*span)[1] for span in spans if span[0] < span[1]):
        return text, sample.quads, []
    return new, [_respan(new, quad, rules, moved) for quad in sample.quads], log


def _respan(text: str, quad: Quad, rules: Collection[str], move: Callable[[int, int], tuple[int, int]]) -> Quad:
    aspect = move(*quad[4:6]) if quad.aspect_start >= 0 else quad[4:6]
    opinion = move(*quad[6:8]) if quad.opinion_start >= 0 else quad[6:8]
    return Quad(
        quad.category,
        text[slice(*aspect)] if aspect[0] >= 0 else _mended(quad.aspect, rules),
        text[slice(*opinion)] if opinion[0] >= 0 else _mended(quad.opinion, rules),
        quad.sentiment,
        *aspect,
        *opinion,
    )


def _mended(term: str, rules: Collection[str]) -> str:
    """A term without offsets, edited as the text is; left alone where nothing of it would be left."""
    edited = term
    for edit in sorted(_edits(term, rules), reverse=True):
        edited = edited[: edit.start] + edit.replacement + edited[edit.end :]
    return edited or term


def _trim(text: str, quad: Quad, sample_id: str, log: list[Repair]) -> Quad:
    terms: dict[str, Any] = {}
    for name in ("aspect", "opinion"):
        term: str = getattr(quad, name)
        bare = term.strip()
        if NULL in (term, bare) or bare == term or not bare:
            continue
        log.append(Repair(sample_id, "edge-space-in-span", term, bare))
        terms[name] = bare
        start = getattr(quad, f"{name}_start")
        if start >= 0:
            start += len(term) - len(term.lstrip())
            terms |= {f"{name}_start": start, f"{name}_end": start + len(bare)}
    return quad._replace(**terms)


def _dropped(quads: list[Quad]) -> Iterator[Quad]:
    seen: set[Quad] = set()
    for quad in quads:
        if quad in seen:
            yield quad
        seen.add(quad)

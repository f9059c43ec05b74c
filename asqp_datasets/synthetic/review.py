"""Reviews out of a lexicon: clauses with quads, clauses without, and where every term stands."""

from __future__ import annotations

import math
import random
from bisect import bisect
from collections.abc import Iterator
from itertools import accumulate

from asqp_datasets.schema import NULL, SENTIMENTS, Quad, Sample
from asqp_datasets.synthetic.lexicon import Category, Lexicon, Template
from asqp_datasets.synthetic.tables import Random, Table

MIN_LENGTH, MAX_LENGTH = 10, 512
"""Characters of a text that the paper's cleaning keeps."""
LONGEST_CLAUSE = 120
"""No clause has more characters."""
MAX_OTHER = 0.29
"""Greatest share of characters that are not Chinese; the paper's cleaning asks for less than 0.3."""
CHINESE_HIGH_BYTES = bytes(range(0x4E, 0xA0))
PAIRED = 0.3
"""Share of clauses with one quad that take the next one in, if both fit."""
ENDS = ("ends_neg", "ends_neu", "ends_pos")
AFTER = ("after_neg", "after_neu", "after_pos")
LINK_AFTER = ("link_after_neg", "link_after_neu", "link_after_pos")
ALONE_AFTER = ("alone_after_neg", "alone_after_neu", "alone_after_pos")
ALONE = ("alone_neg", "alone_neu", "alone_pos")
GOLDEN = 0.6180339887498949


def write_block(lexicon: Lexicon, rng: random.Random, first: int, size: int) -> Iterator[Sample]:
    """Samples ``first`` to ``first + size - 1``.

    Counts, lengths and polarities are drawn stratified over the block, so that a few thousand samples already
    have the proportions of millions.
    """
    counts = [lexicon.quads.items[bisect(lexicon.quads.cumulative, u)] for u in _stratified(rng, size)]
    # Weibull with shape 1.4 and mean 1
    budgets = [lexicon.filler * (-math.log(1 - u)) ** (1 / 1.4) / 0.9114 for u in _stratified(rng, size)]
    cells: list[tuple[int, bool]] = []
    while len(cells) < sum(counts):
        for u in _stratified(rng, sum(counts) * 7 // 10 + 1):
            cells += lexicon.runs.items[bisect(lexicon.runs.cumulative, u)]
    done = 0
    for index, (count, budget) in enumerate(zip(counts, budgets, strict=True), first):
        text, quads = Review(lexicon, rng.random).write(cells[done : done + count], budget)
        done += count
        yield Sample(f"{lexicon.corpus}-{index:07d}", text, quads)


def _stratified(rng: random.Random, size: int) -> list[float]:
    """Uniform numbers, one from each of ``size`` equal intervals, in random order."""
    r = rng.random
    numbers = [(i + r()) / size for i in range(size)]
    rng.shuffle(numbers)
    return numbers


class Review:
    """One review in the making.

    Args:
        lexicon: What to draw from.
        r: Uniform random numbers.
    """

    __slots__ = ("_phase", "frames", "lexicon", "products", "quads", "r")

    def __init__(self, lexicon: Lexicon, r: Random) -> None:
        self.lexicon, self.r, self.frames = lexicon, r, lexicon.frames
        self.quads: list[Quad] = []
        self._phase = r()
        brands, codes = lexicon.brands, lexicon.codes
        own = int(r() * len(brands))
        other = (own + 1 + int(r() * (len(brands) - 1))) % len(brands)
        self.products = [brands[own] + codes[int(r() * len(codes))], brands[other] + codes[int(r() * len(codes))]]

    def write(self, cells: list[tuple[int, bool]], budget: float) -> tuple[str, list[Quad]]:
        """The text and its quads.

        Args:
            cells: Polarity, and whether there is an opinion term, of each quad.
            budget: Expected characters of clauses without quads.
        """
        r, size = self.r, len(cells)
        if size <= 2 and budget < 20 and (r() < 0.95 or not cells[0][1]):
            budget = 20.0  # a short text needs what tells it from other short texts
        before, between, after = self._fillers(min(budget, 490.0 - 28 * size))
        gaps = sorted([int(r() * (size + 1)) for _ in between])
        pieces, position = before, sum(map(len, before))
        done = used = 0
        while done < size and position <= MAX_LENGTH - LONGEST_CLAUSE:
            chunk = between[used : bisect(gaps, done)]
            grown = position + sum(map(len, chunk))
            if grown < MAX_LENGTH - 2 * LONGEST_CLAUSE:
                pieces += chunk
                position = grown
                used += len(chunk)
            clause, written = self._clause(cells[done:], position)
            done += written
            pieces.append(clause)
            position += len(clause)
        rest = between[used:] + after
        while rest and position + sum(map(len, rest)) > MAX_LENGTH - 40:
            del rest[0]
        pieces += rest
        return self._finish(pieces)

    def _finish(self, pieces: list[str]) -> tuple[str, list[Quad]]:
        """Close the text so that it passes the paper's cleaning."""
        text = "".join(pieces).rstrip(" ，,、；…~～。.") + self._pick("ends_text")
        while len(text) < MIN_LENGTH or (_other(text) > MAX_OTHER * len(text) and len(text) < MAX_LENGTH - 40):
            text = f"{text}，{self._filler(self.lexicon.plain)[:-1]}"
        return text, self.quads

    # clauses without quads

    def _fillers(self, budget: float) -> tuple[list[str], list[str], list[str]]:
        """Clauses to stand first, in between and last, whose expected length is the budget."""
        r, fillers = self.r, self.lexicon.fillers
        before: list[str] = []
        between: list[str] = []
        after: list[str] = []
        kind, part = ("openers", before) if r() < 0.7 else ("bodies", between)
        while True:
            clause = self._filler(fillers[kind])
            if len(clause) > budget and r() * len(clause) > budget:
                return before, between, after
            part.append(clause)
            budget -= len(clause)
            if budget <= 0:
                return before, between, after
            kind, part = ("closers", after) if not after and r() < 0.07 else ("bodies", between)

    def _filler(self, templates: list[Template]) -> str:
        r = self.r
        text, tables, products = templates[int(r() * len(templates))]
        words = [table[int(r() * size)] for table, size in tables]
        for place, product in products:
            words[place] = self.products[product]
        return text % tuple(words)

    # clauses with quads

    def _pick(self, frame: str) -> str:
        items = self.frames[frame]
        return items[int(self.r() * len(items))]

    def _category(self, table: Table[Category]) -> Category:
        # steps of the golden ratio: each category at its weight, but rarely twice in a review
        self._phase = u = (self._phase + GOLDEN + 0.1 * self.r()) % 1.0
        return table.items[bisect(table.cumulative, u)]

    def _clause(self, cells: list[tuple[int, bool]], position: int) -> tuple[str, int]:
        """A clause at a position of the text, and the number of quads in it."""
        r, lexicon = self.r, self.lexicon
        polarity, explicit = cells[0]
        if not explicit:
            return self._alone(polarity, position), 1
        category = self._category(lexicon.by_polarity[polarity])
        aspects = category.aspects
        term, context = aspects.items[bisect(aspects.cumulative, r())]
        opinion, suffix, entry = lexicon.opinion(r, category, polarity)
        if entry.kind in ("adjective", "phrase") and len(cells) > 1 and cells[1][1] and r() < PAIRED:
            pair = self._pair(cells, position, category, term, context, opinion, entry.general)
            if pair:
                return pair
        name, tail = SENTIMENTS[polarity], ENDS[polarity]
        head = self._pick("before") + context
        if entry.kind == "adjective" and r() < 0.15:
            head += self._pick("attributive")
            middle, opinion_first = self._pick("of"), True
        elif entry.kind == "verb":
            opinion_first = r() < 0.6
            head += self._pick("subject") if opinion_first else ""
            middle = self._pick("verb_of") if opinion_first else self._pick("experiencer")
        elif entry.kind == "link":
            head, middle, opinion_first, tail = context + self._pick("link_before"), "", True, LINK_AFTER[polarity]
        else:
            middle, opinion_first, tail = self._pick("between"), False, AFTER[polarity]
        start = position + len(head)
        if opinion_first:
            o, a = start, start + len(opinion) + len(middle)
            body = f"{opinion}{middle}{term}"
        else:
            a, o = start, start + len(term) + len(middle)
            body = f"{term}{middle}{opinion}{suffix}"
        self.quads.append(Quad(category.name, term, opinion, name, a, a + len(term), o, o + len(opinion)))
        return f"{head}{body}{self._pick(tail)}", 1

    def _alone(self, polarity: int, position: int) -> str:
        """An adjective or a verb that is the aspect, with no opinion term."""
        category = self._category(self.lexicon.alone_by_polarity[polarity])
        term = category.alone[polarity].draw(self.r).term
        head = self._pick(ALONE[polarity])
        start = position + len(head)
        self.quads.append(Quad(category.name, term, NULL, SENTIMENTS[polarity], start, start + len(term)))
        return f"{head}{term}{self._pick(ALONE_AFTER[polarity])}"

    def _pair(
        self, cells: list[tuple[int, bool]], position: int, category: Category, term: str, context: str,
        opinion: str, general: bool,
    ) -> tuple[str, int] | None:  # fmt: skip
        """Two quads in one clause: a contrast, two opinions on an aspect, or one opinion on two aspects."""
        r, lexicon = self.r, self.lexicon
        polarity, second = cells[0][0], cells[1][0]
        choice = r() if polarity == second else 1.0
        if choice < 0.35:
            other, _, entry = lexicon.opinion(r, category, polarity)
            if entry.kind not in ("adjective", "phrase") or other == opinion:
                return None
            parts = [term, self._pick("between"), opinion, self._pick("then"), other]
            a, b, o, p = 0, 0, 2, 4
            mate, partner = term, category
        else:
            shared = choice < 0.8
            partner = category if shared and not general else self._category(lexicon.by_polarity[second])
            mate, mate_context = partner.aspects.draw(r)
            if not partner.general or mate_context or mate in term or term in mate:
                return None
            if shared:
                parts = [term, self._pick("and"), mate, self._pick("both"), opinion]
                a, b, o, p = 0, 2, 4, 4
                other = opinion
            else:
                other, _, entry = lexicon.opinion(r, partner, second)
                if entry.kind not in ("adjective", "phrase"):
                    return None
                lead, link, close = lexicon.contrasts[int(r() * len(lexicon.contrasts))]
                parts = [term, self._pick("and"), mate, lead, opinion, link, other, close]
                a, b, o, p = 0, 2, 4, 6
        head = self._pick("before") + context
        starts = list(accumulate(map(len, parts), initial=position + len(head)))
        for owner, s, i, j in ((category, polarity, a, o), (partner, second, b, p)):
            self.quads.append(
                Quad(owner.name, parts[i], parts[j], SENTIMENTS[s], starts[i], starts[i + 1], starts[j], starts[j + 1])
            )
        return f"{head}{''.join(parts)}{self._pick(ENDS[second])}", 2


def _other(text: str) -> int:
    """Number of UTF-16 units that are not Chinese characters, U+4E00 to U+9FFF."""
    return len(text.encode("utf-16-le")[1::2].translate(None, CHINESE_HIGH_BYTES))

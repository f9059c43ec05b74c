"""The embedded default: Chinese reviews written by a grammar, in the proportions of the paper's Table 1.

Two corpora, ``synthetic-car`` and ``synthetic-digital``, follow the annotation guideline of the paper's
section 2.2: two-level categories, 24/90 and 32/118 of them; negators and adverbs inside the opinion; an
adjective or a verb as the aspect of an implicit opinion; no implicit aspect, and no pronoun as one. What is
said about another product, asked, supposed, advertised, or said of a pronoun alone carries no quad. Every
text has 10 to 512 characters, at least 70% of them Chinese, as after the paper's cleaning (section 2.1).

The categories and terms are data beside this module: ``car.yaml``, ``digital.yaml``, ``opinions.yaml``,
``phrasing.yaml``. Brands and people are invented.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import islice

from asqp_datasets.corpora import CORPORA
from asqp_datasets.errors import UsageError
from asqp_datasets.schema import Sample
from asqp_datasets.synthetic.lexicon import Lexicon, Proportions
from asqp_datasets.synthetic.review import write_block

__all__ = ["DESCRIPTION", "PROPORTIONS", "Proportions", "categories", "generate"]

DESCRIPTION = (
    "Synthetic Chinese reviews and their quads, written by a grammar in the proportions of Table 1 of the ASQP "
    "benchmark paper. Not written by people: scores on them say nothing about real reviews."
)

PROPORTIONS = {name: Proportions.from_paper(corpus.paper) for name, corpus in CORPORA.items() if corpus.synthetic}
"""What each corpus reproduces of Table 1's column for the corpus of the same domain."""

BLOCK = 100
"""Samples that share one random generator and one stratified draw of counts, lengths and polarities."""


def generate(corpus: str, size: int, *, seed: int = 0, start: int = 0) -> Iterator[Sample]:
    """Write reviews with their quads. Sample i depends on nothing but the corpus, the seed and i.

    Args:
        corpus: ``synthetic-car`` or ``synthetic-digital``.
        size: Number of samples.
        seed: Any integer; another seed, other reviews.
        start: Number of the first sample, so that parts made apart join to the whole. A part that
            starts at a multiple of 100 wastes nothing.

    Yields:
        Samples ``start`` to ``start + size - 1``, with ids such as ``synthetic-car-0000001``.

    Raises:
        UsageError: An unknown corpus, a size or start below 0, or a number that is not an integer.
    """
    if corpus not in PROPORTIONS:
        raise UsageError(f"found corpus {corpus!r}, expected one of {', '.join(PROPORTIONS)}")
    for name, value in (("size", size), ("seed", seed), ("start", start)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise UsageError(f"found {name} {value!r}, expected an integer")
        if value < 0 and name != "seed":
            raise UsageError(f"found {name} {value}, expected 0 or more")
    return _generate(corpus, size, seed, start)


def _generate(corpus: str, size: int, seed: int, start: int) -> Iterator[Sample]:
    lexicon = _lexicon(corpus)
    while size > 0:
        block, skip = divmod(start, BLOCK)
        rng = random.Random(f"{corpus}/{seed}/{block}")
        yield from islice(write_block(lexicon, rng, block * BLOCK, BLOCK), skip, skip + size)
        size -= BLOCK - skip
        start += BLOCK - skip


def categories(corpus: str) -> list[str]:
    """The full categories of a corpus, ``first-level#second-level``, in the order of its data file."""
    if corpus not in PROPORTIONS:
        raise UsageError(f"found corpus {corpus!r}, expected one of {', '.join(PROPORTIONS)}")
    return [category.name for category in _lexicon(corpus).categories]


@cache
def _lexicon(corpus: str) -> Lexicon:
    return Lexicon(corpus, PROPORTIONS[corpus])

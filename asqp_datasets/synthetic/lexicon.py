"""The grammar's terms and phrases, compiled from the data files into tables whose means are Table 1's.

Weights fall with the rank of a term, which gives a long tail of rare ones; then those of aspects and of
opinions are tilted by their length until the mean is the target.
"""

from __future__ import annotations

import math
import random
from bisect import bisect
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import product
from typing import Any, NamedTuple

import yaml

from asqp_datasets.schema import SENTIMENTS
from asqp_datasets.synthetic.tables import Random, Table, fit, ranked

PRODUCTS = ("own", "other")
POLARITIES = tuple(name.lower() for name in SENTIMENTS)
MAX_QUADS = 15
CALIBRATION = {"synthetic-car": (117.9, 0.991, 0.978), "synthetic-digital": (103.0, 0.988, 0.966)}
"""Per corpus: mean characters of clauses without quads, and factors on the target lengths of aspect and opinion.

Measured; they make up for what the tables do not know, such as which opinions a contrast can take.
"""
MODIFIED, EXTENDED, SHARED = 0.5, 0.18, 0.6
"""Weight of aspects with a modifier, with an ending, and of words that several categories share, against 1."""
NO_ENDING = frozenset("感觉度性率器员们")
"""Last characters of aspects that take none of the endings."""


SOURCES = {
    "pos": [
        ("pos", "adjective", "degree_pos", 0.5),
        ("neg", "adjective", "negated_neg", 0.08),
        ("pos_phrases", "phrase", "modal", 0.25),
        ("pos_verbs", "verb", "bare", 0.14),
        ("pos_links", "link", "bare", 0.4),
    ],
    "neu": [
        ("neutral_phrases", "phrase", "neutral", 0.7),
        ("pos", "adjective", "hedged_pos", 0.12),
        ("neg", "adjective", "hedged_neg", 0.08),
        ("neutral_verbs", "verb", "bare", 0.12),
        ("neutral_links", "link", "bare", 0.4),
    ],
    "neg": [
        ("neg", "adjective", "degree_neg", 0.5),
        ("pos", "adjective", "negated_pos", 0.2),
        ("neg_phrases", "phrase", "modal", 0.22),
        ("neg_verbs", "verb", "bare", 0.12),
        ("neg_links", "link", "bare", 0.4),
    ],
}
"""Per polarity: a key of an opinion group, the kind of its words, their prefixes, and their weight."""


class Proportions(NamedTuple):
    """What a corpus reproduces of a column of the paper's Table 1.

    Args:
        quads_per_sample: Quads per text.
        words_per_sample: Characters per text.
        words_per_aspect: Characters per aspect.
        words_per_opinion: Characters per explicit opinion.
        explicit: Share of quads with explicit aspect and explicit opinion (EA&EO); the others are EA&IO.
        sentiments: Shares of quads that are NEG, NEU, POS.
    """

    quads_per_sample: float
    words_per_sample: float
    words_per_aspect: float
    words_per_opinion: float
    explicit: float
    sentiments: tuple[float, float, float]

    @classmethod
    def from_paper(cls, column: Mapping[str, float | str]) -> Proportions:
        """The proportions in a column of counts and means, such as ``CORPORA["car"].paper``."""
        value = {name: float(count) for name, count in column.items() if count != "-"}
        polarities = [value[name] for name in SENTIMENTS]
        neg, neu, pos = (count / sum(polarities) for count in polarities)
        return cls(
            value["quads"] / value["samples"],
            value["words_per_sample"],
            value["words_per_aspect"],
            value["words_per_opinion"],
            value["EA&EO"] / (value["EA&EO"] + value["EA&IO"]),
            (neg, neu, pos),
        )


class Aspect(NamedTuple):
    """An aspect term, after the words that say which category is meant if the term alone does not."""

    term: str
    context: str = ""


class Opinion(NamedTuple):
    """An opinion without its adverb.

    ``kind`` says where it may stand: ``adjective``, ``phrase``, ``verb``, ``link``; ``prefixes`` names the table
    of its adverbs; a ``general`` opinion may be on anything.
    """

    word: str
    kind: str
    prefixes: str
    general: bool


@dataclass(slots=True)
class Category:
    """A category's tables, the last two by polarity; ``general`` if opinions on anything suit its aspects."""

    name: str
    general: bool
    aspects: Table[Aspect]
    opinions: list[Table[Opinion]]
    alone: list[Table[Aspect]]


class Template(NamedTuple):
    """A clause without a quad: a format, tables with their sizes that fill it, and products with their places."""

    text: str
    tables: tuple[tuple[list[str], int], ...]
    products: tuple[tuple[int, int], ...]


class Lexicon:
    """Everything that :mod:`asqp_datasets.synthetic.review` draws from, for one corpus.

    Args:
        corpus: ``synthetic-car`` or ``synthetic-digital``.
        target: The proportions to reproduce.
    """

    def __init__(self, corpus: str, target: Proportions) -> None:
        domain = corpus.removeprefix("synthetic-")
        phrasing = _read_yaml("phrasing.yaml")
        self.corpus = corpus
        self.filler, aspect_factor, opinion_factor = CALIBRATION[corpus]
        self.polarity, self.explicit = list(target.sentiments), target.explicit
        self.quads = _count_table(target.quads_per_sample)
        self.runs = _run_table(self.polarity, self.explicit)
        self.frames = {name: _expand(text) for name, text in phrasing["frames"].items()}
        for polarity, tail in product(POLARITIES, ("after", "link_after", "alone_after")):
            ends = self.frames[f"ends_{polarity}"]
            self.frames[f"{tail}_{polarity}"] = [a + b for a in self.frames[tail] for b in ends]
        self.contrasts = [contrast.split("{}") for contrast in phrasing["contrasts"]]

        data = _read_yaml(f"{domain}.yaml")["categories"]
        opinions = _read_yaml("opinions.yaml")
        endings = phrasing["noun_endings"].split()
        self.prefixes = {name: _prefix_table(text) for name, text in opinions["prefixes"].items()}
        self.categories = [_category(name, entry, opinions["groups"], endings) for name, entry in data.items()]
        weights = [_weights(entry) for entry in data.values()]
        self.by_polarity = [Table(self.categories, [w[s] for w in weights]) for s in range(3)]
        self.alone_by_polarity = []
        for s in range(3):
            chosen = [(c, w[s]) for c, w in zip(self.categories, weights, strict=True) if c.alone[s].items]
            self.alone_by_polarity.append(Table(*zip(*chosen, strict=True)))
        self._fit_aspects(target.words_per_aspect * aspect_factor)
        self._fit_opinions(target.words_per_opinion * opinion_factor)
        self.slots = self._slots(phrasing, domain)
        self.fillers = {
            kind: [
                _template(line, self.slots, self.frames["ends_neu"])
                for source in ("common", domain)
                for line in phrasing[source][kind].splitlines()
            ]
            for kind in ("openers", "bodies", "closers")
        }
        chinese = {"who", "city", "place", "time", "dur", "hour"}
        self.plain = [
            _template(line, self.slots, ["，"])
            for line in phrasing["common"]["bodies"].splitlines()
            if "{" in line and chinese.issuperset(line.replace("}", "{").split("{")[1::2])
        ]
        self.brands = phrasing[domain]["own"].split("|")
        self.codes = phrasing[domain]["code"].split("|")

    def opinion(self, r: Random, category: Category, polarity: int) -> tuple[str, str, Opinion]:
        """An opinion with its adverb, what follows it outside the term, and the entry it was made of."""
        table = category.opinions[polarity]
        opinion = table.items[bisect(table.cumulative, r())]
        prefixes = self.prefixes[opinion.prefixes]
        prefix, suffix = prefixes.items[bisect(prefixes.cumulative, r())]
        return prefix + opinion.word, suffix, opinion

    def _fit_aspects(self, target: float) -> None:
        parts: list[tuple[float, Table[Any]]] = []
        for s, share in enumerate(self.polarity):
            for table, explicit in ((self.by_polarity[s], True), (self.alone_by_polarity[s], False)):
                part = share * (self.explicit if explicit else 1 - self.explicit)
                for category, weight in zip(table.items, table.weights, strict=True):
                    parts.append((part * weight, category.aspects if explicit else category.alone[s]))
        fit(parts, _length, target)

    def _fit_opinions(self, target: float) -> None:
        parts: list[tuple[float, Table[Any]]] = []
        for s, share in enumerate(self.polarity):
            for category, weight in zip(self.by_polarity[s].items, self.by_polarity[s].weights, strict=True):
                table = category.opinions[s]
                parts.append((share * weight, table))
                for opinion, w in zip(table.items, table.weights, strict=True):
                    parts.append((share * weight * w, self.prefixes[opinion.prefixes]))
        fit(parts, _length, target)

    def _slots(self, phrasing: Any, domain: str) -> dict[str, list[str]]:
        rng = random.Random(domain)
        r = rng.random
        slots = {name: text.split("|") for name, text in phrasing["slots"].items()}
        slots["date"] = [f"{m}月{d}{x}" for m, d, x in product(range(1, 13), range(1, 29), "号日")]
        slots["num"] = [str(n) for n in range(2, 100)]
        slots["km"] = [str(n) for n in range(312, 60000, 17)]
        if domain == "car":
            slots["price"] = [f"{n / 100:.2f}万" for n in range(688, 3988, 7)]
        else:
            slots["price"] = [f"{n}元" for n in range(299, 9999, 11)]
        polarities = rng.choices(range(3), self.polarity, k=5000)
        drawn = [(s, self.by_polarity[s].draw(r)) for s in polarities]
        slots["aspect"] = [category.aspects.draw(r).term for _, category in drawn]
        opinions = [self.opinion(r, category, s) for s, category in drawn]
        pairs = zip(slots["aspect"], opinions, strict=True)
        claims = [(aspect, term) for aspect, (term, _, entry) in pairs if entry.kind in ("adjective", "phrase")]
        slots["claim"] = [aspect + term for aspect, term in claims]
        slots["opinion"] = [term for _, term in claims]
        return slots


def _read_yaml(name: str) -> Any:
    """A data file of this package."""
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # both are safe loaders


def _length(item: tuple[str, ...]) -> float:
    return len(item[0])


def _expand(text: str) -> list[str]:
    """Items of a frame list: split at ``|``, ``N*`` repeats, ``-`` is empty."""
    items: list[str] = []
    for item in text.split("|"):
        times, star, rest = item.partition("*")
        item, count = (rest, int(times)) if star else (item, 1)
        items += [item.replace("-", "")] * count
    return items


def _count_table(target: float) -> Table[int]:
    counts = list(range(1, MAX_QUADS + 1))
    table = Table(counts, [n**0.6 for n in counts])
    fit([(1.0, table)], float, target)
    return table


def _run_table(polarity: list[float], explicit: float) -> Table[tuple[tuple[int, bool], ...]]:
    """Runs of quads of one polarity, as (polarity, has an opinion): what makes a review's quads agree."""
    items, weights = [], []
    for size, share in ((1, 0.6), (2, 0.25), (3, 0.15)):
        for s, opinions in product(range(3), product((True, False), repeat=size)):
            items.append(tuple((s, o) for o in opinions))
            weights.append(share * polarity[s] * math.prod(explicit if o else 1 - explicit for o in opinions))
    return Table(items, weights)


def _prefix_table(text: str) -> Table[tuple[str, str]]:
    pairs = [prefix.replace("-", "").partition("/") for prefix in text.split()]
    return Table([(prefix, suffix) for prefix, _, suffix in pairs], ranked(len(pairs), 1.0))


def _weights(entry: dict[str, Any]) -> tuple[float, float, float]:
    weight = float(entry["weight"])
    return (weight * 2.5, weight, weight * 0.4) if entry.get("lean") == "neg" else (weight, weight, weight)


def _category(name: str, entry: dict[str, Any], groups: dict[str, dict[str, str]], endings: list[str]) -> Category:
    general = entry.get("general", True)
    heads = entry["aspects"].split()
    weights = ranked(len(heads), 0.6)
    modifiers = entry.get("modifiers", "").split()
    bases = list(zip(heads, weights, strict=True))
    bases += [
        (m + h, wm * wh * MODIFIED)
        for m, wm in zip(modifiers, ranked(len(modifiers), 0.6), strict=True)
        for h, wh in zip(heads, weights, strict=True)
        if m not in h and m[-1] != h[0]
    ]
    bases += [
        (base + e, w * we * EXTENDED)
        for base, w in (bases if general and len(heads) > 3 else [])
        for e, we in zip(endings, ranked(len(endings), 0.6), strict=True)
        if base[-1] not in NO_ENDING and base[-2:] not in endings
    ]
    shared = [Aspect(t, f"{c}，") for t in entry.get("shared", "").split() for c in entry["contexts"].split("/")]
    aspects = Table(
        [*(Aspect(base) for base, _ in bases), *shared],
        [*(w for _, w in bases), *(SHARED / len(shared) for _ in shared)],
    )
    alone = []
    for polarity in POLARITIES:
        words = entry.get(f"alone_{polarity}", "").split()
        alone.append(Table([Aspect(word) for word in words], ranked(len(words), 0.6)))
    own = [(groups[group], 3.0 / (i + 1), False) for i, group in enumerate(entry["groups"].split())]
    if general:
        own.append((groups["general"], 1.6, True))
    return Category(name, general, aspects, [_opinion_table(s, own, entry) for s in POLARITIES], alone)


def _opinion_table(
    polarity: str, groups: list[tuple[dict[str, str], float, bool]], entry: dict[str, Any]
) -> Table[Opinion]:
    items: list[Opinion] = []
    weights: list[float] = []
    sources = [(group.get(key, ""), share * w, kind, prefixes, general) for group, share, general in groups
               for key, kind, prefixes, w in SOURCES[polarity]]  # fmt: skip
    if polarity == "neu":
        sources.append((entry.get("neutral", ""), 1.0, "phrase", "bare", False))
    for text, weight, kind, prefixes, general in sources:
        words = text.split()
        items += [Opinion(word, kind, prefixes, general) for word in words]
        weights += [weight * w for w in ranked(len(words), 0.8)]
    return Table(items, weights)


def _template(line: str, slots: dict[str, list[str]], ends: list[str]) -> Template:
    parts = line.strip().replace("}", "{").split("{")
    names = parts[1::2]
    return Template(
        "%s".join([*parts[::2], ""]),
        tuple((table, len(table)) for table in (*(slots.get(name, [""]) for name in names), ends)),
        tuple((i, PRODUCTS.index(name)) for i, name in enumerate(names) if name in PRODUCTS),
    )

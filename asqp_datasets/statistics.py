"""The paper's Table 1 for any corpus, counted as its printed figures turn out to be counted.

- ``quads`` counts every listed quad, copies included.
- ``words_per_aspect`` and ``words_per_opinion`` are means over the quads whose term is spelled out.
- Lengths are white-space tokens for English and characters (code points) for Chinese.
- ``words_per_sample`` is a mean over distinct texts where the unit is words (that gives the printed 15.11 and
  15.73 of the ACOS corpora) and over all samples where it is characters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

from asqp_datasets.duplicates import digest
from asqp_datasets.progress import Progress
from asqp_datasets.schema import NULL, SENTIMENTS
from asqp_f1 import category_level1

if TYPE_CHECKING:
    import pyarrow as pa

    from asqp_datasets.corpora import Corpus
    from asqp_datasets.readers import Record
    from asqp_datasets.sources import Source

EXPLICITNESS = ("EA&EO", "EA&IO", "IA&EO", "IA&IO")

KEYS = (
    "samples",
    "quads",
    "categories_level1",
    "categories",
    "words_per_sample",
    "quads_per_sample",
    "words_per_aspect",
    "words_per_opinion",
    *EXPLICITNESS,
    *SENTIMENTS,
)
"""What is counted, in the order it is shown."""

UNITS = {"zh": "characters", "en": "words"}


class Statistics:
    """Counts over the samples of one split, or of a whole corpus.

    Args:
        unit: ``"words"`` or ``"characters"``.
    """

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.samples = 0
        self.text_units = 0
        self.term_units = {"aspect": 0, "opinion": 0}
        self.categories: Counter[str] = Counter()
        self.sentiments: Counter[str] = Counter()
        self.explicitness: Counter[str] = Counter()
        self.quads_per_sample: Counter[int] = Counter()
        self._distinct: dict[int, int] = {}  # digest of a text → its words; kept only where they are averaged

    def add(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Count a batch with the columns of :func:`asqp_datasets.schema.arrow_schema`."""
        import pyarrow.compute as pc

        if not batch.num_rows:
            return
        texts, lists = batch.column("text"), batch.column("quads")
        self.samples += batch.num_rows
        self.quads_per_sample.update(_value_counts(pc.list_value_length(lists)))
        if self.unit == "words":
            self._distinct.update((digest(text), len(text.split())) for text in texts.to_pylist())
        else:
            self.text_units += pc.sum(pc.utf8_length(texts)).as_py()
        quads = pc.list_flatten(lists)
        category, aspect, opinion, sentiment = (
            pc.struct_field(quads, name) for name in ("category", "aspect", "opinion", "sentiment")
        )
        self.categories.update(_value_counts(category))
        self.sentiments.update(_value_counts(sentiment))
        has_aspect, has_opinion = pc.not_equal(aspect, NULL), pc.not_equal(opinion, NULL)
        self.term_units["aspect"] += self._length(aspect.filter(has_aspect))
        self.term_units["opinion"] += self._length(opinion.filter(has_opinion))
        for name in EXPLICITNESS:
            a = has_aspect if name[0] == "E" else pc.invert(has_aspect)
            o = has_opinion if name[3] == "E" else pc.invert(has_opinion)
            self.explicitness[name] += pc.sum(pc.and_(a, o)).as_py() or 0

    def _length(self, terms: pa.Array) -> int:
        import pyarrow.compute as pc

        if self.unit == "words":
            return sum(len(term.split()) * n for term, n in _value_counts(terms).items())
        return pc.sum(pc.utf8_length(terms)).as_py() or 0

    def merge(self, other: Statistics) -> None:
        """Add the counts of other samples."""
        self.samples += other.samples
        self.text_units += other.text_units
        self._distinct.update(other._distinct)
        for name, units in other.term_units.items():
            self.term_units[name] += units
        for mine, theirs in (
            (self.categories, other.categories),
            (self.sentiments, other.sentiments),
            (self.explicitness, other.explicitness),
            (self.quads_per_sample, other.quads_per_sample),
        ):
            mine.update(theirs)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, int | float]:
        """The figures by :data:`KEYS`; means have two decimals, 0.0 where there is nothing to average."""
        quads = self.categories.total()
        text_units, texts = self.text_units, self.samples
        if self.unit == "words":
            text_units, texts = sum(self._distinct.values()), len(self._distinct)
        with_aspect = self.explicitness["EA&EO"] + self.explicitness["EA&IO"]
        with_opinion = self.explicitness["EA&EO"] + self.explicitness["IA&EO"]
        return {
            "samples": self.samples,
            "quads": quads,
            "categories_level1": len({category_level1(category) for category in self.categories}),
            "categories": len(self.categories),
            "words_per_sample": _mean(text_units, texts),
            "quads_per_sample": _mean(quads, self.samples),
            "words_per_aspect": _mean(self.term_units["aspect"], with_aspect),
            "words_per_opinion": _mean(self.term_units["opinion"], with_opinion),
            **{name: self.explicitness[name] for name in EXPLICITNESS},
            **{name: self.sentiments[name] for name in SENTIMENTS},
        }


def measure(
    source: Source, *, on_reject: Callable[[Record], None] | None = None, progress: bool = False
) -> dict[str, Statistics]:
    """Count a source's samples by split; samples without a split stand under ``""``.

    Args:
        source: What to count.
        on_reject: Called with every line that cannot be read; by default the first one is an error.
        progress: Whether to show a bar.
    """
    unit = UNITS[source.language]
    splits: dict[str, Statistics] = {}
    with Progress("counting", source.size or None, "samples", progress) as bar:
        for split, batch in source.batches(on_reject):
            splits.setdefault(split or "", Statistics(unit)).add(batch)
            bar.advance(batch.num_rows)
    return splits


def describe(corpus: str, language: str, splits: Mapping[str, Statistics]) -> dict[str, Any]:
    """The JSON of ``asqp data stats``: the corpus as a whole, and each split."""
    unit = UNITS.get(language, "characters")
    return {
        "corpus": corpus,
        "language": language,
        "unit": unit,
        "all": merged(splits.values(), unit).to_dict(),
        "splits": {name: statistics.to_dict() for name, statistics in splits.items() if name},
    }


def merged(parts: Iterable[Statistics], unit: str) -> Statistics:
    """The statistics of several parts together."""
    whole = Statistics(unit)
    for part in parts:
        whole.merge(part)
    return whole


def beside_paper(corpus: Corpus, measured: Mapping[str, int | float]) -> list[dict[str, Any]]:
    """Each figure beside the paper's Table 1, with the reason where they disagree.

    Returns:
        ``{"key", "measured", "paper", "agrees", "note"}`` for each of :data:`KEYS`; ``paper`` is None where
        the paper has no such row, and ``agrees`` is None where it has none or prints a dash.
    """
    rows = []
    for key in KEYS:
        printed = corpus.paper.get(key)
        agrees = measured[key] == printed if isinstance(printed, int | float) else None
        note = corpus.paper_notes.get(key, "")
        if agrees is False and not note:
            note = (
                "Generated after the corpus's proportions, at another size."
                if corpus.synthetic
                else "Differs from the printed figure; no reason is known."
            )
        rows.append({"key": key, "measured": measured[key], "paper": printed, "agrees": agrees, "note": note})
    return rows


def _value_counts(array: Any) -> Counter[Any]:
    import pyarrow.compute as pc

    counted = pc.value_counts(array)
    return Counter(dict(zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True)))


def _mean(total: int, count: int) -> float:
    if not count:
        return 0.0
    return float((Decimal(total) / Decimal(count)).quantize(Decimal("0.01"), ROUND_HALF_UP))

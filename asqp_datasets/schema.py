"""What a sample is: a text and its quads.

A quad is (category, aspect, opinion, sentiment) with the character offsets of the aspect and of the
opinion. Offsets are code points into the untouched text, end exclusive, and
``text[start:end] == term`` holds for every span that has one. An implicit term is ``"NULL"`` at -1, -1;
a term whose place in the text is not known keeps its string, at -1, -1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from asqp_datasets.errors import DataError

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

NULL = "NULL"
"""The aspect or opinion that the text does not spell out."""

SENTIMENTS = ("NEG", "NEU", "POS")
"""Sentiment polarities, in the order of the raw formats' 0, 1, 2."""

QUAD_STRINGS = ("category", "aspect", "opinion", "sentiment")
QUAD_OFFSETS = ("aspect_start", "aspect_end", "opinion_start", "opinion_end")


class Quad(NamedTuple):
    """One annotation or prediction: four strings, and where two of them stand.

    Args:
        category: Two levels joined by ``#``, such as ``内饰#车载屏幕``.
        aspect: The term that the opinion is about, or ``NULL``.
        opinion: The term that carries the sentiment, or ``NULL``.
        sentiment: ``NEG``, ``NEU`` or ``POS``.
        aspect_start: Code point at which the aspect begins, -1 if implicit or unknown.
        aspect_end: Code point after the aspect, -1 if implicit or unknown.
        opinion_start: Code point at which the opinion begins, -1 if implicit or unknown.
        opinion_end: Code point after the opinion, -1 if implicit or unknown.
    """

    category: str
    aspect: str
    opinion: str
    sentiment: str
    aspect_start: int = -1
    aspect_end: int = -1
    opinion_start: int = -1
    opinion_end: int = -1

    @property
    def strings(self) -> tuple[str, str, str, str]:
        """The quad as it is scored: (category, aspect, opinion, sentiment)."""
        return self[:4]

    @property
    def explicitness(self) -> str:
        """``EA&EO``, ``EA&IO``, ``IA&EO`` or ``IA&IO`` (paper, Table 1)."""
        return f"{'I' if self.aspect == NULL else 'E'}A&{'I' if self.opinion == NULL else 'E'}O"


class Sample(NamedTuple):
    """A text and its quads, under an id that is unique in its dataset."""

    id: str
    text: str
    quads: list[Quad]

    def to_dict(self) -> dict[str, Any]:
        """The sample as a row of a dataset or a line of a prediction file."""
        return {"id": self.id, "text": self.text, "quads": [quad._asdict() for quad in self.quads]}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any], **where: Any) -> Sample:
        """Read a row back, checking every field.

        Args:
            row: ``{"id", "text", "quads": [{"category", …, "opinion_end"}]}``. Offsets may be missing
                (then -1); other keys are ignored.
            where: ``path`` and ``line`` for the message of an error.

        Raises:
            DataError: A field is missing or holds something else than its type allows.
        """
        for name in ("id", "text"):
            if not isinstance(row.get(name), str):
                raise DataError(f"found {_show(row, name)}, expected a string", field=name, **where)
        quads = row.get("quads")
        if not isinstance(quads, Iterable) or isinstance(quads, str | bytes | Mapping):
            raise DataError(f"found {_show(row, 'quads')}, expected a list of quads", field="quads", **where)
        return cls(row["id"], row["text"], [_quad_from_dict(q, i, where) for i, q in enumerate(quads)])


def _show(row: Mapping[str, Any], name: str) -> str:
    return f"{row[name]!r:.80}" if name in row else "nothing"


def _quad_from_dict(row: Any, index: int, where: dict[str, Any]) -> Quad:
    here = f"quads[{index}]"
    if not isinstance(row, Mapping):
        raise DataError(f"found {row!r:.80}, expected an object with {', '.join(QUAD_STRINGS)}", field=here, **where)
    row = {name: value for name, value in row.items() if value is not None or name not in QUAD_OFFSETS}
    for name in ("aspect", "opinion"):  # None and the empty string mean an implicit term; an empty span is neither
        if name in row and row[name] in (None, "") and row.get(f"{name}_start", -1) == -1:
            row[name] = NULL
    for name in QUAD_STRINGS:
        if not isinstance(row.get(name), str):
            raise DataError(f"found {_show(row, name)}, expected a string", field=f"{here}.{name}", **where)
    if row["sentiment"] not in SENTIMENTS:
        raise DataError(
            f"found {row['sentiment']!r:.80}, expected one of {', '.join(SENTIMENTS)}",
            field=f"{here}.sentiment",
            **where,
        )
    offsets = [row.get(name, -1) for name in QUAD_OFFSETS]
    for name, value in zip(QUAD_OFFSETS, offsets, strict=True):
        if not isinstance(value, int) or isinstance(value, bool):
            raise DataError(f"found {value!r:.80}, expected an integer", field=f"{here}.{name}", **where)
    return Quad(*(row[name] for name in QUAD_STRINGS), *offsets)


def arrow_schema() -> pa.Schema:
    """The Parquet schema of a dataset, with :func:`features` in its metadata as ``datasets`` puts it there.

    It is spelled out because importing ``datasets`` takes longer than most commands.
    """
    import pyarrow as pa

    strings = {name: {"dtype": "string", "_type": "Value"} for name in QUAD_STRINGS}
    offsets = {name: {"dtype": "int32", "_type": "Value"} for name in QUAD_OFFSETS}
    text = {"dtype": "string", "_type": "Value"}
    described = {"id": text, "text": text, "quads": {"feature": strings | offsets, "_type": "List"}}
    quad = pa.struct([(name, pa.string()) for name in QUAD_STRINGS] + [(name, pa.int32()) for name in QUAD_OFFSETS])
    metadata = {"huggingface": json.dumps({"info": {"features": described}})}
    return pa.schema([("id", pa.string()), ("text", pa.string()), ("quads", pa.list_(quad))], metadata)


def features() -> datasets.Features:
    """The ``datasets.Features`` of every dataset here: id, text, and the quads as a list of structs."""
    from datasets import Features, List, Value

    quad = {name: Value("string") for name in QUAD_STRINGS} | {name: Value("int32") for name in QUAD_OFFSETS}
    return Features({"id": Value("string"), "text": Value("string"), "quads": List(quad)})


def to_arrow(samples: Iterable[Sample], schema: pa.Schema) -> pa.RecordBatch:
    """Samples as columns: about ten times as fast as building the batch from dictionaries."""
    import pyarrow as pa

    ids: list[str] = []
    texts: list[str] = []
    ends = [0]
    quads: list[Quad] = []
    for sample in samples:
        ids.append(sample.id)
        texts.append(sample.text)
        quads.extend(sample.quads)
        ends.append(len(quads))
    struct = schema.field("quads").type.value_type
    columns: Iterable[Any] = zip(*quads, strict=True) if quads else [()] * len(struct)
    children = [pa.array(c, type=struct.field(i).type) for i, c in enumerate(columns)]
    values = pa.StructArray.from_arrays(children, fields=list(struct))
    lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values, type=schema.field("quads").type)
    return pa.RecordBatch.from_arrays([pa.array(ids, pa.string()), pa.array(texts, pa.string()), lists], schema=schema)


def from_arrow(batch: pa.RecordBatch | pa.Table) -> Iterator[Sample]:
    """The samples of a batch with the columns of :func:`arrow_schema`."""
    columns = [batch.column(name) for name in ("id", "text", "quads")]
    ids, texts = columns[0].to_pylist(), columns[1].to_pylist()
    row = 0
    for chunk in columns[2].chunks if hasattr(columns[2], "chunks") else [columns[2]]:
        values = chunk.flatten()
        quads = list(map(Quad, *(values.field(name).to_pylist() for name in Quad._fields)))
        start = 0
        for size in chunk.value_lengths().to_pylist():
            yield Sample(ids[row], texts[row], quads[start : start + size])
            row, start = row + 1, start + size

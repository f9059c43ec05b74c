"""The score of aspect sentiment quad prediction as a module of the `evaluate` library.

`evaluate` copies this file and the helpers that it imports by `from .name import`; all are imported here.
"""

from __future__ import annotations

from typing import Any

import datasets
import evaluate
import pyarrow as pa

from .errors import find_errors
from .inputs import ELEMENTS, Encoded, Quads, ScoreError, encode
from .measures import Options, natural
from .relaxed import near
from .scoring import score
from .significance import compare
from .strict import SUBTASKS, category_level1

__all__ = ["SUBTASKS", "AsqpF1", "ScoreError", "category_level1", "compare", "find_errors", "near", "score"]

_CITATION = """\
@inproceedings{asqp_benchmark,
  title = {An Empirical Study of Benchmarking Chinese Aspect Sentiment Quad Prediction},
}
"""

_DESCRIPTION = """\
Precision, recall and F1 of aspect sentiment quad prediction. Strict: a predicted quad (category, aspect,
opinion, sentiment) is right if it equals a gold quad of the same sample, each gold quad counting once.
Relaxed: aspect, opinion and sentiment, within an edit distance, under a one-to-one matching. On request:
breakdowns, sub-tasks, error analysis, intervals, and the counting of two published scorers.
"""

_INPUTS = """
Args:
    predictions: One list of quads for each sample; a quad is a dict with the strings category, aspect,
        opinion and sentiment (NEG, NEU or POS), or a list of these four. Other keys are ignored. An implicit
        aspect or opinion is "NULL".
    references: The gold quads of the same samples, in the same form.
    thresholds: Edit distances of the relaxed scores. Default (0, 2).
    matching: "one_to_one" (default) or "any".
    protocol: None (default), "absa-quad" or "acos".
    normalize: None (default) or "nfkc".
    breakdown, subtasks, errors: What to add to the result. Default False.
    bootstrap, seed: Resamples of the 95% intervals, default 0 for none, and their seed.
    zero_division: Value of a fraction whose denominator is zero. Default 0.0.
Returns:
    precision, recall, f1, tp, predicted, gold, samples, signature;
    aos_exact_f1, aos_d0_f1, quad_d0_f1, aos_d2_f1, quad_d2_f1, with precision, recall and tp alike;
    and what was asked for.
Raises:
    ScoreError: A ValueError that says which sample and quad cannot be scored.
Examples:
    >>> metric = evaluate.load("asqp_f1")
    >>> gold = [[["内饰#车载屏幕", "屏幕", "不大", "NEG"]]]
    >>> predicted = [[["内饰#车载屏幕", "屏幕不", "大", "NEG"]]]
    >>> result = metric.compute(predictions=predicted, references=gold)
    >>> result["f1"], result["aos_d0_f1"]
    (0.0, 1.0)
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class AsqpF1(evaluate.Metric):  # type: ignore[misc]
    """:func:`score` as a metric: the same keywords, the same result."""

    def _info(self) -> evaluate.MetricInfo:
        quad = {name: datasets.Value("string") for name in ELEMENTS}
        info = evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": [quad], "references": [quad]}),
        )
        # Columns reach `_compute` as Arrow. The constructor knows of formats for flat features only.
        info.format = "arrow"
        return info

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any] | None:
        """Score what was added, and what is given. Only what comes in batches is written to Arrow files."""
        _check(**options)
        if predictions is not None or references is not None:
            if self.writer is None and self.num_process == 1:
                return score(predictions, references, **options)
            self.add_batch(predictions=predictions, references=references)
        result: dict[str, Any] | None = super().compute(**options)
        return result

    def add_batch(self, *, predictions: Any = None, references: Any = None, **unknown: Any) -> None:
        """Add samples, in any form that :func:`score` takes."""
        if unknown:
            raise ScoreError("predictions and references", sorted(unknown), field="inputs")
        data = encode(predictions, references, unparsable=(True, True))
        table = pa.table({side: _to_arrow(data, getattr(data, side), side) for side in ("predictions", "references")})
        if self.writer is None:
            self.selected_feature_format = self.features
            self._init_writer()
        self.writer.write_table(table)

    def add(self, *, prediction: Any = None, reference: Any = None, **both: Any) -> None:
        """Add one sample: its predicted and its gold quads."""
        # `evaluate.combine` passes plural names.
        prediction, reference = both.get("predictions", prediction), both.get("references", reference)
        data = encode([prediction], [reference], unparsable=(True, True))
        sides = {side: _to_arrow(data, getattr(data, side), side) for side in ("predictions", "references")}
        super().add(**{side[:-1]: array[0].as_py() for side, array in sides.items()})

    def _compute(self, *, predictions: Any, references: Any, **options: Any) -> dict[str, Any]:
        return score(predictions, references, **options)


def _check(
    *,
    bootstrap: Any = 0,
    seed: Any = 0,
    breakdown: bool = False,
    subtasks: bool = False,
    errors: bool = False,
    **options: Any,
) -> None:
    """Complain about options before anything is written or taken out."""
    Options(**options)
    natural(bootstrap, "bootstrap")
    natural(seed, "seed")


def _to_arrow(data: Encoded, quads: Quads, side: str) -> Any:
    vocabularies = {
        "category": data.categories,
        "aspect": data.terms,
        "opinion": data.terms,
        "sentiment": ["NEG", "NEU", "POS", ""],
    }
    try:
        strings = {name: pa.array(values, pa.string()) for name, values in vocabularies.items()}
    except UnicodeEncodeError as error:
        raise ScoreError("text without lone surrogates", error.object, side=side) from None
    columns = [values.take(pa.array(getattr(quads, name))) for name, values in strings.items()]
    struct = pa.StructArray.from_arrays(columns, names=list(vocabularies))
    return pa.ListArray.from_arrays(pa.array([0, *quads.counts.cumsum().tolist()], pa.int32()), struct)

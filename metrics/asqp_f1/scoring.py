"""The score of aspect sentiment quad prediction, as one function of predictions and gold quads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .errors import summary
from .measures import Options, count, natural, scores
from .significance import interval
from .strict import breakdown as breakdown_counts
from .strict import subtasks as subtask_counts


def score(
    predictions: Any,
    references: Any,
    *,
    thresholds: Iterable[int] = (0, 2),
    matching: str = "one_to_one",
    protocol: str | None = None,
    normalize: str | None = None,
    breakdown: bool = False,
    subtasks: bool = False,
    errors: bool = False,
    bootstrap: int = 0,
    seed: int = 0,
    zero_division: float = 0.0,
) -> dict[str, Any]:
    """Score predicted quads against gold quads; the definitions are in this package's README.

    Args:
        predictions: One list of quads for each sample; either list may be empty. A quad is four strings
            (category, aspect, opinion, sentiment) or a dict or named tuple with these names, of which
            anything else, such as offsets, is ignored. Sentiment is ``NEG``, ``NEU`` or ``POS``; an implicit
            aspect or opinion is ``NULL``, ``None`` or the empty string. The outer list may be a pandas
            Series, a numpy array, a ``datasets`` column or an Arrow array of ``list<struct>``.
        references: The gold quads of the same samples in the same order.
        thresholds: Largest edit distances, in code points, of a relaxed match; the paper takes 0 and 2 for
            Chinese, 0 and 5 for English (Table 3).
        matching: ``"one_to_one"`` takes a maximum-cardinality matching of predictions and golds in each
            sample; ``"any"`` takes a prediction as right if any gold quad is near, and a gold quad as
            found if any prediction is.
        protocol: ``"absa-quad"`` or ``"acos"``: count whole quads as the original scorers of Zhang et al.
            (EMNLP 2021) and Cai et al. (ACL 2021) do. An output that could not be read is then a quad of
            four empty strings; without a protocol, leave it out.
        normalize: ``"nfkc"`` compares NFKC- and case-folded text with runs of white space made one.
        breakdown: Whether to add ``by_implicitness``, ``by_category``, ``by_category_level1``,
            ``by_sentiment`` and ``by_quads_per_sample``.
        subtasks: Whether to add ``subtasks``, over the distinct sub-tuples of each sample.
        errors: Whether to add ``errors`` (paper, Figure 3).
        bootstrap: Number of resamples of ``interval``, the 95% percentile intervals; 0 for none.
        seed: Seed of the resamples.
        zero_division: Value of a fraction whose denominator is zero.

    Returns:
        Plain numbers and strings: ``precision``, ``recall``, ``f1`` as fractions in [0, 1], ``tp``,
        ``predicted``, ``gold`` (strict, micro-averaged; paper, Table 2), ``samples``, ``signature``;
        ``aos_exact_…``, ``aos_d{t}_…`` and ``quad_d{t}_…`` with ``precision``, ``recall``, ``f1`` and ``tp``
        each, and ``tp_gold``, the numerator of recall, with ``matching="any"``; and what was asked for.

    Raises:
        ScoreError: The input or an option is not as described; the message says where.

    Example:
        >>> gold = [[("内饰#内饰整体", "内饰", "差", "NEG"), ("内饰#车载屏幕", "屏幕", "不大", "NEG")]]
        >>> predicted = [[("内饰#内饰整体", "内饰", "差", "NEG"), ("内饰#车载屏幕", "屏幕不", "大", "NEG")]]
        >>> result = score(predicted, gold)
        >>> result["f1"], result["aos_exact_f1"], result["aos_d0_f1"]
        (0.5, 0.5, 1.0)
    """
    options = Options(thresholds, matching, protocol, normalize, zero_division)  # type: ignore[arg-type]
    bootstrap, seed = natural(bootstrap, "bootstrap"), natural(seed, "seed")
    data = options.encode(predictions, references)
    counted = count(data, options)
    zero = options.zero_division

    result: dict[str, Any] = {}
    for prefix, tally in counted.tallies.items():
        totals = (int(column.sum()) for column in tally)
        right, found, predicted, gold = totals
        values = scores(right, found, predicted, gold, zero)
        if not prefix:
            result |= values | {"samples": data.samples, "signature": options.signature}
            continue
        result |= {f"{prefix}{name}": values[name] for name in ("precision", "recall", "f1", "tp")}
        if options.matching == "any" and prefix != "aos_exact_":
            result[f"{prefix}tp_gold"] = found

    tables = breakdown_counts(data, counted.right, protocol) if breakdown else {}
    if subtasks:
        tables["subtasks"] = subtask_counts(data, protocol)
    for name, table in tables.items():
        result[name] = {group: scores(tp, tp, p, g, zero) for group, (tp, p, g) in table.items()}
    if errors:
        result["errors"] = summary(data, counted.right, counted.found)
    if bootstrap:
        result["interval"] = {
            f"{prefix}f1": interval(tally, bootstrap, seed, zero) for prefix, tally in counted.tallies.items()
        }
    return result

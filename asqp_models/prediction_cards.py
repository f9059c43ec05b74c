"""The card of a dataset repository that holds predictions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from asqp_datasets.card_text import front_matter, template
from asqp_datasets.cards import size_category
from asqp_datasets.errors import DataError, UsageError
from asqp_models.card_parts import check_licence, check_repo_id, score_row
from asqp_models.evaluation import measures

_META = ("error", "method", "model", "scores", "version")
_SCORES = ("precision", "recall", "f1", "tp", "predicted", "gold", "samples", "signature")
_PATH = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./")


class _Counted(NamedTuple):
    rows: int
    quads: int
    errors: int
    keys: list[str]
    said: dict[str, list[str]]


def predictions_card(repo_id: str, *, predictions: Path, facts: Mapping[str, Any]) -> str:
    """The README.md of a dataset repository that holds a prediction file.

    Args:
        repo_id: The repository on the Hub, ``namespace/name``.
        predictions: The file, JSON Lines or Parquet, as ``asqp predict`` writes it; it is counted.
        facts: What the file does not say, each of it optional: ``path``, where the file stands in the repository
            (default: its name); ``split``, as what it is loaded (``test``); ``corpus``, what was predicted;
            ``language``, ``zh`` or ``en``; ``synthetic``, whether the texts are generated (False); ``licence`` of the
            texts as the Hub names it; ``gold``, the name of the gold quads (``corpus``), and ``scores`` against them,
            as :func:`asqp_f1.score` returns them; ``options``, a mapping of what else was chosen, as a threshold. Other
            keys are not looked at.

    Raises:
        UsageError: The id, the path, the split or the licence is none.
        DataError: The file is no prediction file.
    """
    check_repo_id(repo_id)
    check_licence(facts.get("licence"))
    path, split = str(facts.get("path") or predictions.name), str(facts.get("split") or "test")
    if not set(path) <= _PATH or path.startswith("/") or ".." in path.split("/"):
        raise UsageError(f"path: found {path!r:.100}, expected one of letters, digits, '_', '-', '.' and '/'")
    if not split.isidentifier() or not split.isascii():
        raise UsageError(f"split: found {split!r:.60}, expected a name such as test")
    counted = _count(predictions)
    corpus, scores = facts.get("corpus"), facts.get("scores") or {}
    synthetic = facts.get("synthetic") is True
    title = f"Predicted quads of {corpus}" if corpus else "Predicted quads"
    made = [("corpus", corpus), ("split", split), *((key, ", ".join(counted.said[key])) for key in counted.said)]
    made += [("rows", counted.rows), ("quads", counted.quads), ("rows that could not be read", counted.errors)]
    made += [(key, value) for key, value in (facts.get("options") or {}).items()]
    body = template("predictions.md.j2").render(
        title=title,
        repo=repo_id,
        split=split,
        synthetic=synthetic,
        made=[(key, value) for key, value in made if value is not None],
        keys=counted.keys,
        has_scores="scores" in counted.keys,
        errors=counted.errors,
        gold=facts.get("gold") or corpus or "the input",
        samples=scores.get("samples"),
        signature=scores.get("signature"),
        measures=[score_row(name, scores, prefix=key) for key, name in measures(scores).items()] if scores else [],
        licence=facts.get("licence"),
        upstream="",
    )
    licence = facts.get("licence") or ("apache-2.0" if synthetic else None)
    data = {
        "language": [facts["language"]] if facts.get("language") else None,
        "license": licence or "other",
        "license_name": None if licence else "not-stated",
        "pretty_name": title,
        "size_categories": [size_category(counted.rows)],
        "task_categories": ["text-classification", "token-classification"],
        "annotations_creators": ["machine-generated"],
        "tags": ["aspect-sentiment-quad-prediction", "asqp", "predictions", *(["synthetic"] if synthetic else [])],
        "configs": [{"config_name": "default", "data_files": [{"split": split, "path": path}]}],
        "dataset_info": None if path.endswith(".parquet") else _info(counted),
        "asqp": {
            "predictions": {"models": counted.said.get("model", []), "rows": counted.rows, "quads": counted.quads},
            "corpus": corpus,
            "synthetic": synthetic,
            "scores": {key: scores[key] for key in _SCORES if key in scores} or None,
        },
    }
    return front_matter({key: value for key, value in data.items() if value is not None}) + body


def _info(counted: _Counted) -> dict[str, Any] | None:
    """The features, as lines of JSON with nothing but nulls do not tell them; None if meta is another's."""
    if counted.keys != sorted(_META):
        return None
    from datasets import Features, List, Value

    from asqp_datasets.schema import features

    strings = {name: Value("string") for name in ("model", "method", "version", "error")}
    columns = Features({**features(), "meta": strings | {"scores": List(Value("float64"))}})
    return {"features": columns._to_yaml_list()}


def _count(path: Path) -> _Counted:
    rows = quads = errors = 0
    keys: set[str] = set()
    said: dict[str, Counter[str]] = {"model": Counter(), "method": Counter(), "version": Counter()}
    for number, (found, meta) in enumerate(_rows(path), 1):
        if not isinstance(found, list) or not isinstance(meta, dict):
            message = "found a row without quads and meta, expected one of a prediction file"
            raise DataError(message, path=path, line=number)
        rows, quads, errors = rows + 1, quads + len(found), errors + (meta.get("error") is not None)
        keys |= set(meta)
        for key, counter in said.items():
            if meta.get(key) is not None:
                counter[str(meta[key])] += 1
    if not rows:
        raise DataError("found no rows, expected predictions", path=path)
    return _Counted(rows, quads, errors, sorted(keys), {key: sorted(each) for key, each in said.items() if each})


def _rows(path: Path) -> Iterator[tuple[Any, Any]]:
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(1_000, columns=["quads", "meta"]):
                    yield from zip(batch.column("quads").to_pylist(), batch.column("meta").to_pylist(), strict=True)
        else:
            with path.open(encoding="utf-8") as lines:
                for line in lines:
                    row = json.loads(line)
                    yield row["quads"], row["meta"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"cannot be read ({type(error).__name__}), expected a prediction file", path=path) from None

"""The forms that input may have, and what is said of input that cannot be scored."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from collections import OrderedDict, namedtuple
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from asqp_f1 import ScoreError, compare, score

A = ("内饰#内饰整体", "内饰", "差", "NEG")
B = ("food#quality", "NULL", "great", "POS")
CORPUS = [[A, B], [], [B]]
NAMES = ("category", "aspect", "opinion", "sentiment")
Quad = namedtuple("Quad", [*NAMES, "aspect_start", "aspect_end", "opinion_start", "opinion_end"])
EXPECTED = score([[B], [A], [B]], CORPUS, breakdown=True)


def dicts(corpus: Any = CORPUS, **more: Any) -> list[list[dict[str, Any]]]:
    return [[dict(zip(NAMES, quad, strict=True), **more) for quad in quads] for quads in corpus]


SCHEMA = pa.list_(pa.struct([*((name, pa.string()) for name in NAMES), ("aspect_start", pa.int32())]))
ARROW = pa.array(dicts(aspect_start=3), SCHEMA)
DATASET = datasets.Dataset.from_dict({"text": ["x", "y", "z"], "quads": dicts(aspect_start=3)})
FORMS: dict[str, Any] = {
    "tuples": CORPUS,
    "lists": [[list(quad) for quad in quads] for quads in CORPUS],
    "dicts": dicts(),
    "dicts with offsets": dicts(aspect_start=3, meta=None),
    "other mappings": [[OrderedDict(quad) for quad in quads] for quads in dicts()],
    "named tuples": [[Quad(*quad, 0, 1, 2, 3) for quad in quads] for quads in CORPUS],
    "forms mixed": [[Quad(*A, 0, 1, 2, 3), list(B)], (), [dict(zip(NAMES, B, strict=True))]],
    "tuple of tuples": tuple(map(tuple, CORPUS)),
    "generators": (iter(quads) for quads in CORPUS),
    "None for implicit": [[A, ("food#quality", None, "great", "POS")], [], [("food#quality", "", "great", "POS")]],
    "numpy strings": [[tuple(map(np.str_, quad)) for quad in quads] for quads in CORPUS],
    "numpy of lists": np.array([*CORPUS, None], object)[:3],
    "numpy of numpy": np.array([*(np.array(quads, object) for quads in CORPUS), None], object)[:3],
    "numpy of dicts": np.array([*(np.array(quads) for quads in dicts()), None], object)[:3],
    "pandas": pd.Series(CORPUS),
    "pandas of dicts, other index": pd.Series(dicts(), index=[7, 8, 9]),
    "pandas from parquet": pd.DataFrame({"q": dicts()})["q"].map(np.array),
    "arrow": ARROW,
    "arrow, large": pa.array(dicts(), pa.large_list(pa.struct([(name, pa.large_string()) for name in NAMES]))),
    "arrow, sliced": pa.concat_arrays([pa.array(dicts([[A] * 3]), SCHEMA), ARROW, ARROW])[1:4],
    "arrow, chunks": pa.chunked_array([ARROW[:1], ARROW[1:1], ARROW[1:]]),
    "arrow, null terms": pa.array(dicts([[A, ("food#quality", None, "great", "POS")], [], [B]]), SCHEMA),
    "arrow of lists": pa.array([[list(quad) for quad in quads] for quads in CORPUS]),
    "arrow, other order": pa.array([[dict(reversed(quad.items())) for quad in quads] for quads in dicts()]),
    "pandas of arrow": pd.Series(ARROW, dtype=pd.ArrowDtype(SCHEMA)),
    "datasets column": DATASET["quads"],
    "datasets list": DATASET[:]["quads"],
    "datasets, picked": DATASET.select([2, 1, 0]).select([2, 1, 0])["quads"],
    "datasets as numpy": DATASET.with_format("numpy")["quads"],
    "datasets as arrow": DATASET.with_format("arrow")["quads"],
    "datasets as pandas": DATASET.with_format("pandas")[:]["quads"],
}


@pytest.mark.parametrize("form", FORMS)
def test_form(form: str) -> None:
    corpus = FORMS[form]
    corpus = list(map(list, corpus)) if form == "generators" else corpus
    assert score([[B], [A], [B]], corpus, breakdown=True) == EXPECTED
    assert score(corpus, CORPUS, zero_division=1.0)["f1"] == 1.0


def test_a_generator_of_samples() -> None:
    assert score(iter([[B], [A], [B]]), (quads for quads in CORPUS), breakdown=True) == EXPECTED


def test_empty_columns() -> None:
    for empty in (
        [],
        (),
        pa.array([], SCHEMA),
        pa.chunked_array([], SCHEMA),
        pd.Series([], dtype=object),
        np.array([]),
    ):
        assert score(empty, [])["samples"] == 0
    for nothing in (pa.array([[], []]), pa.array([[], []], SCHEMA), [(), np.array([])]):
        assert score(nothing, [[A], [B]])["predicted"] == 0


def bad_quad(quad: Any, side: str = "predictions") -> Any:
    good, bad = [[A], [A, B]], [[A], [B, quad]]
    return (bad, good) if side == "predictions" else (good, bad)


PLACE = "predictions, sample 1, quad 1"
BAD_QUADS: dict[str, tuple[Any, str]] = {
    "three": (A[:3], f"{PLACE}: found ('内饰#内饰整体', '内饰', '差'), expected a quad: four strings"),
    "five": ((*A, "x"), f"{PLACE}: found"),
    "empty": ((), f"{PLACE}: found (), expected a quad"),
    "a string of four letters": ("abcd", f"{PLACE}: found 'abcd', expected a quad"),
    "bytes": (b"abcd", f"{PLACE}: found b'abcd', expected a quad"),
    "None": (None, f"{PLACE}: found None, expected a quad"),
    "NaN": (math.nan, f"{PLACE}: found nan, expected a quad"),
    "a set": (set(A), f"{PLACE}: found {{"),
    "sentiment": ((*A[:3], "BAD"), f"{PLACE}, sentiment: found 'BAD', expected one of NEG, NEU, POS"),
    "sentiment in lower case": ((*A[:3], "neg"), f"{PLACE}, sentiment: found 'neg'"),
    "sentiment as a class": ((*A[:3], 2), f"{PLACE}, sentiment: found 2, expected one of"),
    "sentiment missing": ((*A[:3], None), f"{PLACE}, sentiment: found None"),
    "unparsable": (("", "", "", ""), f"{PLACE}, sentiment: found '', expected one of NEG, NEU, POS (four empty"),
    "sentiment left empty": ((*A[:3], ""), f"{PLACE}, sentiment: found ''"),
    "number": (("c", 3, "o", "NEG"), f"{PLACE}, aspect: found 3, expected a string, or None"),
    "number that equals an index": (("c", 0, "o", "NEG"), f"{PLACE}, aspect: found 0"),
    "not a number": (("c", "a", math.nan, "NEG"), f"{PLACE}, opinion: found nan, expected a string, or None"),
    "pandas NA": (("c", "a", pd.NA, "NEG"), f"{PLACE}, opinion: found <NA>"),
    "bytes for a string": ((b"c", "a", "o", "NEG"), f"{PLACE}, category: found b'c', expected a string"),
    "no category": ((None, "a", "o", "NEG"), f"{PLACE}, category: found None, expected a string"),
    "a list for a string": (("c", ["a"], "o", "NEG"), f"{PLACE}, aspect: found ['a'], expected a string, or None"),
    "a tuple for a string": (("c", (["a"],), "o", "NEG"), f"{PLACE}, aspect: found (['a'],), expected a string"),
    "bool": (("c", True, "o", "NEG"), f"{PLACE}, aspect: found True"),
    "a key missing": (
        {"category": "c", "aspect": "a", "sentiment": "NEG"},
        f"{PLACE}, opinion: found {{'category': 'c', 'aspect': 'a', 'sentiment': 'NEG'}}, expected a dict with",
    ),
    "a number in a dict": (
        {"category": "c", "aspect": 1.5, "opinion": "o", "sentiment": "NEG"},
        f"{PLACE}, aspect: found 1.5",
    ),
}


@pytest.mark.parametrize("name", BAD_QUADS)
def test_bad_quad(name: str) -> None:
    quad, message = BAD_QUADS[name]
    with pytest.raises(ScoreError) as caught:
        score(*bad_quad(quad))
    assert str(caught.value).startswith(message)
    assert (caught.value.sample, caught.value.quad) == (1, 1)
    with pytest.raises(ScoreError, match=r"^references, sample 1, quad 1"):
        score(*bad_quad(quad, "references"))


def test_bad_quad_among_dicts() -> None:
    rows = dicts([[A], [B, A]])
    del rows[1][1]["opinion"]
    with pytest.raises(ScoreError, match=r"^predictions, sample 1, quad 1, opinion: found .*, expected a dict with"):
        score(rows, [[A], [A]])


BAD_SAMPLES: dict[str, tuple[Any, str]] = {
    "None": (None, "predictions: found None, expected a list of samples"),
    "a string": ("quads", "predictions: found 'quads', expected a list of samples"),
    "bytes": (b"quads", "predictions: found b'quads'"),
    "a dict": ({"quads": []}, "predictions: found {'quads': []}"),
    "a number": (3, "predictions: found 3, expected a list of samples"),
    "a string for a list": ([[A], "quads"], "predictions, sample 1: found 'quads', expected a list of quads"),
    "None for a list": ([[A], None], "predictions, sample 1: found None, expected a list of quads"),
    "NaN for a list": (pd.Series([[A], math.nan]), "predictions, sample 1: found nan"),
    "a row for a list": ([[A], {"id": "1", "quads": []}], "predictions, sample 1: found {'id'"),
    "one sample": ([A, B], "predictions, sample 0, quad 0: found '内饰#内饰整体', expected a quad"),
    "one quad": (A, "predictions, sample 0: found '内饰#内饰整体', expected a list of quads"),
    "columns of lists": ([{"category": ["c"]}, []], "predictions, sample 0: found {'category': ['c']}"),
    "a data frame": (pd.DataFrame({"quads": [[A], [B]]}), "predictions, sample 0: found 'quads'"),
    "a dataset": (DATASET, "predictions, sample 0: found {'text'"),
    "too few": ([[A]], "predictions: found 1, expected as many samples as there are references (2)"),
    "too many": ([[A]] * 3, "predictions: found 3, expected as many samples"),
    "arrow, a null list": (pa.array([dicts()[0], None], SCHEMA), "predictions, sample 1: found None"),
    "arrow, a null quad": (pa.array([[], [None]], SCHEMA), "predictions, sample 1, quad 0: found None"),
    "arrow, a null category": (
        pa.array(dicts([[A], [B, (None, "a", "o", "POS")]]), SCHEMA),
        "predictions, sample 1, quad 1, category: found None, expected a string",
    ),
    "arrow, a sentiment": (
        pa.chunked_array([pa.array(dicts([[A]])), pa.array(dicts([[B, (*A[:3], "BAD")]]))]),
        "predictions, sample 1, quad 1, sentiment: found 'BAD', expected one of",
    ),
    "arrow, classes": (
        pa.array(dicts([[A], [(*A[:3], 2)]])[1:] * 2),
        "predictions, sample 0, quad 0, sentiment: found 2",
    ),
    "arrow, a field missing": (pa.array([[{"category": "c"}]] * 2), "predictions, sample 0, quad 0, aspect: found"),
    "arrow, strings": (pa.array(["a", "b"]), "predictions, sample 0: found 'a', expected a list of quads"),
}


@pytest.mark.parametrize("name", BAD_SAMPLES)
def test_bad_samples(name: str) -> None:
    samples, message = BAD_SAMPLES[name]
    with pytest.raises(ScoreError) as caught:
        score(samples, [[A], [B]])
    assert str(caught.value).startswith(message)


BAD_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"thresholds": (0, -1)}, "thresholds: found -1, expected an integer of at least 0"),
    ({"thresholds": (1.5,)}, "thresholds: found 1.5"),
    ({"thresholds": ("2",)}, "thresholds: found '2'"),
    ({"thresholds": (True,)}, "thresholds: found True"),
    ({"thresholds": 2}, "thresholds: found 2, expected a list of non-negative integers"),
    ({"thresholds": "02"}, "thresholds: found '02'"),
    ({"matching": "greedy"}, "matching: found 'greedy', expected one of 'one_to_one', 'any'"),
    ({"matching": None}, "matching: found None"),
    ({"protocol": "paraphrase"}, "protocol: found 'paraphrase', expected one of None, 'absa-quad', 'acos'"),
    ({"protocol": ["acos"]}, "protocol: found ['acos']"),
    ({"normalize": True}, "normalize: found True, expected one of None, 'nfkc'"),
    ({"zero_division": math.nan}, "zero_division: found nan, expected a number from 0 to 1"),
    ({"zero_division": "warn"}, "zero_division: found 'warn'"),
    ({"bootstrap": -1}, "bootstrap: found -1"),
    ({"seed": 1.0}, "seed: found 1.0"),
]


@pytest.mark.parametrize(("option", "message"), BAD_OPTIONS)
def test_bad_option(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ScoreError) as caught:
        score([[A]], [[A]], **option)
    assert str(caught.value).startswith(message)


def test_options_of_other_number_types() -> None:
    result = score([[A]], [[A]], thresholds=np.array([2, 0, 2]), zero_division=1)
    assert [key for key in result if key.endswith("_tp")] == [
        *("aos_exact_tp", "aos_d2_tp", "quad_d2_tp", "aos_d0_tp", "quad_d0_tp")
    ]


def test_unparsable_gold_is_for_absa_quad_alone() -> None:
    marker = [[("", "", "", "")]]
    with pytest.raises(ScoreError, match=r"^references, sample 0, quad 0, sentiment: found ''"):
        score(marker, marker, protocol="acos")
    with pytest.raises(ScoreError, match=r"^predictions, sample 0, quad 0, sentiment: found ''"):
        score([[("", "a", "", "")]], [[A]], protocol="absa-quad")
    with pytest.raises(ScoreError, match=r"^predictions, sample 0, quad 0, sentiment: found ''"):
        score([[("c", "", "", "")]], [[A]], protocol="absa-quad")


def test_the_error_can_name_the_sample() -> None:
    with pytest.raises(ScoreError) as caught:
        score([[A], [A[:3]]], [[A], [A]])
    error = caught.value
    assert isinstance(error, ValueError)
    assert (error.side, error.sample, error.quad, error.field) == ("predictions", 1, 0, None)
    error.id = "car-17"
    assert str(error).startswith("predictions, sample 1 (car-17), quad 0: found (")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_long_values_are_cut() -> None:
    with pytest.raises(ScoreError) as caught:
        score(["x" * 10_000], [[A]])
    assert len(str(caught.value)) < 200


def test_compare_checks_too() -> None:
    with pytest.raises(ScoreError, match=r"^measure: found 'f2'"):
        compare([[A]], [[A]], [[A]], measure="f2")
    with pytest.raises(ScoreError, match=r"^measure: found None"):
        compare([[A]], [[A]], [[A]], measure=None)  # type: ignore[arg-type]
    with pytest.raises(ScoreError, match=r"^resamples: found 0, expected an integer of at least 1"):
        compare([[A]], [[A]], [[A]], resamples=0)
    with pytest.raises(ScoreError, match=r"^predictions: found 2, expected as many"):
        compare([[A]], [[A], [B]], [[A]])


def test_importing_is_light() -> None:
    code = (
        "import sys, asqp_f1; assert not {'numpy', 'scipy', 'evaluate', 'pyarrow'} & set(sys.modules);"
        "asqp_f1.score([[('c', 'a', 'o', 'POS')]], [[]]); assert not {'scipy', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_very_deep_is_named_not_a_crash() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ScoreError, match="a very deep list"):
        score([[deep]], [[]])


def test_references_from_a_generator_are_read_for_both_systems() -> None:
    quad = ("a#b", "x", "y", "POS")
    result = compare([[quad], []], [[], [quad]], ([quad] for _ in range(2)))
    assert (result["a"], result["b"], result["samples"]) == (2 / 3, 2 / 3, 2)
    with pytest.raises(ScoreError, match="aos_d"):
        compare([[quad]], [[quad]], [[quad]], measure="aos_d" + "9" * 5000 + "_f1")

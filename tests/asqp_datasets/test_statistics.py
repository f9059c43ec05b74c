"""The paper's Table 1, on samples counted by hand and on the real corpora."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asqp_datasets import Quad, Sample
from asqp_datasets.corpora import CORPORA
from asqp_datasets.schema import arrow_schema, to_arrow
from asqp_datasets.statistics import KEYS, Statistics, beside_paper, describe, merged
from tests.conftest import Asqp

# Counted by hand. Words: "a b c" has 3; "new phone" 2; "very very good" 3.
ENGLISH = [
    Sample(
        "1",
        "a b c",
        [
            Quad("FOOD#QUALITY", "new phone", "very very good", "POS"),
            Quad("FOOD#PRICES", "NULL", "good", "NEG"),
            Quad("FOOD#PRICES", "NULL", "good", "NEG"),  # a copy counts
        ],
    ),
    Sample("2", "a b c", []),  # the same text: once in words per sample
    Sample("3", "one two three four", [Quad("food quality", "x", "NULL", "NEU"), Quad("X", "NULL", "NULL", "POS")]),
]


def count(samples: list[Sample], unit: str) -> dict[str, int | float]:
    statistics = Statistics(unit)
    statistics.add(to_arrow(samples, arrow_schema()))
    return statistics.to_dict()


def test_words_counted_by_hand() -> None:
    assert count(ENGLISH, "words") == {
        "samples": 3,
        "quads": 5,
        "categories_level1": 3,  # FOOD, food, X
        "categories": 4,
        "words_per_sample": 3.5,  # (3 + 4) / 2 distinct texts
        "quads_per_sample": 1.67,  # 5 / 3
        "words_per_aspect": 1.5,  # (2 + 1) / 2
        "words_per_opinion": 1.67,  # (3 + 1 + 1) / 3
        "EA&EO": 1,
        "EA&IO": 1,
        "IA&EO": 2,
        "IA&IO": 1,
        "NEG": 2,
        "NEU": 1,
        "POS": 2,
    }


def test_characters_are_averaged_over_all_samples() -> None:
    samples = [
        Sample("1", "内饰差📱", [Quad("a#b", "内饰", "差", "NEG")]),
        Sample("2", "内饰差📱", []),
        Sample("3", "好", []),
    ]
    counted = count(samples, "characters")
    assert counted["words_per_sample"] == 3.0  # (4 + 4 + 1) / 3; an emoji is one code point
    assert counted["words_per_aspect"] == 2.0


def test_halves_are_rounded_up() -> None:
    # 1 / 8 = 0.125: two decimals of a binary float's repr would round it down to 0.12.
    samples = [Sample(str(i), "x", [Quad("a#b", "NULL", "NULL", "POS")] if not i else []) for i in range(8)]
    assert count(samples, "characters")["quads_per_sample"] == 0.13


def test_nothing_to_count() -> None:
    assert count([], "words") == dict.fromkeys(KEYS, 0)


def test_parts_add_up() -> None:
    parts = [Statistics("words"), Statistics("words")]
    for part, samples in zip(parts, (ENGLISH[:1], ENGLISH[1:]), strict=True):
        part.add(to_arrow(samples, arrow_schema()))
    assert merged(parts, "words").to_dict() == count(ENGLISH, "words")
    described = describe("c", "en", {"train": parts[0], "": parts[1]})
    assert list(described["splits"]) == ["train"]
    assert described["all"]["samples"] == 3


TABLE = {  # counted on the files by an independent reader
    "restaurant-acos": (2284, 3661, 6, 13, 15.11, 1.60, 1.46, 1.20, 2431, 350, 530, 350, 1007, 151, 2503),
    "laptop-acos": (4076, 5773, 23, 121, 15.73, 1.42, 1.40, 1.09, 3278, 1241, 912, 342, 1879, 316, 3578),
    "asqp-rest16": (2124, 3295, 6, 13, 14.51, 1.55, 1.45, 1.48, 2566, 0, 729, 0, 877, 125, 2293),
    "zh-food-beverage": (9570, 24973, 24, 138, 94.89, 2.61, 2.62, 2.08, 17407, 7566, 0, 0, 6778, 0, 18195),
}


@pytest.mark.parametrize("corpus", TABLE)
def test_real_corpora(corpus: str, raw_dir: Path, tmp_path: Path, asqp: Asqp) -> None:
    code, out, _ = asqp("data", "stats", corpus, "--json")
    assert code == 0
    described = json.loads(out)
    assert described["unit"] == ("characters" if corpus.startswith("zh") else "words")
    assert described["all"] == dict(zip(KEYS, TABLE[corpus], strict=True))
    assert sum(split["quads"] for split in described["splits"].values()) == described["all"]["quads"]
    assert list(described["splits"]) == ["train", "validation", "test"]
    assert asqp("data", "build", corpus, "--out", tmp_path / "set")[0] == 0
    assert json.loads(asqp("data", "stats", tmp_path / "set", "--json")[1]) == described


@pytest.mark.parametrize("corpus", ["restaurant-acos", "laptop-acos"])
def test_every_disagreement_with_the_paper_is_explained(corpus: str) -> None:
    measured = dict(zip(KEYS, TABLE[corpus], strict=True))
    rows = {row["key"]: row for row in beside_paper(CORPORA[corpus], measured)}
    differ = {key for key, row in rows.items() if row["agrees"] is False}
    assert (
        differ
        == {"restaurant-acos": {"samples", "categories_level1", "EA&EO", "IA&IO"}, "laptop-acos": {"EA&EO", "IA&IO"}}[
            corpus
        ]
    )
    assert all(rows[key]["note"] and "no reason" not in rows[key]["note"] for key in differ)
    assert rows["EA&EO"]["paper"] == TABLE[corpus][11]  # swapped with IA&IO in print
    assert "other way round" in rows["EA&EO"]["note"]


def test_the_papers_row_by_command(raw_dir: Path, asqp: Asqp) -> None:
    code, out, _ = asqp("data", "stats", "restaurant-acos", "--paper")
    assert code == 0
    assert "2286 matches no count" in out
    code, _, err = asqp("data", "stats", "asqp-rest16", "--paper")
    assert code == 2
    assert "expected a corpus of the paper's Table 1" in err

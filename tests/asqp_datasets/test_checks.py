"""Rules about the corpus as a whole, repairs, and what the checks find in the real corpora."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asqp_datasets import Quad, Sample, UsageError
from asqp_datasets.checks import RULES, Checker, parse_repairs, repair
from asqp_datasets.readers import Record
from tests.conftest import Asqp

GOOD = Quad("味道#味道", "味道", "好", "POS", 0, 2, 2, 3)


def check(samples: list[tuple[str, Sample]], language: str = "zh", parts: int = 1) -> dict[str, int]:
    records = [Record("f", line, split, sample) for line, (split, sample) in enumerate(samples, 1)]
    whole = Checker(language)
    size = -(-len(records) // parts)
    for start in range(0, len(records), size):
        part = Checker(language)
        part.add(records[start : start + size])
        whole.merge(part)
    return {finding.rule: finding.places for finding in whole.report("c").findings}


@pytest.mark.parametrize("parts", [1, 3])
def test_copies_within_and_across_splits(parts: int) -> None:
    text = "味道好，包装也很不错，下次还会再来买的，推荐给大家，物流也很快，客服态度也不错，总之非常满意"
    samples = [
        ("train", Sample("1", text, [GOOD])),
        ("train", Sample("2", text, [])),  # a copy with other quads, in the same split
        ("validation", Sample("3", text, [GOOD])),  # leakage
        ("test", Sample("4", text.replace("，", "!"), [GOOD])),  # the same letters
        ("test", Sample("5", text.replace("满意", "喜欢"), [GOOD])),  # nearly the same
        ("test", Sample("6", "味道好，和上面的没有任何关系", [GOOD])),
    ]
    found = check(samples, parts=parts)
    assert found["duplicate-text"] == 1
    assert found["duplicate-text-across-splits"] == 1
    assert found["folded-duplicate-text-across-splits"] == 1
    assert found["near-duplicate-text-across-splits"] == 1
    assert found["conflicting-copies"] == 1


def test_categories_and_ids() -> None:
    def one(name: str, category: str) -> Sample:
        return Sample(name, f"味道好，第{name}条不一样的评论内容", [GOOD._replace(category=category)])

    found = check(
        [
            ("train", one("1", "味道#综合")),
            ("train", one("2", "包装#综合")),  # 综合 under two parents
            ("train", one("3", "包装#A")),
            ("train", one("4", "包装# Ａ")),  # the same up to width and space
            ("test", one("5", "物流#速度")),  # not in train
            ("test", one("5", "味道#综合")),  # the id again
        ]
    )
    assert found["category-two-parents"] == 1
    assert found["category-variant"] == 1
    assert found["unseen-category"] == 1
    assert found["duplicate-id"] == 1


def test_findings_about_categories_have_a_place() -> None:
    samples = [
        Sample(str(i), f"味道好，第{i}条不一样的评论内容", [GOOD._replace(category=category)])
        for i, category in enumerate(["味道#综合", "包装#综合", "味道# 综合", "味道#", "#", "味道#综合"])
    ]
    checker, part = Checker("zh"), Checker("zh")
    checker.add([Record("f", i, None, sample) for i, sample in enumerate(samples[:2], 1)])
    part.add([Record("f", i, None, sample) for i, sample in enumerate(samples[2:], 3)])
    checker.merge(part)
    places = {f.rule: [(p.file, p.line) for p in f.examples] for f in checker.report("c").findings}
    assert places["category-two-parents"] == [("f", 2)]
    assert places["category-variant"] == [("f", 3)]
    assert places["empty-category-level"] == [("f", 4), ("f", 5)]


def test_ceiling() -> None:
    def many(name: int, quads: int) -> tuple[str, Sample]:
        text = f"第{name}条评论" + "好" * quads
        start = text.index("好")
        return "train", Sample(
            str(name), text, [Quad("a#b", "好", "NULL", "POS", start + i, start + i + 1) for i in range(quads)]
        )

    counts = [1] * 30 + [2] * 15 + [3] * 4 + [4] * 9 + [5] * 1
    assert "quad-ceiling" not in check([many(i, n) for i, n in enumerate(counts)])  # nine are too few
    counts = [1] * 30 + [2] * 15 + [3] * 4 + [4] * 10 + [5] * 1
    assert check([many(i, n) for i, n in enumerate(counts)])["quad-ceiling"] == 10


@pytest.mark.parametrize(
    ("text", "language", "rule"),
    [
        ("???????????好", "zh", "mostly-question-marks"),
        ("随着消费者对于健?康的要求", "zh", "replacement-question-mark"),
        ("天貓超市買東西送貨上門", "zh", "traditional-script"),
        ("only a few 汉字 in here", "zh", "low-chinese-share"),
    ],
)
def test_text_rules(text: str, language: str, rule: str) -> None:
    assert check([("train", Sample("1", text, []))], language)[rule] == 1
    assert rule not in check([("train", Sample("1", "这是一条没有问题的中文评论?", []))], language)


def test_text_rules_about_chinese_leave_english_alone() -> None:
    assert check([("train", Sample("1", "is this?? really a good place?", []))], "en") == {"no-quads": 1}


REPAIRED = [
    # (text, span of the aspect, rules, text after, aspect after)
    ("A&amp;B店的味道好", (7, 11), "html-entity", "A&B店的味道好", "店的味道"),
    ("很好&hellip;味道", (10, 12), "html-entity", "很好…味道", "味道"),
    ("味\x01道\x02好", (0, 3), "control-character", "味道好", "味道"),
    ("不錯_x0001_台灣貨", (9, 11), "excel-escape", "不錯台灣貨", "台灣"),
    ("好_x0041_吃的", (0, 9), "excel-escape", "好A吃的", "好A吃"),
    ("味道 很好", (0, 3), "edge-space-in-span", "味道 很好", "味道"),
    ("\u3000味道很好", (0, 3), "edge-space-in-span", "\u3000味道很好", "味道"),
]


@pytest.mark.parametrize(("text", "span", "rule", "expected", "aspect"), REPAIRED)
def test_repairs_move_the_offsets(text: str, span: tuple[int, int], rule: str, expected: str, aspect: str) -> None:
    sample = Sample("s", text, [Quad("a#b", text[slice(*span)], "NULL", "POS", *span)])
    mended, log = repair(sample, parse_repairs(rule))
    assert mended.text == expected
    [quad] = mended.quads
    assert quad.aspect == aspect
    assert mended.text[quad.aspect_start : quad.aspect_end] == aspect
    assert {entry.rule for entry in log} == {rule}
    assert rule not in check([("train", mended)])


def test_a_repair_that_would_cut_or_empty_a_span_is_not_made() -> None:
    cut = Sample("s", "好&amp;吃", [Quad("a#b", "好&a", "NULL", "POS", 0, 3)])
    assert repair(cut, parse_repairs("all")) == (cut, [])
    emptied = Sample("s", "好\x01\x02吃", [Quad("a#b", "\x01\x02", "NULL", "POS", 1, 3)])
    assert repair(emptied, parse_repairs("all")) == (emptied, [])


def test_terms_without_offsets_are_repaired_with_the_text() -> None:
    sample = Sample("s", "A&amp;B店，A&amp;B店", [Quad("a#b", "A&amp;B店", "NULL", "POS")])
    mended, _ = repair(sample, parse_repairs("all"))
    assert mended == Sample("s", "A&B店，A&B店", [Quad("a#b", "A&B店", "NULL", "POS")])
    spelled = Sample("s", "x NULL y", [Quad("a#b", " NULL ", "NULL", "POS", 1, 7)])
    assert repair(spelled, parse_repairs("all")) == (spelled, [])  # trimmed, it would read as implicit


def test_repairs_happen_only_when_asked_for() -> None:
    sample = Sample("s", "味\x01道好", [GOOD._replace(aspect="味\x01道", aspect_end=3, opinion_start=3, opinion_end=4)])
    assert repair(sample, frozenset()) == (sample, [])
    twice = Sample("s", "味道好", [GOOD, GOOD])
    assert repair(twice, frozenset({"duplicate-quad"}))[0].quads == [GOOD]
    with pytest.raises(UsageError, match="found 'crlf', expected 'all' or some of edge-space-in-span"):
        parse_repairs("html-entity,crlf")


def test_repairs_of_a_build_are_logged(tmp_path: Path, asqp: Asqp) -> None:
    from datasets import load_dataset

    raw = tmp_path / "raw.txt"
    lines = [
        f"第{i}条评论&hellip;味道很好####[['味道#味道', '{12 + len(str(i))},{14 + len(str(i))}', '-1,-1', '2']]"
        for i in range(10)
    ]
    raw.write_text("\n".join(lines) + "\n", encoding="utf-8")
    code, out, _ = asqp("data", "build", "car", "--raw", raw, "--out", tmp_path / "car", "--repair", "all", "--json")
    assert code == 0
    log = [json.loads(line) for line in Path(json.loads(out)["repairs"]).read_text(encoding="utf-8").splitlines()]
    assert log[0] == {"id": "raw-1", "rule": "html-entity", "before": "&hellip;", "after": "…"}
    assert len(log) == 10
    row = load_dataset(str(tmp_path / "car"), split="train")[0]
    quad = row["quads"][0]
    assert row["text"][quad["aspect_start"] : quad["aspect_end"]] == "味道"


# What is known to be wrong with the real corpora, counted on their files.
KNOWN = {
    "zh-food-beverage": {
        "html-entity": 143,
        "same-strings-quad": 805,
        "quad-ceiling": 101,
        "control-character": 5,
        "excel-escape": 13,
        "private-use-character": 6,
        "duplicate-text-across-splits": 241,
        "conflicting-copies": 74,
        "text-too-short": 1,
        "text-too-long": 175,
        "low-chinese-share": 726,
        "first-match-differs": 5038,
        "mostly-question-marks": 2,
    },
    "restaurant-acos": {"empty-span": 1, "conflicting-sentiment": 1, "duplicate-quad": 3, "unseen-category": 1},
    "laptop-acos": {"duplicate-quad": 15},
    "asqp-rest16": {"term-not-in-text": 4, "ambiguous-offset": 99, "edge-space-in-span": 10, "missing-hash": 3295},
}


@pytest.mark.parametrize("corpus", KNOWN)
def test_known_faults_of_real_corpora(corpus: str, raw_dir: Path, asqp: Asqp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASQP_RAW_DIR", str(raw_dir))
    code, out, _ = asqp("data", "check", corpus, "--json")
    report = json.loads(out)
    found = {finding["rule"]: finding for finding in report["findings"]}
    assert {rule: found[rule]["count"] for rule in KNOWN[corpus]} == KNOWN[corpus]
    assert code == (1 if any(finding["severity"] == "error" for finding in found.values()) else 0)
    assert report["rejected"] == 0
    for rule, finding in found.items():
        assert finding["description"] == RULES[rule].description
        assert len(finding["examples"]) == min(5, finding["count"])
    if corpus == "restaurant-acos":
        assert [place["line"] for place in found["empty-span"]["examples"]] == [451]
        assert [place["line"] for place in found["conflicting-sentiment"]["examples"]] == [1197]


def test_the_restaurant_corpora_overlap(raw_dir: Path, asqp: Asqp) -> None:
    code, out, _ = asqp("data", "check", "asqp-rest16", "--against", "restaurant-acos", "--json")
    assert code == 0
    found = {finding["rule"]: finding["count"] for finding in json.loads(out)["findings"]}
    assert found["text-in-other-corpus"] > 1900

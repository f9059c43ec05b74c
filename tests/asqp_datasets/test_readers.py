"""Each raw format, line by line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asqp_datasets import DataError, Quad, Sample, UsageError
from asqp_datasets.checks.samples import sample_issues
from asqp_datasets.readers import READERS, Record, get_reader, guess_reader, read_file


def read(tmp_path: Path, format: str, content: str | bytes, **options: str) -> list[Record]:
    path = tmp_path / "raw.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read_file(get_reader(format), path, **options))


def sample_of(record: Record) -> Sample:
    """The sample of a record that must have one; what is wrong with it, if it has none."""
    assert record.sample is not None, record.issues
    return record.sample


def test_datastory_reads_the_papers_example(tmp_path: Path) -> None:
    line = (
        "内饰差、屏幕不大。不要购买####[['内饰#内饰整体', '0,2', '2,3', '0'], "
        "['买家态度#购买意愿', '11,13', '-1,-1', '1']]\n"
    )
    [record] = read(tmp_path, "datastory", line, split="train")
    assert record.sample == Sample(
        "train-1",
        "内饰差、屏幕不大。不要购买",
        [
            Quad("内饰#内饰整体", "内饰", "差", "NEG", 0, 2, 2, 3),
            Quad("买家态度#购买意愿", "购买", "NULL", "NEU", 11, 13, -1, -1),
        ],
    )
    assert record.issues == ()


def test_datastory_splits_at_the_last_separator_that_begins_a_list(tmp_path: Path) -> None:
    content = "话题####[吃货]#好吃####[['味道#味道', '11,13', '-1,-1', '2']]\n无观点####[]\n"
    first, second = read(tmp_path, "datastory", content)
    assert sample_of(first).text == "话题####[吃货]#好吃"
    assert sample_of(first).quads[0].aspect == "好吃"
    assert second.sample == Sample("raw-2", "无观点", [])


def test_datastory_keeps_a_separator_inside_a_term(tmp_path: Path) -> None:
    # The literal holds '####[' in a category: only the earlier separator begins a list.
    [record] = read(tmp_path, "datastory", "味道好####[['味道#x####[y', '0,2', '2,3', '2']]")
    assert sample_of(record).quads[0].category == "味道#x####[y"


def test_acos_turns_tokens_into_characters(tmp_path: Path) -> None:
    line = "the  food is n ' t great\t1,2 FOOD#QUALITY 0 3,7\t-1,-1 FOOD#STYLE_OPTIONS 2 -1,-1\n"
    [record] = read(tmp_path, "acos", line)
    # Two blanks after "the": tokens begin at 0, 5, 10, 13, 15, 17, 19.
    assert sample_of(record).quads == [
        Quad("FOOD#QUALITY", "food", "n ' t great", "NEG", 5, 9, 13, 24),
        Quad("FOOD#STYLE_OPTIONS", "NULL", "NULL", "POS"),
    ]


def test_acos_keeps_an_empty_span_as_an_empty_term(tmp_path: Path) -> None:
    # Restaurant-ACOS has one: tokens 3,3. It is a finding, not a reason to lose the sample.
    [record] = read(tmp_path, "acos", "place is pricey , ok\t0,1 RESTAURANT#PRICES 0 3,3\n")
    assert sample_of(record).quads == [Quad("RESTAURANT#PRICES", "place", "", "NEG", 0, 5, 16, 16)]


def test_absa_quad_finds_offsets_that_are_certain(tmp_path: Path) -> None:
    line = (
        "The art at the party was great , great art ####[['art', 'ambience general', 'positive', 'great'], "
        "['party', 'ambience general', 'positive', \"can't\"], ['NULL', 'food quality', 'negative', 'arty']]\n"
    )
    [record] = read(tmp_path, "absa_quad", line)
    first, second, third = sample_of(record).quads
    assert first == Quad("ambience general", "art", "great", "POS")  # both stand twice as words
    assert second == Quad("ambience general", "party", "can't", "POS", 15, 20, -1, -1)
    assert third == Quad("food quality", "NULL", "arty", "NEG", -1, -1, 16, 20)  # once, inside a word
    rules = [issue.rule for issue in sample_issues(sample_of(record), "en")]
    assert [rule for rule in rules if rule not in ("missing-hash", "edge-space-in-text")] == [
        "ambiguous-offset",
        "ambiguous-offset",
        "term-not-in-text",
        "span-inside-word",
    ]


def test_absa_quad_prefers_whole_words(tmp_path: Path) -> None:
    [record] = read(tmp_path, "absa_quad", "pricey ? fair price####[['price', 'food prices', 'neutral', 'fair']]")
    assert sample_of(record).quads == [Quad("food prices", "price", "fair", "NEU", 14, 19, 9, 13)]


def test_jsonl_round_trip(tmp_path: Path) -> None:
    sample = Sample("x", "📱屏幕大", [Quad("屏幕#大小", "屏幕", "大", "POS", 1, 3, 3, 4)])
    content = json.dumps(sample.to_dict() | {"meta": {"model": "m"}}, ensure_ascii=False) + "\n"
    [record] = read(tmp_path, "jsonl", content)
    assert record.sample == sample


def test_jsonl_offsets_may_be_missing_and_so_may_the_id(tmp_path: Path) -> None:
    quad = {"category": "a#b", "aspect": "x", "opinion": "NULL", "sentiment": "NEU"}
    [record] = read(tmp_path, "jsonl", json.dumps({"text": "xyz", "quads": [quad]}))
    assert record.sample == Sample("raw-1", "xyz", [Quad("a#b", "x", "NULL", "NEU", 0, 1)])


def test_offsets_in_utf16_units_are_told_apart(tmp_path: Path) -> None:
    quad = {
        "category": "a#b",
        "aspect": "屏幕",
        "opinion": "NULL",
        "sentiment": "POS",
        "aspect_start": 2,
        "aspect_end": 4,
    }
    [record] = read(tmp_path, "jsonl", json.dumps({"text": "📱屏幕大好", "quads": [quad]}))
    assert record.rejected
    assert record.issues[0].rule == "span-mismatch"
    assert "UTF-16" in record.issues[0].message


@pytest.mark.parametrize("character", ["\u2028", "\x85", "\x0b", "\x1c", "\r"])
def test_only_lf_ends_a_line(tmp_path: Path, character: str) -> None:
    [record] = read(tmp_path, "datastory", f"味{character}道好####[['味道#x', '3,4', '-1,-1', '2']]\n")
    assert sample_of(record).text == f"味{character}道好"
    assert sample_of(record).quads[0].aspect == "好"


@pytest.mark.parametrize("literal", ["__import__('os').system('x')", "[" * 5000, "[1, 2", "{}", "'x'"])
def test_a_literal_is_never_run(tmp_path: Path, literal: str) -> None:
    [record] = read(tmp_path, "datastory", f"好吃####[{literal}")
    assert record.rejected
    assert record.issues[0].rule in ("bad-literal", "wrong-arity")


def test_ids_differ_between_files_of_one_name(tmp_path: Path) -> None:
    from asqp_datasets.sources import open_source

    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "r.txt").write_text("好####[]\n", encoding="utf-8")
    source = open_source("car", raw=[str(tmp_path / "a" / "r.txt"), str(tmp_path / "b" / "r.txt")])
    assert [sample_of(record).id for record in source.records() if record.sample] == ["r-1", "r.2-1"]


def test_guess(tmp_path: Path) -> None:
    lines = {
        "datastory": "好####[['a#b', '0,1', '-1,-1', '2']]\n",
        "acos": "good\t-1,-1 FOOD#QUALITY 2 0,1\n",
        "absa_quad": "good####[['NULL', 'food quality', 'positive', 'good']]\n",
        "jsonl": '{"text": "x", "quads": []}\n',
    }
    assert set(lines) == set(READERS)
    for name, line in lines.items():
        path = tmp_path / "some.data"
        path.write_text(line, encoding="utf-8")
        assert guess_reader(path).name == name


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "raw.txt"
    for content, kind in ((b"\xff\xfeh\x00", "UTF-16"), (b"\x1f\x8b\x08\x00", "gzip"), (b"PK\x03\x04", "zip")):
        path.write_bytes(content)
        with pytest.raises(DataError, match=kind):
            list(read_file(READERS["jsonl"], path))
    path.write_bytes(b"")
    with pytest.raises(DataError, match="empty file"):
        list(read_file(READERS["jsonl"], path))
    with pytest.raises(DataError, match=r"missing\.txt: cannot be read: No such file"):
        list(read_file(READERS["jsonl"], tmp_path / "missing.txt"))
    with pytest.raises(UsageError, match="found 'xml', expected one of datastory, acos, absa_quad, jsonl"):
        get_reader("xml")


@pytest.mark.parametrize(
    "line",
    [
        "文本内容很好####[]####[['A#B', '0,1', '1,2', '2'",
        "文本内容很好####[['A#B', '0,1', '1,2', '2']]####[['C#D', '0,1'",
        "文本内容很好####[['A#B', '0,1', '1,2', '2']] # junk",
        "文本内容很好####[['A#B', '0,1', '1,2', '2']] junk",
    ],
)
def test_nothing_may_follow_the_list(tmp_path: Path, line: str) -> None:
    for format in ("datastory", "absa_quad"):
        [record] = read(tmp_path, format, line)
        assert record.rejected
        assert record.issues[0].rule == "bad-literal"


def test_many_separators_do_not_hang(tmp_path: Path) -> None:
    [record] = read(tmp_path, "datastory", "x" + "####[" * 600_000)  # three megabytes
    assert record.issues[0].rule == "bad-literal"


def test_a_text_may_begin_like_another_kind_of_file(tmp_path: Path) -> None:
    for text in ("PK掉了对手", "PAR1号车型"):
        [record] = read(tmp_path, "datastory", f"{text}####[]\n")
        assert record.sample == Sample("raw-1", text, [])


def test_overlapping_places_are_not_certain(tmp_path: Path) -> None:
    line = "ha ha ha, 哈哈哈####[['ha ha', 'food quality', 'positive', '哈哈']]"
    [record] = read(tmp_path, "absa_quad", line)
    assert sample_of(record).quads == [Quad("food quality", "ha ha", "哈哈", "POS")]


def test_empty_terms_of_json_are_implicit(tmp_path: Path) -> None:
    quad = {"category": "a#b", "aspect": None, "opinion": "", "sentiment": "NEU", "aspect_start": None}
    [record] = read(tmp_path, "jsonl", json.dumps({"id": None, "text": "xyz", "quads": [quad]}))
    assert record.sample == Sample("raw-1", "xyz", [Quad("a#b", "NULL", "NULL", "NEU")])
    [record] = read(tmp_path, "jsonl", '{"text": "x", "text": "y", "quads": []}')
    assert "a key stands twice" in record.issues[0].message
    [record] = read(tmp_path, "jsonl", json.dumps({"text": "xyz", "quads": [quad | {"category": ""}]}))
    assert record.issues[0].rule == "bad-field"

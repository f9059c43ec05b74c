"""A file with one fault a line: each is named with file, line and rule, and the good lines are kept."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.conftest import Asqp

GOOD = "内饰很差，屏幕也不大####[['内饰#内饰整体', '0,2', '2,4', '0']]"
LONG = "好" * 1_000_000  # three megabytes

# (line, the rule that must be named for it, whether the line is kept as a sample)
LINES: list[tuple[bytes, str | None, bool]] = [
    (b"\xef\xbb\xbf" + GOOD.encode(), "byte-order-mark", True),
    (GOOD.encode(), None, True),
    ("缺少列表的一行没有注释".encode(), "missing-annotation", False),
    ("字面量坏了的一行####[['内饰#内饰整体', '0,2'".encode(), "bad-literal", False),
    ("不是列表的一行文字####['a' 'b'".encode(), "bad-literal", False),
    ("少一个元素的一行字####[['内饰#内饰整体', '0,2', '2,4']]".encode(), "wrong-arity", False),
    ("多一个元素的一行字####[['内饰#内饰整体', '0,2', '2,4', '0', '1']]".encode(), "wrong-arity", False),
    ("情感不认识的一行字####[['内饰#内饰整体', '0,2', '2,4', '3']]".encode(), "unknown-sentiment", False),
    ("情感是文字的一行字####[['内饰#内饰整体', '0,2', '2,4', 'POS']]".encode(), "unknown-sentiment", False),
    ("情感是数字的一行字####[['内饰#内饰整体', '0,2', '2,4', 2]]".encode(), "bad-field", False),
    ("类别是空的一行文字####[['', '0,2', '2,4', '2']]".encode(), "bad-field", False),
    ("位置反了的一行文字####[['内饰#内饰整体', '4,2', '2,4', '0']]".encode(), "span-reversed", False),
    ("位置超出文本的一行####[['内饰#内饰整体', '0,2', '2,40', '0']]".encode(), "span-past-end", False),
    ("只有一边负一的一行####[['内饰#内饰整体', '-1,2', '2,4', '0']]".encode(), "span-one-sided", False),
    ("另一边负一的一行字####[['内饰#内饰整体', '0,2', '2,-1', '0']]".encode(), "span-one-sided", False),
    ("位置为负的一行文字####[['内饰#内饰整体', '-3,-2', '2,4', '0']]".encode(), "bad-span", False),
    ("位置不是数字的一行####[['内饰#内饰整体', 'a,b', '2,4', '0']]".encode(), "bad-span", False),
    ("位置是全角的一行字####[['内饰#内饰整体', '０,２', '2,4', '0']]".encode(), "bad-span", False),
    ("位置一样的空词一行####[['内饰#内饰整体', '2,2', '2,4', '0']]".encode(), "empty-span", True),
    (GOOD.encode() + b"\r", "crlf", True),
    (b"", "blank-line", False),
    (b" \t ", "blank-line", False),
    ("#话题#里有井号的一行####[['内饰#内饰整体', '0,2', '2,4', '0']]".encode(), "hash-in-text", True),
    ("文本里有####[分隔符的####[['内饰#内饰整体', '0,2', '2,4', '0']]".encode(), "separator-in-text", True),
    ("文本里有\0空字符的一行####[['内饰#内饰整体', '0,2', '2,4', '0']]".encode(), "control-character", True),
    (f"{LONG}####[['内饰#内饰整体', '0,2', '2,4', '0']]".encode(), "text-too-long", True),
    ("编码坏了".encode("gb18030") + b"####[]", "invalid-utf8", False),
    ("📱屏幕很大很好看的手机####[['屏幕#大小', '1,3', '3,5', '2']]".encode(), "astral-before-span", True),
    ("  前面有空格的一行文字####[['内饰#内饰整体', '2,4', '4,6', '2']]".encode(), "edge-space-in-text", True),
    ("中间有  两个空格的一行####[['内饰#内饰整体', '0,2', '7,9', '2']]".encode(), "double-space-in-text", True),
    ("词有空格 的一行文字的####[['内饰#内饰整体', '0,5', '7,9', '2']]".encode(), "edge-space-in-span", True),
    ("词只有标点，的一行文字####[['内饰#内饰整体', '5,6', '7,9', '2']]".encode(), "punctuation-span", True),
    ("词在iPhone里面的一行####[['内饰#内饰整体', '2,5', '9,11', '2']]".encode(), "span-inside-word", True),
    ("好看的屏幕是好看的屏幕####[['屏幕#屏幕', '9,11', '6,8', '2']]".encode(), "first-match-differs", True),
    (
        "重复的标注在这一行里####[['内饰#x', '0,2', '2,4', '2'], ['内饰#x', '0,2', '2,4', '2']]".encode(),
        "duplicate-quad",
        True,
    ),
    (
        "矛盾的标注在这一行里####[['内饰#x', '0,2', '2,4', '2'], ['内饰#x', '0,2', '2,4', '0']]".encode(),
        "conflicting-sentiment",
        True,
    ),
    ("类别没有井号的一行字####[['内饰', '0,2', '2,4', '2']]".encode(), "missing-hash", True),
    ("有实体&hellip;的一行####[['内饰#内饰整体', '0,2', '2,4', '2']]".encode(), "html-entity", True),
    ("表格转义_x0001_的一行####[['内饰#内饰整体', '0,2', '2,4', '2']]".encode(), "excel-escape", True),
    ("私用字符\ue030的一行文字####[['内饰#内饰整体', '0,2', '2,4', '2']]".encode(), "private-use-character", True),
    ("很短####[['内饰#内饰整体', '0,2', '-1,-1', '2']]".encode(), "text-too-short", True),
    ("词是NULL的一行文字####[['内饰#内饰整体', '2,6', '7,9', '2']]".encode(), "null-in-text", True),
    ("没有任何观点的一行字####[]".encode(), "no-quads", True),
    (GOOD.encode(), "duplicate-text", True),
    ("最后一行没有换行的字####[['内饰#内饰整体', '0,2', '2,4', '2']]".encode(), "missing-last-newline", True),
]


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    path = tmp_path / "faulty.txt"
    path.write_bytes(b"\n".join(line for line, _, _ in LINES))
    return path


def test_check_names_every_fault(faulty: Path, asqp: Asqp) -> None:
    code, out, err = asqp(
        "data", "check", faulty, "--format", "datastory", "--language", "zh", "--examples", 99, "--json"
    )
    assert code == 1
    assert err == ""
    report = json.loads(out)
    kept = sum(keep for _, _, keep in LINES)
    blank = sum(rule == "blank-line" for _, rule, _ in LINES)
    assert report["lines"] == len(LINES)
    assert report["samples"] == kept
    assert report["rejected"] == len(LINES) - kept - blank
    found = {
        (finding["rule"], place["line"])
        for finding in report["findings"]
        for place in finding["examples"]
        if place["file"] == str(faulty)
    }
    for number, (_, rule, _) in enumerate(LINES, 1):
        if rule is not None:
            assert (rule, number) in found, f"line {number}: {rule}"
    # Line 2 is faultless but for being a text that stands in other lines too.
    assert {rule for rule, line in found if line == 2} == {"duplicate-text"}


def test_build_keeps_the_good_lines_and_writes_the_rejects(faulty: Path, tmp_path: Path, asqp: Asqp) -> None:
    out = tmp_path / "built"
    code, stdout, err = asqp("data", "build", "car", "--raw", faulty, "--out", out, "--json")
    assert code == 1  # lines were rejected
    assert "rejects.jsonl" in err
    summary = json.loads(stdout)
    rejects = [json.loads(line) for line in (tmp_path / "built.rejects.jsonl").read_text(encoding="utf-8").splitlines()]
    blank = sum(rule == "blank-line" for _, rule, _ in LINES)
    assert summary["samples"] + len(rejects) + blank == len(LINES)
    expected = [
        (number, rule)
        for number, (_, rule, keep) in enumerate(LINES, 1)
        if not keep and rule not in ("blank-line", None)
    ]
    assert [(row["line"], row["rule"]) for row in rejects] == expected
    assert all(row["file"] == str(faulty) for row in rejects)
    # What was rejected stands there as it stood in the file, so that nothing is lost.
    assert rejects[0]["raw"] == "缺少列表的一行没有注释"
    utf8 = next(row for row in rejects if row["rule"] == "invalid-utf8")
    bytes_again = re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes.fromhex(m[1].decode()), utf8["raw"].encode())
    assert bytes_again == "编码坏了".encode("gb18030") + b"####[]"
    assert "at byte 0" in utf8["message"]


def test_a_file_of_nothing_but_faults_is_bad_input(tmp_path: Path, asqp: Asqp) -> None:
    path = tmp_path / "bad.txt"
    path.write_text("no annotation\n" * 3, encoding="utf-8")
    code, _, err = asqp("data", "build", "car", "--raw", path, "--out", tmp_path / "out")
    assert code == 2
    assert "bad.txt:1: found no sample that can be read: 3 lines were rejected" in err
    assert "(missing-annotation)" in err
    # The reasons are kept, and nothing else.
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["bad.txt", "out.rejects.jsonl"]
    assert len((tmp_path / "out.rejects.jsonl").read_text(encoding="utf-8").splitlines()) == 3
    path.write_text("\n\n", encoding="utf-8")
    code, _, err = asqp("data", "build", "car", "--raw", path, "--out", tmp_path / "out")
    assert (code, "found 2 lines, none with a sample" in err) == (2, True)


def test_stats_and_views_say_what_they_leave_out(faulty: Path, tmp_path: Path, asqp: Asqp) -> None:
    rejected = sum(not keep and rule not in ("blank-line", None) for _, rule, keep in LINES)
    for arguments in (["stats", "--json"], ["subtasks", "--task", "ASTE", "--out", tmp_path / "views", "--json"]):
        code, out, err = asqp("data", arguments[0], faulty, "--format", "datastory", "--language", "zh", *arguments[1:])
        assert code == 1
        assert f"{rejected} lines could not be read and are left out; the first: {faulty}:3: found no '####['" in err
        json.loads(out)

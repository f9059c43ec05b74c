"""Reviews from every kind of input."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from pathlib import Path

import pytest

from asqp_datasets import DataError, UsageError
from asqp_models.reviews import Review, read_reviews


def reviews(path: Path, content: str | bytes, **options: str) -> list[Review]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_reviews(str(path), **options))


def test_txt(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + "内饰差\r\n\n  带空格 \u2028 一行\n没有换行".encode()
    assert reviews(tmp_path / "r.txt", content) == [
        Review("1", "内饰差"),
        Review("2", ""),
        Review("3", "  带空格 \u2028 一行"),
        Review("4", "没有换行"),
    ]


def test_csv_with_quotes_new_lines_and_a_long_field(tmp_path: Path) -> None:
    long = "好" * 300_000
    content = f'\ufeff编号,评论,日期\r\na1,"屏幕大,\n""真的""好",2022\r\na2,{long},2023\r\n,没有编号,\r\n'
    assert reviews(tmp_path / "r.csv", content) == [
        Review("a1", '屏幕大,\n"真的"好'),
        Review("a2", long),
        Review("row-3", "没有编号"),  # 3 may be another row's id
    ]


def test_tsv_and_named_columns(tmp_path: Path) -> None:
    content = "key\tfirst\tsecond\nx\t内饰\t屏幕\n"
    with pytest.raises(DataError, match="found the columns key, first, second, expected one of text, review"):
        reviews(tmp_path / "r.tsv", content)
    found = reviews(tmp_path / "r.tsv", content, text_column="second", id_column="key")
    assert found == [Review("x", "屏幕")]
    with pytest.raises(DataError, match="expected 'third' among them"):
        reviews(tmp_path / "r.tsv", content, text_column="third")


def test_a_single_column_is_the_review(tmp_path: Path) -> None:
    assert reviews(tmp_path / "r.csv", "review\n好\n") == [Review("1", "好")]
    # With no name that is known, the first row is a review too: none is lost.
    assert reviews(tmp_path / "r.csv", "内饰差、屏幕不大\n不错\n") == [
        Review("1", "内饰差、屏幕不大"),
        Review("2", "不错"),
    ]
    assert reviews(tmp_path / "r.csv", "whatever\n好\n", text_column="whatever") == [Review("1", "好")]
    with pytest.raises(
        DataError, match=r"found the one column .*, expected commas between columns; for tabs, --format tsv"
    ):
        reviews(tmp_path / "r.csv", "id\ttext\n1\thello\n")


def test_a_row_with_more_cells_than_the_header_loses_nothing(tmp_path: Path) -> None:
    found = reviews(tmp_path / "r.csv", "id,text\n1,hello, world, again\n2,好\n")
    assert found == [
        Review("1", "1,hello, world, again", "found 4 cells in the row, expected 2 as in the header"),
        Review("2", "好"),
    ]


def test_pipes_are_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("内饰差\n", encoding="utf-8"))
    writer.start()
    assert list(read_reviews(str(pipe))) == [Review("1", "内饰差")]
    writer.join()


def test_parquet_rows_whose_gold_is_bad_are_predicted_all_the_same(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "data").mkdir()
    quad = {"category": "a#b", "aspect": "x", "opinion": "NULL", "sentiment": "BAD"}
    rows = [{"text": "屏幕大", "quads": [quad]}, {"text": "好", "quads": None}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "data" / "test-0.parquet")
    found = list(read_reviews(str(tmp_path)))
    assert [(review.text, review.error) for review in found] == [("屏幕大", None), ("好", None)]


def test_rows_that_cannot_be_read_say_why_and_stop_nothing(tmp_path: Path) -> None:
    found = reviews(
        tmp_path / "r.jsonl",
        b'{"text": "\xe5\xa5\xbd"}\nnot json\n{"id": 7, "text": null}\n[1]\n{"text": "a\\ud800"}\n{"text": "\xff"}\n',
    )
    assert found[0] == Review("1", "好")
    assert [review.id for review in found] == ["1", "2", "7", "4", "5", "6"]
    assert "line 2 is not JSON" in str(found[1].error)
    assert found[2].error == "found None for the text, expected a string"
    assert "expected an object" in str(found[3].error)
    assert found[4] == Review("5", "a\\ud800", "found half of a surrogate pair")
    assert found[5] == Review("6", "\\xff", "found bytes that are not utf-8")
    short = reviews(tmp_path / "r.csv", "id,text\n1\n2,好\n")
    assert short == [Review("1", "", "found None for the text, expected a string"), Review("2", "好")]


def test_other_encodings(tmp_path: Path) -> None:
    assert reviews(tmp_path / "r.txt", "内饰差".encode("gb18030"), encoding="gb18030") == [Review("1", "内饰差")]
    with pytest.raises(UsageError, match="encoding: found 'klingon'"):
        reviews(tmp_path / "r.txt", "x", encoding="klingon")


def test_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"content": ["好", None], "uid": [10, 11]}), tmp_path / "r.parquet")
    assert list(read_reviews(str(tmp_path / "r.parquet"))) == [
        Review("10", "好"),
        Review("11", "", "found None for the text, expected a string"),
    ]
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        list(read_reviews(str(tmp_path / "broken.parquet")))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("内饰差\n屏幕大\n", [Review("1", "内饰差"), Review("2", "屏幕大")]),
        ('{"id": "a", "text": "内饰差"}\n', [Review("a", "内饰差")]),
        ("", []),
    ],
)
def test_standard_input(content: str, expected: list[Review], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    assert list(read_reviews("-")) == expected


def test_a_dataset_gives_its_test_split_and_no_gold(tmp_path: Path) -> None:
    from asqp_datasets.builder import build
    from asqp_datasets.sources import open_source

    build(open_source("synthetic-car", size=20), tmp_path / "set")
    assert len(list(read_reviews(str(tmp_path / "set")))) == 3
    assert len(list(read_reviews(str(tmp_path / "set"), split="all"))) == 20
    with pytest.raises(UsageError, match="split: found 'dev' for synthetic-car, expected 'all' or one of: test, train"):
        list(read_reviews(str(tmp_path / "set"), split="dev"))


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.csv: found no such file"):
        list(read_reviews(str(tmp_path / "none.csv")))
    with pytest.raises(UsageError, match="input: dataset: found"):
        list(read_reviews("nothing-of-this-name"))
    with pytest.raises(UsageError, match=r"format: found the suffix '\.doc'"):
        reviews(tmp_path / "r.doc", "x")
    with pytest.raises(UsageError, match="format: found 'xml'"):
        reviews(tmp_path / "r.txt", "x", format="xml")


def test_numbers_and_ids_of_any_type_become_strings(tmp_path: Path) -> None:
    rows = [{"id": 0, "text": "a"}, {"id": "", "text": "b"}, {"review": "c"}]
    found = reviews(tmp_path / "r.jsonl", "\n".join(map(json.dumps, rows)))
    assert found == [Review("0", "a"), Review("2", "b"), Review("3", "c")]


def test_an_open_quote_swallows_nothing(tmp_path: Path) -> None:
    content = 'id,text\n1,好\n2,"奶茶好喝\n' + "".join(f"{i},味道不错\n" for i in range(3, 100))
    rows = read_reviews(str(tmp_path / "r.csv"))
    (tmp_path / "r.csv").write_text(content, encoding="utf-8")
    assert next(rows) == Review("1", "好")
    with pytest.raises(DataError, match=r"r\.csv:3: is no table: a quote that opens in this row is not closed"):
        list(rows)
    with pytest.raises(DataError, match=r"r\.csv:2: is no table"):
        reviews(tmp_path / "r.csv", 'id,text\n"1,"好"\n"2","坏"\n')
    # In a tsv a quote is a character.
    assert reviews(tmp_path / "r.tsv", 'id\ttext\n1\t"好\n2\t坏\n') == [Review("1", '"好'), Review("2", "坏")]


def test_other_line_ends_and_delimiters_of_csv(tmp_path: Path) -> None:
    expected = [Review("1", "好"), Review("2", "坏")]
    assert reviews(tmp_path / "r.csv", "id,text\r1,好\r2,坏\r") == expected
    assert reviews(tmp_path / "r.csv", "id;text\n1;好\n2;坏\n") == expected


def test_columns_that_are_ambiguous_or_of_another_encoding(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="found the column 'text' twice"):
        reviews(tmp_path / "r.csv", "text,text\na,b\n")
    with pytest.raises(DataError, match=r"r\.csv:1: found bytes that are not utf-8 in the header, expected --encoding"):
        reviews(tmp_path / "r.csv", "编号,评论\n1,好\n".encode("gb18030"))
    with pytest.raises(DataError, match="is not utf-16"):
        reviews(tmp_path / "r.csv", "text\n好\n".encode("utf-16")[:-1], encoding="utf-16")
    with pytest.raises(UsageError, match="encoding: found 'idna'"):
        reviews(tmp_path / "r.txt", "x", encoding="idna")
    with pytest.raises(UsageError, match="split: found 'test' for the file"):
        reviews(tmp_path / "r.txt", "x", split="test")


def test_parquet_of_bytes_that_are_no_text(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    column = pa.array([b"\xe5\xa5\xbd", b"\xff"]).cast(pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": column}), tmp_path / "r.parquet")
    assert list(read_reviews(str(tmp_path / "r.parquet"))) == [
        Review("1", "好"),
        Review("2", "\\xff", "found bytes that are not utf-8"),
    ]


def test_unreadable_lines_of_a_raw_folder_have_their_rows(tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text("好吃####[]\n坏行\n难吃####[]\n", encoding="utf-8")
    found = list(read_reviews(str(tmp_path)))
    assert [(review.text, review.error is None) for review in found] == [
        ("好吃", True),
        ("坏行", False),
        ("难吃", True),
    ]
    assert f"{tmp_path / 'test.txt'}:2: found no '####['" in str(found[1].error)

"""Opening things by name, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from asqp_datasets import DataError, Quad, Sample, UsageError
from asqp_datasets.corpora import CORPORA, fetch, get_corpus
from asqp_datasets.parts import in_parts
from asqp_datasets.schema import arrow_schema, from_arrow, to_arrow
from asqp_datasets.sources import open_source

LINE = "内饰很差，屏幕也不大####[['内饰#内饰整体', '0,2', '2,4', '0']]\n"


def test_samples_survive_arrow_and_dicts() -> None:
    samples = [
        Sample("a", "内饰差", [Quad("c#d", "内饰", "差", "NEG", 0, 2, 2, 3), Quad("c#d", "NULL", "NULL", "POS")]),
        Sample("b", "", []),
        Sample("c", "x", [Quad("c#d", "x", "NULL", "NEU", 0, 1)]),
    ]
    batch = to_arrow(samples, arrow_schema())
    assert list(from_arrow(batch)) == samples
    assert list(from_arrow(batch.slice(1))) == samples[1:]
    assert [Sample.from_dict(sample.to_dict()) for sample in samples] == samples
    assert [quad.explicitness for quad in samples[0].quads] == ["EA&EO", "IA&IO"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "x", "quads": []}, "[id]: found nothing, expected a string"),
        ({"id": 1, "text": "x", "quads": []}, "[id]: found 1, expected a string"),
        ({"id": "a", "text": b"x", "quads": []}, "[text]: found b'x', expected a string"),
        ({"id": "a", "text": "x"}, "[quads]: found nothing, expected a list of quads"),
        ({"id": "a", "text": "x", "quads": "none"}, "[quads]: found 'none'"),
        ({"id": "a", "text": "x", "quads": [["a", "b"]]}, "[quads[0]]: found ['a', 'b'], expected an object"),
        ({"id": "a", "text": "x", "quads": [{"category": 3}]}, "[quads[0].category]: found 3, expected a string"),
        (
            {"id": "a", "text": "x", "quads": [{"category": "", "aspect": "", "opinion": "", "sentiment": "neg"}]},
            "[quads[0].sentiment]: found 'neg', expected one of NEG, NEU, POS",
        ),
        (
            {
                "id": "a",
                "text": "x",
                "quads": [{"category": "", "aspect": "", "opinion": "", "sentiment": "NEG", "aspect_end": True}],
            },
            "[quads[0].aspect_end]: found True, expected an integer",
        ),
    ],
)
def test_rows_that_are_no_samples(row: dict[str, object], message: str) -> None:
    with pytest.raises(DataError) as error:
        Sample.from_dict(row, path="f.jsonl", line=3)
    assert str(error.value).startswith("f.jsonl:3 ")
    assert message in str(error.value)


def test_the_eight_corpora_and_two_synthetic_ones() -> None:
    assert [corpus.id for corpus in CORPORA.values() if not corpus.synthetic] == [
        "restaurant-acos",
        "laptop-acos",
        "asqp-rest15",
        "asqp-rest16",
        "en-phone",
        "zh-food-beverage",
        "car",
        "digital",
    ]
    for corpus in CORPORA.values():
        assert bool(corpus.files) == bool(corpus.url)
        assert len({file.sha256 for file in corpus.files}) == len(corpus.files)
        assert all(len(file.sha256) == 64 for file in corpus.files)
    assert CORPORA["car"].paper["quads"] == 39075
    assert CORPORA["digital"].paper["words_per_sample"] == 152.26
    with pytest.raises(UsageError, match="found 'cars'"):
        get_corpus("cars")


def test_a_local_mirror_goes_before_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASQP_RAW_DIR", str(tmp_path))
    monkeypatch.setenv("ASQP_CACHE_DIR", str(tmp_path / "cache"))
    for proxy in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(proxy, "http://127.0.0.1:9")  # nothing answers there
    folder = tmp_path / "en-phone"
    folder.mkdir()
    for name in ("train", "dev"):
        (folder / f"{name}.txt").write_text(LINE, encoding="utf-8")
    with pytest.raises(DataError, match=r"test\.txt: cannot be fetched .* set ASQP_RAW_DIR to a directory that holds"):
        fetch(get_corpus("en-phone"))
    (folder / "test.txt").write_text(LINE, encoding="utf-8")
    source = open_source("en-phone")
    assert [record.split for record in source.records()] == ["train", "validation", "test"]
    # Not upstream's bytes: used, and said.
    assert [issue.rule for _, issue in source.issues] == ["checksum-differs"] * 3
    with pytest.raises(UsageError, match="found no public raw files"):
        fetch(get_corpus("car"))


def test_splits_named_with_the_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(LINE, encoding="utf-8")
    source = open_source("car", raw=[f"train={tmp_path / 'a.txt'}", f"dev={tmp_path / 'b.txt'}"])
    assert [(record.split, record.sample.id) for record in source.records() if record.sample] == [
        ("train", "train-1"),
        ("validation", "validation-1"),
    ]


def test_raw_folders_and_mixed_splits(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "notes.md"):
        (tmp_path / name).write_text(LINE, encoding="utf-8")
    source = open_source("digital", raw=[str(tmp_path)])
    assert [record.sample.id for record in source.records() if record.sample] == ["a-1", "b-1"]
    with pytest.raises(UsageError, match="found files with and without a split"):
        open_source("car", raw=[f"train={tmp_path / 'a.txt'}", str(tmp_path / "b.txt")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"found no raw files, expected some of \.txt, \.tsv, \.jsonl"):
        open_source("car", raw=[str(tmp_path / "empty")])


def test_a_folder_of_raw_files(tmp_path: Path) -> None:
    for name in ("my_train", "my_dev", "my_test"):
        (tmp_path / f"{name}.txt").write_text(LINE, encoding="utf-8")
    source = open_source(str(tmp_path))
    assert (source.format, source.language) == ("datastory", "zh")
    assert [record.split for record in source.records()] == ["train", "validation", "test"]


def test_language_is_guessed(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("great food\t-1,-1 FOOD#QUALITY 2 0,1\n", encoding="utf-8")
    assert open_source(str(path)).language == "en"


def test_what_is_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="found no dataset, expected README"):
        open_source(str(tmp_path))
    (tmp_path / "README.md").write_text("---\nconfigs: [\n---\n")
    with pytest.raises(DataError, match="the front matter is not YAML"):
        open_source(str(tmp_path))
    for path in ("../../etc/*", "/etc/passwd"):
        card = f"---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: {path}\n---\n"
        (tmp_path / "README.md").write_text(card)
        with pytest.raises(DataError, match="expected a path in the folder"):
            open_source(str(tmp_path))
    with pytest.raises(DataError, match="found no file or folder of that name, and the Hub gave none"):
        open_source("nobody/nothing")
    (tmp_path / "x.parquet").write_bytes(b"PAR1nonsense")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        list(open_source(str(tmp_path / "x.parquet"), language="zh").records())


def bad_rows(path: Path) -> list[str]:
    """A Parquet file with one fault a row, and the rule for each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    quad = {"category": "a#b", "aspect": "内饰", "opinion": "差", "sentiment": "NEG"}
    quad |= {"aspect_start": 0, "aspect_end": 2, "opinion_start": 2, "opinion_end": 3}
    faults: list[tuple[dict[str, object], str]] = [
        ({"quads": [quad]}, ""),
        ({"quads": [quad | {"aspect_end": 99}]}, "span-past-end"),
        ({"quads": [quad | {"aspect_start": 2, "aspect_end": 0}]}, "span-reversed"),
        ({"quads": [quad | {"aspect_start": -1}]}, "span-one-sided"),
        ({"quads": [quad | {"aspect": "屏幕"}]}, "span-mismatch"),
        ({"quads": [quad | {"sentiment": "BAD"}]}, "unknown-sentiment"),
        ({"quads": [quad | {"sentiment": None}]}, "bad-field"),
        ({"quads": [quad | {"category": None}]}, "bad-field"),
        ({"quads": None}, "bad-field"),
        ({"text": None, "quads": [quad]}, "bad-field"),
        ({"quads": [quad | {"aspect": None, "aspect_start": None, "aspect_end": None}]}, ""),  # an implicit aspect
        ({"id": None, "quads": []}, ""),  # named by its row
    ]
    rows = [{"id": str(i), "text": "内饰差"} | fault for i, (fault, _) in enumerate(faults)]
    pq.write_table(pa.Table.from_pylist(rows, arrow_schema()), path)
    return [rule for _, rule in faults]


def test_parquet_rows_are_held_to_the_rules_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    rules = bad_rows(path)
    records = list(open_source(str(path), language="zh").records())
    assert [record.issues[0].rule if record.rejected else "" for record in records] == rules
    assert [record.line for record in records] == list(range(1, len(rules) + 1))
    good = [record.sample for record in records if record.sample]
    assert [sample.id for sample in good] == ["0", "10", "rows-12"]
    assert good[1].quads[0][:6] == ("a#b", "NULL", "差", "NEG", -1, -1)
    assert json.loads(records[1].raw)["quads"][0]["aspect_end"] == 99
    with pytest.raises(DataError, match=r"rows\.parquet:2: quad 1, aspect: found 0,99, expected at most 3"):
        open_source(str(path), language="zh").samples()


@pytest.mark.parametrize(
    ("files", "splits"),
    [
        ('"data/*.parquet"', ["test", "train"]),  # as `datasets` guesses, by the files' names
        ('["data/train-x.parquet"]', ["train"]),
        ('{train: "data/train-x.parquet", test: ["data/test-x.parquet"]}', ["train", "test"]),
        ('[{split: dev, path: "data/test-x.parquet"}]', ["validation"]),
        ('[{split: train, path: "data/**"}]', ["train", "train"]),
    ],
)
def test_cards_of_others(files: str, splits: list[str], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name in ("train", "test"):
        bad_rows(tmp_path / "data" / f"{name}-x.parquet")
    facts = "asqp: {corpus: ../../evil, language: [zh], files: [1], split: 5, synthetic: maybe}"
    card = f"---\nlanguage: [xx]\nconfigs:\n- config_name: default\n  data_files: {files}\n{facts}\n---\n"
    (tmp_path / "README.md").write_text(card, encoding="utf-8")
    source = open_source(str(tmp_path))
    assert [split for split, _ in source.files] == splits
    assert (source.name, source.language, source.is_synthetic) == (tmp_path.name, "zh", False)


@pytest.mark.parametrize(
    "files", ["5", "[{split: train}]", '[{split: train, path: ""}]', "[{split: odd, path: 'data/*'}]"]
)
def test_cards_that_name_no_files(files: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    bad_rows(tmp_path / "data" / "train-x.parquet")
    (tmp_path / "README.md").write_text(f"---\nconfigs:\n- data_files: {files}\n---\n", encoding="utf-8")
    with pytest.raises(DataError, match="data_files"):
        open_source(str(tmp_path))
    (tmp_path / "README.md").write_bytes(b"---\nx: \xff\n---\n")
    with pytest.raises(DataError, match="not YAML in UTF-8"):
        open_source(str(tmp_path))


def test_generated_corpora_take_no_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINE, encoding="utf-8")
    for options in ({"raw": [str(tmp_path / "a.txt")]}, {"format": "acos"}, {"language": "en"}):
        with pytest.raises(UsageError, match="synthetic-car: found --raw, --format or --language"):
            open_source("synthetic-car", **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="expected a name for the files"):
        open_source("../../up/x", raw=[str(tmp_path / "a.txt")])


def test_names_of_any_bytes(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"bad\xff.txt")
    path.write_text(LINE, encoding="utf-8")
    [record] = open_source("car", raw=[str(path)]).records()
    assert record.path.endswith("bad\\xff.txt")
    assert record.sample is not None
    assert record.sample.id == "bad\\xff-1"


def test_long_lines_are_cut_into_small_parts() -> None:
    parts = list(in_parts(["x" * 3_000_000] * 7 + ["y"] * 12_000, len))
    assert [len(part) for part in parts] == [3, 3, 5000, 5000, 2001]


def test_parquet_columns_of_other_kinds(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "x.parquet"
    quads = pa.array([[], []], pa.list_(arrow_schema().field("quads").type.value_type))
    text = pa.array([b"\xe5\xa5\xbd", b"\xff"]).cast(pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": text, "quads": quads}), path)  # no ids, and bytes that are no text
    records = list(open_source(str(path), language="zh").records())
    assert records[0].sample == Sample("x-1", "好", [])
    assert records[1].issues[0].rule == "invalid-utf8"
    pq.write_table(pa.table({"text": [1, 2], "quads": quads}), path)
    with pytest.raises(DataError, match=r"\[text\]: found the type int64, expected string"):
        open_source(str(path), language="zh").samples()

"""Opening things by name, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from asqp_datasets import DataError, Quad, Sample, UsageError
from asqp_datasets.corpora import CORPORA, fetch, get_corpus
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
        with pytest.raises(DataError, match="expected paths in the folder"):
            open_source(str(tmp_path))
    with pytest.raises(DataError, match="found no file or folder of that name, and the Hub gave none"):
        open_source("nobody/nothing")
    (tmp_path / "x.parquet").write_bytes(b"PAR1nonsense")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        list(open_source(str(tmp_path / "x.parquet"), language="zh").records())

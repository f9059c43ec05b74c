"""Dataset folders, read back with the real `datasets` library."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml

from asqp_datasets import DataError, UsageError
from asqp_datasets.builder import build
from asqp_datasets.corpora import CORPORA
from asqp_datasets.duplicates import fold
from asqp_datasets.schema import features
from asqp_datasets.sources import open_source
from tests.conftest import Asqp

OFFICIAL = {
    "zh-food-beverage": (6699, 1435, 1436),
    "restaurant-acos": (1530, 171, 583),
    "laptop-acos": (2934, 326, 816),
    "asqp-rest16": (1264, 316, 544),
}


def assert_offsets_are_true(dataset: object) -> int:
    spans = 0
    for split in dataset.values():  # type: ignore[attr-defined]
        for row in split:
            for quad in row["quads"]:
                for name in ("aspect", "opinion"):
                    start, end = quad[f"{name}_start"], quad[f"{name}_end"]
                    if start >= 0:
                        assert row["text"][start:end] == quad[name]
                        spans += 1
                    else:
                        assert (start, end) == (-1, -1)
    return spans


@pytest.mark.parametrize("corpus", OFFICIAL)
def test_load_dataset_by_name_from_the_working_directory(
    corpus: str,
    raw_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asqp: Asqp,
) -> None:
    from datasets import load_dataset

    monkeypatch.chdir(tmp_path)
    code, out, _ = asqp("data", "build", corpus)
    assert code == 0, out
    dataset = load_dataset(f"asqp/{corpus}")
    assert tuple(len(dataset[name]) for name in ("train", "validation", "test")) == OFFICIAL[corpus]
    assert dataset["train"].features == features()
    # Every span of the files has offsets: 42,380 in zh-food-beverage by an independent count of the raw lines.
    spans = assert_offsets_are_true(dataset)
    assert (
        spans == {"zh-food-beverage": 42380, "restaurant-acos": 5742, "laptop-acos": 8709, "asqp-rest16": 5758}[corpus]
    )
    if corpus == "zh-food-beverage":
        first = dataset["validation"][0]
        assert first["id"] == "validation-1"
        assert first["quads"][0] == {
            "category": "通用-包装#包装美观",
            "aspect": "包装",
            "opinion": "很靓",
            "sentiment": "POS",
            "aspect_start": 0,
            "aspect_end": 2,
            "opinion_start": 2,
            "opinion_end": 4,
        }


@pytest.fixture
def car_files(raw_dir: Path, tmp_path: Path) -> list[Path]:
    """The zh-FoodBeverage lines without their split, in two files: they stand in for Car-ASQP's raw files."""
    lines = b"".join((raw_dir / "zh-food-beverage" / f"{name}.txt").read_bytes() for name in ("test", "train", "dev"))
    parts = lines.splitlines(keepends=True)
    files = [tmp_path / "car-1.txt", tmp_path / "car-2.txt"]
    files[0].write_bytes(b"".join(parts[:4000]))
    files[1].write_bytes(b"".join(parts[4000:]))
    return files


def test_an_owners_files_become_an_exact_split_without_leakage(
    car_files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asqp: Asqp
) -> None:
    from datasets import load_dataset

    monkeypatch.chdir(tmp_path)
    assert asqp("data", "build", "car", "--raw", *car_files)[0] == 0
    dataset = load_dataset("asqp/car")
    assert [len(dataset[name]) for name in ("train", "validation", "test")] == [6699, 1436, 1435]
    assert_offsets_are_true(dataset)
    sides: dict[str, set[str]] = {}
    for name, split in dataset.items():
        for text in split["text"]:
            sides.setdefault(fold(text), set()).add(name)
    assert {len(names) for names in sides.values()} == {1}
    code, out, _ = asqp("data", "check", "asqp/car", "--json")
    assert code == 0
    assert not [f for f in json.loads(out)["findings"] if f["rule"].endswith("across-splits")]
    # Strata in proportion: each (first-level category, sentiment) with 50 samples or more within a tenth of its share.
    strata = {
        name: Counter(
            pair for row in split["quads"] for pair in {(q["category"].split("#")[0], q["sentiment"]) for q in row}
        )
        for name, split in dataset.items()
    }
    for pair, total in sum(strata.values(), Counter()).items():
        if total >= 50:
            assert abs(strata["train"][pair] / total - 0.7) < 0.07, pair
    before = {path.name: path.read_bytes() for path in Path("asqp/car").rglob("*") if path.is_file()}
    assert "unchanged" in asqp("data", "build", "car", "--raw", *car_files)[1]
    assert {path.name: path.read_bytes() for path in Path("asqp/car").rglob("*") if path.is_file()} == before
    asqp("data", "build", "car", "--raw", *car_files, "--seed", 1)
    assert load_dataset("asqp/car")["test"]["id"] != dataset["test"]["id"]


def write_raw(path: Path, count: int, word: str = "味道") -> Path:
    lines = [
        f"第{i}次买，{word}真的很好####[['味道#味道', '{5 + len(str(i)) - 1},{7 + len(str(i)) - 1}', '-1,-1', '2']]"
        for i in range(count)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_rebuild_is_never_served_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from datasets import load_dataset

    monkeypatch.chdir(tmp_path)
    for count, word in ((20, "味道"), (30, "味道"), (30, "口感"), (20, "味道")):
        raw = write_raw(tmp_path / "raw.txt", count, word)
        build(open_source("car", raw=[str(raw)]), Path("asqp/car"))
        dataset = load_dataset("asqp/car")
        assert sum(map(len, dataset.values())) == count
        assert all(word in text for split in dataset.values() for text in split["text"])
    assert len(list(Path("asqp/car/data").iterdir())) == 3  # nothing of the earlier builds is left


def test_the_card(tmp_path: Path) -> None:
    raw = write_raw(tmp_path / "raw.txt", 20)
    hostile = "<script>alert(1)</script>|`x`#[味](道)"
    line = f"一条恶意的评论内容####[[{hostile!r}, '0,2', '-1,-1', '0']]\n"
    raw.write_text(raw.read_text(encoding="utf-8") + line, encoding="utf-8")
    built = build(open_source("car", raw=[str(raw)]), tmp_path / "car")
    card = (built.folder / "README.md").read_text(encoding="utf-8")
    _, front, body = card.split("---\n", 2)
    data = yaml.safe_load(front)
    assert data["language"] == ["zh"]
    assert data["license"] == "other"
    assert [entry["split"] for entry in data["configs"][0]["data_files"]] == ["train", "validation", "test"]
    assert [(s["name"], s["num_examples"]) for s in data["dataset_info"]["splits"]] == [
        ("train", 15),  # 21 samples: 14.7, 3.15, 3.15
        ("validation", 3),
        ("test", 3),
    ]
    assert data["asqp"]["synthetic"] is False
    assert data["asqp"]["split"] == {"ratio": "7:1.5:1.5", "seed": 0, "together": "copies and near copies"}
    assert "| quads | 21 | 39075 |" in body
    assert "<script" not in body
    assert (
        "Lines read: 21; samples: 21; lines that could not be read: 0. No text and no annotation was changed." in body
    )
    assert "The paper says of its corpus: before annotation" in body  # what the paper did before
    assert "want it taken down" in body
    assert "@misc{asqp_benchmark," in body


def test_synthetic_data_says_so(tmp_path: Path, asqp: Asqp) -> None:
    out = tmp_path / "any-name"
    assert asqp("data", "build", "synthetic-car", "--size", 40, "--seed", 3, "--out", out)[0] == 0
    card = (out / "README.md").read_text(encoding="utf-8")
    data = yaml.safe_load(card.split("---\n")[1])
    assert data["asqp"]["synthetic"] is True
    assert data["asqp"]["generator"] == {"size": 40, "seed": 3}
    assert "synthetic" in data["tags"]
    assert "**Synthetic.**" in card
    # It stays marked when it is split anew under another name.
    again = tmp_path / "again"
    assert asqp("data", "split", out, "--ratio", "1:1:1", "--out", again)[0] == 0
    assert (
        yaml.safe_load((again / "README.md").read_text(encoding="utf-8").split("---\n")[1])["asqp"]["synthetic"] is True
    )


def test_processes_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asqp_datasets.builder._PARALLEL_FROM", 10)
    monkeypatch.setattr("asqp_datasets.builder.PART", 70)
    source = open_source("synthetic-digital", size=200, seed=1)
    build(source, tmp_path / "one", processes=1)
    build(source, tmp_path / "two", processes=2)
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name).rglob("*") if path.is_file()}
        for name in ("one", "two")
    )
    assert one == two


def test_what_stands_in_the_folder_is_not_lost(tmp_path: Path) -> None:
    source = open_source("synthetic-car", size=20)
    foreign = tmp_path / "thesis"
    foreign.mkdir()
    (foreign / "chapter.txt").write_text("work of years")
    with pytest.raises(DataError, match="found a folder with other content"):
        build(source, foreign)
    assert (foreign / "chapter.txt").read_text() == "work of years"
    dataset = tmp_path / "set"
    build(source, dataset)
    (dataset / "NOTES.md").write_text("mine")
    build(open_source("synthetic-car", size=30), dataset)
    assert (dataset / "NOTES.md").read_text() == "mine"
    with pytest.raises(DataError, match="found a file, expected a folder"):
        build(source, foreign / "chapter.txt")
    with pytest.raises(UsageError, match="expected train:validation:test"):
        build(source, tmp_path / "x", ratio="70/30")
    assert not (tmp_path / "x").exists()


def test_a_killed_build_leaves_the_old_dataset_and_the_next_cleans_up(tmp_path: Path) -> None:
    from datasets import load_dataset

    out = tmp_path / "set"
    build(open_source("synthetic-car", size=20), out)
    command = [
        sys.executable,
        "-m",
        "asqp_models.cli",
        "data",
        "build",
        "synthetic-car",
        "--size",
        "400000",
        "--out",
        str(out),
    ]
    killed = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".set.building-*/staged.arrow")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert list(tmp_path.glob(".set.building-*"))
    assert sum(map(len, load_dataset(str(out)).values())) == 20
    build(open_source("synthetic-car", size=30), out)
    assert sum(map(len, load_dataset(str(out)).values())) == 30
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set"]


def test_two_builds_at_once(tmp_path: Path) -> None:
    out = tmp_path / "set"
    command = [
        sys.executable,
        "-m",
        "asqp_models.cli",
        "data",
        "build",
        "synthetic-car",
        "--size",
        "500",
        "--out",
        str(out),
    ]
    both = [subprocess.Popen([*command, "--seed", str(seed)], stdout=subprocess.DEVNULL) for seed in (1, 2)]
    assert [process.wait() for process in both] == [0, 0]
    data = yaml.safe_load((out / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    names = {path.name for path in (out / "data").iterdir()}
    assert len(names) == 3
    assert all(
        any(Path("data", name).match(entry["path"]) for name in names) for entry in data["configs"][0]["data_files"]
    )


def test_rejects_of_an_earlier_build_do_not_stay(tmp_path: Path) -> None:
    raw = write_raw(tmp_path / "raw.txt", 20)
    good = raw.read_text(encoding="utf-8")
    raw.write_text(good + "bad line\n", encoding="utf-8")
    assert build(open_source("car", raw=[str(raw)]), tmp_path / "car").rejects == tmp_path / "car.rejects.jsonl"
    raw.write_text(good, encoding="utf-8")
    assert build(open_source("car", raw=[str(raw)]), tmp_path / "car").rejects is None
    assert not (tmp_path / "car.rejects.jsonl").exists()


def test_exact_sizes_go_before_near_copies_but_not_before_copies(tmp_path: Path) -> None:
    # 100 lines of one pattern are all near copies of each other; two of them are the same.
    text = "这辆车的内饰真的很差，屏幕也不大，座椅还行，空间也一般，编号{}"
    lines = [text.format(i) + "####[['内饰#内饰整体', '4,6', '8,10', '0']]" for i in [*range(100), 7]]
    raw = tmp_path / "raw.txt"
    raw.write_text("\n".join(lines) + "\n", encoding="utf-8")
    built = build(open_source("car", raw=[str(raw)]), tmp_path / "car")
    assert [part.samples for part in built.statistics.values()] == [71, 15, 15]  # 70.7, 15.15, 15.15
    assert (built.exact, built.near_apart) == (True, True)
    found = {finding.rule: finding.places for finding in built.report.findings}
    assert found["duplicate-text"] == 1
    assert "duplicate-text-across-splits" not in found
    assert found["near-duplicate-text-across-splits"] > 10
    # Nothing but copies: they stay together, and the sizes are not exact.
    raw.write_text("\n".join(lines[:1] * 10) + "\n", encoding="utf-8")
    built = build(open_source("car", raw=[str(raw)]), tmp_path / "car")
    assert {name: part.samples for name, part in built.statistics.items()} == {"train": 10}
    assert not built.exact


def test_other_peoples_parquet_files_stay(tmp_path: Path, asqp: Asqp) -> None:
    out = tmp_path / "set"
    build(open_source("synthetic-car", size=30), out)
    for name in ("mine.parquet", "data/mine.parquet", "views/x.parquet"):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_bytes(b"mine")
    build(open_source("synthetic-car", size=40), out)
    assert all(
        (out / name).read_bytes() == b"mine" for name in ("mine.parquet", "data/mine.parquet", "views/x.parquet")
    )
    # Views do not replace the dataset they are made from, nor a dataset the views.
    code, _, err = asqp("data", "subtasks", out, "--task", "ASTE", "--out", out)
    assert (code, "found a dataset of quads, expected a new folder, or views to replace" in err) == (2, True)
    assert asqp("data", "subtasks", out, "--task", "ASTE", "--out", tmp_path / "views")[0] == 0
    assert asqp("data", "subtasks", out, "--task", "OTE", "--out", tmp_path / "views")[0] == 0
    assert sorted(path.name for path in (tmp_path / "views").iterdir() if any(path.glob("*.parquet"))) == ["ote"]
    with pytest.raises(DataError, match="found views, expected a new folder, or a dataset of quads to replace"):
        build(open_source("synthetic-car", size=30), tmp_path / "views")


@pytest.mark.parametrize("size", [20_000, 10_000, 9_999])
def test_whole_row_groups(size: int, tmp_path: Path) -> None:
    raw = tmp_path / "raw.txt"
    raw.write_text("".join(f"{i}好####[]\n" for i in range(size)), encoding="utf-8")
    built = build(open_source("car", raw=[f"train={raw}"]), tmp_path / "car")
    assert built.statistics["train"].samples == size


def test_a_link_to_a_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for size in (20, 30):
        build(open_source("synthetic-car", size=size), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "README.md").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


def test_a_file_that_differs_from_upstream_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asqp: Asqp
) -> None:
    folder = tmp_path / "en-phone"
    folder.mkdir()
    for name in ("train", "dev", "test"):
        (folder / f"{name}.txt").write_text("good phone####[['Phone#All', '5,10', '0,4', '2']]\n", encoding="utf-8")
    monkeypatch.setenv("ASQP_RAW_DIR", str(tmp_path))
    code, _, err = asqp("data", "fetch", "en-phone")
    assert (code, err.count("not the file that was published")) == (1, 3)
    code, _, err = asqp("data", "build", "en-phone", "--out", tmp_path / "out")
    assert (code, err.count("not the file that was published")) == (0, 3)
    assert "| checksum-differs | warning | 3 (file) |" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_what_a_kill_in_the_swap_leaves_is_removed(tmp_path: Path) -> None:
    out = tmp_path / "set"
    build(open_source("synthetic-car", size=30), out)
    (out / "data" / "train-00000-of-00001-0123456789abcdef.parquet").write_bytes(b"of a build that was killed")
    build(open_source("synthetic-car", size=40), out)
    assert len(list((out / "data").iterdir())) == 3
    # A first build that was killed before its card: the folder is filled again.
    (out / "README.md").unlink()
    build(open_source("synthetic-car", size=50), out)
    assert sum(map(len, open_source(str(out)).samples().values())) == 50


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["synthetic-car", "synthetic-digital"])
def test_a_million_reviews_in_a_gigabyte(corpus: str, tmp_path: Path, asqp: Asqp) -> None:
    out = tmp_path / "set"
    command = [sys.executable, "-m", "asqp_models.cli", "data", "build", corpus, "--size", "1000000", "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert usage.ru_maxrss < 1_000_000  # kilobytes
    counted = json.loads(asqp("data", "stats", out, "--json")[1])
    assert [counted["splits"][name]["samples"] for name in ("train", "validation", "test")] == [700000, 150000, 150000]
    paper, measured = CORPORA[corpus].paper, counted["all"]
    for key in ("words_per_sample", "quads_per_sample", "words_per_aspect", "words_per_opinion"):
        assert measured[key] == pytest.approx(paper[key], rel=0.02), key
    for key in ("EA&EO", "EA&IO", "NEG", "NEU", "POS"):
        assert measured[key] / measured["quads"] == pytest.approx(
            float(paper[key]) / float(paper["quads"]), rel=0.02
        ), key

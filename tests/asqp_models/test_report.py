"""Pages and tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from asqp_datasets import Quad
from asqp_datasets.builder import build
from asqp_datasets.sources import open_source
from asqp_f1 import find_errors
from asqp_models import pages, report, training
from asqp_models.run_config import RunConfig
from tests.conftest import Asqp


def test_highlight_cuts_at_every_border() -> None:
    quads = [Quad("c#d", "内饰", "饰差", "NEG", 0, 2, 1, 3), Quad("c#d", "NULL", "", "NEG", -1, -1, 2, 2)]
    assert pages.highlight("内饰差吗", quads) == [
        ("内", "aspect"),
        ("饰", "aspect opinion"),
        ("差", "opinion"),
        ("吗", ""),
    ]
    assert pages.highlight("", []) == []


def test_verdicts_count_each_gold_once() -> None:
    quad, other = Quad("c#d", "a", "o", "POS"), Quad("c#d", "b", "o", "POS")
    errors = find_errors([[quad, quad]], [[quad, other]])
    shown = [(each.verdict, each.strings[1]) for each in pages.verdicts([quad, quad], [quad, other], errors)]
    assert shown == [("right", "a"), ("wrong", "a"), ("missed", "b")]
    # Folded, full-width letters are equal: the page says what the score says.
    wide = quad._replace(aspect="ａ")
    errors = find_errors([[wide]], [[quad]], normalize="nfkc")
    assert [each.verdict for each in pages.verdicts([wide], [quad], errors)] == ["right"]


def test_hostile_reviews_are_shown_not_run(tmp_path: Path) -> None:
    text = "<script>alert(1)</script><img src=x onerror=alert(2)>很差"
    words = "内饰屏幕座椅空间油耗动力外观价格服务质量做工噪音"
    lines = [f"{text}{words[i] * 9}####[['<b>#x', '0,8', '-1,-1', '0']]" for i in range(len(words))]
    raw = tmp_path / "raw.txt"
    raw.write_text("\n".join(lines) + "\n", encoding="utf-8")
    build(open_source("car", raw=[str(raw)]), tmp_path / "car")
    run = training.train(RunConfig("lexicon", str(tmp_path / "car")), tmp_path / "run")
    page = report.write_report([run], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "<img" not in page
    assert "<b>" not in page


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 120, 200])
def test_narrow_terminals_lose_nothing(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from asqp_models.cli import options

    monkeypatch.setattr(options, "terminal_width", lambda: width)
    rows = [
        ["warning", "span-inside-word-and-longer", 33.333, "path/to/a/file.txt:451 " * 6 + "最后一列的文字很长" * 8]
    ]
    options.print_table(("severity", "rule", "count", "what it is"), rows, title="t\x1b[31m")
    out = capsys.readouterr().out
    lines = [line for line in out.splitlines() if line.startswith("│")]
    cells = ["".join(line.split("│")[place].strip() for line in lines) for place in (1, 2, 3, 4)]
    assert cells[:3] == ["warning", "span-inside-word-and-longer", "33.33"]
    assert cells[3].replace(" ", "") == str(rows[0][-1]).replace(" ", "")
    assert all(line.endswith("│") for line in lines)
    assert "\x1b" not in out


def test_tables_by_corpus_where_they_do_not_fit() -> None:
    table = report.Table("T", ["Method", "Car\nP", "Car\nF1", "Digital\nP"], [["m", 1.0, 2.0, 3.0]])
    assert report.fitting(table, 100) == [table]
    assert report.fitting(table, 20) == [
        report.Table("T: Car", ["Method", "P", "F1"], [["m", 1.0, 2.0]]),
        report.Table("T: Digital", ["Method", "P"], [["m", 3.0]]),
    ]


def test_messages_cannot_steer_the_terminal(tmp_path: Path, line: Path, asqp: Asqp) -> None:
    (tmp_path / "esc.csv").write_text("a\x1b[31m,b\n1,2\n", encoding="utf-8")
    code, _, err = asqp("predict", tmp_path / "esc.csv", "--model", line / "run", "--out", tmp_path / "o")
    assert code == 2
    assert "\x1b" not in err
    assert "a\\x1b[31m" in err


def test_a_reader_that_goes_away_is_no_error(line: Path) -> None:
    stats = f"{sys.executable} -m asqp_models.cli data stats {line / 'car'} --json"
    command = f"{stats} | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"

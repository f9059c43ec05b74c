"""The page of the metric's Space: its functions, and the page itself in a headless browser."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asqp_f1 import ScoreError, find_errors, score
from asqp_f1.app import (
    EXAMPLE,
    LIMIT,
    Mark,
    Row,
    align,
    evaluate,
    find_span,
    highlight,
    parse,
    parse_thresholds,
    read_file,
    respond,
    score_table,
)

SPACE = Path(__file__).resolve().parents[2] / "metrics" / "asqp_f1"
QUAD = ["food#quality", "pizza", "great", "POS"]
ATTACK = '<script>window.hacked=1</script><img src=x onerror="window.hacked=1"> ${window.hacked=1} {{value}} `\'&'


def as_dict(quad: list[str], **offsets: int) -> dict[str, Any]:
    return dict(zip(("category", "aspect", "opinion", "sentiment"), quad, strict=True)) | offsets


def line(text: str, *quads: Any, name: str = "1") -> str:
    return json.dumps({"id": name, "text": text, "quads": quads}, ensure_ascii=False)


# Reading


@pytest.mark.parametrize(
    "content",
    [
        '{"id": "a", "text": "t", "quads": []}\n\n{"id": "b", "quads": [["c", "x", "y", "NEG"]]}\n',
        '\ufeff{"id": "a", "text": "t", "quads": []}\r\n{"id": "b", "quads": [["c", "x", "y", "NEG"]]}',
        '[\n{"id": "a", "text": "t", "quads": []},\n{"id": "b", "quads": [["c", "x", "y", "NEG"]]}\n]',
        '[{"id": "a", "text": "t", "quads": []}, {"id": "b", "text": null, "quads": [["c", "x", "y", "NEG"]]}]',
    ],
)
def test_objects_may_be_lines_or_one_list(content: str) -> None:
    assert parse(content, "gold") == [Row("a", "t", []), Row("b", None, [["c", "x", "y", "NEG"]])]


@pytest.mark.parametrize(
    ("content", "samples"),
    [
        (json.dumps([QUAD, QUAD]), [[QUAD, QUAD]]),
        (json.dumps([as_dict(QUAD)]), [[as_dict(QUAD)]]),
        (json.dumps([[QUAD], [], [QUAD]]), [[QUAD], [], [QUAD]]),
        (json.dumps([[], [QUAD]], indent=1), [[], [QUAD]]),
        (f"{json.dumps([QUAD])}\n[]\n{json.dumps([QUAD, QUAD])}", [[QUAD], [], [QUAD, QUAD]]),
        ("[]", [[]]),
        ("[[]]", [[]]),
        ('{"quads": [], "meta": {"error": null}}', [[]]),
    ],
)
def test_lists_of_quads(content: str, samples: list[Any]) -> None:
    assert parse(content, "gold") == [Row(None, None, quads) for quads in samples]


def test_line_separators_within_a_string_do_not_end_a_line() -> None:
    assert [row.text for row in parse(line("a\u2028b") + "\n" + line("c\x85d"), "gold")] == ["a\u2028b", "c\x85d"]


def test_numbers_as_ids_are_strings() -> None:
    assert parse('{"id": 7, "quads": []}', "gold")[0].id == "7"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("  \n", "gold: found 'nothing', expected JSON Lines"),
        ("pizza is great", "gold, line 1: found 'pizza is great', expected JSON (Expecting value, column 1)"),
        ('[]\n\n{"quads": [}', "gold, line 3: found '{\"quads\": [}', expected JSON (Expecting value, column 12)"),
        ('[\n{"quads": []},\n{"quads": [}\n]', "gold, line 3: found '{\"quads\": [}', expected JSON"),
        ('[]\n{"id": "1"}', "gold, line 2: found {'id': '1'}, expected a list of quads, or an object"),
        ('[{"quads": []}, 3]', "gold, sample 1: found 3, expected a list of quads, or an object"),
        ('{"quads": NaN}', "gold, sample 0: found {'quads': nan}, expected a list of quads, or an object"),
        ('{"quads": [], "text": 5}', "gold, sample 0, text: found 5, expected a string"),
        ('{"quads": [], "id": true}', "gold, sample 0, id: found True, expected a string"),
        ("[" * 100_000, "expected JSON that is less deep"),
        (f'{{"quads": [], "id": {"9" * 5000}}}', "expected JSON that is less deep, with shorter numbers"),
    ],
)
def test_what_cannot_be_read_is_named(content: str, message: str) -> None:
    with pytest.raises(ScoreError) as error:
        parse(content, "gold")
    assert message in str(error.value)


def test_files(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "pizza 好", "quads": [as_dict(QUAD, aspect_start=0)]}, {"id": "b", "quads": []}]
    expected = [Row(row["id"], row.get("text"), row["quads"]) for row in rows]  # type: ignore[arg-type]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    (tmp_path / "a.json").write_text(json.dumps(rows), "utf-8-sig")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    for name in ("a.jsonl", "a.json", "a.parquet"):
        assert read_file(tmp_path / name, "gold") == expected

    (tmp_path / "b.jsonl").write_bytes("质量".encode("gb18030"))
    (tmp_path / "b.parquet").write_bytes(b"PAR1")
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "c.parquet")
    for name, message in (("b.jsonl", "UTF-8"), ("b.parquet", "a Parquet file"), ("c.parquet", "a list of quads")):
        with pytest.raises(ScoreError, match=f"gold.*expected.* {message}"):
            read_file(tmp_path / name, "gold")


@pytest.mark.parametrize(("value", "expected"), [("0, 2", (0, 2)), ("5", (5,)), (" ", ()), ("2,2", (2, 2))])
def test_thresholds(value: str, expected: tuple[int, ...]) -> None:
    assert parse_thresholds(value) == expected


@pytest.mark.parametrize("value", ["-1", "two", "0;2", "1.5", "²", "0,,2", "9" * 5000])
def test_bad_thresholds(value: str) -> None:
    with pytest.raises(ScoreError, match=r"thresholds: found .*, expected integers"):
        parse_thresholds(value)


# Lining up


def rows(*names: str | None, text: str | None = None) -> list[Row]:
    return [Row(name, text, []) for name in names]


def test_rows_are_aligned_by_id_else_by_order() -> None:
    pairs = align(rows("b", "a", text="x"), rows("a", "b"))
    assert [(mine.id, theirs.id) for mine, theirs in pairs] == [("a", "a"), ("b", "b")]
    pairs = align(rows("b", "a"), rows(None, None))
    assert [mine.id for mine, _ in pairs] == ["b", "a"]


@pytest.mark.parametrize(
    ("predicted", "gold", "message"),
    [
        (rows("a", "c"), rows("a", "b"), "predictions: expected the ids of gold: 1 are missing, such as 'b'"),
        (rows("a", "b", "c"), rows("a", "b"), "gold: expected the ids of predictions: 1 are missing, such as 'c'"),
        (rows("a", "a"), rows("a", "b"), "predictions, sample 1: found 'a', expected every id once"),
        (rows(None, "a"), rows("a", "b"), "predictions: expected an id in every review or in none"),
        (rows(None), rows("a", "b"), "predictions: found 1, expected as many reviews as in gold (2)"),
        (rows("a", text="x"), rows("a", text="y"), "predictions, sample 0: found 'x', expected the text in gold, 'y'"),
    ],
)
def test_rows_that_do_not_line_up(predicted: list[Row], gold: list[Row], message: str) -> None:
    with pytest.raises(ScoreError) as error:
        align(predicted, gold)
    assert str(error.value) == message


# Scores and errors


def test_worked_example() -> None:
    message, scores, signature, errors, reviews = respond(*EXAMPLE, None, None)
    assert message == ""
    assert scores == [
        ["quad, strict", "0.2500", "0.3333", "0.2857", "1"],
        ["aspect-opinion-sentiment, exact", "0.2500", "0.3333", "0.2857", "1"],
        ["aspect-opinion-sentiment, d ≤ 0", "0.7500", "1.0000", "0.8571", "3"],
        ["quad, d ≤ 0", "0.7500", "1.0000", "0.8571", "3"],
        ["aspect-opinion-sentiment, d ≤ 2", "0.7500", "1.0000", "0.8571", "3"],
        ["quad, d ≤ 2", "0.7500", "1.0000", "0.8571", "3"],
    ]
    assert signature == score([[]], [[]])["signature"]
    assert [row[:4] for row in errors] == [
        ["1", "aspect+opinion", "boundary", "boundary"],
        ["1", "aspect+opinion", "boundary", "implicit"],
        ["1", "spurious", "", ""],
    ]
    assert errors[0][4:] == ["(内饰#车载屏幕, 屏幕不, 大, NEG)", "(内饰#车载屏幕, 屏幕, 不大, NEG)"]
    assert errors[2][4:] == ["(内饰#内饰整体, 内饰, 差, NEG)", ""]
    assert '<mark class="aspect">内饰</mark><mark class="opinion">差</mark>，<mark class="aspect wrong">屏幕' in reviews
    assert '<mark class="aspect wrong">屏幕不</mark><mark class="opinion wrong">大</mark>' in reviews


def test_score_table_at_other_options() -> None:
    result = score([[QUAD]], [[QUAD]], thresholds=())
    assert [row[0] for row in score_table(result, ())] == ["quad, strict", "aspect-opinion-sentiment, exact"]
    _, scores, signature, _, _ = respond(*EXAMPLE, None, None, "5", "any", "nfkc", "acos")
    assert scores[2] == ["aspect-opinion-sentiment, d ≤ 5", "1.0000", "1.0000", "1.0000", "4"]
    assert "d:5|unit:char|norm:nfkc|match:any|protocol:acos" in signature


def test_quads_are_shown_as_given_and_compared_folded() -> None:
    gold, wide = line("ＰＩＺＺＡ", QUAD), line("ＰＩＺＺＡ", ["food#quality", "ＰＩＺＺＡ", "", "POS"])
    _, _, _, errors, _ = respond(gold, wide, None, None, normalize="nfkc")
    assert errors == [
        ["1", "opinion", "", "implicit", "(food#quality, ＰＩＺＺＡ, NULL, POS)", "(food#quality, pizza, great, POS)"]
    ]


def test_unreadable_outputs_of_the_protocols_are_no_errors_of_elements() -> None:
    gold, predicted = json.dumps([QUAD]), json.dumps([["", "", "", ""], [*QUAD[:3], "NEG"]])
    _, scores, _, errors, _ = respond(gold, predicted, None, None, protocol="absa-quad")
    assert scores[0][1:] == ["0.0000", "0.0000", "0.0000", "0"]
    assert [row[1] for row in errors] == ["sentiment"]
    message, *_ = respond(gold, predicted, None, None)
    assert "predictions, sample 0, quad 0, sentiment: found &#x27;&#x27;, expected one of" in message


def test_files_are_taken_instead_of_text(tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text(EXAMPLE[0], "utf-8")
    assert respond("not JSON", EXAMPLE[1], str(tmp_path / "gold.jsonl"), None)[1][0][3] == "0.2857"


@pytest.mark.parametrize(
    ("gold", "predicted", "options", "message"),
    [
        (line("t", QUAD), line("t", QUAD[:3]), {}, "predictions, sample 0 (1), quad 0: found ["),
        (line("t", [*QUAD[:3], "good"]), line("t"), {}, "gold, sample 0 (1), quad 0, sentiment: found"),
        (line("t", [*QUAD[:2], 5, "POS"]), line("t"), {}, "opinion: found 5, expected a string"),
        (line("t"), line("t") + "\n{", {}, "predictions, line 2"),
        (line("t"), "", {}, "predictions: found"),
        (line("t"), line("t", name="2"), {}, "the ids of gold"),
        (line("t"), line("t"), {"thresholds": "x"}, "thresholds"),
        (line("t"), line("t"), {"matching": "<b>"}, "matching: found &#x27;&lt;b&gt;&#x27;"),
    ],
)
def test_bad_input_gives_a_message(gold: str, predicted: str, options: dict[str, str], message: str) -> None:
    shown, *results = respond(gold, predicted, None, None, **options)
    assert shown.startswith('<p role="alert">')
    assert message in shown
    assert results == [[], "", [], ""]


# Highlighting


def test_spans_by_offset_else_by_first_occurrence() -> None:
    text = "bad pizza, good pizza"
    assert find_span(text, as_dict(QUAD, aspect_start=16, aspect_end=21), "aspect") == (16, 21)
    assert find_span(text, QUAD, "aspect") == (4, 9)
    assert find_span(text, as_dict(QUAD, aspect_start=-1), "aspect") == (4, 9)
    assert find_span(text, as_dict(QUAD, aspect_start=15), "aspect") == (4, 9)
    assert find_span(text, QUAD, "opinion") is None
    assert find_span("NULL", as_dict(["a", "NULL", "", "POS"]), "aspect") is None


def test_overlapping_marks() -> None:
    marks = [Mark(0, 3, ("aspect",)), Mark(2, 5, ("opinion", "wrong")), Mark(0, 3, ("aspect",))]
    assert highlight("abcde&", marks) == (
        '<mark class="aspect">ab</mark><mark class="aspect opinion wrong">c</mark>'
        '<mark class="opinion wrong">de</mark>&amp;'
    )
    assert highlight("", []) == ""
    assert highlight("𝒂b", [Mark(1, 2, ("aspect",))]) == '𝒂<mark class="aspect">b</mark>'


def test_everything_is_escaped() -> None:
    gold, predicted = line(ATTACK, [ATTACK, ATTACK, "{", "NEG"], name=ATTACK), line(ATTACK, name=ATTACK)
    *_, reviews = respond(gold, predicted, None, None)
    shown = reviews.split("</style>")[1]
    assert "&lt;script&gt;" in shown
    assert "<script" not in shown
    assert "<img" not in shown
    assert "{" not in shown


def test_halves_of_surrogate_pairs_can_be_sent() -> None:
    half = '{"id": "\\ud83d", "text": "\\ud83d", "quads": [["\\ud83d", "\\ud83d", "\\ud83d", "NEG"]]}'
    for outputs in (respond(half, half.replace("NEG", "POS"), None, None), respond(half, "[[1]]", None, None)):
        json.dumps(outputs, ensure_ascii=False).encode()


def test_reviews_without_text_name_their_errors() -> None:
    report = evaluate([Row(None, None, [QUAD])], [Row(None, None, [])])
    assert [row[:2] for row in report.errors] == [["sample 0", "spurious"]]
    assert "<li><b>spurious</b>" in report.reviews
    assert 'class="text' not in report.reviews


def test_at_most_so_many_reviews_those_with_errors_first() -> None:
    gold = [Row(str(index), "pizza", [QUAD]) for index in range(LIMIT + 50)]
    predicted = [*gold[:-1], gold[-1]._replace(quads=[])]
    report = evaluate(predicted, gold)
    assert report.reviews.count("<article>") == LIMIT
    assert report.reviews.index(f"<h4>{LIMIT + 49}</h4>") < report.reviews.index("<h4>0</h4>")
    assert [row[:2] for row in report.errors] == [[str(LIMIT + 49), "missed"]]
    assert len(find_errors([row.quads for row in predicted], [row.quads for row in gold])) == 1


# The page in a browser, from a copy of the folder alone

_NOT_INSTALLED = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if path is None and name.startswith("asqp"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled())
"""
_CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of ``python app.py``, run in a copy of the folder where no package of this project is installed."""
    for package in ("gradio", "playwright"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: no page, or nothing to drive it with")
    if _CHROMIUM is None:
        pytest.skip("chromium is not installed: no browser")
    home = tmp_path_factory.mktemp("space")
    folder, site = home / "app", home / "site"
    shutil.copytree(SPACE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    site.mkdir()
    (site / "sitecustomize.py").write_text(_NOT_INSTALLED, "utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {
        "PYTHONPATH": str(site),
        "GRADIO_SERVER_NAME": "127.0.0.1",
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_TEMP_DIR": str(home / "uploads"),
        "NO_PROXY": "127.0.0.1",
    }
    absent = [sys.executable, "-c", "import asqp_f1"]
    assert subprocess.run(absent, env=environment, cwd=home, capture_output=True, check=False).returncode == 1

    log = home / "log"
    with log.open("w") as out:
        server = subprocess.Popen([sys.executable, "app.py"], cwd=folder, env=environment, stdout=out, stderr=out)
    try:
        address = f"http://127.0.0.1:{port}/"
        _wait(address, server, log)
        yield address
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
    assert "Traceback" not in log.read_text("utf-8")


def _wait(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for _ in range(300):
        assert server.poll() is None, log.read_text("utf-8")
        try:
            with opener.open(address, timeout=5):
                return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.2)
    pytest.fail(f"the page is not served: {log.read_text('utf-8')}")


@pytest.fixture(scope="module")
def browser(space: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(space: str, browser: Any) -> Iterator[Any]:
    """The page, newly opened. Nothing but its own address may be asked for."""
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(space)
    yield page
    page.close()
    assert asked
    assert all(url.startswith((space, "data:", "blob:")) for url in asked), asked


def submit(page: Any, gold: str, predicted: str) -> None:
    page.fill("#gold textarea", gold)
    page.fill("#predictions textarea", predicted)
    page.click("#score")


def test_page_shows_scores_highlights_and_errors(page: Any) -> None:
    from playwright.sync_api import expect

    gold = [
        ["内饰#内饰整体", "内饰", "差", "NEG"],
        ["内饰#车载屏幕", "屏幕", "不大", "NEG"],
        ["买家态度#购买意愿", "购买", "不要", "NEG"],
    ]
    predicted = [gold[0], ["内饰#车载屏幕", "屏幕不", "大", "NEG"], ["买家态度#购买意愿", "不要购买", "NULL", "NEG"]]
    text = "提车一周：内饰差，屏幕不大，不要购买"
    submit(page, line(text, *map(as_dict, gold)), line(text, *map(as_dict, [*predicted, gold[0]])))

    expect(page.locator("#scores")).to_contain_text("0.2857")
    shown = page.locator("#scores").inner_text().split("\n")
    for name, values in {
        "quad, strict": ["0.2500", "0.3333", "0.2857", "1"],
        "aspect-opinion-sentiment, d ≤ 0": ["0.7500", "1.0000", "0.8571", "3"],
    }.items():
        place = shown.index(name) + 1
        assert shown[place : place + 4] == values
    assert page.input_value("#signature :is(textarea, input)").startswith("asqp|aos|d:0,2|unit:char")
    expect(page.locator("#reviews .gold mark.aspect")).to_have_text(["内饰", "屏幕", "购买"])
    expect(page.locator("#reviews .gold mark.opinion")).to_have_text(["差", "不大", "不要"])
    expect(page.locator("#reviews .predicted mark.aspect")).to_have_text(["内饰", "屏幕不", "不要购买"])
    expect(page.locator("#reviews .predicted mark.opinion.wrong")).to_have_text(["差", "大"])
    color = "element => getComputedStyle(element).backgroundColor"
    colors = [page.locator(f"#reviews .gold mark.{name}").first.evaluate(color) for name in ("aspect", "opinion")]
    assert colors == ["rgb(159, 201, 245)", "rgb(255, 213, 138)"]
    for name in ("aspect+opinion", "spurious"):
        expect(page.locator("#errors")).to_contain_text(name)
    expect(page.locator("#reviews li b")).to_have_text(["aspect+opinion", "aspect+opinion", "spurious"])


def test_page_shows_markup_and_does_not_run_it(page: Any) -> None:
    from playwright.sync_api import expect

    gold = line(ATTACK, [ATTACK, ATTACK, "NULL", "NEG"], name=ATTACK)
    submit(page, gold, line(ATTACK, [ATTACK, "<script>", "${window.hacked=1}", "NEG"], name=ATTACK))
    expect(page.locator("#reviews .gold")).to_have_text(ATTACK)
    expect(page.locator("#reviews h4")).to_have_text(ATTACK)
    expect(page.locator("#errors")).to_contain_text("<script>window.hacked=1</script><img")
    page.wait_for_timeout(300)  # an image that fails to load reports it later
    assert page.locator(":is(#reviews, #errors) :is(script, img)").count() == 0
    assert page.evaluate("typeof window.hacked") == "undefined"


def test_page_names_bad_input_and_goes_on(page: Any) -> None:
    from playwright.sync_api import expect

    submit(page, line("a", QUAD), line("a", QUAD) + f"\n{{{ATTACK}")
    expect(page.get_by_role("alert")).to_contain_text("Not scored. predictions, line 2: found ")
    expect(page.locator("#reviews")).not_to_contain_text("Gold")
    assert page.evaluate("typeof window.hacked") == "undefined"
    submit(page, line("a", QUAD), line("a", QUAD[:3]))
    expect(page.get_by_role("alert")).to_contain_text("predictions, sample 0 (1), quad 0: found ['food#quality'")
    page.click("#example")
    expect(page.locator("#gold textarea")).to_have_value(EXAMPLE[0])
    page.click("#score")
    expect(page.locator("#scores")).to_contain_text("0.8571")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_page_takes_files(page: Any, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    rows = [{"id": str(index), "text": "great pizza", "quads": [as_dict(QUAD)]} for index in range(2)]
    (tmp_path / "gold.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "predictions.parquet")
    page.get_by_text("Files instead").click()
    for place, name in (("#gold-file", "gold.jsonl"), ("#prediction-file", "predictions.parquet")):
        page.set_input_files(f"{place} input", tmp_path / name)
        expect(page.locator(f"{place} input")).to_have_count(0)  # the list of files takes its place
    page.click("#score")
    expect(page.locator("#reviews")).to_contain_text("2 reviews, 2 predicted and 2 gold quads")
    expect(page.locator("#reviews li")).to_have_text(["no errors", "no errors"])

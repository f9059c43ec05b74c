"""Cards of predictions: the Hub loads what they name, and they count what is there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from asqp_datasets import DataError, UsageError
from asqp_models.cards import predictions_card
from asqp_models.evaluation import measures
from asqp_models.methods import name_of
from asqp_models.run_folder import load_run
from tests.conftest import Asqp
from tests.hub.fixtures import api
from tests.markdown import HOSTILE, see

if TYPE_CHECKING:
    from huggingface_hub import HfApi

__all__ = ["api"]

REPO = "asqp/car-quads"


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_what_the_card_names_can_be_loaded(suffix: str, line: Path, tmp_path: Path, asqp: Asqp) -> None:
    for name, text in (
        ("one", "内饰差、屏幕不大"),
        ("none", "。"),
    ):  # a column of nothing but empty lists and nulls, too
        (tmp_path / f"{name}.txt").write_text(f"{text}\n", encoding="utf-8")
        folder = tmp_path / f"{name}-{suffix}"
        out = folder / "data" / f"test.{suffix}"
        assert asqp("predict", tmp_path / f"{name}.txt", "--model", line / "run", "--out", out)[0] == 0
        facts = {"path": f"data/test.{suffix}"}
        card = predictions_card(REPO, predictions=out, facts=facts)
        (folder / "README.md").write_text(card, encoding="utf-8")
        ((language, code),) = [each for each in see(card).code if each[0] == "python"]
        assert language == "python"
        names: dict[str, Any] = {}
        exec(code.replace(REPO, str(folder)), names)
        rows = names["predictions"]
        assert [row["text"] for row in rows] == [text]
        assert len(rows[0]["quads"]) == len(rows[0]["meta"]["scores"])
        assert rows[0]["meta"]["error"] is None
        assert rows.features["quads"].feature["aspect_start"].dtype == "int32"


def test_the_card_counts_and_shows_the_scores(line: Path, api: HfApi) -> None:
    from huggingface_hub import DatasetCard

    run = load_run(line / "run")
    scores = run.scores("test")
    path = run.folder / "predictions" / "test.jsonl"
    facts = {"corpus": run.corpus, "language": "zh", "synthetic": True, "scores": scores, "options": {"threshold": 0.3}}
    card = predictions_card(REPO, predictions=path, facts=facts)
    DatasetCard(card).validate()
    seen = see(card)
    made, table = ({row[0]: row[1:] for row in each} for each in seen.tables)
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    quads = sum(len(row["quads"]) for row in rows)
    assert made["model"] == [name_of(run.folder)]
    assert (made["rows"], made["quads"], made["rows that could not be read"]) == (["60"], [str(quads)], ["0"])
    assert (made["corpus"], made["threshold"]) == (["synthetic-car"], ["0.3"])
    del table["measure"]
    assert table == {
        name: [f"{100 * scores[f'{prefix}{key}']:.2f}" for key in ("precision", "recall", "f1")]
        for prefix, name in measures(scores).items()
    }
    data = seen.data
    assert data["asqp"]["scores"]["f1"] == scores["f1"]
    assert data["asqp"]["predictions"] == {"models": [name_of(run.folder)], "rows": 60, "quads": quads}
    assert (data["license"], data["size_categories"], data["language"]) == ("apache-2.0", ["n<1K"], ["zh"])
    assert [text for _, text in seen.headings] == [
        "Predicted quads of synthetic-car",
        *("Columns", "Scores", "Licence", "Citation"),
    ]
    assert "> **Synthetic.**" in card
    bare = predictions_card(REPO, predictions=path, facts={})
    assert "Not measured: no gold quads were given." in bare
    assert "want it taken down" in bare
    assert (see(bare).data["license"], see(bare).data["license_name"]) == ("other", "not-stated")


def test_rows_that_could_not_be_read_are_counted(line: Path, tmp_path: Path, asqp: Asqp) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "内饰差"}\n{"text": 1}\n', encoding="utf-8")
    out = tmp_path / "out.jsonl"
    assert asqp("predict", tmp_path / "in.jsonl", "--model", line / "run", "--out", out)[0] == 0
    card = predictions_card(REPO, predictions=out, facts={})
    assert "| rows that could not be read | `1` |" in card
    assert "says why a row could not be read" in card


def test_hostile_text_breaks_nothing(tmp_path: Path, api: HfApi) -> None:
    from huggingface_hub import DatasetCard

    quad = {"category": HOSTILE, "aspect": "NULL", "opinion": "NULL", "sentiment": "POS"}
    row = {"id": "1", "text": HOSTILE, "quads": [quad], "meta": {"model": HOSTILE, "error": None, HOSTILE: HOSTILE}}
    (tmp_path / "p.jsonl").write_text(json.dumps(row) + "\n")
    scores = {"precision": 0.5, "recall": 0.5, "f1": 0.5, "samples": 1, "signature": HOSTILE}
    scores |= {f"aos_exact_{key}": 0.5 for key in ("precision", "recall", "f1")}
    facts = {"corpus": HOSTILE, "gold": HOSTILE, "language": HOSTILE, "scores": scores, "options": {HOSTILE: HOSTILE}}
    card = predictions_card(REPO, predictions=tmp_path / "p.jsonl", facts=facts)
    DatasetCard(card).validate()
    seen = see(card)
    assert [text for _, text in seen.headings[1:]] == ["Columns", "Scores", "Licence", "Citation"]
    assert not seen.kinds & {"html_inline", "html_block", "link_open", "image", "em_open", "hr"}
    assert [len({len(row) for row in table}) for table in seen.tables] == [1, 1]
    assert seen.data["asqp"]["predictions"]["models"] == [HOSTILE]
    assert "dataset_info" not in seen.data  # its meta is another's
    card.encode("utf-8")


def test_what_is_refused(line: Path, tmp_path: Path) -> None:
    good = line / "run" / "predictions" / "test.jsonl"
    for facts, message in (
        ({"path": "../x.jsonl"}, "path: found"),
        ({"path": "/x.jsonl"}, "path: found"),
        ({"path": "a b.jsonl"}, "path: found"),
        ({"split": 'x", "y'}, "split: found"),
        ({"licence": "MIT License"}, "licence: found"),
    ):
        with pytest.raises(UsageError, match=message):
            predictions_card(REPO, predictions=good, facts=facts)
    shutil.copy(good, tmp_path / "my file.jsonl")
    with pytest.raises(UsageError, match="path: found 'my file"):
        predictions_card(REPO, predictions=tmp_path / "my file.jsonl", facts={})
    for content in ("", "{", "[]\n", '{"quads": [], "meta": 1}\n', '{"quads": 1, "meta": {}}\n', '{"id": "1"}\n'):
        (tmp_path / "p.jsonl").write_text(content)
        with pytest.raises(DataError, match=r"p\.jsonl"):
            predictions_card(REPO, predictions=tmp_path / "p.jsonl", facts={})
    (tmp_path / "p.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"p\.parquet: cannot be read"):
        predictions_card(REPO, predictions=tmp_path / "p.parquet", facts={})

"""Cards of models whose facts come from anybody: nothing breaks, no folder is told, nonsense is refused."""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from asqp_datasets import DataError, UsageError
from asqp_models.cards import EXAMPLES, model_card
from asqp_models.run_config import RunConfig
from asqp_models.run_folder import Run, load_run
from tests.hub.fixtures import api
from tests.markdown import HOSTILE, see

if TYPE_CHECKING:
    from huggingface_hub import HfApi

__all__ = ["api"]

REPO = "asqp/lexicon-car"


@pytest.fixture(scope="module")
def run(line: Path) -> Run:
    return load_run(line / "run")


def hostile(run: Run) -> Run:
    def rename(scores: Any) -> Any:
        if isinstance(scores, dict):
            return {HOSTILE if key in ("内饰", "train") else key: rename(value) for key, value in scores.items()}
        return [rename(each) for each in scores] if isinstance(scores, list) else scores

    settings = {HOSTILE: HOSTILE, "encoder": HOSTILE, "epochs": 3}
    return dataclasses.replace(
        run,
        corpus=HOSTILE,
        language=HOSTILE,
        version=HOSTILE,
        config=RunConfig("lexicon", HOSTILE, 0, HOSTILE, settings),
        metrics=[row | {"signature": HOSTILE} for row in rename(run.metrics)],
        environment=dict.fromkeys(run.environment, HOSTILE),
        data={split: {"samples": HOSTILE, "sha256": HOSTILE} for split in run.data},
    )


def test_hostile_text_breaks_nothing(run: Run, api: HfApi) -> None:
    from huggingface_hub import ModelCard

    plain, card = model_card(run, REPO), model_card(hostile(run), REPO)
    ModelCard(card).validate()
    good, bad = see(plain), see(card)
    assert bad.data["asqp"]["corpus"] == bad.data["language"][0] == HOSTILE
    assert bad.data["asqp"]["settings"][HOSTILE] == HOSTILE
    assert [level for level, _ in bad.headings] == [level for level, _ in good.headings]
    assert [text for _, text in bad.headings[1:]] == [text for _, text in good.headings[1:]]
    assert bad.code == [(language, code.replace("内饰差、屏幕不大", EXAMPLES["en"])) for language, code in good.code]
    assert not bad.kinds & {"html_inline", "html_block", "link_open", "image", "em_open", "s_open", "hr"}
    widths = [{len(row) for row in table} for table in bad.tables]
    assert all(len(each) == 1 for each in widths)
    body = card.split("\n---\n", 1)[1]
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e\u200f\ud800]", body)
    card.encode("utf-8")


def test_no_folder_of_this_machine_is_named(run: Run, line: Path) -> None:
    for encoder in ("/home/somebody/models/bert", "C:\\Users\\somebody\\bert", "~/somebody/bert"):
        config = dataclasses.replace(run.config, settings={"encoder": encoder})
        card = model_card(dataclasses.replace(run, config=config), REPO)
        assert "somebody" not in card
        assert str(line) not in card
        assert "| `encoder` | `bert` |" in card
    for encoder, based in (("hfl/chinese-macbert-base", True), ("scratch", False), ("package:a/b", False)):
        config = dataclasses.replace(run.config, settings={"encoder": encoder})
        data = see(model_card(dataclasses.replace(run, config=config), REPO)).data
        assert data.get("base_model") == (encoder if based else None)
        assert data["license"] == ("apache-2.0" if encoder == "scratch" else "other")


def test_damaged_runs_and_ids_are_refused(run: Run, tmp_path: Path) -> None:
    for repo in ("car", "a/b/c", "a/b\n", "a/b`", '"a/b', "a--b/c..d", ""):
        with pytest.raises(UsageError, match="expected NAMESPACE/NAME"):
            model_card(run, repo)
    for licence in ("", "MIT License", "mit\nx: y"):
        with pytest.raises(UsageError, match="expected a name as the Hub has it"):
            model_card(run, REPO, licence=licence)
    shutil.copytree(run.folder, tmp_path / "run")
    broken = load_run(tmp_path / "run")
    (tmp_path / "run" / "history.jsonl").write_text("[]\n")
    with pytest.raises(DataError, match=r"history\.jsonl: cannot be read"):
        model_card(broken, REPO)

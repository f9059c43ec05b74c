"""Cards of datasets: what comes from the card of somebody else, whom they cite, what their code loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from asqp_datasets.builder import build
from asqp_datasets.card_text import front_matter, gated
from asqp_datasets.sources import open_source
from tests.hub.clients import client_in_this_process
from tests.markdown import HOSTILE, see

if TYPE_CHECKING:
    from tests.hub.server import HubServer


def test_the_card_of_a_rebuilt_dataset_is_safe_from_the_card_before(tmp_path: Path, hub: HubServer) -> None:
    from huggingface_hub import DatasetCard

    first = build(open_source("synthetic-car", size=60, seed=1), tmp_path / "first").folder
    card = (first / "README.md").read_text(encoding="utf-8")
    front, body = card[4:].split("\n---\n", 1)
    data = yaml.safe_load(front)
    data["asqp"] |= {"corpus": "mine", "files": [{"name": HOSTILE, "sha256": HOSTILE, "split": HOSTILE}]}
    data["asqp"]["split"] = {"ratio": HOSTILE, "seed": HOSTILE, "together": HOSTILE}
    (first / "README.md").write_text(front_matter(data) + body, encoding="utf-8")
    again = build(open_source(str(first)), tmp_path / "again").folder
    card = (again / "README.md").read_text(encoding="utf-8")
    seen = see(card)
    assert [text for _, text in seen.headings] == [
        *("mine (synthetic)", "Schema", "Source", "Cleaning", "Splits", "Statistics", "Known faults", "Licence"),
        "Citation",
    ]
    assert not seen.kinds & {"html_inline", "html_block", "link_open", "image", "em_open", "hr"}
    assert all(len({len(row) for row in table}) == 1 for table in seen.tables)
    with client_in_this_process(hub.endpoint, tmp_path / "home"):
        DatasetCard(card).validate()
        DatasetCard(gated(card)).validate()
    ((_, code),) = [each for each in seen.code if each[0] == "python"]
    names: dict[str, Any] = {}
    exec(code.replace("path/to/this/folder", str(again)), names)
    assert {name: len(rows) for name, rows in names["dataset"].items()} == {"train": 42, "validation": 9, "test": 9}


def test_the_corpus_is_cited(raw_dir: Path, tmp_path: Path) -> None:
    folder = build(open_source("restaurant-acos"), tmp_path / "r").folder
    assert "author = {Cai, Hongjie and Xia, Rui and Yu, Jianfei}" in (folder / "README.md").read_text(encoding="utf-8")

"""What the README and the docstrings show is what happens."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest
import yaml

import asqp_f1

FOLDER = Path(asqp_f1.__file__).parent
README = (FOLDER / "README.md").read_text(encoding="utf-8")


def test_readme_examples() -> None:
    failed, tried = doctest.testfile(str(FOLDER / "README.md"), module_relative=False, encoding="utf-8")
    assert (failed, tried > 15) == (0, True)


@pytest.mark.parametrize("name", ["scoring", "errors"])
def test_docstring_examples(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(f"asqp_f1.{name}"))
    assert (failed, tried > 0) == (0, True)


def test_front_matter() -> None:
    front = yaml.safe_load(README.split("---")[1])
    assert (front["sdk"], front["app_file"], front["tags"]) == ("gradio", "app.py", ["evaluate", "metric"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", front["sdk_version"])
    assert front["title"]


def test_the_table_of_protocols_repeats_the_examples() -> None:
    shown = re.findall(r"^\[\[.*\]\]$", README, flags=re.MULTILINE)
    table = README.split("| input, gold")[1].split("## Limits")[0].splitlines()[2:7]
    assert len(shown) == len(table) == 5
    for example, line in zip(shown, table, strict=True):
        cells = [[float(number) for number in cell.split(" / ")] for cell in line.split("|")[2:5]]
        assert cells == [[float(number) for number in row.split(", ")] for row in example.strip("[]").split("], [")]


def test_names_are_exported() -> None:
    for name in asqp_f1.__all__:
        assert getattr(asqp_f1, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        asqp_f1.scores  # type: ignore[attr-defined]  # noqa: B018

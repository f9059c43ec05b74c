"""The project as a whole: what is packaged, what an import costs, what the command says."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.conftest import Asqp, python

ROOT = Path(__file__).parent.parent

HEAVY = [
    "datasets",
    "evaluate",
    "huggingface_hub",
    "numpy",
    "pandas",
    "pyarrow",
    "scipy",
    "torch",
    "transformers",
    "yaml",
]


def test_every_package_is_installed() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    homes = {"asqp_f1": ROOT / "metrics" / "asqp_f1", "asqp_datasets.hub_cards": ROOT / "hub_cards"}
    found = {name for name, folder in homes.items() if (folder / "__init__.py").is_file()} | {
        ".".join(path.parent.relative_to(ROOT).parts)
        for top in ("asqp_datasets", "asqp_models")
        for path in (ROOT / top).rglob("__init__.py")
    }
    assert set(config["packages"]) == found


@pytest.mark.parametrize(
    "statement", ["import asqp_datasets", "import asqp_models", "import asqp_f1", "import asqp_models.cli"]
)
def test_imports_load_no_heavy_library(statement: str) -> None:
    loaded = json.loads(python(f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"))
    assert not set(HEAVY) & set(loaded)


def test_help_loads_no_heavy_library() -> None:
    code = """
import sys, json
sys.argv = ["asqp", "--help"]
from asqp_models.cli import main
try:
    main()
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)))
"""
    assert not set(HEAVY) & set(json.loads(python(code).splitlines()[-1]))


@pytest.mark.parametrize(
    "command",
    ["", "demo", "data", "train", "predict", "score", "compare", "errors", "metric", "publish"]
    + [f"publish {name}" for name in ("dataset", "model", "metric", "predictions")]
    + [f"data {name}" for name in ("corpora", "fetch", "build", "check", "stats", "split", "subtasks")],
)
def test_every_help_shows_an_example(command: str, asqp: Asqp) -> None:
    code, out, _ = asqp(*command.split(), "--help")
    assert code == 0
    if command not in ("data", "publish"):  # their commands show theirs
        assert "Example:" in out


def test_usage_errors_are_one_line_and_exit_2(asqp: Asqp) -> None:
    for arguments, message in (
        (["data", "build", "cars"], "dataset: found 'cars', expected a corpus (restaurant-acos"),
        (["data", "build", "car"], "corpus car: The raw files are not public"),
        (["data", "build", "car", "x.txt"], "arguments: found 'x.txt' after 'car'"),
        (["data", "build", "car", "--raw", "missing.txt"], "missing.txt: found no such file, expected raw annotations"),
        (["data", "stats", "zh-food-beverage", "--size", "3"], "size: found 3 for 'zh-food-beverage'"),
        (["data", "stats", "synthetic-car", "--size", "0"], "Invalid value for '--size'"),
        (["data", "fetch", "cars"], "corpus: found 'cars', expected one of"),
        (["train", "--method", "magic", "--dataset", "x"], "method: found 'magic', expected one of lexicon"),
        (["train", "--method", "lexicon"], "dataset: found none, expected --dataset"),
        (["predict", "x.txt", "--model", "nowhere", "--out", "y"], "nowhere: found no checkpoint"),
        (["score", "nothing.jsonl", "car"], "corpus car"),
        (["nonsense"], "No such command 'nonsense'"),
    ):
        code, _, err = asqp(*arguments)
        assert code == 2, arguments
        assert message in err, arguments


def test_the_readme_begins_with_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = readme.split("```bash\n", 1)[1].split("```", 1)[0]
    assert block == "make demo\nmake test\n"

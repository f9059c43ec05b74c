"""The module of the `evaluate` library: what it computes, and that its folder works alone."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pytest

import asqp_f1
from tests.asqp_f1.test_worked import GOLD, PREDICTED

FOLDER = Path(asqp_f1.__file__).parent


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        import evaluate

        home = tmp_path_factory.mktemp("evaluate")
        patch.setattr("evaluate.config.HF_MODULES_CACHE", home / "modules")
        patch.setattr("evaluate.loading.init_dynamic_modules", lambda *_, **__: _modules(home / "modules"))
        patch.setattr("evaluate.config.HF_METRICS_CACHE", home / "metrics")
        patch.setattr("evaluate.config.HF_EVALUATE_OFFLINE", True)
        patch.syspath_prepend(str(home / "modules"))
        yield evaluate


def _modules(folder: Path) -> str:
    package = folder / "evaluate_modules"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").touch()
    return str(package)


@pytest.fixture
def metric(module: Any) -> Any:
    return module.load(str(FOLDER))


def dicts(corpus: Any) -> Any:
    names = ("category", "aspect", "opinion", "sentiment", "aspect_start")
    return [[dict(zip(names, (*quad, 3), strict=True)) for quad in quads] for quads in corpus]


def random_corpus(size: int) -> tuple[Any, Any]:
    rng = random.Random(0)

    def quads() -> list[tuple[str, ...]]:
        return [
            (rng.choice("xy"), rng.choice(["NULL", "ab", "内"]), rng.choice("ab"), rng.choice(["NEG", "POS"]))
            for _ in range(rng.randrange(4))
        ]

    return [quads() for _ in range(size)], [quads() for _ in range(size)]


def test_compute_equals_score(metric: Any) -> None:
    options: dict[str, Any] = {
        "thresholds": [0, 1],
        "breakdown": True,
        "subtasks": True,
        "errors": True,
        "bootstrap": 20,
        "seed": 3,
    }
    predictions, golds = random_corpus(50)
    expected = asqp_f1.score(predictions, golds, **options)
    assert metric.compute(predictions=predictions, references=golds, **options) == expected
    assert metric.compute(predictions=dicts(predictions), references=golds, **options) == expected
    columns = {"p": dicts(predictions), "g": dicts(golds)}
    dataset = datasets.Dataset.from_dict(columns)
    assert metric.compute(predictions=dataset["p"], references=dataset["g"], **options) == expected
    assert metric.compute(predictions=pa.array(columns["p"]), references=golds, **options) == expected
    for more in ({"protocol": "acos"}, {"matching": "any"}, {"normalize": "nfkc"}, {"zero_division": 1.0}):
        result = metric.compute(predictions=predictions, references=golds, **more)
        assert result == asqp_f1.score(predictions, golds, **more)  # type: ignore[arg-type]


def test_the_worked_example(metric: Any) -> None:
    result = metric.compute(predictions=[PREDICTED], references=[GOLD])
    assert (result["f1"], result["aos_d0_f1"], result["tp"]) == (pytest.approx(2 / 7), pytest.approx(6 / 7), 1)
    assert (metric.name, metric.module_type) == ("asqp_f1", "metric")
    assert "Benchmarking Chinese Aspect Sentiment Quad Prediction" in metric.citation
    assert "thresholds" in metric.inputs_description


def test_in_batches_and_one_by_one(metric: Any) -> None:
    predictions, golds = random_corpus(30)
    metric.add_batch(predictions=dicts(predictions[:10]), references=golds[:10])
    for prediction, gold in zip(predictions[10:20], golds[10:20], strict=True):
        metric.add(prediction=prediction, reference=gold)
    metric.add_batch(predictions=predictions[20:], references=golds[20:])
    assert len(metric) == 30
    assert metric.compute(breakdown=True) == asqp_f1.score(predictions, golds, breakdown=True)
    assert len(metric) == 0
    metric.add_batch(predictions=pa.array(dicts(predictions[:10])), references=golds[:10])
    rest = {"predictions": predictions[10:], "references": golds[10:]}
    assert metric.compute(**rest, errors=True) == asqp_f1.score(predictions, golds, errors=True)
    assert metric.compute(predictions=[], references=[])["samples"] == 0
    assert metric.compute(predictions=[[], []], references=[[], []])["samples"] == 2


def test_combine(module: Any, metric: Any) -> None:
    both = module.combine([metric, module.load(str(FOLDER))])
    both.add(prediction=PREDICTED, reference=GOLD)
    both.add_batch(predictions=[PREDICTED], references=[GOLD])
    result = both.compute()
    expected = asqp_f1.score([PREDICTED] * 2, [GOLD] * 2)
    assert {key: result[f"asqp_f1_{i}_{key}"] for key in expected for i in (0, 1)} == expected
    assert both.compute(predictions=[PREDICTED], references=[GOLD])["asqp_f1_1_tp"] == 1


def test_in_memory(module: Any) -> None:
    metric = module.load(str(FOLDER), keep_in_memory=True)
    assert metric.compute(predictions=[PREDICTED], references=[GOLD]) == asqp_f1.score([PREDICTED], [GOLD])


def test_errors_say_where(metric: Any) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"predictions": [[PREDICTED[0][:3]]], "references": [[]]}, r"^predictions, sample 0, quad 0: found \("),
        ({"predictions": [[("c", "a", "o", "bad")]], "references": [[]]}, r"^predictions, sample 0, quad 0, sentiment"),
        ({"predictions": [[]], "references": [[], []]}, r"^predictions: found 1, expected as many samples"),
        ({"predictions": [[]]}, r"^references: found None"),
        ({"references": [[]]}, r"^predictions: found None"),
        ({"predictions": [[]], "references": [[]], "thresholds": [-1]}, r"^thresholds: found -1"),
        ({"predictions": [[("", "", "", "")]], "references": [[]]}, r"^predictions, sample 0, quad 0, sentiment"),
    ]
    for inputs, message in cases:
        with pytest.raises(ValueError, match=message) as caught:
            metric.compute(**inputs)
        assert type(caught.value).__name__ == "ScoreError"
    with pytest.raises(ValueError, match=r"^predictions, sample 0: found None"):
        metric.add(reference=GOLD)
    with pytest.raises(ValueError, match=r"^predictions: found '\\ud800', expected text without lone surrogates"):
        metric.add_batch(predictions=[[("c", "\ud800", "o", "POS")]], references=[[]])
    with pytest.raises(ValueError, match=r"^inputs: found \['texts'\]"):
        metric.add_batch(predictions=[[]], references=[[]], texts=["x"])
    assert metric.compute(predictions=[PREDICTED], references=[GOLD])["samples"] == 1


def test_unparsable_outputs_pass_through(metric: Any) -> None:
    predictions, golds = [[*PREDICTED, ("", "", "", "")]], [GOLD]
    metric.add_batch(predictions=predictions, references=golds)
    assert metric.compute(protocol="absa-quad") == asqp_f1.score(predictions, golds, protocol="absa-quad")


def test_the_loader_finds_every_helper() -> None:
    main = (FOLDER / "asqp_f1.py").read_text(encoding="utf-8")
    imported = set(re.findall(r"^from \.(\w+) import [^#\n]*$", main, flags=re.MULTILINE))
    helpers = {path.stem for path in FOLDER.glob("*.py")} - {"__init__", "asqp_f1", "app"}
    assert imported == helpers
    for path in FOLDER.glob("*.py"):
        assert not re.search(r"\b(asqp_datasets|asqp_models)\b", path.read_text(encoding="utf-8")), path


def test_a_changed_helper_is_loaded(module: Any, tmp_path: Path) -> None:
    copy = tmp_path / "asqp_f1"
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    assert module.load(str(copy)).compute(predictions=[], references=[])["signature"].endswith("|v:0.1.0")
    measures = (copy / "measures.py").read_text(encoding="utf-8")
    (copy / "measures.py").write_text(measures.replace('"0.1.0"', '"9.9.9"'), encoding="utf-8")
    assert module.load(str(copy)).compute(predictions=[], references=[])["signature"].endswith("|v:9.9.9")


ALONE = """
import sys
sys.modules |= {"asqp_f1": None, "asqp_datasets": None, "asqp_models": None}
import evaluate
metric = evaluate.load(sys.argv[1])
quad = ["food#quality", "pizza", "great", "POS"]
result = metric.compute(predictions=[[quad]], references=[[quad]], breakdown=True, errors=True, bootstrap=2)
assert result["f1"] == 1.0, result
print(result["signature"])
"""


def test_the_folder_alone(tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "asqp_f1"
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HF_"))},
        "HF_HOME": str(tmp_path / "home"),
        "HF_EVALUATE_OFFLINE": "1",
    }
    command = [sys.executable, "-c", ALONE, str(copy)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith("asqp|aos|d:0,2|")

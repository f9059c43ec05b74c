"""Cards of models: what the Hub reads in them, what people read in them, and the code in them."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import shutil
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from asqp_datasets import UsageError
from asqp_models import training
from asqp_models.cards import eval_results, metric_card, model_card
from asqp_models.evaluation import measures
from asqp_models.methods import name_of
from asqp_models.run_config import RunConfig
from asqp_models.run_folder import Run, load_run
from tests.conftest import Asqp
from tests.hub.fixtures import api
from tests.markdown import see

if TYPE_CHECKING:
    from huggingface_hub import HfApi

__all__ = ["api"]

REPO = "asqp/lexicon-car"


@pytest.fixture(scope="module")
def run(line: Path) -> Run:
    return load_run(line / "run")


@pytest.fixture(scope="module")
def joint(line: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    pytest.importorskip("transformers", reason="needs the train extra")
    settings: dict[str, Any] = {"epochs": 2, "hidden_size": 32, "embedding_size": 16, "bigram_buckets": 64}
    settings |= {
        "span_size": 16,
        "pair_size": 16,
        "num_hidden_layers": 1,
        "members": 2,
        "folds": 2,
        "learning_rate": 1e-2,
    }
    return training.train(
        RunConfig("joint", str(line / "car"), 1, None, settings), tmp_path_factory.mktemp("j") / "run"
    )


PATTERN = """
# lexicon on Synthetic-Car
> **Synthetic.** This model was trained on reviews that were generated from a grammar; no person wrote them. Its scores
> say nothing about real reviews. It is for trying the tools and for testing.
It reads a review and returns its quads: category, aspect, opinion and sentiment, with the character offsets of the
aspect and of the opinion, and a score.
The method is a dictionary of the training set, with no neural network: which terms are annotated how often, and with…
## Use
With the package `asqp` installed:
```python
from asqp_models import AsqpPredictor
predictor = AsqpPredictor.from_pretrained("asqp/lexicon-car")
quads = predictor("内饰差、屏幕不大")  # or a list of texts
for quad in quads:
    print(quad["category"], quad["aspect"], quad["opinion"], quad["sentiment"], quad["score"])
```
or as a pipeline of `transformers`:
```python
import asqp_models.pipeline  # makes the task known to transformers
from transformers import pipeline
predict = pipeline("aspect-sentiment-quad-prediction", model="asqp/lexicon-car")
quads = predict(["内饰差、屏幕不大"], threshold=0.5)[0]
```
or for files: `asqp predict reviews.csv --model asqp/lexicon-car --out quads.jsonl`.
Offsets count Unicode code points of the untouched text, end exclusive: `text[start:end]` is the term. An implicit term
is `NULL` at -1, -1.
## Results
On 60 test samples of Synthetic-Car, in percent; the definitions are those of the metric
`asqp_f1`, the intervals 95% by resampling the samples. Signature: asqp…
| measure | P | R | F1 | 95% interval of F1 |
|---|---|---|---|---|
| quad (strict) | N | N | N | I |
| aspect-opinion-sentiment, exact | N | N | N | I |
| aspect-opinion-sentiment, d ≤ 0 | N | N | N | I |
| quad, d ≤ 0 | N | N | N | I |
| aspect-opinion-sentiment, d ≤ 2 | N | N | N | I |
| quad, d ≤ 2 | N | N | N | I |
| quad (strict), texts not in train | N | N | N | I |
| quad (strict), validation | N | N | N | I |
| explicit (E) or implicit (I) aspect and opinion | gold quads | P | R | F1 | 95% interval of F1 |
|---|---|---|---|---|---|
*| …A\\&…O | C | N | N | N | I |
| sentiment | gold quads | P | R | F1 | 95% interval of F1 |
|---|---|---|---|---|---|
| NEG | C | N | N | N | I |
| NEU | C | N | N | N | I |
| POS | C | N | N | N | I |
| first-level category | gold quads | P | R | F1 | 95% interval of F1 |
|---|---|---|---|---|---|
*| … | C | N | N | N | I |
| gold quads of the text | gold quads | P | R | F1 |
|---|---|---|---|---|
*| … | C | N | N | N |
## What a score is worth
How often quads of a score are right: those of the test split with a score of at least 0.05.
Expected calibration error: N%.
| score | quads | mean score | right, % |
|---|---|---|---|
*| B | C | S | N |
A higher threshold gives precision, a lower one recall:
| threshold | validation P | R | F1 | test P | R | F1 |
|---|---|---|---|---|---|---|
| the default | N | N | N | N | N | N |
*| T | N | N | N | N | N | N |
For a precision of 90%, take `threshold=T`, the least that reaches it on validation (precision N%, recall N%). On test…
## Training
| | |
|---|---|
| model | `lexicon@H` |
| method | `lexicon` |
| seed | `0` |
| corpus | `synthetic-car` |
| revision of the data | `none: local files` |
| training, seconds | `…` |
| processes | `1` |
| prediction of test, samples a second | `…` |
| Python | `…` |
| platform | `…` |
| cores | `C` |
| packages | `asqp …` |
| split | samples | SHA-256 of the samples |
|---|---|---|
| train | 280 | `H` |
| validation | 60 | `H` |
| test | 60 | `H` |
All settings have their defaults.
## Limits
- It knows the 90 categories of its training set and predicts no other.
- It was measured on Synthetic-Car (zh) alone; nothing is known of other texts.
- The score compares strings with one annotation of the texts; annotators differ, too.
- It is weakest on EA\\&EO (F1 N, C gold quads).
- Its files hold words and terms of the training texts.
## Licence
Apache-2.0: the training texts are generated, and nothing in the weights was trained by others.
## Citation
The task and its measures are those of:
```bibtex
@misc{asqp_benchmark,
  title = {An Empirical Study of Benchmarking Chinese Aspect Sentiment Quad Prediction},
}
```
"""
"""A whole card without blank lines: … is anything, N a percentage, C a count, H a hash; * lines stand once or more."""

_PARTS = {
    "…": r".+",
    "N": r"\d{1,3}\.\d\d",
    "I": r"\d{1,3}\.\d\d to \d{1,3}\.\d\d",
    "C": r"\d+",
    "H": r"[0-9a-f]{12,64}",
    "B": r"0\.\d-[01]\.\d",
    "S": r"[01]\.\d{3}",
    "T": r"0\.\d\d",
}


def pattern_of(line: str) -> str:
    cells = re.split(r"(…|(?<![\w(])[NICHBST]\b(?! or | aspect|\)))", line.removeprefix("*"))
    one = "".join(_PARTS.get(cell, re.escape(cell)) for cell in cells) + "\n"
    return f"(?:{one})+" if line.startswith("*") else one


def test_the_whole_card(run: Run) -> None:
    body = model_card(run, REPO).split("\n---\n", 1)[1]
    left = "".join(f"{line}\n" for line in body.split("\n") if line)
    for line in PATTERN.strip().splitlines():
        found = re.match(pattern_of(line), left)
        assert found, f"expected {line!r}, found {left.splitlines()[:1]}"
        left = left[found.end() :]
    assert left == ""


def percent(value: float) -> str:
    return f"{100 * value:.2f}"


def interval(bounds: list[float]) -> str:
    return f"{percent(bounds[0])} to {percent(bounds[1])}"


def check_numbers(card: str, run: Run) -> None:
    """Every score in a card, in its front matter and in its tables, is that of the run."""
    from huggingface_hub import ModelCard

    test = run.scores("test")
    results = ModelCard(card).data.eval_results
    assert results
    for result in results:
        value: Any = test
        for step in result.metric_args["measure"].split("."):
            value = value[step]
        assert result.metric_value == value
        assert result.dataset_args == {"sha256": run.data["test"]["sha256"]}
        assert result.metric_args["signature"] == test["signature"]
    assert {result.metric_args["measure"] for result in results} >= {"f1", "precision", "recall", "aos_d0_f1"}
    tables = {table[0][0]: table[1:] for table in see(card).tables}
    keys = ("precision", "recall", "f1")
    expected = [
        [name, *(percent(test[f"{prefix}{key}"]) for key in keys), interval(test["interval"][f"{prefix}f1"])]
        for prefix, name in measures(test).items()
    ]
    unseen, validation = run.scores("test", "unseen"), run.scores("validation")
    for name, scores in (("texts not in train", unseen), ("validation", validation)):
        cells = [f"quad (strict), {name}", *(percent(scores[key]) for key in keys), interval(scores["interval"]["f1"])]
        expected.append(cells)
    assert tables["measure"] == expected
    for key, head in (
        ("by_implicitness", "explicit (E) or implicit (I) aspect and opinion"),
        ("by_sentiment", "sentiment"),
        ("by_category_level1", "first-level category"),
        ("by_quads_per_sample", "gold quads of the text"),
    ):
        shown = {row[0]: row[1:] for row in tables[head]}
        for kind, scores in test[key].items():
            if scores["gold"] or scores["predicted"]:
                cells = [str(scores["gold"]), *(percent(scores[name]) for name in keys)]
                bounds = test["interval"].get(key, {}).get(kind)
                assert shown.pop(kind) == cells + ([interval(bounds)] if bounds else [])
        assert not shown
    assert tables["threshold"][0][1:] == [
        percent(run.scores(split)[key]) for split in ("validation", "test") for key in keys
    ]


def test_the_numbers_are_those_of_the_run(run: Run) -> None:
    check_numbers(model_card(run, REPO), run)


def test_scores_by_type_have_intervals_around_them(run: Run) -> None:
    test = run.scores("test")
    assert set(test["interval"]) >= {"f1", "aos_d0_f1", "by_implicitness", "by_sentiment", "by_category_level1"}
    for key in ("by_implicitness", "by_sentiment"):
        for kind, (low, high) in test["interval"][key].items():
            assert low <= test[key][kind]["f1"] <= high


def test_the_table_of_scores_is_that_of_the_stored_scores(run: Run) -> None:
    rows = [json.loads(line) for line in (run.folder / "calibration.jsonl").read_text("utf-8").splitlines()]
    pairs = [pair for row in rows if row["split"] == "test" for pair in zip(row["scores"], row["right"], strict=True)]
    tables = {table[0][0]: table[1:] for table in see(model_card(run, REPO)).tables}
    for i in range(10):
        inside = [(score, right) for score, right in pairs if i / 10 <= score < (i + 1) / 10 or (i == 9 and score == 1)]
        found = [row for row in tables["score"] if row[0].startswith(f"{i / 10:.1f}-")]
        if inside:
            mean, share = (sum(column) / len(inside) for column in zip(*inside, strict=True))
            assert found == [[f"{i / 10:.1f}-{(i + 1) / 10:.1f}", str(len(inside)), f"{mean:.3f}", percent(share)]]
        else:
            assert not found
    half = next(row for row in tables["threshold"] if row[0] == "0.50")
    kept = [right for score, right in pairs if score >= 0.5]
    assert half[4] == percent(sum(kept) / len(kept))
    assert half[5] == percent(sum(kept) / run.scores("test")["gold"])


def test_the_hub_accepts_the_cards(run: Run, api: HfApi) -> None:
    from huggingface_hub import DatasetCard, ModelCard, SpaceCard

    for text in (model_card(run, REPO), model_card(run, REPO, licence="mit")):
        card = ModelCard(text)
        card.validate()
        assert card.data.to_dict() == {
            key: card.data.to_dict()[key] for key in yaml.safe_load(text[4:].split("\n---\n")[0])
        }
    SpaceCard(metric_card()).validate()
    DatasetCard((run.folder.parent / "car" / "README.md").read_text("utf-8")).validate()


def test_what_the_hub_lists_a_model_by(run: Run) -> None:
    from huggingface_hub import ModelCard

    data = ModelCard(model_card(run, REPO)).data
    assert (data.language, data.license, data.library_name) == (["zh"], "apache-2.0", "asqp")
    assert (data.pipeline_tag, data.model_name, data.datasets) == ("token-classification", "lexicon-car", None)
    assert set(data.tags) >= {"asqp", "aspect-sentiment-quad-prediction", "lexicon", "synthetic"}
    assert data.asqp["model"] == name_of(run.folder)
    assert data.asqp["data"] == run.data
    real = dataclasses.replace(run, synthetic=False, config=RunConfig("lexicon", "asqp/zh", 3, "v1"))
    text = model_card(real, REPO)
    data = ModelCard(text).data
    assert (data.license, data.license_name, data.datasets) == ("other", "not-stated", ["asqp/zh"])
    assert {result.dataset_type for result in data.eval_results} == {"asqp/zh"}
    assert {result.dataset_revision for result in data.eval_results} == {"v1"}
    assert "Not stated. Ask who holds the rights" in text
    assert "| revision of the data | `v1` |" in text
    assert "synthetic" not in ModelCard(text).data.tags
    at = dataclasses.replace(real, config=RunConfig("lexicon", "asqp/zh@1.0"))
    assert see(model_card(at, REPO)).data["model-index"][0]["results"][0]["dataset"]["revision"] == "1.0"
    assert ModelCard(model_card(real, REPO, licence="cc-by-4.0")).data.license == "cc-by-4.0"


def code_of(card: str, repo: str, folder: Path) -> list[str]:
    blocks = [code.replace(repo, str(folder)) for language, code in see(card).code if language == "python"]
    assert all(str(folder) in block for block in blocks)
    return blocks


def test_the_code_of_the_card_runs(run: Run, tmp_path: Path, asqp: Asqp) -> None:
    card = model_card(run, REPO)
    direct, piped = code_of(card, REPO, run.folder / "checkpoint")
    names: dict[str, Any] = {}
    with redirect_stdout(io.StringIO()) as out:
        exec(direct, names)
    shown = out.getvalue().splitlines()
    assert len(shown) == len(names["quads"]) > 0
    assert shown[0].split()[1] in "内饰差、屏幕不大"
    pytest.importorskip("transformers", reason="needs the train extra")
    names = {}
    exec(piped, names)
    assert all(quad["score"] >= 0.5 for quad in names["quads"])
    command = re.search(r"`asqp (predict reviews\.csv [^`]*)`", card)
    assert command
    (tmp_path / "reviews.csv").write_text("text\n内饰差、屏幕不大\n", encoding="utf-8")
    arguments = [
        argument.replace(REPO, str(run.folder)).replace("reviews.csv", str(tmp_path / "reviews.csv"))
        for argument in command[1].replace("quads.jsonl", str(tmp_path / "quads.jsonl")).split()
    ]
    assert asqp(*arguments)[0] == 0
    assert len((tmp_path / "quads.jsonl").read_text("utf-8").splitlines()) == 1


def test_a_neural_method_shows_its_curve(joint: Run) -> None:
    card = model_card(joint, "asqp/joint-car")
    check_numbers(card, joint)
    curve = next(table for table in see(card).tables if table[0][:2] == ["network", "epoch"])
    logged = [json.loads(line) for line in (joint.folder / "history.jsonl").read_text("utf-8").splitlines()]
    losses = [f"{row['loss']:.4f}" for row in logged if "loss" in row]
    assert [row[:3] for row in curve[1:]] == [
        [m, e, loss] for (m, e), loss in zip((("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")), losses, strict=True)
    ]
    best = [row for row in logged if row.get("best") and "eval_f1" in row]
    assert [row[5] for row in curve[1:] if row[7] == "yes"] == [percent(row["eval_f1"]) for row in best]
    settings = {row[0]: row[1] for table in see(card).tables if table[0] == ["setting", "value"] for row in table[1:]}
    assert settings == {key: str(value) for key, value in joint.config.settings.items()}
    for block in code_of(card, "asqp/joint-car", joint.folder / "checkpoint"):
        exec(block, {})


def test_runs_of_earlier_versions_have_a_card(run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.folder, tmp_path / "run")
    (tmp_path / "run" / "calibration.jsonl").unlink()
    rows = [{key: value for key, value in row.items() if key != "interval"} for row in run.metrics]
    (tmp_path / "run" / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    card = model_card(load_run(tmp_path / "run"), REPO)
    assert "interval" not in card
    assert "What a score is worth" not in card
    assert percent(run.scores("test")["f1"]) in card


def test_runs_without_test_or_validation(run: Run) -> None:
    only = dataclasses.replace(run, metrics=[row for row in run.metrics if row["split"] == "validation"])
    assert "On 60 validation samples" in model_card(only, REPO)
    none = dataclasses.replace(run, metrics=[])
    card = model_card(none, REPO)
    assert "Not measured" in card
    assert "model-index" not in see(card).data
    assert eval_results(none, "asqp/car") == {}


def test_eval_results_are_read_back(run: Run) -> None:
    from huggingface_hub import parse_eval_result_entries

    assert eval_results(run, None) == {}
    ((path, text),) = eval_results(run, "asqp/Car.v1").items()
    assert path == ".eval_results/Car.v1.yaml"
    entries = parse_eval_result_entries(yaml.safe_load(text))
    test = run.scores("test")
    assert [(entry.task_id, entry.value) for entry in entries] == [
        (name, test[name.replace("quad_f1", "f1")])
        for name in ("quad_f1", "aos_exact_f1", "aos_d0_f1", "quad_d0_f1", "aos_d2_f1", "quad_d2_f1")
    ]
    assert {(entry.dataset_id, entry.dataset_revision) for entry in entries} == {("asqp/Car.v1", None)}
    low, high = test["interval"]["f1"]
    assert f"95% interval {low:.4f} to {high:.4f}" in (entries[0].notes or "")
    commit = "0123456789" * 4
    fixed = dataclasses.replace(run, config=RunConfig("lexicon", "asqp/car", 0, commit))
    assert f'revision: "{commit}"' in eval_results(fixed, "asqp/car")[".eval_results/car.yaml"]
    with pytest.raises(UsageError, match="expected NAMESPACE/NAME"):
        eval_results(run, "car")


def test_the_metric_has_its_own_card() -> None:
    data = see(metric_card()).data
    assert (data["sdk"], data["app_file"]) == ("gradio", "app.py")

"""A model in Python: quads with offsets and scores, by one door for all methods."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from asqp_datasets import UsageError
from asqp_models import AsqpPredictor
from asqp_models.methods import load_model
from tests.conftest import python


@pytest.fixture(scope="module")
def predictor(line: Path) -> AsqpPredictor:
    return AsqpPredictor.from_pretrained(line / "run")


def test_texts_in_quads_out(predictor: AsqpPredictor) -> None:
    text = "座椅很舒服，外观好看。"
    quads = predictor(text)
    assert quads
    for quad in quads:
        assert list(quad) == [
            "category",
            "aspect",
            "opinion",
            "sentiment",
            "aspect_start",
            "aspect_end",
            "opinion_start",
            "opinion_end",
            "score",
        ]
        assert 0 < quad["score"] <= 1
        for name in ("aspect", "opinion"):
            if quad[f"{name}_start"] >= 0:
                assert text[quad[f"{name}_start"] : quad[f"{name}_end"]] == quad[name]
    assert predictor([text, "", text]) == [quads, [], quads]
    assert predictor([]) == []
    assert predictor(["\ud83d", "a\0", " "]) == [[], [], []]


def test_a_threshold_trades_recall_for_precision(predictor: AsqpPredictor) -> None:
    texts = ["座椅很舒服，外观好看。", "内饰差、屏幕不大"]
    sizes = [sum(map(len, predictor(texts, threshold=threshold))) for threshold in (0.0, 0.3, 0.9, 1.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[2]
    assert all(quad["score"] >= 0.9 for quads in predictor(texts, threshold=0.9) for quad in quads)


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (["好", None], {}, r"texts\[1\]: found None, expected a string"),
        ([["好"]], {}, r"texts\[0\]: found \['好'\], expected a string"),
        (None, {}, "texts: found None, expected a string or several"),
        (5, {}, "texts: found 5"),
        ({"text": "好"}, {}, "texts: found {'text'"),
        ("好", {"threshold": 2}, "threshold: found 2, expected a number from 0 to 1"),
        ("好", {"threshold": "high"}, "threshold: found 'high'"),
    ],
)
def test_what_is_no_text_is_refused(predictor: AsqpPredictor, texts: Any, options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        predictor(texts, **options)


def test_the_package_names_it_without_loading_it() -> None:
    code = "import sys, asqp_models; print('numpy' in sys.modules); print(asqp_models.AsqpPredictor.__name__)"
    assert python(code).split() == ["False", "AsqpPredictor"]


def test_the_pipeline_of_transformers(line: Path, predictor: AsqpPredictor, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the train extra")
    transformers = pytest.importorskip("transformers", reason="needs the train extra")
    from asqp_models.encoders import load_encoder, load_tokenizer
    from asqp_models.extract_classify import ExtractClassifyModel
    from asqp_models.extract_classify.method import ExtractClassify
    from asqp_models.pipeline import TASK

    texts = ["座椅很舒服，外观好看。", "", "内饰差、屏幕不大"]
    lexicon = transformers.pipeline(TASK, model=str(line / "run" / "checkpoint"))
    assert lexicon(texts) == predictor(texts)
    assert lexicon(texts[0]) == predictor(texts[0])
    assert list(lexicon(text for text in texts)) == predictor(texts)
    assert lexicon(texts, threshold=0.9) == predictor(texts, threshold=0.9)
    sure = transformers.pipeline(TASK, model=str(line / "run" / "checkpoint"), threshold=0.9)
    assert sure(texts) == predictor(texts, threshold=0.9)

    tokenizer = load_tokenizer("scratch", texts * 2)
    model = ExtractClassifyModel.from_encoder(
        "scratch", ["内饰"], language="zh", vocabulary=len(tokenizer), threshold=0.0, implicit="always"
    )
    ExtractClassify(model, tokenizer).save_pretrained(tmp_path)
    neural = transformers.pipeline(TASK, model=tmp_path, device="cpu")
    assert neural(texts) == AsqpPredictor.from_pretrained(tmp_path)(texts)
    for wrong in (None, 5, {"text": "好"}):
        with pytest.raises(UsageError, match=r"inputs: found .*, expected a string or several"):
            lexicon(wrong)
    with pytest.raises(UsageError, match="threshold: found 7"):
        transformers.pipeline(TASK, model=tmp_path, threshold=7)
    with pytest.raises(UsageError, match="device: found 'quark'"):
        AsqpPredictor.from_pretrained(tmp_path, device="quark")
    load_encoder("scratch", len(tokenizer)).save_pretrained(tmp_path / "bert")
    with pytest.raises(UsageError, match="model: found BertModel, expected the folder of a checkpoint of this package"):
        transformers.pipeline(TASK, model=tmp_path / "bert")
    assert len(neural(texts[0])) >= 3  # every class of every pair, at a threshold of 0


def test_scores_stand_in_the_meta_of_predictions(line: Path) -> None:
    model = load_model(line / "run")
    rows = [json.loads(row) for row in (line / "run" / "predictions" / "test.jsonl").read_text("utf-8").splitlines()]
    scored = model.predict_scored([row["text"] for row in rows])
    assert [row["meta"]["scores"] for row in rows] == [[round(each.score, 4) for each in quads] for quads in scored]

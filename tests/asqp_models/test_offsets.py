"""Every predicted term stands where its offsets say, in real texts of every corpus and in hostile ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from asqp_datasets.schema import Quad, Sample
from asqp_datasets.sources import open_source
from asqp_models.lexicon import LexiconModel
from asqp_models.methods import load_model
from tests.conftest import Asqp, check_offsets

CORPORA = ("zh-food-beverage", "restaurant-acos", "laptop-acos", "asqp-rest16")

HOSTILE = [
    "",
    "好",
    " \u3000\t ",
    "👩‍👩‍👧‍👦" * 9,
    "味道\0很好\0",
    "e\u0301clair \ufb01ne ǅ İstanbul ſ",
    "[CLS] good [SEP] <script>alert(1)</script>",
    "\u202eevil\u202c \ufeff好",
    "y" * 100_000,
]


def check(texts: Sequence[str], predicted: Sequence[Sequence[Quad]]) -> int:
    """How many terms were compared with their place."""
    return sum(check_offsets(text, quads) for text, quads in zip(texts, predicted, strict=True))


def scratch(samples: Sequence[Sample]) -> Any:
    """Extract-Classify with random weights, which finds terms everywhere."""
    torch = pytest.importorskip("torch", reason="needs the train extra")
    pytest.importorskip("transformers", reason="needs the train extra")
    from asqp_models.encoders import load_tokenizer
    from asqp_models.extract_classify import ExtractClassify, ExtractClassifyModel

    torch.manual_seed(0)
    tokenizer = load_tokenizer("scratch", [sample.text for sample in samples])
    model = ExtractClassifyModel.from_encoder(
        "scratch", ["a", "b"], language="zh", vocabulary=len(tokenizer), threshold=0.5, implicit="always"
    )
    return ExtractClassify(model, tokenizer)


@pytest.mark.parametrize("corpus", CORPORA)
def test_offsets_are_true_on_every_corpus(corpus: str, raw_dir: Path) -> None:
    splits = open_source(corpus).samples()
    texts = [sample.text for sample in splits["test"]][:300]
    lexicon = LexiconModel.train(splits["train"][:800], [], language="zh" if corpus.startswith("zh") else "en")
    assert check(texts, lexicon.predict_batch(texts)) > 100
    assert check(texts[:60], scratch(splits["train"]).predict_batch(texts[:60])) > 300


@pytest.fixture(scope="module")
def checkpoints(line: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("scratch")
    scratch(open_source(str(line / "car")).samples()["train"]).save_pretrained(folder)
    return {"lexicon": line / "run", "extract-classify": folder}


@pytest.mark.parametrize("method", ["lexicon", "extract-classify"])
def test_hostile_texts_are_answered_row_by_row(
    method: str, checkpoints: dict[str, Path], tmp_path: Path, asqp: Asqp
) -> None:
    model = load_model(checkpoints[method])
    check(HOSTILE, model.predict_batch(HOSTILE))
    lines = [json.dumps({"text": text}) for text in HOSTILE]
    bad = ['{"text": "\\ud83d"}', '{"text": 3}', "not json", "[]"]
    (tmp_path / "in.jsonl").write_text("\n".join([*bad, *lines]) + "\n", encoding="utf-8")
    code, _, err = asqp(
        "predict", tmp_path / "in.jsonl", "--model", checkpoints[method], "--out", tmp_path / "out.jsonl"
    )
    assert code == 0, err
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["meta"]["error"] is None for row in rows] == [False] * len(bad) + [True] * len(HOSTILE)
    assert [row["text"] for row in rows[len(bad) :]] == HOSTILE
    check(HOSTILE, [Sample.from_dict(row).quads for row in rows[len(bad) :]])

"""The model: it learns, is stored and loaded, and predicts the same whatever stands beside a text."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("transformers", reason="needs the train extra")

from asqp_datasets.errors import DataError, UsageError  # noqa: E402
from asqp_datasets.schema import NULL, Quad  # noqa: E402
from asqp_models.extract_classify import (  # noqa: E402
    ExtractClassify,
    ExtractClassifyConfig,
    ExtractClassifyModel,
    Settings,
)
from asqp_models.methods import get_method, load_model  # noqa: E402
from tests.asqp_models.extract_classify.conftest import REVIEWS, SETTINGS  # noqa: E402
from tests.conftest import check_offsets, python  # noqa: E402

TEXTS = [each.text for each in REVIEWS]
GOLD = [sorted(each.quads) for each in REVIEWS]
LONG = " ".join(TEXTS * 4)  # several windows

ODD = {
    "empty": "",
    "one": "a",
    "spaces": " \n\u3000",
    "emoji": "👩‍👩‍👧‍👦😀",
    "NUL": "the \0food\0 is great",
    "surrogate": "the food\ud83d is great \udc00",
    "unknown": "ἄλφα" * 50,
    "special": "[CLS] the [SEP] food [MASK] [PAD]",
    "long": LONG,
}


def test_it_learns_eight_reviews_by_heart(trained: Any) -> None:
    assert [sorted(quads) for quads in trained.predict_batch(TEXTS)] == GOLD
    best = max(row["eval_f1"] for row in trained.history if "eval_f1" in row)
    assert best == 1.0
    assert trained.model.config.threshold == 0.5


@pytest.mark.parametrize(
    "options",
    [
        {"share_encoder": True, "extraction_weight": 0.2},
        {"negatives": False},
        {"implicit": "always", "threshold": None},
    ],
)
def test_each_variant_learns(options: dict[str, Any], encoder: Path) -> None:
    model = ExtractClassify.train(REVIEWS, REVIEWS, language="en", encoder=str(encoder), **(SETTINGS | options))
    predicted = model.predict_batch(TEXTS)
    if options.get("negatives", True):
        assert [sorted(quads) for quads in predicted] == GOLD
    else:  # nothing has taught it to refuse a wrong pair
        assert all(set(quads) <= set(got) for quads, got in zip(GOLD, predicted, strict=True))
    shared = options.get("share_encoder", False)
    assert model.model.config.share_encoder is shared
    assert len(model.model.encoders) == (1 if shared else 2)


def test_a_moved_checkpoint_predicts_the_same_in_a_fresh_process(trained: Any, tmp_path: Path) -> None:
    trained.save_pretrained(tmp_path / "first")
    shutil.move(tmp_path / "first", tmp_path / "second")
    names = sorted(path.name for path in (tmp_path / "second").iterdir())
    assert names == ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    texts = [*TEXTS, *ODD.values()]
    (tmp_path / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    code = f"""
import json, torch
torch.set_num_threads(1)
from asqp_models.methods import load_model
model = load_model({str(tmp_path / "second")!r})
texts = json.load(open({str(tmp_path / "texts.json")!r}))
print(json.dumps(model.predict_scored(texts)))
"""
    assert json.loads(python(code)) == json.loads(json.dumps(trained.predict_scored(texts)))


def test_the_same_seed_gives_the_same_bytes(encoder: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        short = SETTINGS | {"epochs": 2}
        model = ExtractClassify.train(REVIEWS, REVIEWS, language="en", encoder=str(encoder), seed=5, **short)
        model.save_pretrained(tmp_path / name)
    ExtractClassify.from_pretrained(tmp_path / "one").save_pretrained(tmp_path / "three")
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes(), file.name
        assert file.read_bytes() == (tmp_path / "three" / file.name).read_bytes(), file.name


def test_an_interrupted_training_is_taken_up(encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def train(folder: Path, **arguments: Any) -> ExtractClassify:
        return ExtractClassify.train(
            REVIEWS,
            REVIEWS,
            language="en",
            encoder=str(encoder),
            folder=folder,
            arguments=arguments,
            **(SETTINGS | {"epochs": 4}),
        )

    class Killed(Exception):
        pass

    from asqp_models.trainer import QuadTrainer

    whole = train(tmp_path / "whole")
    evaluate = QuadTrainer.evaluate

    def killed(self: Any, *args: Any, **options: Any) -> Any:
        if self.state.epoch == 3:
            raise Killed
        return evaluate(self, *args, **options)

    monkeypatch.setattr(QuadTrainer, "evaluate", killed)
    with pytest.raises(Killed):
        train(tmp_path / "broken")
    monkeypatch.undo()
    resumed = train(tmp_path / "broken")
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name


def test_training_ends_when_f1_no_longer_rises(encoder: Path) -> None:
    model = ExtractClassify.train(
        REVIEWS, REVIEWS, language="en", encoder=str(encoder), **(SETTINGS | {"early_stopping": 3})
    )
    scores = [row["eval_f1"] for row in model.history if "eval_f1" in row]
    best = max(range(len(scores)), key=scores.__getitem__)  # the first of equals
    assert len(scores) == best + 1 + 3 < SETTINGS["epochs"]
    assert [row["epoch"] for row in model.history if row.get("best")] == [best + 1]


def test_the_auto_classes_know_it(trained: Any, tmp_path: Path) -> None:
    from transformers import AutoConfig, AutoModel

    trained.save_pretrained(tmp_path)
    assert isinstance(AutoConfig.from_pretrained(tmp_path), ExtractClassifyConfig)
    assert isinstance(AutoModel.from_pretrained(tmp_path), ExtractClassifyModel)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert config["model_type"] == "asqp-extract-classify"
    assert config["encoder"]["model_type"] == "bert"
    assert config["asqp"]["categories"] == sorted({quad.category for each in REVIEWS for quad in each.quads})
    assert trained.config == config
    assert get_method("extract-classify") is ExtractClassify
    assert load_model(tmp_path).config["asqp"]["method"] == "extract-classify"


@pytest.mark.parametrize("name", ODD)
def test_odd_texts_are_answered(name: str, trained: Any, encoder: Path) -> None:
    untrained = ExtractClassify(
        ExtractClassifyModel.from_encoder(
            encoder, ["FOOD", "PLACE"], language="en", max_seq_length=16, doc_stride=4, implicit="always", threshold=0.0
        ),
        trained.tokenizer,
    )
    text = ODD[name]
    for model in (trained, untrained):
        (quads,) = model.predict_batch([text])
        check_offsets(text, quads)
    assert quads  # with a threshold of 0 every candidate is one


@pytest.fixture(scope="module")
def word_by_word(encoder: Path, tokenizer: Any) -> ExtractClassify:
    """A model that sees no context: food is an aspect, great an opinion, every pair of them is good food."""
    model = ExtractClassifyModel.from_encoder(
        encoder, ["FOOD"], language="en", share_encoder=True, max_seq_length=32, doc_stride=8
    )
    with torch.no_grad():
        bert = model.extraction_encoder
        bert.embeddings.position_embeddings.weight.zero_()
        for layer in bert.encoder.layer:
            layer.attention.output.dense.weight.zero_()
        for parameter in (*model.crf.parameters(), model.classifier.weight):
            parameter.zero_()
        for head in (model.implicit_aspect, model.implicit_opinion):
            head.bias.fill_(-9.0)
            head.weight.zero_()
        model.classifier.bias.copy_(torch.tensor([-9.0, -9.0, 9.0]))
        ids = torch.arange(len(tokenizer))[None]
        hidden = model.eval().encode(bert, ids, torch.ones_like(ids))[0]
        wanted = torch.full((len(tokenizer), 5), -9.0)
        wanted[:, 0] = 0.0
        wanted[tokenizer.convert_tokens_to_ids("food"), 1] = 9.0
        wanted[tokenizer.convert_tokens_to_ids("great"), 3] = 9.0
        inputs = torch.cat([hidden, torch.ones(len(hidden), 1)], 1).double()
        solved = torch.linalg.pinv(inputs) @ wanted.double()
        model.tagger.weight.copy_(solved[:-1].T)
        model.tagger.bias.copy_(solved[-1])
    return ExtractClassify(model, tokenizer)


def test_windows_are_merged(word_by_word: ExtractClassify) -> None:
    # Wherever it stands in a long text, a pair is found where it stands, once.
    for before in range(60):
        text = "x " * before + "food great" + " x" * 50
        (quads,) = word_by_word.predict_batch([text])
        start = 2 * before
        assert quads == [Quad("FOOD", "food", "great", "POS", start, start + 4, start + 5, start + 10)]


def test_terms_pair_up_as_far_as_a_window_reaches(word_by_word: ExtractClassify) -> None:
    # Windows of 30 tokens that begin at 0, 22, 44: a distance of 8 is always in one, one of 30 never.
    for distance, reached in ((8, True), (30, False)):
        for before in range(22):
            text = "x " * before + "food " + "x " * (distance - 1) + "great" + " x" * 50
            quads = word_by_word.predict_batch([text])[0]
            both = [quad for quad in quads if NULL not in quad]
            assert len(both) == reached
            assert len(quads) == (1 if reached else 2)  # apart, each is paired with an implicit term


def test_a_text_of_100000_characters(word_by_word: ExtractClassify) -> None:
    text = ("The food is great. " + "x " * 40) * 1_010 + "x " * 5
    (quads,) = word_by_word.predict_batch([text])
    check_offsets(text, quads)
    assert len(text) == 100_000
    assert {quad.strings for quad in quads} == {("FOOD", "food", "great", "POS")}
    assert [quad.aspect_start for quad in quads] == [99 * i + 4 for i in range(1_010)]


def test_neither_neighbours_nor_order_change_a_prediction(trained: Any) -> None:
    texts = [*TEXTS, *ODD.values(), *[f"{text} {text}" for text in TEXTS]]
    alone = [trained.predict_scored([text], 0.01)[0] for text in texts]
    together = trained.predict_scored(texts, 0.01)
    backwards = trained.predict_scored(texts[::-1], 0.01)[::-1]
    for one, two, three in zip(alone, together, backwards, strict=True):
        assert [each.quad for each in one] == [each.quad for each in two] == [each.quad for each in three]
        scores = [[each.score for each in quads] for quads in (one, two, three)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-5)
        assert scores[0] == pytest.approx(scores[2], abs=1e-5)


def test_one_encoding_for_all_pairs_gives_the_logits_of_one_for_each(trained: Any) -> None:
    model = trained.model.eval()
    inputs = {
        name: torch.tensor(value) for name, value in trained.tokenizer(TEXTS[:1], return_token_type_ids=False).items()
    }
    pairs = torch.tensor([[2, 3, 4, 5], [7, 8, 8, 9], [0, 1, 8, 9], [2, 3, 10, 11]])
    with torch.no_grad():
        together = model(**inputs, pairs=pairs[None]).pair_logits[0]
        apart = torch.cat([model(**inputs, pairs=pair[None, None]).pair_logits[0] for pair in pairs])
        hidden = model.classification_encoder(**inputs).last_hidden_state[0]
        by_hand = torch.stack(
            [model.classifier(torch.cat([hidden[a:b].mean(0), hidden[c:d].mean(0)])) for a, b, c, d in pairs]
        )
    assert torch.allclose(together, apart, atol=1e-5)
    assert torch.allclose(together, by_hand, atol=1e-5)


@pytest.fixture
def checkpoint(trained: Any, tmp_path: Path) -> Path:
    trained.save_pretrained(tmp_path / "checkpoint")
    return tmp_path / "checkpoint"


def test_a_tokenizer_of_another_encoder_is_one_clear_error(checkpoint: Path) -> None:
    from asqp_models.encoders import load_tokenizer

    load_tokenizer("scratch", ["".join(map(chr, range(0x4E00, 0x4F00)))] * 2).save_pretrained(checkpoint)
    with pytest.raises(DataError, match=r"tokenizer.json: found a tokenizer of \d+ pieces, expected at most \d+"):
        ExtractClassify.from_pretrained(checkpoint)


def test_all_files_can_be_read_by_those_who_can_read_one(checkpoint: Path) -> None:
    assert len({path.stat().st_mode for path in checkpoint.iterdir()}) == 1


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"])
def test_a_missing_or_damaged_file_is_one_clear_error(name: str, checkpoint: Path) -> None:
    path = checkpoint / name
    whole = path.read_bytes()
    for content in (None, b"", whole[: len(whole) // 2], b"{}", b"\xff\xfe"):
        if name == "tokenizer_config.json" and content == b"{}":
            continue  # says nothing wrong
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
        with pytest.raises(DataError) as error:
            ExtractClassify.from_pretrained(checkpoint)
        assert "\n" not in str(error.value)
        assert str(checkpoint) in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"asqp": {"categories": ["FOOD"]}}, "weights that are mismatched, such as classifier"),
        ({"asqp": {"categories": []}}, "asqp.categories: found none"),
        ({"asqp": {"categories": ["a", "a"]}}, r"asqp.categories: found \['a', 'a'\], expected a list of different"),
        ({"asqp": {"categories": "FOOD"}}, "asqp.categories: found 'FOOD'"),
        ({"asqp": {"method": "lexicon"}}, "found 'lexicon', expected 'extract-classify'"),
        ({"asqp": {"language": 3}}, "asqp.language: found 3, expected a string"),
        ({"asqp": None}, "cannot be read"),
        ({"share_encoder": True}, "weights that are unexpected, such as classification_encoder"),
        ({"share_encoder": 1}, "share_encoder: found 1, expected true or false"),
        ({"max_seq_length": 65}, "max_seq_length: found 65, expected at most 64"),
        ({"doc_stride": 17}, "doc_stride: found 17, expected at most half of max_seq_length"),
        ({"threshold": 2}, "threshold: found 2, expected a number from 0 to 1"),
        ({"implicit": "never"}, "implicit: found 'never', expected flagged or always"),
        ({"encoder": {"model_type": "bert", "vocab_size": 11}}, "weights that are missing"),
        ({"encoder": {"model_type": "unheard-of"}}, "cannot be loaded"),
    ],
)
def test_a_foreign_configuration_is_one_clear_error(change: dict[str, Any], message: str, checkpoint: Path) -> None:
    path = checkpoint / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    for name, value in change.items():
        config[name] = config[name] | value if name == "asqp" and value else value
    path.write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        ExtractClassify.from_pretrained(checkpoint)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "encoder: found none, expected a folder, a Hub id, package:NAME/FOLDER, or scratch"),
        ({"encoder": "x", "epoch": 3}, "epoch: found an unknown key, expected one of epochs, batch_size"),
        ({"encoder": "x", "epochs": 0}, "epochs: found 0, expected an integer of at least 1"),
        ({"encoder": "x", "epochs": 1.5}, "epochs: found 1.5"),
        ({"encoder": "x", "batch_size": True}, "batch_size: found True"),
        ({"encoder": "x", "learning_rate": 0}, "learning_rate: found 0, expected a number above 0"),
        ({"encoder": "x", "learning_rate": None}, "learning_rate: found None"),
        ({"encoder": "x", "warmup": 1.5}, "warmup: found 1.5"),
        ({"encoder": "x", "negatives": "yes"}, "negatives: found 'yes', expected true or false"),
        ({"encoder": "x", "implicit": "never"}, "implicit: found 'never'"),
        ({"encoder": "x", "precision": "fp8"}, "precision: found 'fp8'"),
        ({"encoder": "x", "doc_stride": 100}, "doc_stride: found 100"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_loaded(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ExtractClassify.train(REVIEWS, REVIEWS, language="en", **settings)


def test_settings_that_may_be_none() -> None:
    settings = Settings.from_dict({"encoder": "x", "threshold": None, "head_learning_rate": None})
    assert (settings.threshold, settings.head_learning_rate) == (None, None)


def test_an_encoder_that_cannot_be_loaded_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="found no such folder, expected an encoder"):
        ExtractClassify.train(REVIEWS, REVIEWS, language="en", encoder=str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="found no such folder, expected an encoder"):
        ExtractClassifyModel.from_encoder(tmp_path / "nowhere", ["FOOD"], language="en")


def test_training_says_what_it_cannot_do(encoder: Path) -> None:
    with pytest.raises(UsageError, match="train: found no quads"):
        ExtractClassify.train([], [], language="en", encoder=str(encoder))


def test_a_loss_that_is_not_finite_ends_the_training(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forward = ExtractClassifyModel.forward

    def overflows(self: Any, *args: Any, **inputs: Any) -> Any:
        output = forward(self, *args, **inputs)
        output.loss = output.loss * float("inf")
        return output

    monkeypatch.setattr(ExtractClassifyModel, "forward", overflows)
    with pytest.raises(
        UsageError, match=r"learning_rate: found 0\.003, with which the loss is inf at step 1, expected a lower one"
    ):
        ExtractClassify.train(REVIEWS, [], language="en", encoder=str(encoder), **SETTINGS)


def test_the_two_steps_share_no_parameter_unless_told_to(encoder: Path) -> None:
    for shared in (False, True):
        model = ExtractClassifyModel.from_encoder(
            encoder, ["FOOD"], language="en", share_encoder=shared, max_seq_length=32, doc_stride=8
        )
        steps = [{id(parameter) for parameter in step} for step in model.step_parameters()]
        assert len(steps) == (1 if shared else 2)
        assert sum(map(len, steps)) == len(set().union(*steps)) == len(list(model.parameters()))

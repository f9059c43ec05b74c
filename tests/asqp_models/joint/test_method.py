"""The method: it learns, is stored and loaded, and predicts the same whatever stands beside a text."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("transformers", reason="needs the train extra")

from asqp_datasets.errors import DataError, UsageError  # noqa: E402
from asqp_models.joint import Joint, JointConfig, JointModel  # noqa: E402
from asqp_models.joint.decoding import _calibrated, _uncalibrated  # noqa: E402
from asqp_models.methods import get_method, load_model  # noqa: E402
from tests.asqp_models.extract_classify.conftest import REVIEWS, sample  # noqa: E402
from tests.asqp_models.joint.conftest import LEARNED, SETTINGS  # noqa: E402
from tests.conftest import check_offsets, python  # noqa: E402

TEXTS = [each.text for each in REVIEWS]
GOLD = [sorted(each.quads) for each in REVIEWS]

ODD = {
    "empty": "",
    "one": "a",
    "spaces": " \n\u3000",
    "emoji": "👩‍👩‍👧‍👦😀",
    "NUL": "the \0food\0 is great",
    "surrogate": "the food\ud83d is great \udc00",
    "unknown": "ἄλφα" * 50,
    "special": "[CLS] the [SEP] food [MASK] [PAD]",
    "long": " ".join(TEXTS * 4),  # several windows
}


@pytest.fixture(params=["trained", "over_bert"])
def model(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def test_it_learns_eight_reviews_by_heart(model: Joint) -> None:
    assert [sorted(quads) for quads in model.predict_batch(TEXTS)] == GOLD
    assert max(row["eval_f1"] for row in model.history if "eval_f1" in row) == 1.0


def test_convolutions_learn_too() -> None:
    settings = SETTINGS | {"layers": "conv", "num_hidden_layers": 3}
    model = Joint.train(LEARNED, REVIEWS, language="en", **settings)
    assert [sorted(quads) for quads in model.predict_batch(TEXTS)] == GOLD


def test_several_quads_of_a_term_and_nested_terms() -> None:
    both = [
        sample("[food] {great} and {cheap}", ("FOOD", "POS", 0, 1), ("PRICE", "POS", 0, 2), number=0),
        sample("[food] {great}", ("FOOD", "POS", 0, 1), ("PLACE", "POS", 0, 1), number=1),
        sample("[waiter] [kitchen] {rude}", ("SERVICE", "NEG", 0, 2), ("PLACE", "NEG", 1, 2), number=2),
    ]
    model = Joint.train(both * 8, [], language="en", **(SETTINGS | {"epochs": 20}))
    assert model.model.config.reuse == [True, True]
    assert [sorted(quads) for quads in model.predict_batch([each.text for each in both])] == [
        sorted(each.quads) for each in both
    ]


def test_the_threshold_trades_recall_for_precision(model: Joint) -> None:
    numbers = [sum(map(len, model.predict_scored(TEXTS, each))) for each in (0.0001, 0.5, 0.99999)]
    assert numbers[0] >= numbers[1] >= numbers[2]
    assert numbers[0] > numbers[2]
    for threshold in (0.01, 0.5):
        for quads in model.predict_scored(TEXTS, threshold):
            assert all(threshold - 1e-6 <= each.score <= 1 for each in quads)


def test_the_scores_of_an_ensemble_are_the_same_at_every_threshold() -> None:
    model = Joint.train(LEARNED, REVIEWS, language="en", seed=20_260_101, members=3, **(SETTINGS | {"epochs": 3}))
    before: dict[tuple[int, Any], float] | None = None
    for threshold in (0.0, 0.01, 0.1, 0.3, 0.6):
        found = {
            (i, each.quad): each.score
            for i, quads in enumerate(model.predict_scored(TEXTS, threshold))
            for each in quads
        }
        if before is not None:
            assert found == {key: score for key, score in before.items() if score >= threshold}
        before = found


def test_weights_that_are_no_numbers_are_refused(trained: Joint, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    trained.save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    weights["networks.0.pair.bias"][0] = float("nan")
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(DataError, match=r"found a weight that is no number in networks.0.pair.bias"):
        Joint.from_pretrained(tmp_path)


def test_the_scale_of_scores_goes_both_ways() -> None:
    for score in (0.01, 0.3, 0.999):
        assert _uncalibrated(_calibrated(score, 1.7, -0.4), 1.7, -0.4) == pytest.approx(score)
    assert _calibrated(0.3, 1.0, 0.0) == 0.3
    assert _uncalibrated(0.0, 2.0, 1.0) == 0.0


def test_an_ensemble_is_one_checkpoint(tmp_path: Path) -> None:
    short = SETTINGS | {"epochs": 2}
    model = Joint.train(LEARNED, REVIEWS, language="en", seed=3, folder=tmp_path / "kept", members=2, **short)
    assert len(model.model.networks) == model.config["members"] == 2
    assert {row["member"] for row in model.history} == {0, 1}
    states = [network.state_dict() for network in model.model.networks]
    assert any(not torch.equal(states[0][name], states[1][name]) for name in states[0])
    again = Joint.train(LEARNED, REVIEWS, language="en", seed=3, folder=tmp_path / "kept", members=2, **short)
    assert again.history == model.history  # finished members are not trained again
    model.save_pretrained(tmp_path / "stored")
    loaded = Joint.from_pretrained(tmp_path / "stored")
    assert loaded.predict_scored(TEXTS, 0.05) == again.predict_scored(TEXTS, 0.05) == model.predict_scored(TEXTS, 0.05)


def test_moved_checkpoints_predict_the_same_in_a_fresh_process(
    trained: Joint, over_bert: Joint, tmp_path: Path
) -> None:
    for name, model in (("scratch", trained), ("bert", over_bert)):
        model.save_pretrained(tmp_path / "first")
        shutil.move(tmp_path / "first", tmp_path / name)
        names = {path.name for path in (tmp_path / name).iterdir()}
        own = {"tokenizer.json", "tokenizer_config.json"} if name == "bert" else set()
        assert names == {"config.json", "dictionary.safetensors", "model.safetensors"} | own
    texts = [*TEXTS, *ODD.values()]
    (tmp_path / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    code = f"""
import json, torch
torch.set_num_threads(1)
from asqp_models.methods import load_model
texts = json.load(open({str(tmp_path / "texts.json")!r}))
print(json.dumps([load_model({str(tmp_path)!r} + "/" + name).predict_scored(texts) for name in ("scratch", "bert")]))
"""
    expected = [model.predict_scored(texts) for model in (trained, over_bert)]
    assert json.loads(python(code)) == json.loads(json.dumps(expected))


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        model = Joint.train(REVIEWS, REVIEWS, language="en", seed=5, **(SETTINGS | {"epochs": 2}))
        model.save_pretrained(tmp_path / name)
    Joint.from_pretrained(tmp_path / "one").save_pretrained(tmp_path / "three")
    files = [path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file()]
    assert len(files) == 3
    for file in files:
        content = (tmp_path / "one" / file).read_bytes()
        assert content == (tmp_path / "two" / file).read_bytes(), file
        assert content == (tmp_path / "three" / file).read_bytes(), file


@pytest.mark.parametrize("validation", [REVIEWS, []])
def test_an_interrupted_training_is_taken_up(
    validation: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(folder: Path) -> Joint:
        return Joint.train(REVIEWS, validation, language="en", folder=folder, **(SETTINGS | {"epochs": 5}))

    class Killed(Exception):
        pass

    from asqp_models.trainer import QuadTrainer

    whole = train(tmp_path / "whole")
    save = QuadTrainer._save_checkpoint

    def killed(self: Any, *args: Any, **options: Any) -> Any:
        if self.state.epoch == 4:
            raise Killed
        return save(self, *args, **options)

    monkeypatch.setattr(QuadTrainer, "_save_checkpoint", killed)
    with pytest.raises(Killed):
        train(tmp_path / "broken")
    monkeypatch.undo()
    resumed = train(tmp_path / "broken")
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name


@pytest.mark.parametrize("members", [1, 2])
def test_the_training_of_another_model_is_not_taken_up(members: int, tmp_path: Path) -> None:
    settings = SETTINGS | {"epochs": 1, "members": members}
    Joint.train(REVIEWS, REVIEWS, language="en", folder=tmp_path, **settings)
    with pytest.raises(DataError, match=r"found the training of another model.*\(other networks.0.*remove the folder"):
        Joint.train(REVIEWS, REVIEWS, language="en", folder=tmp_path, **(settings | {"span_size": 33}))


def test_the_auto_classes_know_it(trained: Joint, tmp_path: Path) -> None:
    from transformers import AutoConfig, AutoModel

    trained.save_pretrained(tmp_path)
    assert isinstance(AutoConfig.from_pretrained(tmp_path), JointConfig)
    assert isinstance(AutoModel.from_pretrained(tmp_path), JointModel)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert config["model_type"] == "asqp-joint"
    assert config["encoder"]["model_type"] == "asqp-unit-encoder"
    assert get_method("joint") is Joint
    assert load_model(tmp_path).config["asqp"]["method"] == "joint"


@pytest.mark.parametrize("name", ODD)
def test_odd_texts_are_answered(name: str, model: Joint) -> None:
    for threshold in (None, 0.0):
        (quads,) = model.predict_scored([ODD[name]], threshold)
        check_offsets(ODD[name], [each.quad for each in quads])


def test_a_quad_is_found_wherever_it_stands_in_a_long_text(trained: Joint) -> None:
    for before in range(0, 50, 3):
        text = "x . " * before + "waiter great" + " . x" * 30
        (quads,) = trained.predict_batch([text])
        check_offsets(text, quads)
        start = 4 * before
        found = [quad for quad in quads if quad.aspect == "waiter" and quad.opinion == "great"]
        assert [(quad.aspect_start, quad.opinion_start) for quad in found] in ([], [(start, start + 7)])


def test_a_text_of_100000_characters(model: Joint) -> None:
    text = ("The food is great. " + "x " * 40) * 1_010 + "x " * 5
    (quads,) = model.predict_batch([text])
    assert len(text) == 100_000
    check_offsets(text, quads)


def test_neither_neighbours_nor_order_change_a_prediction(model: Joint) -> None:
    texts = [*TEXTS, *ODD.values(), *[f"{text} {text}" for text in TEXTS]]
    alone = [model.predict_scored([text], 0.01)[0] for text in texts]
    together = model.predict_scored(texts, 0.01)
    backwards = model.predict_scored(texts[::-1], 0.01)[::-1]
    for one, two, three in zip(alone, together, backwards, strict=True):
        assert [each.quad for each in one] == [each.quad for each in two] == [each.quad for each in three]
        scores = [[each.score for each in quads] for quads in (one, two, three)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-4)
        assert scores[0] == pytest.approx(scores[2], abs=1e-4)


@pytest.fixture
def checkpoint(trained: Joint, tmp_path: Path) -> Path:
    trained.save_pretrained(tmp_path / "checkpoint")
    return tmp_path / "checkpoint"


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "dictionary.safetensors"])
def test_a_missing_or_damaged_file_is_one_clear_error(name: str, checkpoint: Path) -> None:
    path = checkpoint / name
    whole = path.read_bytes()
    for content in (None, b"", whole[: len(whole) // 2], b"{}", b"\xff\xfe"):
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
        with pytest.raises(DataError) as error:
            Joint.from_pretrained(checkpoint)
        assert "\n" not in str(error.value)
        assert str(checkpoint) in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"asqp": {"categories": ["FOOD"]}}, "weights that are mismatched, such as networks.0.category"),
        ({"asqp": {"categories": []}}, "asqp.categories: found none"),
        ({"asqp": {"categories": ["a", "a"]}}, r"asqp.categories: found \['a', 'a'\], expected a list of different"),
        ({"asqp": {"method": "lexicon"}}, "found 'lexicon', expected 'joint'"),
        ({"asqp": {"language": 3}}, "asqp.language: found 3, expected a string"),
        ({"asqp": None}, "cannot be read"),
        ({"members": 2}, "weights that are missing, such as networks.1"),
        ({"members": 0}, "members: found 0, expected an integer of at least 1"),
        ({"doc_stride": 17}, "doc_stride: found 17, expected at most half of max_seq_length"),
        ({"threshold": 2}, "threshold: found 2, expected a number from 0 to 1"),
        ({"implicit": [1, 0]}, r"implicit: found \[1, 0\], expected two of true and false"),
        ({"calibration": [0, 1]}, r"calibration: found \[0, 1\], expected a slope above 0 and an intercept"),
        ({"max_units": 9}, "encoder.max_units: found 8, expected that of the model"),
        ({"encoder": {"model_type": "unheard-of"}}, "cannot be loaded"),
        ({"encoder": [1]}, "cannot be loaded"),
        ({"dtype": "x"}, "cannot be loaded"),
        ({"dtype": []}, "cannot be loaded"),
        ({"max_distance": 10**20}, "max_distance: found 100000000000000000000, expected an integer of at least 0"),
        ({"negatives": ["x"]}, "negatives: found .'x'., expected a list of some of product"),
        ({"posteriors": 1}, "posteriors: found 1, expected true or false"),
    ],
)
def test_a_foreign_configuration_is_one_clear_error(change: dict[str, Any], message: str, checkpoint: Path) -> None:
    path = checkpoint / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    for name, value in change.items():
        config[name] = config[name] | value if name == "asqp" and value else value
    path.write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        Joint.from_pretrained(checkpoint)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epoch": 3}, "epoch: found an unknown key, expected one of epochs, batch_size"),
        ({"members": 17}, "members: found 17, expected an integer from 1 to 16"),
        ({"hidden_size": 31}, "hidden_size: found 31, expected an even number"),
        ({"layers": "gru"}, "layers: found 'gru', expected lstm or conv"),
        ({"averaging": 1}, "averaging: found 1, expected a number from 0, below 1"),
        ({"doc_stride": 100}, "doc_stride: found 100"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_loaded(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Joint.train(REVIEWS, REVIEWS, language="en", **settings)


def test_training_says_what_it_cannot_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="train: found no quads"):
        Joint.train([], [], language="en")
    with pytest.raises(DataError, match="found no such folder, expected an encoder"):
        Joint.train(REVIEWS, REVIEWS, language="en", encoder=str(tmp_path / "nowhere"))

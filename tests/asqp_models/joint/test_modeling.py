"""The parts that can be left out: an encoder for all, the dictionary, the posteriors, kinds of wrong pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("transformers", reason="needs the train extra")

from asqp_datasets.errors import UsageError  # noqa: E402
from asqp_models.joint import Joint, JointConfig  # noqa: E402
from asqp_models.joint.candidates import Terms, shifted_terms  # noqa: E402
from asqp_models.joint.configuration import UnitEncoderConfig, asqp_block  # noqa: E402
from asqp_models.joint.modeling import JointNetwork, Scored  # noqa: E402
from asqp_models.joint.settings import Settings  # noqa: E402
from tests.asqp_models.extract_classify.conftest import REVIEWS  # noqa: E402
from tests.asqp_models.joint.conftest import LEARNED, SETTINGS  # noqa: E402

TEXTS = [each.text for each in REVIEWS]


def terms(*places: tuple[int, int]) -> Terms:
    start, length = torch.tensor(places).T
    return Terms(torch.zeros_like(start), start, length)


@pytest.mark.parametrize(
    ("negatives", "learned"),
    [
        ("product,implicit,shifted,own", [True, True, True, True, True]),
        ("implicit,own", [False, False, False, True, True]),
        ("product,own", [True, False, False, True, False]),
        ("own", [False, False, False, True, False]),
    ],
)
def test_the_kinds_of_wrong_pairs(negatives: str, learned: list[bool]) -> None:
    options = Settings(negatives=negatives).model_options() | {"max_units": 2}
    encoder = UnitEncoderConfig(hidden_size=4, max_units=2)
    network = JointNetwork(JointConfig(encoder=encoder, asqp=asqp_block("en", ["A"]), **options))
    # gold: the aspect at 0, of one unit, and the opinion at 2, of two; NULL goes with each, and another aspect with it
    aspects = terms((0, 1), (-1, 0), (0, 1), (1, 1), (1, 1))
    opinions = terms((2, 2), (2, 2), (-1, 0), (2, 2), (-1, 0))
    golden = [torch.zeros(1, 4, 2, dtype=torch.bool) for _ in range(2)]
    golden[0][0, 0, 0] = golden[1][0, 2, 1] = True
    none = torch.zeros(5)
    assert network._learned(Scored(aspects, opinions, none, none, none, none), golden).tolist() == learned


def test_shifted_terms_are_a_unit_off_and_in_the_window() -> None:
    spans = torch.zeros(1, 4, 3, dtype=torch.bool)
    spans[0, 1, 1] = True  # units 1 and 2
    valid = torch.arange(4)[:, None] + torch.arange(3) < 4
    found = {number for _ in range(99) for number in shifted_terms(spans, valid[None], 1.0).tolist()}
    # units 0-2, 2, 1-3, 1: number = 3 * first + length - 1
    assert found == {2, 6, 5, 3}
    assert not len(shifted_terms(spans, valid[None], 0.0))


def test_two_encoders_are_stored_and_loaded(tmp_path: Path) -> None:
    model = Joint.train(LEARNED, REVIEWS, language="en", share_encoder=False, **SETTINGS)
    (network,) = model.model.networks
    first, second = (each.state_dict() for each in network.encoders)
    assert any(not torch.equal(first[name], second[name]) for name in first)
    assert [sorted(quads) for quads in model.predict_batch(TEXTS)] == [sorted(each.quads) for each in REVIEWS]
    model.save_pretrained(tmp_path)
    assert Joint.from_pretrained(tmp_path).predict_scored(TEXTS, 0.01) == model.predict_scored(TEXTS, 0.01)


def test_without_the_dictionary_nothing_is_known(tmp_path: Path) -> None:
    model = Joint.train(LEARNED, REVIEWS, language="en", dictionary=False, **(SETTINGS | {"epochs": 1}))
    for text in model.decoder.reader(TEXTS):
        assert not text.features.any()
        assert (text.terms == -1).all()
        assert not len(text.links)
        assert len(text.ids) > 1
    for evidence in model.decoder._evidence:
        logs = evidence(np.array([-1, 0]), np.array([1, -1]))
        assert logs == pytest.approx(np.log(1 / evidence.labels))
    model.save_pretrained(tmp_path)
    assert not Joint.from_pretrained(tmp_path).decoder.reader(TEXTS)[0].features.any()


def test_without_posteriors_pairs_do_not_see_them() -> None:
    seen = {}
    for posteriors in (True, False):
        model = Joint.train(LEARNED, [], language="en", posteriors=posteriors, **(SETTINGS | {"epochs": 1}))
        (network,) = model.model.networks
        spans = terms((0, 1), (1, 1))
        roles = torch.ones(1, 2, SETTINGS.get("max_units", 8), 4)
        inputs = {
            "links": torch.zeros(0, 5, dtype=torch.long),
            "odds": torch.zeros(0),
            "borders": torch.zeros(1, 2, 2),
        }
        seen[posteriors] = network._evidence(roles, spans, spans, inputs)
    assert (seen[True][:, :8] == 0.25).all()
    assert (seen[False][:, :8] == 0).all()
    assert torch.equal(seen[True][:, 8:], seen[False][:, 8:])


@pytest.mark.parametrize("negatives", ["other", "own,own", "own,", " "])
def test_other_kinds_are_refused(negatives: str) -> None:
    with pytest.raises(UsageError, match=r"negatives: found .* expected some of product, implicit, shifted, own"):
        Settings(negatives=negatives)
    with pytest.raises(UsageError, match="negatives: found"):
        JointConfig(negatives=["other"])

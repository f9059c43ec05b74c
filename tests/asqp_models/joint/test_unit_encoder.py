"""The encoder that is trained from scratch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("transformers", reason="needs the train extra")

from transformers import AutoModel  # noqa: E402

from asqp_datasets.errors import UsageError  # noqa: E402
from asqp_models.joint.configuration import UnitEncoderConfig  # noqa: E402
from asqp_models.joint.unit_encoder import PooledDropout, UnitEncoder  # noqa: E402


def inputs(*rows: list[int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    longest = max(map(len, rows))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    return ids, mask, torch.zeros(*ids.shape, 8, 5)


@pytest.mark.parametrize("layers", ["lstm", "conv"])
def test_what_stands_behind_a_window_changes_nothing(layers: str) -> None:
    torch.manual_seed(0)
    model = AutoModel.from_config(UnitEncoderConfig(vocab_size=9, layers=layers, hidden_size=16)).eval()
    assert isinstance(model, UnitEncoder)
    with torch.no_grad():
        alone = model(*inputs([2, 3, 4])).last_hidden_state
        beside = model(*inputs([5] * 20, [2, 3, 4])).last_hidden_state
    assert torch.allclose(alone[0], beside[1, :3], atol=1e-6)
    assert not beside[1, 3:].any()


@pytest.mark.parametrize("layers", ["lstm", "conv"])
def test_every_unit_sees_both_sides(layers: str) -> None:
    torch.manual_seed(0)
    model = UnitEncoder(UnitEncoderConfig(vocab_size=9, layers=layers, hidden_size=16)).eval()
    with torch.no_grad():
        one = model(*inputs([2, 3, 4, 5, 6])).last_hidden_state[0]
        two = model(*inputs([7, 3, 4, 5, 8])).last_hidden_state[0]
    assert (one - two).abs().sum(1).gt(1e-6).all()


def test_pooled_dropout_keeps_the_mean_and_its_seed() -> None:
    dropout = PooledDropout(0.25)
    values = torch.ones(200, 100)
    torch.manual_seed(3)
    first = dropout(values)
    assert sorted(set(first.flatten().tolist())) == pytest.approx([0, 4 / 3])
    assert first.mean().item() == pytest.approx(1, abs=0.02)
    second = dropout(values)
    assert not torch.equal(first, second)
    torch.manual_seed(3)
    assert torch.equal(PooledDropout(0.25)(values), first)
    assert torch.equal(dropout.eval()(values), values)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden_size": 3}, "encoder.hidden_size: found 3, expected an even number"),
        ({"layers": "gru"}, "encoder.layers: found 'gru', expected lstm or conv"),
        ({"vocab_size": 1.5}, "encoder.vocab_size: found 1.5, expected an integer of at least 2"),
        ({"dropout": 1}, "encoder.dropout: found 1, expected a number from 0, below 1"),
    ],
)
def test_a_wrong_configuration_is_one_clear_error(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        UnitEncoderConfig(**options)

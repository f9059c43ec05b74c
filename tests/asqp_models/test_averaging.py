"""The moving average of weights, worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("transformers", reason="needs the train extra")

from asqp_models.averaging import WeightAverage  # noqa: E402


def test_the_average_of_weights() -> None:
    model = torch.nn.Linear(1, 1, bias=False)
    average = WeightAverage(model, 0.5)
    average.swap()  # nothing is averaged yet
    values = {1: 8.0, 2: 4.0, 150: 2.0}
    for step, value in values.items():
        model.weight.data.fill_(value)
        state: Any = SimpleNamespace(global_step=step)
        average.on_step_end(None, state, None)  # type: ignore[arg-type]
    # decays 1/51, which changes nothing; 2/52; 0.5, as 150/200 is more
    expected = 0.5 * (8 * 2 / 52 + 4 * 50 / 52) + 0.5 * 2
    assert model.weight.item() == 2.0
    with average.in_place():
        assert model.weight.item() == pytest.approx(expected)
        with average.in_place():
            assert model.weight.item() == 2.0
        assert model.weight.item() == pytest.approx(expected)
    assert model.weight.item() == 2.0

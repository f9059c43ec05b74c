"""Representations of spans."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from asqp_models.joint.configuration import JointConfig
from asqp_models.joint.reading import FEATURES


class SpanLayer(nn.Module):
    """Representations of spans, from the units at their ends and beside them and from what the dictionary says.

    Args:
        config: The configuration of the model.
    """

    def __init__(self, config: JointConfig) -> None:
        super().__init__()
        encoder: Any = config.encoder
        hidden, span, self.width = encoder.hidden_size, config.span_size, config.max_units
        self.start, self.end = nn.Linear(hidden, span), nn.Linear(hidden, span)
        self.before, self.behind = (nn.Linear(hidden, span, bias=False) for _ in range(2))  # 0 at borders
        self.length = nn.Embedding(config.max_units, span)
        self.known = nn.Linear(FEATURES, span)

    def forward(self, units: Tensor, features: Tensor) -> Tensor:
        """Of the span of each length that begins at each unit. Shape (B, L, K, span_size).

        Args:
            units: Shape (B, L, hidden).
            features: Shape (B, L, K, FEATURES).
        """
        length, width = units.size(1), self.width
        pad = nn.functional.pad
        left = self.start(units) + pad(self.before(units), (0, 0, 1, 0))[:, :-1]
        right = self.end(units) + pad(self.behind(units), (0, 0, 0, 1))[:, 1:]
        ends = pad(right, (0, 0, 0, width)).unfold(1, length, 1)[:, :width].transpose(1, 3).transpose(2, 3)
        return torch.relu(self.known(features) + self.length.weight + left[:, :, None] + ends)

"""An encoder of units that is small enough to be trained from scratch on a CPU in minutes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from asqp_models.joint.configuration import UnitEncoderConfig
from asqp_models.joint.reading import FEATURES

_DILATIONS = (1, 2, 4, 8)
_POOL = 4_000_037  # values that all masks are cut from


class PooledDropout(nn.Module):
    """Dropout (Srivastava et al., 2014) whose masks are cut from one long random row at a random place.

    Drawing a number for each value costs a CPU as much as the layer before it; this draws one number for all.

    Args:
        rate: Share of values that become 0 in training; the others are divided by 1 - rate.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self._pool: Tensor | None = None

    def forward(self, values: Tensor) -> Tensor:
        """Of any shape."""
        size = values.numel()
        if not self.training or not self.rate:
            return values
        if size >= _POOL:
            return nn.functional.dropout(values, self.rate)
        if self._pool is None or self._pool.device != values.device:
            drawn = torch.rand(_POOL, generator=torch.Generator().manual_seed(0)) >= self.rate
            self._pool = (drawn.float() / (1 - self.rate)).to(values.device)
        start = int(torch.randint(_POOL - size, ()))
        return values * self._pool[start : start + size].view(values.shape)


class UnitEncoder(PreTrainedModel):
    """Embeddings of units and of pairs of them, and the dictionary's features, in context.

    Args:
        config: Its configuration.
    """

    config_class = UnitEncoderConfig
    base_model_prefix = "encoder"

    def __init__(self, config: UnitEncoderConfig) -> None:
        super().__init__(config)
        self.unit_embeddings = nn.Embedding(config.vocab_size, config.embedding_size)
        size = config.embedding_size
        if config.bigram_buckets:
            self.bigram_embeddings = nn.Embedding(config.bigram_buckets, config.bigram_size)
            size += 2 * config.bigram_size
        if config.feature_size:
            self.features = nn.Linear(2 * config.max_units * FEATURES, config.feature_size)
            size += config.feature_size
        self.dropout = PooledDropout(config.dropout)
        width = config.hidden_size
        if config.layers == "lstm":
            sizes = [size] + [width] * (config.num_hidden_layers - 1)
            self.forwards = nn.ModuleList([nn.LSTM(each, width // 2, batch_first=True) for each in sizes])
            self.backwards = nn.ModuleList([nn.LSTM(each, width // 2, batch_first=True) for each in sizes])
        else:
            self.projection = nn.Linear(size, width)
            self.convolutions = nn.ModuleList(
                [
                    nn.Conv1d(width, 2 * width, 3, padding=gap, dilation=gap)
                    for gap in (_DILATIONS[i % len(_DILATIONS)] for i in range(config.num_hidden_layers))
                ]
            )
            self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in self.convolutions])
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.1)
        elif isinstance(module, nn.Linear | nn.LSTM | nn.Conv1d | nn.LayerNorm):
            module.reset_parameters()

    def get_input_embeddings(self) -> nn.Module:
        """The embeddings of units."""
        return self.unit_embeddings

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, features: Tensor | None = None, **others: Any
    ) -> BaseModelOutput:
        """Read windows. What stands behind a window changes nothing in it.

        Args:
            input_ids: Units, padded at the end. Shape (B, L).
            attention_mask: 1 where there is a unit. Shape (B, L).
            features: The dictionary's. Shape (B, L, max_units, FEATURES).
            others: Not looked at.

        Returns:
            ``last_hidden_state`` of shape (B, L, hidden_size), 0 behind each window.
        """
        mask = attention_mask[:, :, None].to(self.unit_embeddings.weight.dtype)
        parts = [self._hidden_units(self.unit_embeddings(input_ids))]
        if self.config.bigram_buckets:
            left = nn.functional.pad(input_ids * attention_mask, (1, 0))[:, :-1]
            of_pair = (left * 1_000_003 + input_ids * attention_mask) * 40_503 % self.config.bigram_buckets
            ending = self.bigram_embeddings(of_pair) * mask
            beginning = nn.functional.pad(ending, (0, 0, 0, 1))[:, 1:]
            parts += [self._hidden_units(beginning), self._hidden_units(ending)]
        if self.config.feature_size:
            if features is None:
                raise ValueError("found no features, expected those of the dictionary")
            at_end = torch.stack([_moved(features[:, :, k], k) for k in range(features.size(2))], 2)
            parts.append(torch.relu(self.features(torch.cat([features.flatten(2), at_end.flatten(2)], 2))))
        hidden = self.dropout(torch.cat(parts, 2) * mask)
        lengths = attention_mask.sum(1)
        hidden = self._lstm(hidden, lengths) if self.config.layers == "lstm" else self._conv(hidden, mask)
        return BaseModelOutput(last_hidden_state=self.dropout(hidden * mask))

    def _hidden_units(self, embedded: Tensor) -> Tensor:
        rate = self.config.unit_dropout
        if not self.training or not rate:
            return embedded
        return embedded * (torch.rand(embedded.shape[:2], device=embedded.device) >= rate)[:, :, None]

    def _lstm(self, hidden: Tensor, lengths: Tensor) -> Tensor:
        places = torch.arange(hidden.size(1), device=hidden.device)
        turned = lengths[:, None] - 1 - places
        turned = torch.where(turned >= 0, turned, places)[:, :, None]
        for i, (forwards, backwards) in enumerate(zip(self.forwards, self.backwards, strict=True)):
            read = hidden if i == 0 else self.dropout(hidden)
            ahead = forwards(read)[0]
            behind = backwards(read.gather(1, turned.expand(-1, -1, read.size(2))))[0]
            both = torch.cat([ahead, behind.gather(1, turned.expand(-1, -1, behind.size(2)))], 2)
            hidden = both if i == 0 else hidden + both
        return hidden

    def _conv(self, hidden: Tensor, mask: Tensor) -> Tensor:
        hidden = self.projection(hidden) * mask
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            gated = nn.functional.glu(convolution(hidden.transpose(1, 2)), 1).transpose(1, 2)
            hidden = norm(hidden + self.dropout(gated)) * mask
        return hidden


def _moved(values: Tensor, by: int) -> Tensor:
    """What stands at place i, at place i + by; 0 before. Shape (B, L, …)."""
    return values if not by else nn.functional.pad(values, (0, 0, by, 0))[:, : values.size(1)]


AutoConfig.register(UnitEncoderConfig.model_type, UnitEncoderConfig)
AutoModel.register(UnitEncoderConfig, UnitEncoder)

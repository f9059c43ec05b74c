"""A moving average of a model's weights, while it is trained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

_FILE = "training_weights.safetensors"


class WeightAverage(TrainerCallback):
    """A moving average of a model's weights (Polyak and Juditsky, 1992), with the decay of the settings.

    Args:
        model: The model whose weights are averaged after each step.
        decay: Share of the old average in the new one; at most t / (t + 50) at step t.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.weights = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.decay = decay
        self.average: list[torch.Tensor] = []

    @torch.no_grad()
    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any) -> None:
        """Take up the weights of a step."""
        if not self.average:
            self.average = [weight.detach().clone() for weight in self.weights]
        decay = min(self.decay, state.global_step / (state.global_step + 50))
        torch._foreach_lerp_(self.average, [weight.data for weight in self.weights], 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The model has the average as its weights."""
        self.swap()
        try:
            yield
        finally:
            self.swap()

    @torch.no_grad()
    def swap(self) -> None:
        """Exchange average and weights, if there is an average."""
        for i, mean in enumerate(self.average):
            weight = self.weights[i].data
            self.average[i], self.weights[i].data = weight, mean

    def save(self, folder: Path) -> None:
        """Write the weights themselves, not the average, beside a checkpoint."""
        folder.mkdir(parents=True, exist_ok=True)
        save_file({str(i): weight.data for i, weight in enumerate(self.weights)}, folder / _FILE)

    def load(self, folder: Path) -> None:
        """Go on from a checkpoint: what has been loaded as the model's weights is the average."""
        stored = load_file(folder / _FILE)
        self.average = [stored[str(i)].to(weight.device) for i, weight in enumerate(self.weights)]
        self.swap()

"""The hyper-parameters of Extract-Classify."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from asqp_models.settings import NUMBER, TrainingSettings, key, one_of


@dataclass(frozen=True)
class Settings(TrainingSettings):
    """How to train; beside :class:`asqp_models.settings.TrainingSettings`:

    Args:
        encoder: A pretrained encoder, as :func:`asqp_models.encoders.load_encoder` finds it.
        freeze_embeddings: Whether the encoders' word embeddings stay as they are.
        share_encoder, negatives, implicit, max_seq_length, doc_stride, dropout, extraction_weight: As in
            :class:`ExtractClassifyConfig`.
        threshold: As in :class:`ExtractClassifyConfig`; None takes, at each epoch, the one with the best F1 on
            validation.

    Raises:
        UsageError: A value is not as described; the message names the key.
    """

    encoder: str = key("", "a folder, a Hub id, package:NAME/FOLDER, or scratch", str)
    freeze_embeddings: bool = key(False, "true or false", bool)
    share_encoder: bool = key(False, "true or false", bool)
    negatives: bool = key(False, "true or false", bool)
    implicit: str = one_of("flagged", "always")
    max_seq_length: int = key(128, "an integer of at least 8", int, 8)
    doc_stride: int = key(32, "an integer from 0 to half of max_seq_length", int)
    dropout: float = key(0.1, "a number from 0 to 1", NUMBER, 0, 1)
    extraction_weight: float = key(1.0, "a number of at least 0", NUMBER)
    threshold: float | None = key(0.5, "a number from 0 to 1, or none", NUMBER, 0, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.expect(self.doc_stride <= self.max_seq_length // 2, "doc_stride")

    def model_options(self) -> dict[str, Any]:
        """What of this goes into the model's configuration."""
        names = ("share_encoder", "negatives", "implicit", "max_seq_length", "doc_stride", "dropout")
        options = {name: getattr(self, name) for name in (*names, "extraction_weight")}
        return options if self.threshold is None else options | {"threshold": self.threshold}

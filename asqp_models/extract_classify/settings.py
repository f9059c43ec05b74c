"""The hyper-parameters of a training, checked before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from asqp_datasets.errors import UsageError


def _key(default: Any, expected: str, kind: type | tuple[type, ...], low: float = 0, high: float = float("inf")) -> Any:
    return field(default=default, metadata={"expected": expected, "kind": kind, "low": low, "high": high})


_NUMBER = (int, float)


@dataclass(frozen=True)
class Settings:
    """How to train; the defaults are the paper's (section 3) where it gives one.

    Args:
        encoder: Folder or Hub id of a pretrained encoder.
        epochs: Passes over the training set.
        batch_size: Windows of an update, on each device.
        learning_rate: Highest learning rate of the encoders.
        head_learning_rate: That of everything else; default: ``learning_rate``.
        warmup: Share of the updates in which learning rates rise from 0; they then fall to 0, both linearly.
        weight_decay: Of AdamW, on all but biases and norms.
        max_grad_norm: Largest norm of the gradient of each step; 0 does not clip.
        early_stopping: Epochs without a better F1 after which training ends; 0 for none.
        freeze_embeddings: Whether the encoders' word embeddings stay as they are.
        share_encoder, negatives, implicit, max_seq_length, doc_stride, dropout, extraction_weight: As in
            :class:`ExtractClassifyConfig`.
        threshold: As in :class:`ExtractClassifyConfig`; None takes, at each epoch, the one with the best F1 on
            validation.
        precision: ``fp32``, ``bf16`` or ``fp16``.

    Raises:
        UsageError: A value is not as described; the message names the key.
    """

    encoder: str = _key("", "a folder or a Hub id", str)
    epochs: int = _key(20, "an integer of at least 1", int, 1)
    batch_size: int = _key(32, "an integer of at least 1", int, 1)
    learning_rate: float = _key(2e-5, "a number above 0, up to 1", _NUMBER, 1e-12, 1)
    head_learning_rate: float | None = _key(None, "a number above 0, up to 1, or none", _NUMBER, 1e-12, 1)
    warmup: float = _key(0.1, "a number from 0 to 1", _NUMBER, 0, 1)
    weight_decay: float = _key(0.01, "a number from 0 to 1", _NUMBER, 0, 1)
    max_grad_norm: float = _key(1.0, "a number of at least 0", _NUMBER)
    early_stopping: int = _key(0, "an integer of at least 0", int)
    freeze_embeddings: bool = _key(False, "true or false", bool)
    share_encoder: bool = _key(False, "true or false", bool)
    negatives: bool = _key(False, "true or false", bool)
    implicit: str = _key("flagged", "flagged or always", str)
    max_seq_length: int = _key(128, "an integer of at least 8", int, 8)
    doc_stride: int = _key(32, "an integer from 0 to half of max_seq_length", int)
    dropout: float = _key(0.1, "a number from 0 to 1", _NUMBER, 0, 1)
    extraction_weight: float = _key(1.0, "a number of at least 0", _NUMBER)
    threshold: float | None = _key(0.5, "a number from 0 to 1, or none", _NUMBER, 0, 1)
    precision: str = _key("fp32", "fp32, bf16 or fp16", str)

    def __post_init__(self) -> None:
        for key in fields(self):
            value, rule = getattr(self, key.name), key.metadata
            good = isinstance(value, rule["kind"]) and (rule["kind"] is bool or not isinstance(value, bool))
            if good and rule["kind"] not in (str, bool):
                good = rule["low"] <= value <= rule["high"]
            self._expect(good or (value is None and "none" in rule["expected"]), key.name)
        self._expect(bool(self.encoder), "encoder")
        self._expect(self.implicit in ("flagged", "always"), "implicit")
        self._expect(self.precision in ("fp32", "bf16", "fp16"), "precision")
        self._expect(self.doc_stride <= self.max_seq_length // 2, "doc_stride")

    def _expect(self, good: bool, name: str) -> None:
        if not good:
            expected = next(key.metadata["expected"] for key in fields(self) if key.name == name)
            found = repr(getattr(self, name))[:80] if getattr(self, name) != "" else "none"
            raise UsageError(f"{name}: found {found}, expected {expected}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Settings:
        """Settings from a mapping, such as a configuration file.

        Raises:
            UsageError: A key is unknown, or a value is not as described.
        """
        names = [key.name for key in fields(cls)]
        for name in values:
            if name not in names:
                raise UsageError(f"{name}: found an unknown key, expected one of {', '.join(names)}")
        return cls(**values)

    def model_options(self) -> dict[str, Any]:
        """What of this goes into the model's configuration."""
        names = ("share_encoder", "negatives", "implicit", "max_seq_length", "doc_stride", "dropout")
        options = {name: getattr(self, name) for name in (*names, "extraction_weight")}
        return options if self.threshold is None else options | {"threshold": self.threshold}

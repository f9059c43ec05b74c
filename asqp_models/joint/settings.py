"""The hyper-parameters of the joint model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from asqp_models.encoders import SCRATCH
from asqp_models.joint.configuration import NEGATIVES, is_negatives
from asqp_models.settings import NUMBER, TrainingSettings, key, one_of


@dataclass(frozen=True)
class Settings(TrainingSettings):
    """How to train; beside :class:`asqp_models.settings.TrainingSettings`, with other defaults:

    Args:
        encoder: ``scratch`` for a :class:`asqp_models.joint.UnitEncoder`, or a pretrained encoder, as
            :func:`asqp_models.encoders.load_encoder` finds it.
        freeze_embeddings: Whether a pretrained encoder's word embeddings stay as they are.
        members: Networks that are trained one after the other, with seeds of their own, and whose scores are averaged.
        max_units, max_distance, max_terms, max_seq_length, doc_stride, span_size, pair_size: As in
            :class:`asqp_models.joint.JointConfig`.
        layers, num_hidden_layers, hidden_size, embedding_size, bigram_buckets, bigram_size, feature_size, unit_dropout:
            As in :class:`asqp_models.joint.UnitEncoderConfig`.
        dropout: Rate of dropout, in a scratch encoder and in the heads.
        share_encoder, dictionary, posteriors, negatives: As in :class:`asqp_models.joint.JointConfig`; ``negatives``
            joined by commas, or ``nothing``. To find out what they bring.
        empty: Share of the training windows without a quad that are read, the same ones in each epoch.
        folds: Parts of the training set; what the dictionary says of a part in training comes from the others.
        patience: Epochs before F1 is measured for the first time.
        weights: ``fp16`` stores weights with half the bytes, and predicts with what is stored; or ``fp32``.

    Raises:
        UsageError: A value is not as described; the message names the key.
    """

    epochs: int = key(12, "an integer of at least 1", int, 1)
    batch_size: int = key(24, "an integer of at least 1", int, 1)
    learning_rate: float = key(2e-3, "a number above 0, up to 1", NUMBER, 1e-12, 1)
    warmup: float = key(0.05, "a number from 0 to 1", NUMBER, 0, 1)
    max_grad_norm: float = key(2.0, "a number of at least 0", NUMBER)
    averaging: float = key(0.998, "a number from 0, below 1", NUMBER, 0, 0.999999)
    encoder: str = key(SCRATCH, "scratch, a folder, a Hub id or package:NAME/FOLDER", str)
    freeze_embeddings: bool = key(False, "true or false", bool)
    members: int = key(1, "an integer from 1 to 16", int, 1, 16)
    max_units: int = key(8, "an integer from 1 to 32", int, 1, 32)
    max_distance: int = key(32, "an integer of at least 0", int)
    max_terms: int = key(48, "an integer of at least 1", int, 1)
    max_seq_length: int = key(160, "an integer of at least 8", int, 8)
    doc_stride: int = key(32, "an integer from 0 to half of max_seq_length", int)
    span_size: int = key(96, "an integer of at least 1", int, 1)
    pair_size: int = key(192, "an integer of at least 1", int, 1)
    layers: str = one_of("lstm", "conv")
    num_hidden_layers: int = key(2, "an integer of at least 1", int, 1)
    hidden_size: int = key(192, "an even number of at least 2", int, 2)
    embedding_size: int = key(128, "an integer of at least 1", int, 1)
    bigram_buckets: int = key(16384, "an integer of at least 0", int)
    bigram_size: int = key(32, "an integer of at least 1", int, 1)
    feature_size: int = key(48, "an integer of at least 0", int)
    unit_dropout: float = key(0.08, "a number from 0, below 1", NUMBER, 0, 0.999999)
    dropout: float = key(0.35, "a number from 0, below 1", NUMBER, 0, 0.99)
    empty: float = key(0.4, "a number from 0 to 1", NUMBER, 0, 1)
    folds: int = key(5, "an integer of at least 2", int, 2)
    patience: int = key(0, "an integer from 0, below epochs", int)
    share_encoder: bool = key(True, "true or false", bool)
    dictionary: bool = key(True, "true or false", bool)
    posteriors: bool = key(True, "true or false", bool)
    negatives: str = key(",".join(NEGATIVES), f"some of {', '.join(NEGATIVES)}, joined by commas, or nothing", str)
    weights: str = one_of("fp16", "fp32")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.expect(self.doc_stride <= self.max_seq_length // 2, "doc_stride")
        self.expect(is_negatives(self._negatives()), "negatives")
        self.expect(self.patience < self.epochs, "patience")
        self.expect(self.hidden_size % 2 == 0, "hidden_size")

    def encoder_options(self) -> dict[str, Any]:
        """What of this goes into the configuration of a scratch encoder."""
        names = ["layers", "num_hidden_layers", "hidden_size", "embedding_size", "bigram_buckets", "bigram_size"]
        names += ["feature_size", "unit_dropout", "dropout", "max_units"]
        return {name: getattr(self, name) for name in names}

    def model_options(self) -> dict[str, Any]:
        """What of this goes into the model's configuration."""
        names = ["max_units", "max_distance", "max_terms", "max_seq_length", "doc_stride", "span_size", "pair_size"]
        names += ["dropout", "share_encoder", "dictionary", "posteriors"]
        return {name: getattr(self, name) for name in names} | {"negatives": self._negatives()}

    def _negatives(self) -> list[str]:
        return [] if self.negatives == "nothing" else [each.strip() for each in self.negatives.split(",")]

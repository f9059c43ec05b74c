"""The configurations of the joint model and of its own encoder, as stored in ``config.json``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from transformers import AutoConfig, PreTrainedConfig
from transformers.configuration_utils import SubConfigSpec

from asqp_datasets.cards import package_version
from asqp_datasets.errors import UsageError

METHOD = "joint"

NEGATIVES = ("product", "implicit", "shifted", "own")
"""Kinds of wrong pairs: of gold terms that do not belong together, with an implicit term, of gold terms shifted by a
unit, of the model's own likely spans."""


class UnitEncoderConfig(PreTrainedConfig):
    """What a :class:`asqp_models.joint.unit_encoder.UnitEncoder` is made of.

    Args:
        vocab_size: Units of the dictionary.
        embedding_size: Of a unit.
        bigram_buckets: Embeddings that all pairs of successive units share by their hash; 0 for none.
        bigram_size: Of a pair; those of the pair that begins and of the pair that ends at a unit are read.
        max_units: Most units of a term, for the features of the dictionary.
        feature_size: Of what the dictionary's features are made into; 0 leaves them out.
        layers: ``lstm`` in both directions (Hochreiter and Schmidhuber, 1997) or ``conv``, gated and dilated
            (Gehring et al., 2017; Strubell et al., 2017).
        num_hidden_layers: How many of them.
        hidden_size: Of the output; half of it comes from each direction.
        dropout: Rate of dropout before each layer and at the end.
        unit_dropout: Rate at which a unit is not seen in training, nor, apart from it, its pairs.

    Raises:
        UsageError: A value is not as described.
    """

    model_type = "asqp-unit-encoder"

    vocab_size: int = 2
    embedding_size: int = 128
    bigram_buckets: int = 16384
    bigram_size: int = 32
    max_units: int = 8
    feature_size: int = 48
    layers: str = "lstm"
    num_hidden_layers: int = 2
    hidden_size: int = 192
    dropout: float = 0.35
    unit_dropout: float = 0.08

    def __post_init__(self, **kwargs: Any) -> None:
        """Check what is there."""
        super().__post_init__(**kwargs)
        for name, least in (
            ("vocab_size", 2),
            ("embedding_size", 1),
            ("bigram_buckets", 0),
            ("bigram_size", 1),
            ("max_units", 1),
            ("feature_size", 0),
            ("num_hidden_layers", 1),
            ("hidden_size", 2),
        ):
            value = getattr(self, name)
            expect(
                type(value) is int and least <= value < 2**31,
                f"encoder.{name}",
                value,
                f"an integer of at least {least}",
            )
        expect(self.hidden_size % 2 == 0, "encoder.hidden_size", self.hidden_size, "an even number")
        expect(self.layers in ("lstm", "conv"), "encoder.layers", self.layers, "lstm or conv")
        for name in ("dropout", "unit_dropout"):
            value = getattr(self, name)
            expect(type(value) in (int, float) and 0 <= value < 1, f"encoder.{name}", value, "a number from 0, below 1")


class JointConfig(PreTrainedConfig):
    """What a :class:`asqp_models.joint.modeling.JointModel` is made of.

    Args:
        encoder: The configuration of the encoder: a :class:`UnitEncoderConfig`, or any that ``AutoModel`` knows.
        asqp: ``method``, ``language``, ``categories`` and ``package_version``.
        members: Networks whose scores are averaged.
        max_units: Most units of a term.
        max_distance: Most units between an aspect and its opinion.
        max_terms: Most aspects, and opinions, of a window that are paired.
        max_seq_length: Units of a window, or tokens of a pretrained encoder, special tokens included.
        doc_stride: What two successive windows share.
        implicit: Whether the implicit aspect, and the implicit opinion, is a candidate of every window.
        reuse: Whether an aspect, and an opinion, may stand in several quads.
        span_size: Of the representation of a span.
        pair_size: Of the representation of a pair.
        dropout: Rate of dropout in the heads.
        share_encoder: Whether one encoder serves spans, pairs and labels; otherwise spans have one of their own.
        dictionary: Whether the dictionary of the training set is read.
        posteriors: Whether a pair is scored with the posteriors of its spans at hand.
        negatives: The wrong pairs of the training, of :data:`NEGATIVES`.
        threshold: Least score of a quad, in [0, 1].
        calibration: Slope and intercept that make a score's log-odds those of the quad being right.

    Raises:
        UsageError: A value is not as described.
    """

    model_type = "asqp-joint"
    sub_configs_defaults: ClassVar[dict[str, SubConfigSpec]] = {
        "encoder": SubConfigSpec(config_class=AutoConfig, model_type="asqp-unit-encoder")
    }

    encoder: PreTrainedConfig | dict[str, Any] | None = None
    asqp: dict[str, Any] | None = None
    members: int = 1
    max_units: int = 8
    max_distance: int = 32
    max_terms: int = 48
    max_seq_length: int = 160
    doc_stride: int = 32
    implicit: list[bool] | None = None
    reuse: list[bool] | None = None
    span_size: int = 96
    pair_size: int = 192
    dropout: float = 0.35
    share_encoder: bool = True
    dictionary: bool = True
    posteriors: bool = True
    negatives: list[str] | None = None
    threshold: float = 0.3
    calibration: list[float] | None = None

    def __post_init__(self, **kwargs: Any) -> None:
        """Fill in what is missing and check what is there."""
        super().__post_init__(**kwargs)
        if self.asqp is None:
            self.asqp = asqp_block("en", [])
        self.implicit = [True, True] if self.implicit is None else self.implicit
        self.reuse = [True, True] if self.reuse is None else self.reuse
        self.calibration = [1.0, 0.0] if self.calibration is None else self.calibration
        self.negatives = list(NEGATIVES) if self.negatives is None else self.negatives
        self._check()

    @property
    def categories(self) -> list[str]:
        """The categories, in the order of the classes."""
        return list((self.asqp or {})["categories"])

    @property
    def language(self) -> str:
        """``zh``, ``en`` or another code."""
        return str((self.asqp or {})["language"])

    def _check(self) -> None:
        block = self.asqp
        expect(isinstance(block, dict), "asqp", block, "an object with method, language and categories")
        block = block or {}
        expect(block.get("method") == METHOD, "asqp.method", block.get("method"), repr(METHOD))
        expect(isinstance(block.get("language"), str), "asqp.language", block.get("language"), "a string")
        categories = block.get("categories")
        good = isinstance(categories, list) and all(isinstance(each, str) and each for each in categories)
        good = good and len(set(categories or [])) == len(categories or [])
        expect(good, "asqp.categories", categories, "a list of different strings")
        for name, least in (
            ("members", 1),
            ("max_units", 1),
            ("max_distance", 0),
            ("max_terms", 1),
            ("max_seq_length", 8),
            ("doc_stride", 0),
            ("span_size", 1),
            ("pair_size", 1),
        ):
            value = getattr(self, name)
            expect(type(value) is int and least <= value < 2**31, name, value, f"an integer of at least {least}")
        expect(
            self.doc_stride <= self.max_seq_length // 2, "doc_stride", self.doc_stride, "at most half of max_seq_length"
        )
        expect(self.members <= 16, "members", self.members, "at most 16")
        for name in ("implicit", "reuse"):
            value = getattr(self, name)
            good = isinstance(value, list) and len(value) == 2 and all(type(each) is bool for each in value)
            expect(good, name, value, "two of true and false: of aspects, of opinions")
        for name in ("share_encoder", "dictionary", "posteriors"):
            value = getattr(self, name)
            expect(type(value) is bool, name, value, "true or false")
        expect(is_negatives(self.negatives), "negatives", self.negatives, f"a list of some of {', '.join(NEGATIVES)}")
        for name, most in (("threshold", 1.0), ("dropout", 0.99)):
            value = getattr(self, name)
            expect(type(value) in (int, float) and 0 <= value <= most, name, value, f"a number from 0 to {most:g}")
        scale: Any = self.calibration
        good = isinstance(scale, list) and len(scale) == 2 and all(type(each) in (int, float) for each in scale)
        good = good and abs(scale[1]) < 1e6 and 0 < scale[0] < 1e6
        expect(good, "calibration", scale, "a slope above 0 and an intercept")
        encoder: Any = self.encoder
        if isinstance(encoder, UnitEncoderConfig):
            expect(encoder.max_units == self.max_units, "encoder.max_units", encoder.max_units, "that of the model")
        places = getattr(encoder, "max_position_embeddings", None)
        if isinstance(places, int) and places > 0:
            expected = f"at most {places}, as the encoder"
            expect(self.max_seq_length <= places, "max_seq_length", self.max_seq_length, expected)


def is_negatives(value: Any) -> bool:
    """Whether a value is a list of some of :data:`NEGATIVES`."""
    return isinstance(value, list) and all(each in NEGATIVES for each in value) and len(set(value)) == len(value)


def asqp_block(language: str, categories: Sequence[str]) -> dict[str, Any]:
    """The ``asqp`` block of a new configuration."""
    return {
        "method": METHOD,
        "language": language,
        "categories": list(categories),
        "package_version": package_version(),
    }


def expect(good: Any, name: str, found: Any, expected: str) -> None:
    """Raise :class:`UsageError` unless a value is good."""
    if not good:
        raise UsageError(f"{name}: found {found!r:.80}, expected {expected}")

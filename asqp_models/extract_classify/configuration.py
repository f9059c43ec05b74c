"""The configuration of Extract-Classify, as stored in ``config.json``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from transformers import AutoConfig, PreTrainedConfig
from transformers.configuration_utils import SubConfigSpec

from asqp_datasets.cards import package_version
from asqp_datasets.errors import UsageError
from asqp_datasets.schema import SENTIMENTS

METHOD = "extract-classify"


class ExtractClassifyConfig(PreTrainedConfig):
    """What an :class:`ExtractClassifyModel` is made of.

    Args:
        encoder: The configuration of the encoder, of any type that ``AutoModel`` knows; both steps take the same.
        asqp: ``method``, ``language``, ``categories`` (class 3i + s is category i with sentiment s of
            ``SENTIMENTS``) and ``package_version``.
        share_encoder: Whether both steps read the output of one encoder; the original has an encoder for each.
        negatives: Whether step 2 is trained on every pair of a gold aspect and a gold opinion of a text, with no
            class for a wrong one; the original is trained on gold pairs alone.
        implicit: Where the implicit aspect and opinion are candidates: ``flagged``, where step 1 says that the text
            has one, as in the original; or ``always``, and step 2 decides. With ``always`` and ``negatives``, step 2
            is trained on such pairs too.
        max_seq_length: Tokens of a window, special tokens included. A longer text is read in several windows.
        doc_stride: Tokens that two successive windows share.
        threshold: Least probability, in [0, 1], at which step 2 keeps a class of a pair; logit 0 in the original.
        dropout: Rate of dropout before each head.
        extraction_weight: Weight of step 1's loss in the sum, of consequence only with ``share_encoder``.
        initializer_range: Standard deviation of the weights of new heads.

    Raises:
        UsageError: A value is not as described.
    """

    model_type = "asqp-extract-classify"
    sub_configs_defaults: ClassVar[dict[str, SubConfigSpec]] = {
        "encoder": SubConfigSpec(config_class=AutoConfig, model_type="bert")
    }

    encoder: PreTrainedConfig | dict[str, Any] | None = None
    asqp: dict[str, Any] | None = None
    share_encoder: bool = False
    negatives: bool = False
    implicit: str = "flagged"
    max_seq_length: int = 128
    doc_stride: int = 32
    threshold: float = 0.5
    dropout: float = 0.1
    extraction_weight: float = 1.0
    initializer_range: float = 0.02

    def __post_init__(self, **kwargs: Any) -> None:
        """Fill in what is missing and check what is there."""
        super().__post_init__(**kwargs)
        if self.asqp is None:
            self.asqp = asqp_block("en", [])
        self._check()

    @property
    def categories(self) -> list[str]:
        """The categories, in the order of the classes."""
        return list((self.asqp or {})["categories"])

    @property
    def num_classes(self) -> int:
        """Categories times sentiments."""
        return len(self.categories) * len(SENTIMENTS)

    def _check(self) -> None:
        block = self.asqp
        _expect(isinstance(block, dict), "asqp", block, "an object with method, language and categories")
        block = block or {}
        _expect(block.get("method") == METHOD, "asqp.method", block.get("method"), repr(METHOD))
        _expect(isinstance(block.get("language"), str), "asqp.language", block.get("language"), "a string")
        check_categories(block.get("categories"), "asqp.categories")
        for name in ("share_encoder", "negatives"):
            _expect(type(getattr(self, name)) is bool, name, getattr(self, name), "true or false")
        _expect(self.implicit in ("flagged", "always"), "implicit", self.implicit, "flagged or always")
        for name, least in (("max_seq_length", 8), ("doc_stride", 0)):
            value = getattr(self, name)
            _expect(type(value) is int and value >= least, name, value, f"an integer of at least {least}")
        _expect(
            self.doc_stride <= self.max_seq_length // 2, "doc_stride", self.doc_stride, "at most half of max_seq_length"
        )
        for name, most in (("threshold", 1.0), ("dropout", 1.0), ("extraction_weight", 1e6), ("initializer_range", 10)):
            value = getattr(self, name)
            good = type(value) in (int, float) and 0 <= value <= most
            _expect(good, name, value, f"a number from 0 to {most:g}")
        places = getattr(self.encoder, "max_position_embeddings", None)
        if isinstance(places, int) and places > 0:
            _expect(
                self.max_seq_length <= places,
                "max_seq_length",
                self.max_seq_length,
                f"at most {places}, as the encoder",
            )


def asqp_block(language: str, categories: Sequence[str]) -> dict[str, Any]:
    """The ``asqp`` block of a new configuration."""
    return {
        "method": METHOD,
        "language": language,
        "categories": list(categories),
        "package_version": package_version(),
    }


def check_categories(value: Any, name: str) -> None:
    """Check that a list of categories holds different, non-empty strings.

    Raises:
        UsageError: It does not.
    """
    good = isinstance(value, list) and all(isinstance(each, str) and each for each in value)
    _expect(good and len(set(value)) == len(value), name, value, "a list of different strings")


def _expect(good: bool, name: str, found: Any, expected: str) -> None:
    if not good:
        raise UsageError(f"{name}: found {found!r:.80}, expected {expected}")

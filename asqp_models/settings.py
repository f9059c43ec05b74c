"""The hyper-parameters that all neural methods share, checked before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from asqp_datasets.errors import UsageError

NUMBER = (int, float)

Self = TypeVar("Self", bound="TrainingSettings")


def key(
    default: Any,
    expected: str,
    kind: type | tuple[type, ...],
    low: float = 0,
    high: float = float("inf"),
    among: tuple[str, ...] = (),
) -> Any:
    """A field with its rule.

    Args:
        default: Its value where none is given.
        expected: The rule in words, for messages; with ``none`` in it, None is allowed.
        kind: The types that are allowed.
        low: The least number that is allowed.
        high: The greatest number that is allowed.
        among: The strings that are allowed; default: any.
    """
    rule = {"expected": expected, "kind": kind, "low": low, "high": high, "among": among}
    return field(default=default, metadata=rule)


def one_of(*choices: str) -> Any:
    """A field for one of some strings, the first by default."""
    return key(choices[0], f"{', '.join(choices[:-1])} or {choices[-1]}", str, among=choices)


@dataclass(frozen=True)
class TrainingSettings:
    """How to train; the defaults are the paper's (section 3) where it gives one.

    Args:
        epochs: Passes over the training set.
        batch_size: Windows of an update, in all processes together.
        learning_rate: Highest learning rate of pretrained encoders, or of everything if there is none.
        head_learning_rate: That of everything but the encoders; default: ``learning_rate``.
        warmup: Share of the updates in which learning rates rise from 0; they then fall to 0, both linearly.
        weight_decay: Of AdamW, on all but biases and norms.
        max_grad_norm: Largest norm of a gradient; 0 does not clip.
        averaging: Decay of a moving average of the weights, which is then what is evaluated and kept; 0 for none. At
            step t it is at most t / (t + 50), so that the first weights are soon forgotten.
        early_stopping: Epochs without a better F1 after which training ends; 0 for none.
        precision: ``fp32``, ``bf16`` or ``fp16``.

    Raises:
        UsageError: A value is not as described; the message names the key.
    """

    epochs: int = key(20, "an integer of at least 1", int, 1)
    batch_size: int = key(32, "an integer of at least 1", int, 1)
    learning_rate: float = key(2e-5, "a number above 0, up to 1", NUMBER, 1e-12, 1)
    head_learning_rate: float | None = key(None, "a number above 0, up to 1, or none", NUMBER, 1e-12, 1)
    warmup: float = key(0.1, "a number from 0 to 1", NUMBER, 0, 1)
    weight_decay: float = key(0.01, "a number from 0 to 1", NUMBER, 0, 1)
    max_grad_norm: float = key(1.0, "a number of at least 0", NUMBER)
    averaging: float = key(0.0, "a number from 0, below 1", NUMBER, 0, 0.999999)
    early_stopping: int = key(0, "an integer of at least 0", int)
    precision: str = one_of("fp32", "bf16", "fp16")

    def __post_init__(self) -> None:
        for each in fields(self):
            value, rule = getattr(self, each.name), each.metadata
            good = isinstance(value, rule["kind"]) and (rule["kind"] is bool or not isinstance(value, bool))
            if good and rule["kind"] is str:
                good = bool(value) and (not rule["among"] or value in rule["among"])
            elif good and rule["kind"] is not bool:
                good = rule["low"] <= value <= rule["high"]
            self.expect(good or (value is None and "none" in rule["expected"]), each.name)

    def expect(self, good: bool, name: str) -> None:
        """Raise :class:`UsageError` about a key unless it is good."""
        if not good:
            expected = next(each.metadata["expected"] for each in fields(self) if each.name == name)
            found = repr(getattr(self, name))[:80] if getattr(self, name) != "" else "none"
            raise UsageError(f"{name}: found {found}, expected {expected}")

    @classmethod
    def from_dict(cls: type[Self], values: Mapping[str, Any]) -> Self:
        """Settings from a mapping, such as a configuration file.

        Raises:
            UsageError: A key is unknown, or a value is not as described.
        """
        names = [each.name for each in fields(cls)]
        for name in values:
            if name not in names:
                raise UsageError(f"{name}: found an unknown key, expected one of {', '.join(names)}")
        return cls(**values)

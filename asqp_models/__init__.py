"""ASQP models: training, prediction, scores of files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asqp_models.predictor import AsqpPredictor

__all__ = ["AsqpPredictor"]


def __getattr__(name: str) -> Any:
    if name == "AsqpPredictor":
        from asqp_models.predictor import AsqpPredictor

        return AsqpPredictor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""A trained model in Python: texts in, quads with offsets and scores out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from asqp_datasets.errors import UsageError, first_line
from asqp_models.methods import Model, load_model
from asqp_models.prediction import BATCH


class AsqpPredictor:
    """Predicts the quads of texts with a checkpoint of any method.

    Args:
        model: A trained model, as :func:`asqp_models.methods.load_model` returns it.

    Example:
        >>> predictor = AsqpPredictor.from_pretrained("runs/zh")  # doctest: +SKIP
        >>> predictor("内饰差、屏幕不大")  # doctest: +SKIP
        [{'category': '内饰#内饰整体', 'aspect': '内饰', 'opinion': '差', 'sentiment': 'NEG', 'aspect_start': 0, …}]
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    @classmethod
    def from_pretrained(cls, folder: str | Path, *, revision: str | None = None, device: Any = None) -> AsqpPredictor:
        """Load a checkpoint.

        Args:
            folder: A checkpoint or run folder, or a model on the Hub: ``namespace/name`` or
                ``namespace/name@revision``; without a network, from the cache.
            revision: A branch, tag or commit of a model on the Hub.
            device: Where to run it, as ``torch`` names devices; default: an accelerator if there is one.

        Raises:
            DataError: It holds no checkpoint, or a damaged one, or the Hub does not give it.
        """
        predictor = cls(load_model(folder, revision=revision))
        return predictor if device is None else predictor.to(device)

    def to(self, device: Any) -> AsqpPredictor:
        """Move the model to a device, if its method uses one.

        Raises:
            UsageError: There is no such device.
        """
        move = getattr(self.model, "to", None)
        if move is not None:
            try:
                move(device)
            except (AssertionError, RuntimeError, TypeError, ValueError) as error:
                raise UsageError(
                    f"device: found {device!r:.40}, expected one that is there: {first_line(error)}"
                ) from error
        return self

    @overload
    def __call__(self, texts: str, *, threshold: float | None = None) -> list[dict[str, Any]]: ...  # type: ignore[overload-overlap]

    @overload
    def __call__(self, texts: Sequence[str], *, threshold: float | None = None) -> list[list[dict[str, Any]]]: ...

    def __call__(self, texts: str | Sequence[str], *, threshold: float | None = None) -> Any:
        """The quads of a text, or of each of several texts.

        Args:
            texts: Of any length and content.
            threshold: Least score of a quad, in [0, 1]: a higher one for precision, a lower one for recall; default:
                the checkpoint's, which has the best F1 on validation.

        Returns:
            For each text a list of quads: ``category``, ``aspect``, ``opinion``, ``sentiment``, the four offsets
            (``text[aspect_start:aspect_end] == aspect``; -1 for an implicit term) and ``score`` in [0, 1].

        Raises:
            UsageError: A text is no string, or the threshold is no number from 0 to 1.
        """
        check_threshold(threshold)
        if not isinstance(texts, Iterable) or isinstance(texts, bytes | Mapping):
            raise UsageError(f"texts: found {texts!r:.40}, expected a string or several")
        several = [texts] if isinstance(texts, str) else list(texts)
        for number, text in enumerate(several):
            if not isinstance(text, str):
                raise UsageError(f"texts[{number}]: found {text!r:.40}, expected a string")
        result = [
            [each.quad._asdict() | {"score": each.score} for each in quads]
            for start in range(0, len(several), BATCH)
            for quads in self.model.predict_scored(several[start : start + BATCH], threshold)
        ]
        return result[0] if isinstance(texts, str) else result


def check_threshold(threshold: float | None) -> None:
    """Raise :class:`UsageError` unless a threshold is a number from 0 to 1, or None."""
    if threshold is not None and not (isinstance(threshold, int | float) and 0 <= threshold <= 1):
        raise UsageError(f"threshold: found {threshold!r:.40}, expected a number from 0 to 1, or None")

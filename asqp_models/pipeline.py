"""``transformers.pipeline("aspect-sentiment-quad-prediction", model=FOLDER_OR_ID)`` for a checkpoint of any method.

Importing this module registers the task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, Pipeline, PreTrainedConfig
from transformers.pipelines import PIPELINE_REGISTRY

from asqp_datasets.errors import UsageError
from asqp_models.methods import METHODS, get_method
from asqp_models.prediction import BATCH
from asqp_models.predictor import AsqpPredictor, check_threshold

TASK = "aspect-sentiment-quad-prediction"


class LexiconConfig(PreTrainedConfig):
    """The configuration of a lexicon, for ``AutoConfig``."""

    model_type = "asqp-lexicon"


class PipelineModel:
    """A predictor with what ``Pipeline`` asks of a model.

    Args:
        predictor: The predictor.
    """

    input_modalities = ("text",)

    def __init__(self, predictor: AsqpPredictor) -> None:
        self.predictor = predictor
        self.config = AutoConfig.for_model(predictor.model.config["model_type"])

    @classmethod
    def from_pretrained(cls, folder: str, **options: Any) -> PipelineModel:
        """Load a checkpoint of any method; the options of ``Pipeline`` are about other kinds of models."""
        revision = options.get("_commit_hash") or options.get("revision")
        return cls(AsqpPredictor.from_pretrained(folder, revision=None if Path(folder).exists() else revision))

    @property
    def device(self) -> torch.device:
        """Where it runs."""
        inner = getattr(self.predictor.model, "model", None)
        return torch.device("cpu") if inner is None else torch.device(inner.device)

    @property
    def dtype(self) -> torch.dtype:
        """The type of its weights."""
        return torch.float32

    def to(self, device: Any) -> PipelineModel:
        """Move it."""
        self.predictor.to(device)
        return self

    def can_generate(self) -> bool:
        """It does not."""
        return False


class QuadPipeline(Pipeline):
    """Texts in, quads out; what they are is said by :meth:`AsqpPredictor.__call__`."""

    _load_tokenizer = False
    _load_processor = False
    _load_image_processor = False
    _load_video_processor = False
    _load_feature_extractor = False

    def __init__(self, model: Any, **options: Any) -> None:
        if not isinstance(model, PipelineModel):  # what `transformers` falls back to for another's checkpoint
            raise UsageError(
                f"model: found {type(model).__name__}, expected the folder of a checkpoint of this package"
            )
        super().__init__(model=model, **options)

    def __call__(self, inputs: Any, *args: Any, threshold: float | None = None, **options: Any) -> Any:
        """The quads of a text, of each text of a list, or one after another of anything else that yields texts.

        Args:
            inputs: A string; a list of strings; or a dataset or generator of them, which is read as it is needed.
            args: As for any pipeline.
            threshold: Least score of a quad; default: the one given to ``pipeline``, else the checkpoint's.
            options: As for any pipeline.
        """
        threshold = self._postprocess_params.get("threshold") if threshold is None else threshold
        predictor: AsqpPredictor = self.model.predictor
        if isinstance(inputs, str | list | tuple):
            return predictor(inputs, threshold=threshold)
        if not isinstance(inputs, Iterable) or isinstance(inputs, bytes | Mapping):
            raise UsageError(f"inputs: found {inputs!r:.40}, expected a string or several")
        return self._stream(inputs, threshold)

    def _stream(self, inputs: Iterable[str], threshold: float | None) -> Iterator[list[dict[str, Any]]]:
        texts = iter(inputs)
        while chunk := list(islice(texts, BATCH)):
            yield from self.model.predictor(chunk, threshold=threshold)

    def _sanitize_parameters(self, threshold: float | None = None, **options: Any) -> tuple[dict[str, Any], ...]:
        check_threshold(threshold)
        return {}, {}, {} if threshold is None else {"threshold": threshold}

    def preprocess(self, input_: Any, **options: Any) -> Any:
        """Not used: models encode their texts themselves, many at a time."""
        return input_

    def _forward(self, input_tensors: Any, **options: Any) -> Any:
        return input_tensors

    def postprocess(self, model_outputs: Any, **options: Any) -> Any:
        """Not used: models return quads."""
        return model_outputs


def _register() -> None:
    AutoConfig.register(LexiconConfig.model_type, LexiconConfig)
    for method in METHODS:
        get_method(method)  # registers its configuration
    PIPELINE_REGISTRY.register_pipeline(TASK, pipeline_class=QuadPipeline, pt_model=PipelineModel, type="text")


_register()

"""Extract-Classify as a method: trained on samples, loaded from a checkpoint folder, predicting quads."""

from __future__ import annotations

import copy
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor
from transformers import set_seed

from asqp_datasets.errors import UsageError
from asqp_datasets.schema import Quad, Sample
from asqp_models import processes
from asqp_models.checkpoints import load, save, stored_tokenizer
from asqp_models.encoders import load_tokenizer
from asqp_models.extract_classify.configuration import METHOD
from asqp_models.extract_classify.decoding import Decoder
from asqp_models.extract_classify.features import Example, Windower, collate, examples
from asqp_models.extract_classify.modeling import ExtractClassifyModel
from asqp_models.extract_classify.settings import Settings
from asqp_models.methods import ScoredQuad
from asqp_models.trainer import THRESHOLDS, fit, quiet_libraries


class ExtractClassify:
    """A model with its tokenizer.

    Args:
        model: The model.
        tokenizer: The tokenizer of its encoder.
        batch_size: Windows that are encoded together in prediction.
        history: What was logged in training.
    """

    def __init__(
        self,
        model: ExtractClassifyModel,
        tokenizer: Any,
        *,
        batch_size: int = 32,
        history: Sequence[dict[str, Any]] = (),
    ) -> None:
        self.model, self.tokenizer, self.history = model, tokenizer, list(history)
        self._decoder = Decoder(model, tokenizer, batch_size)

    keeps_checkpoints = True

    @staticmethod
    def check_settings(settings: Mapping[str, Any]) -> None:
        """Raise :class:`UsageError` if they are not those of :class:`Settings`; nothing is loaded."""
        Settings.from_dict(settings)

    @property
    def config(self) -> dict[str, Any]:
        """The model's configuration as stored, with its ``asqp`` block."""
        config: dict[str, Any] = json.loads(self.model.config.to_json_string())
        return config

    @classmethod
    def train(
        cls,
        train: Sequence[Sample],
        validation: Sequence[Sample],
        *,
        language: str,
        seed: int = 0,
        progress: bool = False,
        folder: str | Path | None = None,
        on_best: Callable[[ExtractClassify], None] | None = None,
        arguments: dict[str, Any] | None = None,
        **settings: Any,
    ) -> ExtractClassify:
        """Fit to train; keep the epoch with the best F1 on validation.

        Args:
            train: At least one sample.
            validation: If empty, the last epoch is kept.
            language: ``zh``, ``en`` or another code, for the checkpoint.
            seed: Of the heads' first weights, of the order of samples and of dropout.
            progress: Whether to show a bar and say what cannot be used.
            folder: Keeps the checkpoints of the training, from which a later call goes on; default: none are kept.
                Several processes need one that they share.
            on_best: Called in the main process with the model of each epoch that is the best so far.
            arguments: Anything else that ``transformers.TrainingArguments`` takes.
            settings: The fields of :class:`Settings`, ``encoder`` at least.

        Raises:
            UsageError: A setting is not as described, there is no quad to learn from, or the loss is not finite.
            DataError: The encoder cannot be loaded, or a quad's offsets are wrong.
        """
        wanted = Settings.from_dict(settings)
        categories = sorted({quad.category for sample in train for quad in sample.quads})
        if not categories:
            raise UsageError("train: found no quads, expected one at least")
        set_seed(seed)
        with quiet_libraries():
            tokenizer = load_tokenizer(wanted.encoder, (sample.text for sample in train))
            model = ExtractClassifyModel.from_encoder(
                wanted.encoder, categories, language=language, vocabulary=len(tokenizer), **wanted.model_options()
            )
        windower = Windower(tokenizer, wanted.max_seq_length, wanted.doc_stride)
        learned, unused = examples(
            train, windower, categories, negatives=wanted.negatives, always=wanted.implicit == "always"
        )
        if progress and any(unused):
            print(
                f"{METHOD}: {unused.unlocated} quads have a term whose place is not known, {unused.apart} have terms "
                f"that no window of {wanted.max_seq_length} tokens holds together: their pairs are not learned",
                file=sys.stderr,
            )
        if folder is None and processes.count() > 1:
            raise UsageError("folder: found none, expected one that all processes of the training share")
        for encoder in model.encoders:
            encoder.get_input_embeddings().weight.requires_grad_(not wanted.freeze_embeddings)
        decoder = Decoder(model, tokenizer)
        config = copy.deepcopy(model.config)

        def join(rows: Sequence[Example]) -> dict[str, Tensor]:
            return collate(rows, pad_token_id=windower.pad_token_id, num_classes=model.config.num_classes)

        def best(threshold: float) -> None:
            kept, model.config = model.config, copy.deepcopy(config)
            model.config.threshold = threshold
            try:
                if on_best:
                    on_best(cls(model, tokenizer))
            finally:
                model.config = kept

        scratch = None if folder is not None else tempfile.mkdtemp(prefix="asqp-training-")
        try:
            history = fit(
                model,
                learned,
                join,
                validation,
                wanted,
                predict=decoder,
                folder=Path(folder or scratch or ""),
                seed=seed,
                thresholds=THRESHOLDS if wanted.threshold is None else (wanted.threshold,),
                clipped=model.step_parameters(),
                on_best=best if on_best else None,
                progress=progress,
                **({"save_only_model": scratch is not None} | (arguments or {})),
            )
        finally:
            if scratch is not None:
                shutil.rmtree(scratch, ignore_errors=True)
        model.config = config  # Trainer has written keys of generation into it
        model.config.threshold = next((row["eval_threshold"] for row in history if row.get("best")), config.threshold)
        return cls(model, tokenizer, history=history)

    def to(self, device: Any) -> ExtractClassify:
        """Move the model to a device."""
        self.model.to(device)
        return self

    def predict_batch(self, texts: Sequence[str]) -> list[list[Quad]]:
        """The quads of each text, by place, none twice; offsets are true in the text as it is given."""
        return [[each.quad for each in quads] for quads in self.predict_scored(texts)]

    def predict_scored(self, texts: Sequence[str], threshold: float | None = None) -> list[list[ScoredQuad]]:
        """The quads of each text with their scores.

        Args:
            texts: Of any length.
            threshold: Least score; default: the configuration's.
        """
        return self._decoder(texts, threshold)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write ``config.json``, ``model.safetensors`` and the tokenizer; the same model gives the same bytes.

        Args:
            folder: Made if missing.
        """
        save(folder, self.model, self.tokenizer)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> ExtractClassify:
        """Read what :meth:`save_pretrained` wrote.

        Raises:
            DataError: A file is missing, damaged or of another method.
        """
        model = load(ExtractClassifyModel, folder, METHOD)
        return cls(model, stored_tokenizer(Path(folder), model.config.encoder.vocab_size))

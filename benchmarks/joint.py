"""The joint model from scratch: speed of training and prediction, and the F1 that minutes of training buy.

    python benchmarks/joint.py [--dataset zh-food-beverage] [--minutes 1,2,4,8] [--seed 0]

Training speed is that of updates (forward, backward, clipping, AdamW), against the bare encoder forward and backward on
the same windows; each training of the curve also tells that of the whole, reading and validation included. Prediction
speed is that of a loaded checkpoint on the test set, from texts to quads with offsets, against the lexicon's. The curve
is of trainings of as many epochs as fit into so many minutes at the speed measured first, each with its own schedule;
the lexicon of the same training set is its floor. Last, what half precision changes: quads that differ between weights
as trained and the weights as stored.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch

from asqp_datasets.schema import Quad, Sample
from asqp_datasets.sources import open_source
from asqp_f1 import score
from asqp_models.batches import Batches
from asqp_models.joint import Joint, Settings
from asqp_models.joint.examples import Example, collate, examples
from asqp_models.joint.method import _new_model, _reader
from asqp_models.lexicon import LexiconModel
from asqp_models.methods import Model, load_model

RESULTS = Path(__file__).parent / "results" / "joint.json"
Splits = dict[str, list[Sample]]


def percent(predicted: Sequence[Sequence[Quad]], samples: Sequence[Sample]) -> float:
    """Strict quad F1."""
    return round(100 * float(score(predicted, [each.quads for each in samples], thresholds=())["f1"]), 2)


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what it returns."""
    started = time.perf_counter()
    result = run()
    return time.perf_counter() - started, result


def train(splits: Splits, language: str, seed: int, **settings: Any) -> tuple[float, Joint]:
    """Minutes of a whole training, reading the texts included, and the model."""
    seconds, model = timed(
        lambda: Joint.train(splits["train"], splits["validation"], language=language, seed=seed, **settings)
    )
    return seconds / 60, model


def training_speed(splits: Splits, language: str, rounds: int, updates: int) -> dict[str, Any]:
    """Windows a second of updates of the whole model and of the bare encoder, medians of rounds that take turns."""
    wanted = Settings()
    lexicon = LexiconModel.count(splits["train"], language=language)
    reader = _reader(wanted, lexicon, None)
    learned, _ = examples(splits["train"], reader, lexicon.categories, folds=wanted.folds)
    drawn = np.random.default_rng(0).random(len(learned))
    learned = [each for each, chance in zip(learned, drawn, strict=True) if len(each.quads) or chance < wanted.empty]
    lengths = [len(each.input_ids) for each in learned]
    batches = [[learned[i] for i in batch] for batch in Batches(lengths, wanted.batch_size, seed=0)][:updates]
    model = _new_model(wanted, lexicon, language, 0).train()
    parameters = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=wanted.learning_rate, fused=True)
    (network,) = model.networks

    def whole(batch: Sequence[Example]) -> None:
        loss = model(**collate(batch, pad_token_id=0)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, wanted.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()

    def bare(batch: Sequence[Example]) -> None:
        inputs = collate(batch, pad_token_id=0)
        names = ("input_ids", "attention_mask", "features")
        network.encoder(*(inputs[name] for name in names)).last_hidden_state.sum().backward()
        optimizer.zero_grad()

    windows = sum(map(len, batches[1:]))
    speeds: dict[str, list[float]] = {"whole model": [], "bare encoder": []}
    for _ in range(rounds):
        for name, update in zip(speeds, (whole, bare), strict=True):
            update(batches[0])
            seconds, _ = timed(lambda update=update: [update(batch) for batch in batches[1:]])  # type: ignore[misc]
            speeds[name].append(windows / seconds)
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    return {
        "windows": windows,
        "windows_an_epoch": len(learned),
        "windows_per_second": {name: round(value, 1) for name, value in medians.items()},
        "share_of_the_bare_encoder": round(medians["whole model"] / medians["bare encoder"], 3),
    }


def prediction_speed(models: dict[str, Model], samples: Sequence[Sample], rounds: int) -> dict[str, Any]:
    """Reviews a second, medians of rounds that take turns; whether all rounds gave the same quads."""
    texts = [each.text for each in samples]
    speeds: dict[str, list[float]] = {name: [] for name in models}
    found: dict[str, list[Any]] = {name: [] for name in models}
    for _ in range(rounds):
        for name, model in models.items():
            seconds, predicted = timed(lambda model=model: model.predict_scored(texts))  # type: ignore[misc]
            speeds[name].append(len(texts) / seconds)
            found[name].append(predicted)
    return {
        "reviews": len(texts),
        "median_characters": statistics.median(map(len, texts)),
        "reviews_per_second": {name: round(statistics.median(values)) for name, values in speeds.items()},
        "same_in_all_rounds": all(each == of_model[0] for of_model in found.values() for each in of_model),
    }


def half_precision(model: Joint, samples: Sequence[Sample]) -> dict[str, Any]:
    """What storing weights with half the bytes changes; the model must have been trained with ``weights: fp32``."""
    texts = [each.text for each in samples]
    before = [set(quads) for quads in model.predict_batch(texts)]
    with torch.no_grad():
        for parameter in model.model.parameters():
            parameter.copy_(parameter.half().float())
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        seconds, loaded = timed(lambda: load_model(folder))
        after = [set(quads) for quads in loaded.predict_batch(texts)]
    quads = sum(map(len, before))
    differing = sum(len(a ^ b) for a, b in zip(before, after, strict=True))
    return {
        "megabytes": round(size / 1e6, 2),
        "seconds_to_load": round(seconds, 3),
        "quads": quads,
        "quads_that_differ": differing,
        "percent_that_differs": round(100 * differing / max(1, quads), 3),
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dataset", default="zh-food-beverage")
    parser.add_argument("--minutes", default="1,2,4,8")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=40)
    arguments = parser.parse_args()
    source = open_source(arguments.dataset)
    splits = source.samples()
    result: dict[str, Any] = {
        "machine": {"cores": os.cpu_count(), "platform": platform.platform(), "threads": torch.get_num_threads()},
        "versions": {name: metadata.version(name) for name in ("asqp", "torch", "transformers")},
        "dataset": source.name,
        "seed": arguments.seed,
        "training": training_speed(splits, source.language, arguments.rounds, arguments.updates),
    }
    print(json.dumps(result["training"], indent=2), flush=True)
    seconds, lexicon = timed(
        lambda: LexiconModel.train(
            splits["train"], splits["validation"], language=source.language, seed=arguments.seed, progress=False
        )
    )
    test = splits["test"]
    floor = percent(lexicon.predict_batch([each.text for each in test]), test)
    curve = [{"model": "lexicon", "minutes": round(seconds / 60, 2), "test_f1": floor}]
    speed = result["training"]
    model: Joint | None = None
    for minutes in map(float, arguments.minutes.split(",")):
        epochs = max(
            1, round(minutes * 60 * speed["windows_per_second"]["whole model"] / speed["windows_an_epoch"] - 0.5)
        )
        settings = {"epochs": epochs, "patience": max(0, min(epochs - 1, epochs * 2 // 3)), "weights": "fp32"}
        taken, model = train(splits, source.language, arguments.seed, **settings)
        f1 = percent(model.predict_batch([each.text for each in test]), test)
        row = {"model": "joint", "asked_minutes": minutes, "minutes": round(taken, 2), "epochs": epochs, "test_f1": f1}
        whole = round(speed["windows_an_epoch"] * epochs / taken / 60, 1)
        curve.append(row | {"above_the_floor": round(f1 - floor, 2), "windows_per_second_of_the_whole": whole})
        print(json.dumps(curve[-1]), flush=True)
    result["curve"] = curve
    assert model is not None
    result["half_precision"] = half_precision(model, test)
    result["prediction"] = prediction_speed({"joint": model, "lexicon": lexicon}, test, arguments.rounds)
    print(json.dumps(result, indent=2))
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""How fast synthetic data is built and predicted, against plain `datasets` and a plain dictionary scan, in one run.

    python benchmarks/pipeline.py [--size 100000] [--peer 10000]

The peers do less: `datasets` writes the same samples without checks, split or statistics; the dictionary scan looks
terms up without pairing them.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from asqp_datasets.sources import open_source

RESULTS = Path(__file__).parent / "results" / "pipeline.json"


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that some work takes, and what it returns."""
    start = time.perf_counter()
    value = work()
    return time.perf_counter() - start, value


def command(*arguments: str) -> dict[str, float]:
    """Run the command as a process of its own: its seconds, and the peak memory of its largest process in MB."""
    program = str(Path(sys.executable).with_name("asqp"))
    started = time.perf_counter()
    process = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {"seconds": round(time.perf_counter() - started, 2), "peak_mb": round(usage.ru_maxrss / 1024)}


def main() -> None:
    """Time build, check, stats and prediction beside their peers, print and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--peer", type=int, default=10_000)
    options = parser.parse_args()
    size, peer = options.size, options.peer
    result: dict[str, Any] = {
        "machine": {"cores": os.cpu_count(), "platform": platform.platform(), "python": platform.python_version()},
        "versions": {name: importlib.metadata.version(name) for name in ("asqp", "datasets", "pyarrow")},
        "size": size,
    }
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder, "set"))
        result["build"] = command("data", "build", "synthetic-car", "--size", str(size), "--out", out)
        result["build"]["samples_per_second"] = round(size / result["build"]["seconds"])
        result["check"] = command("data", "check", out, "--json")
        result["stats"] = command("data", "stats", out, "--json")
        result["split"] = command("data", "split", out, "--seed", "1", "--out", f"{out}-again")
        result["build_with_datasets"] = write_with_datasets(peer, Path(folder))
        result["build_ratio"] = round(
            result["build"]["samples_per_second"] / result["build_with_datasets"]["samples_per_second"], 2
        )
        result["lexicon"] = predict_beside_scan(Path(folder))
    print(json.dumps(result, indent=2))
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def write_with_datasets(size: int, folder: Path) -> dict[str, float]:
    """The same samples through `Dataset.from_generator` and `to_parquet`."""
    import datasets

    from asqp_datasets.schema import features

    datasets.disable_progress_bars()

    def rows(count: int) -> Any:
        for record in open_source("synthetic-car", size=count).records():
            if record.sample:
                yield record.sample.to_dict()

    def work() -> None:
        dataset = datasets.Dataset.from_generator(
            rows, gen_kwargs={"count": size}, features=features(), cache_dir=str(folder / "cache")
        )
        dataset.to_parquet(str(folder / "peer.parquet"))

    seconds, _ = timed(work)
    return {"seconds": round(seconds, 2), "samples_per_second": round(size / seconds)}


def predict_beside_scan(folder: Path) -> dict[str, float]:
    """The lexicon's prediction beside a scan for the same dictionary with `re`, longest term first."""
    import re

    from asqp_models.lexicon import LexiconModel

    samples = [record.sample for record in open_source("synthetic-car", size=6000).records() if record.sample]
    train, validation, test = samples[:3000], samples[3000:4000], samples[4000:]
    training, model = timed(lambda: LexiconModel.train(train, validation, language="zh"))
    terms = sorted({t for s in train for q in s.quads for t in (q.aspect, q.opinion)}, key=lambda t: (-len(t), t))
    pattern = re.compile("|".join(map(re.escape, terms)))
    texts = [sample.text for sample in test]
    model.predict_batch(texts[:100])
    predicting, _ = timed(lambda: model.predict_batch(texts))
    scanning, _ = timed(lambda: [pattern.findall(text) for text in texts])
    return {
        "training_seconds_of_3000": round(training, 2),
        "predicted_per_second": round(len(texts) / predicting),
        "scanned_per_second": round(len(texts) / scanning),
        "ratio_to_scan": round(scanning / predicting, 2),
    }


if __name__ == "__main__":
    main()

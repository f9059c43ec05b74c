"""How long scoring takes, against plain Python and against `rapidfuzz` alone, in one run.

    python benchmarks/metric.py [--samples 100000] [--slow 5000]

The peers do less: the first counts list membership, the second computes one relaxed score at one threshold.
Peers that take minutes run on the first `--slow` samples, and ours is timed on the same ones.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from asqp_f1 import compare, score
from asqp_f1.inputs import ELEMENTS, encode
from asqp_f1.relaxed import matched, near

Quad = tuple[str, str, str, str]
Corpus = list[list[Quad]]
THRESHOLDS = (0, 2)
RESULTS = Path(__file__).parent / "results" / "metric.json"


def corpus(samples: int, seed: int = 0) -> tuple[Corpus, Corpus]:
    """Predictions and golds: 3.5 quads a sample on average, a third right, the rest with one to three faults."""
    rng = random.Random(seed)
    letters = [chr(0x4E00 + 7 * i) for i in range(1500)]
    categories = [f"{rng.choice(letters)}{i % 24}#{rng.choice(letters)}{i}" for i in range(120)]

    def term(longest: int) -> str:
        return "".join(rng.choices(letters, k=rng.randint(1, longest)))

    def quad() -> Quad:
        aspect = "NULL" if rng.random() < 0.2 else term(5)
        opinion = "NULL" if rng.random() < 0.1 else term(8)
        return rng.choice(categories), aspect, opinion, rng.choice(("NEG", "POS", "POS", "NEU"))

    def fault(quad: Quad) -> Quad:
        category, aspect, opinion, sentiment = quad
        kind = rng.randrange(5)
        if kind == 0:
            return rng.choice(categories), aspect, opinion, sentiment
        if kind == 1:
            return category, aspect[:-1] or "NULL", opinion, sentiment
        if kind == 2:
            return category, aspect, f"{rng.choice(letters)}{opinion}", sentiment
        if kind == 3 and aspect != "NULL" and opinion != "NULL":
            return category, aspect + opinion[0], opinion[1:] or "NULL", sentiment
        return category, aspect, opinion, rng.choice(("NEG", "NEU", "POS"))

    golds = [[quad() for _ in range(min(12, 1 + int(rng.expovariate(0.33))))] for _ in range(samples)]
    predictions = []
    for gold in golds:
        predicted = []
        for one in gold:
            if rng.random() < 0.12:
                continue
            for _ in range(rng.choice((0, 1, 1, 2))):
                one = fault(one)
            predicted.append(one)
            if rng.random() < 0.12:
                predicted.append(quad())
        predictions.append(predicted)
    return predictions, golds


def list_membership(predictions: Corpus, golds: Corpus) -> int:
    """The usual scorer: tp of predictions that stand in the gold list."""
    return sum(quad in gold for predicted, gold in zip(predictions, golds, strict=True) for quad in predicted)


def relaxed_per_pair(predictions: Corpus, golds: Corpus, threshold: int) -> int:
    """tp of a maximum matching, by one distance call a pair and one graph a sample."""
    import networkx  # type: ignore[import-untyped,unused-ignore]

    def spelled(term: str) -> str:
        return "" if term == "NULL" else term

    tp = 0
    for predicted, gold in zip(predictions, golds, strict=True):
        graph = networkx.Graph()
        for i, (_, a, o, s) in enumerate(predicted):
            graph.add_node(("p", i))
            for j, (_, b, q, r) in enumerate(gold):
                if s != r:
                    continue
                a, o, b, q = map(spelled, (a, o, b, q))
                if min(textbook_distance(a + o, b + q), textbook_distance(o + a, q + b)) <= threshold:
                    graph.add_edge(("p", i), ("g", j))
        top = [node for node in graph if node[0] == "p"]
        tp += len(networkx.bipartite.maximum_matching(graph, top)) // 2
    return tp


def textbook_distance(a: str, b: str) -> int:
    """Levenshtein distance by two rows of the table."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        left, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            left, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, left + (x != y))
    return row[-1]


def string_pairs(predictions: Corpus, golds: Corpus) -> list[tuple[list[str], list[str]]]:
    """The two lists of string pairs that the relaxed score is about, sentiment being equal."""
    found: list[tuple[list[str], list[str]]] = [([], []), ([], [])]
    for predicted, gold in zip(predictions, golds, strict=True):
        for _, a, o, s in predicted:
            for _, b, q, r in gold:
                if s == r:
                    mine, theirs = [["" if t == "NULL" else t for t in pair] for pair in ((a, o), (b, q))]
                    for (left, right), step in zip(found, (1, -1), strict=True):
                        left.append("".join(mine[::step]))
                        right.append("".join(theirs[::step]))
    return found


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """The best of some runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def arrow(samples: Corpus) -> Any:
    """The samples as a column of the datasets' schema."""
    import pyarrow as pa

    return pa.array([[dict(zip(ELEMENTS, quad, strict=True)) for quad in quads] for quads in samples])


def peak_memory(samples: int) -> dict[str, float]:
    """Resident memory, in MB, of a fresh process with the data, and its peak once they are scored (Linux)."""
    code = (
        "import re, sys, json; sys.path.insert(0, sys.argv[2]); import metric, asqp_f1\n"
        "peak = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) / 1024\n"
        "data = metric.corpus(int(sys.argv[1]))\n"
        "before = peak()\n"
        "asqp_f1.score(*data, breakdown=True)\n"
        "print(json.dumps([before, peak()]))"
    )
    command = [sys.executable, "-c", code, str(samples), str(Path(__file__).parent)]
    before, peak = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {"data": round(before), "peak": round(peak)}


def measure(samples: int, slow: int) -> dict[str, Any]:
    """All timings, in seconds, and their ratios."""
    predictions, golds = corpus(samples)
    some = predictions[:slow], golds[:slow]
    columns = arrow(predictions), arrow(golds)
    data = encode(predictions, golds)
    lists = string_pairs(predictions, golds)

    def rapidfuzz_alone() -> None:
        for left, right in lists:
            cpdist(left, right, scorer=Levenshtein.distance, score_cutoff=max(THRESHOLDS), workers=-1)

    def relaxed_only() -> None:
        edges = near(data, max(THRESHOLDS))
        for threshold in THRESHOLDS:
            for category in (False, True):
                matched(data, edges, threshold, "one_to_one", category=category)

    some_data = encode(*some)

    def relaxed_some() -> None:
        matched(some_data, near(some_data, 2), 2, "one_to_one", category=False)

    def evaluate_module() -> None:
        import evaluate

        folder = Path(sys.modules["asqp_f1"].__file__ or "").parent
        metric = evaluate.load(str(folder), experiment_id=f"benchmark-{os.getpid()}")

        def in_batches() -> None:
            for start in range(0, samples, 1000):
                part = slice(start, start + 1000)
                metric.add_batch(predictions=predictions[part], references=golds[part])
            metric.compute(breakdown=True)

        times["evaluate_compute_lists"] = seconds(
            lambda: metric.compute(predictions=predictions, references=golds, breakdown=True)
        )
        times["evaluate_batches_of_1000"] = seconds(in_batches, repeats=1)

    times: dict[str, float] = {
        "everything_lists": seconds(lambda: score(predictions, golds, breakdown=True)),
        "everything_arrow": seconds(lambda: score(*columns, breakdown=True)),
        "subtasks_and_errors_too": seconds(
            lambda: score(*columns, breakdown=True, subtasks=True, errors=True), repeats=1
        ),
        "strict_lists": seconds(lambda: score(predictions, golds, thresholds=())),
        "strict_arrow": seconds(lambda: score(*columns, thresholds=())),
        "relaxed_part": seconds(relaxed_only),
        "rapidfuzz_alone": seconds(rapidfuzz_alone),
        "list_membership": seconds(lambda: list_membership(predictions, golds)),
        "compare": seconds(lambda: compare(predictions[:10000], golds[:10000], golds[:10000]), repeats=1),
    }
    evaluate_module()
    slowly = {
        "samples": slow,
        "relaxed_part": seconds(relaxed_some),
        "score_from_lists": seconds(lambda: score(*some, thresholds=(2,))),
    }
    try:
        start = time.perf_counter()
        tp = relaxed_per_pair(*some, 2)
        slowly["per_pair_calls"] = time.perf_counter() - start
        if tp != score(*some, thresholds=(2,))["aos_d2_tp"]:
            raise SystemExit("the plain relaxed scorer disagrees")
    except ImportError:
        print("networkx is not installed: the relaxed peer is left out (pip install networkx)", file=sys.stderr)
    ratios = {
        "relaxed_part / rapidfuzz_alone": times["relaxed_part"] / times["rapidfuzz_alone"],
        "list_membership / strict_arrow": times["list_membership"] / times["strict_arrow"],
        "evaluate_compute_lists / everything_lists": times["evaluate_compute_lists"] / times["everything_lists"],
        "evaluate_batches_of_1000 / everything_lists": times["evaluate_batches_of_1000"] / times["everything_lists"],
    }
    if "per_pair_calls" in slowly:
        for ours in ("relaxed_part", "score_from_lists"):
            ratios[f"per_pair_calls / {ours}"] = slowly["per_pair_calls"] / slowly[ours]
    return {
        "samples": samples,
        "quads": {"predicted": sum(map(len, predictions)), "gold": sum(map(len, golds))},
        "string_pairs": len(lists[0][0]),
        "seconds": {name: round(value, 4) for name, value in times.items()},
        "slow_peer_seconds": {name: round(value, 4) for name, value in slowly.items()},
        "ratios": {name: round(value, 2) for name, value in ratios.items()},
        "memory_mb": peak_memory(samples),
    }


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    packages = ("numpy", "scipy", "rapidfuzz", "pyarrow", "evaluate")
    return {
        "cores": len(os.sched_getaffinity(0)),
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in packages},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--slow", type=int, default=5_000, help="samples of the slow peers")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    result = {"machine": machine(), **measure(arguments.samples, arguments.slow)}
    text = json.dumps(result, indent=2)
    print(text)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""How long an import and the command's help take, against `import datasets`, in one run.

    python benchmarks/startup.py [--runs 7]

Whole processes in turn, so that a machine that slows down slows all of them; the medians' ratios are what counts.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "startup.json"
PEER = "import datasets"
COMMANDS = {
    PEER: [sys.executable, "-c", "import datasets"],
    "import asqp_datasets": [sys.executable, "-c", "import asqp_datasets"],
    "import asqp_models": [sys.executable, "-c", "import asqp_models"],
    "import asqp_f1": [sys.executable, "-c", "import asqp_f1"],
    "asqp --help": [str(Path(sys.executable).with_name("asqp")), "--help"],
}


def main() -> None:
    """Time every command, print the ratios, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for run in range(runs + 1):  # the first round warms the disk
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            if run:
                seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    result = {
        "machine": {"cores": os.cpu_count(), "platform": platform.platform(), "python": platform.python_version()},
        "versions": {name: importlib.metadata.version(name) for name in ("asqp", "datasets")},
        "runs": runs,
        "median_seconds": {name: round(value, 3) for name, value in medians.items()},
        "ratio_to_import_datasets": {name: round(value / medians[PEER], 3) for name, value in medians.items()},
    }
    print(json.dumps(result, indent=2))
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

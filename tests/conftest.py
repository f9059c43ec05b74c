"""What all tests share: caches of their own, no network, real corpora where they are."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from asqp_datasets.schema import NULL, Quad
from tests.hub.fixtures import hub, hub_server

# The libraries read these when they are imported, so they are set before anything is.
_CACHE = tempfile.mkdtemp(prefix="asqp-tests-")
os.environ["HF_HOME"] = _CACHE
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_EVALUATE_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] = "1"
for _name in ("HF_MODULES_CACHE", "HF_DATASETS_CACHE", "HF_EVALUATE_CACHE", "HF_METRICS_CACHE"):
    os.environ.pop(_name, None)

__all__ = ["hub", "hub_server"]

Asqp = Callable[..., tuple[int, str, str]]
"""What the fixture :func:`asqp` gives: arguments in, exit code, stdout and stderr out."""


@pytest.fixture(scope="session")
def raw_dir() -> Path:
    """The folder of the raw corpora; tests that need it skip without it."""
    value = os.environ.get("ASQP_RAW_DIR")
    if not value or not Path(value).is_dir():
        pytest.skip("ASQP_RAW_DIR is not set: no real corpora")
    return Path(value)


@pytest.fixture
def asqp(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Asqp:
    """Run the command in this process: its exit code, stdout and stderr."""
    from asqp_models.cli import main

    def run(*args: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["asqp", *map(str, args)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main()
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return int(exit_.value.code or 0), out, err

    return run


def python(code: str, **environment: str) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_offsets(text: str, quads: Sequence[Quad]) -> int:
    """No quad stands twice, every term stands where its offsets say; how many terms were compared with their place."""
    assert len(set(quads)) == len(quads)
    compared = 0
    for quad in quads:
        for term, start, end in ((quad.aspect, *quad[4:6]), (quad.opinion, *quad[6:8])):
            if start == -1:
                assert (term, end) == (NULL, -1)
            else:
                assert 0 <= start < end <= len(text)
                assert text[start:end] == term
                compared += 1
    return compared

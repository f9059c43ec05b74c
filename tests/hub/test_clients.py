"""The environment of client processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from .accounts import OWNER_TOKEN
from .clients import client_environment, run_client


def test_nothing_of_the_outside_gets_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "HF_DATASETS_CACHE", "TRANSFORMERS_OFFLINE", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    environment = client_environment("http://127.0.0.1:1/", tmp_path)
    assert {name for name, value in environment.items() if value == "http://127.0.0.1:9"} == set()
    assert environment["HF_ENDPOINT"] == "http://127.0.0.1:1"
    assert environment["HF_HUB_DISABLE_XET"] == "1"
    assert environment["NO_PROXY"] == "127.0.0.1,localhost"
    assert "HF_TOKEN" not in environment
    other = client_environment("http://127.0.0.1:1", tmp_path, OWNER_TOKEN, xet=True, offline=True)
    assert other["HF_TOKEN"] == OWNER_TOKEN
    assert "HF_HUB_DISABLE_XET" not in other
    assert other["HF_HUB_OFFLINE"] == "1"


def test_libraries_take_it_up(tmp_path: Path) -> None:
    code = """
from huggingface_hub import constants as c
print(c.ENDPOINT, c.HF_HUB_OFFLINE, c.HF_HUB_DISABLE_XET, c.HF_HUB_DISABLE_TELEMETRY, c.HF_HUB_DOWNLOAD_TIMEOUT)
print(c.HF_HUB_CACHE)
"""
    done = run_client(code, client_environment("http://127.0.0.1:1", tmp_path))
    assert done.out == f"http://127.0.0.1:1 False True True 5\n{tmp_path}/hub\n", done.err

"""What a client of the loopback Hub needs: its environment, and a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

_LIBRARIES = ("HF_", "HUGGINGFACE_", "HUGGING_FACE_", "TRANSFORMERS_", "DATASETS_", "EVALUATE_")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "ftp_proxy")
_ROOT = Path(__file__).resolve().parents[2]

LOOPBACK = {
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_ETAG_TIMEOUT": "5",
    "HF_HUB_DOWNLOAD_TIMEOUT": "5",
}


def client_environment(
    endpoint: str, home: Path, token: str | None = None, xet: bool = False, offline: bool = False
) -> dict[str, str]:
    """The environment of a client process, complete.

    The libraries read all of it but the token when they are imported, so a process that has imported them keeps what it
    had. ``home`` must be empty or of the same Hub: caches go by the names of repositories, not by the endpoint.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_LIBRARIES) and name.lower() not in _PROXIES
    }
    environment |= LOOPBACK | {
        "HF_ENDPOINT": endpoint.rstrip("/"),
        "HF_HOME": str(home),
        "XDG_CACHE_HOME": str(home / "xdg"),
        "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "metrics"), os.environ.get("PYTHONPATH", "")]).strip(
            os.pathsep
        ),
    }
    if token:
        environment["HF_TOKEN"] = token
    if not xet:
        environment["HF_HUB_DISABLE_XET"] = "1"
    if offline:
        environment |= {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1"}
    return environment


@dataclass(frozen=True)
class Finished:
    """How a client process ended."""

    code: int
    out: str
    err: str


def run_client(code: str, environment: dict[str, str], timeout: float = 120) -> Finished:
    """Run Python code in a fresh interpreter."""
    return run_command([sys.executable, "-c", code], environment, timeout)


def run_command(command: list[str], environment: dict[str, str], timeout: float = 120) -> Finished:
    """Run a program."""
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=timeout, check=False, cwd=_empty(environment)
    )
    return Finished(done.returncode, done.stdout, done.stderr)


@contextmanager
def client_in_this_process(endpoint: str, home: Path) -> Iterator[None]:
    """Let huggingface_hub of this process talk to a Hub, with caches in ``home``, without Xet and tokens.

    It was imported before the Hub had an address, so its constants are replaced for the time being. The other libraries
    keep copies of them: those run in processes of their own.
    """
    import pytest
    from huggingface_hub import close_session, constants, hf_api

    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.lower() in _PROXIES or name.startswith("HF_TOKEN"):
                patch.delenv(name)
        for name, value in (LOOPBACK | {"HF_ENDPOINT": endpoint}).items():
            patch.setenv(name, value)
        patch.setattr(constants, "ENDPOINT", endpoint)
        patch.setattr(hf_api.api, "endpoint", endpoint)  # the client behind the functions of the package
        patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", endpoint + "/{repo_id}/resolve/{revision}/{filename}")
        patch.setattr(constants, "HF_HUB_OFFLINE", False)
        patch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        patch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
        patch.setattr(import_module("huggingface_hub.utils.tqdm"), "HF_HUB_DISABLE_PROGRESS_BARS", True)
        patch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
        patch.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
        patch.setattr(constants, "HF_STORED_TOKENS_PATH", str(home / "stored_tokens"))
        patch.setattr(constants, "HF_HUB_ETAG_TIMEOUT", 5)
        patch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 5)
        close_session()  # it read the proxies when it was made
        yield
        close_session()


def _empty(environment: dict[str, str]) -> str:
    """A folder to run in where no file of the project shadows a name on the Hub."""
    folder = Path(environment["HF_HOME"]) / "cwd"
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)

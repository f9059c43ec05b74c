"""The command ``hf`` against the Hub, and the Hub's own command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .accounts import OWNER_TOKEN
from .clients import client_environment, run_client, run_command

if TYPE_CHECKING:
    from .server import HubServer


@pytest.mark.parametrize("xet", [False, True], ids=["lfs", "xet"])
def test_hf(hub: HubServer, unused_id: str, tmp_path: Path, xet: bool) -> None:
    if xet:
        pytest.importorskip("hf_xet", reason="huggingface_hub has no hf_xet on this platform")
    environment = client_environment(hub.endpoint, tmp_path / "home", OWNER_TOKEN, xet=xet)
    folder, copy = tmp_path / "folder", tmp_path / "copy"
    folder.mkdir()
    (folder / "a.bin").write_bytes(os.urandom(1000))

    def hf(*arguments: object) -> str:
        code = "import sys; from huggingface_hub.cli.hf import main; sys.exit(main())"
        done = run_command([sys.executable, "-c", code, *map(str, arguments)], environment)
        assert done.code == 0, (arguments, done)
        return done.out

    if not xet:
        assert "olivia" in hf("auth", "whoami")
        hf("repos", "create", unused_id, "--type", "dataset")
    hf("upload", unused_id, folder, "--type", "dataset")
    if not xet:
        hf("repos", "tag", "create", unused_id, "v1", "--type", "dataset")
        assert hub.repository("datasets", unused_id).tags.keys() == {"v1"}
    hf("download", unused_id, "--type", "dataset", "--local-dir", copy)
    assert (copy / "a.bin").read_bytes() == (folder / "a.bin").read_bytes()
    assert {entry.status for entry in hub.requests("GET", "/api/agent-harnesses")} <= {200}


def test_by_hand(tmp_path: Path) -> None:
    """``python -m tests.hub`` prints the environment of a client and serves until it is interrupted."""
    command = [sys.executable, "-m", "tests.hub", "--folder", str(tmp_path / "state")]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root) as server:
        assert server.stdout is not None
        printed = []
        for line in server.stdout:
            printed.append(line)
            if line.startswith("# log"):
                break
        exports = dict(line.removeprefix("export ").strip().split("=", 1) for line in printed if line[0] == "e")
        assert exports["HF_ENDPOINT"].startswith("http://127.0.0.1:")
        assert exports["HF_TOKEN"] == OWNER_TOKEN
        environment = client_environment(exports["HF_ENDPOINT"], tmp_path / "home", exports["HF_TOKEN"])
        done = run_client("from huggingface_hub import whoami; print(whoami()['name'])", environment)
        assert (done.code, done.out) == (0, "olivia\n"), done.err
        server.send_signal(signal.SIGINT)
        _, err = server.communicate(timeout=30)
    assert (server.returncode, err) == (0, "")

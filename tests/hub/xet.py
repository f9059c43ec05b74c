"""Xet without a storage server: clients are told to use folders of their own, and the Hub reads those.

The token routes answer with the storage address ``local:///folder``: hf_xet contains a client for a file system. It
locks a folder for one process, so each token names another: a writer gets an empty folder, a reader a copy of the
folder where the Hub keeps all contents.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from .objects import ObjectStore
from .wire import Reply, json_reply
from .xet_read import contents_in

_READ = Path(__file__).with_name("xet_read.py")
_LIFETIME = 3600


class XetStore:
    """The folders of writers and readers, and the Xet hash of each content that came this way."""

    def __init__(self, folder: Path, objects: ObjectStore) -> None:
        self._folder = folder
        self._objects = objects
        self._kept = folder / "kept"
        self._index = folder / "hashes.json"
        self._hashes: dict[str, str] = json.loads(self._index.read_text("utf-8")) if self._index.exists() else {}

    def hash_of(self, sha256: str | None) -> str | None:
        """The Xet hash of a large file's content."""
        return self._hashes.get(sha256) if sha256 else None

    def write_token(self) -> Reply:
        """Where a client is to store contents."""
        return self._token(self._new_folder("writer"))

    def read_token(self) -> Reply:
        """Where a client finds contents."""
        folder = self._new_folder("reader")
        if self._kept.exists():
            shutil.copytree(self._kept, folder, dirs_exist_ok=True)
        return self._token(folder)

    def collect(self, contents: Iterable[str]) -> None:
        """Take contents (by SHA-256) out of the writers' folders, if they are there and not taken yet.

        The writers' processes may live on and hold the locks.
        """
        new = set(contents) - self._hashes.keys()
        written = {content.sha256 for folder in self._folder.glob("writer-*") for content in contents_in(folder)}
        wanted = sorted(new & written)
        if not wanted:
            return
        with tempfile.TemporaryDirectory() as out:
            done = subprocess.run(
                [sys.executable, str(_READ), str(self._folder), out],
                input=json.dumps(wanted),
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise RuntimeError(f"hf_xet could not read what clients stored:\n{done.stderr}")
            for sha256, xet_hash in json.loads(done.stdout).items():
                if self._objects.put_large(sha256, (Path(out) / sha256).read_bytes()):
                    self._hashes[sha256] = xet_hash
        self._index.write_text(json.dumps(self._hashes), "utf-8")

    def _new_folder(self, name: str) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=name + "-", dir=self._folder))

    @staticmethod
    def _token(folder: Path) -> Reply:
        address, token, expires = f"local://{folder}", "xet", int(time.time()) + _LIFETIME
        return json_reply(
            {"accessToken": token, "exp": expires, "casUrl": address},
            headers={
                "x-xet-cas-url": address,
                "x-xet-access-token": token,
                "x-xet-token-expiration": str(expires),
            },
        )

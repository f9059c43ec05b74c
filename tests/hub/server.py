"""Start and stop the loopback Hub, and a handle to look at it and to make it fail."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .app import Connections, HubApp
from .faults import Fault, FaultKind, LogEntry
from .repositories import Repository
from .state import HubState, Settings


class HubServer:
    """A Hub in a thread, on two free ports of 127.0.0.1: one for the API, one as the other origin of large files.

    ::

        with HubServer(folder) as hub:
            HfApi(endpoint=hub.endpoint, token=OWNER_TOKEN).create_repo("asqp/tagger")
            hub.fail("status", "/commit/", status=503)
    """

    def __init__(self, folder: Path, port: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.state = HubState(folder.resolve())
        self._port = port
        connections: Connections = {}
        self._app = HubApp(self.state, connections)
        config = uvicorn.Config(
            self._app,
            http=_tracked(connections),
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_keep_alive=600,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._sockets: list[socket.socket] = []
        self._thread = threading.Thread(target=self._run, name="loopback-hub", daemon=True)

    def __enter__(self) -> HubServer:
        self._sockets = [_listen(self._port), _listen(0)]
        api, other = (f"http://127.0.0.1:{s.getsockname()[1]}" for s in self._sockets)
        self.state.endpoint, self.state.cdn_endpoint = api, other
        self._thread.start()
        deadline = time.monotonic() + 30
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise RuntimeError("the loopback Hub did not start")
            time.sleep(0.01)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=15)
        for listening in self._sockets:
            listening.close()

    def wait(self) -> None:
        """Block until the server ends."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    @property
    def endpoint(self) -> str:
        """What ``HF_ENDPOINT`` is to be: without a slash at the end, which datasets and evaluate do not strip."""
        return self.state.endpoint

    @property
    def settings(self) -> Settings:
        """What may be changed; :meth:`forget` brings the defaults back."""
        return self.state.settings

    @property
    def crashes(self) -> list[str]:
        """Tracebacks of the Hub's own errors."""
        return self._app.crashes

    def repository(self, kind: str, repo: str) -> Repository:
        """A repository as the Hub has it."""
        repository = self.state.repositories.get(kind, repo)
        if repository is None:
            raise KeyError(f"{kind}/{repo}")
        return repository

    def files(self, kind: str, repo: str, revision: str = "main") -> dict[str, bytes]:
        """The files of a revision, past all protocol, without .gitattributes."""
        repository = self.repository(kind, repo)
        commit = repository.commits[repository.resolve(revision) or ""]
        found = {path: self.state.objects.read(file) for path, file in commit.tree.items()}
        found.pop(".gitattributes", None)
        return found

    def fail(self, kind: FaultKind, path: str = "", **more: Any) -> None:
        """Let the next request that fits meet a fault: the fields of :class:`tests.hub.faults.Fault`."""
        self.state.faults.add(Fault(kind, path, **more))

    def requests(self, method: str = "", path: str = "") -> list[LogEntry]:
        """The requests since :meth:`forget`: of a method, with a path in which the expression is found."""
        return [e for e in list(self.state.log) if method in {"", e.method} and re.search(path, e.path)]

    def forget(self) -> None:
        """Default settings, no faults, an empty log; repositories stay."""
        self.state.forget_faults()
        self.crashes.clear()

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=self._sockets))


def _listen(port: int) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    return listening


def _tracked(connections: Connections) -> type[H11Protocol]:
    """The HTTP protocol that also notes its connections, for faults to close."""

    class TrackedProtocol(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            connections[transport.get_extra_info("peername")[:2]] = transport
            super().connection_made(transport)

        def connection_lost(self, exc: Exception | None) -> None:
            connections.pop(self.transport.get_extra_info("peername")[:2], None)
            super().connection_lost(exc)

    return TrackedProtocol

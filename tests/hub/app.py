"""The ASGI application: read a request, let it meet its fault, answer it, write it down."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
import threading
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import asdict
from typing import Any
from urllib.parse import parse_qs, unquote

from . import routes_manage, routes_read, routes_write
from .accounts import LOGINS
from .faults import Fault, LogEntry
from .state import HubState
from .wire import Call, HubError, Reply, Router, json_reply

Message = MutableMapping[str, Any]
Connections = dict[tuple[str, int], asyncio.Transport]
"""The open connections, by the client's address: faults close them."""

ADMIN = "/_hub/"
_CHUNK = 2**16

admin = Router()


@admin.route("GET POST DELETE", "/_hub/faults")
def faults(state: HubState, call: Call) -> Reply:
    """GET lists what is still to happen, POST adds one fault, DELETE forgets all."""
    if call.method == "POST":
        state.faults.add_json(call.json())
    elif call.method == "DELETE":
        state.faults.clear()
    return json_reply(state.faults.to_json())


@admin.route("GET DELETE", "/_hub/log")
def log(state: HubState, call: Call) -> Reply:
    """GET gives the requests so far, DELETE forgets them."""
    if call.method == "DELETE":
        state.log.clear()
    return json_reply([asdict(entry) for entry in state.log])


@admin.route("GET PUT", "/_hub/settings")
def settings(state: HubState, call: Call) -> Reply:
    """PUT changes the settings that it names."""
    for name, value in call.json().items() if call.method == "PUT" else ():
        if not hasattr(state.settings, name):
            raise HubError(400, f"Not a setting: {name}")
        setattr(state.settings, name, value)
    return json_reply(asdict(state.settings))


class HubApp:
    """Handlers run in a thread, one at a time, so that commits have an order; bodies are sent outside of it."""

    def __init__(self, state: HubState, connections: Connections) -> None:
        self._state = state
        self._connections = connections
        self._one_at_a_time = threading.Lock()
        self._router = Router()
        self._router.include([admin, routes_manage.router, routes_read.router, routes_write.router])
        self.crashes: list[str] = []
        """Tracebacks of handlers: errors of this Hub, not of its clients."""

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        if scope["type"] != "http":
            return
        call = await _read(scope, receive)
        if call is None:
            return
        is_admin = call.path.startswith(ADMIN)
        fault = None if is_admin else self._state.faults.take(call)
        entry = _entry(call, scope, fault)
        if not is_admin:
            self._state.log.append(entry)
        if fault and fault.kind == "lost_request":
            await self._close(scope, receive)
            return
        if fault and fault.kind == "delay":
            await asyncio.sleep(fault.seconds)
        reply = await asyncio.to_thread(self._answer, call, fault)
        entry.status = reply.status
        if fault and fault.kind == "lost_reply":
            await self._close(scope, receive)
            return
        reply.headers["x-request-id"] = f"request-{len(self._state.log)}"
        await _start(send, reply)
        if call.method == "HEAD" or reply.status == 304:
            await send({"type": "http.response.body"})
            return
        if fault and fault.kind in {"cut", "reset"}:
            await send({"type": "http.response.body", "body": reply.body[: fault.after], "more_body": True})
            await self._close(scope, receive, reset=fault.kind == "reset")
            return
        for at in range(0, len(reply.body), _CHUNK):
            await send({"type": "http.response.body", "body": reply.body[at : at + _CHUNK], "more_body": True})
        await send({"type": "http.response.body"})

    def _answer(self, call: Call, fault: Fault | None) -> Reply:
        with self._one_at_a_time:
            try:
                if fault and fault.kind == "status":
                    raise HubError(fault.status, fault.message, headers=dict(fault.headers))
                if fault and fault.kind == "stale_parent":
                    self._commit_before(call)
                handler, arguments = self._router.find(call.method, call.path)
                return handler(self._state, call, **arguments)
            except HubError as error:
                return error.reply()
            except Exception:
                self.crashes.append(traceback.format_exc())
                return HubError(500, "The loopback Hub has an error of its own").reply()

    def _commit_before(self, call: Call) -> None:
        match = re.fullmatch(r"/api/(\w+)/([^/]+/[^/]+)/commit/([^/]+)", call.path)
        repository = self._state.repositories.get(match[1], match[2]) if match else None
        if match is None or repository is None:
            raise HubError(400, f"stale_parent is a fault of commits, not of {call.path}")
        routes_write.commit_of_somebody_else(self._state, repository, unquote(match[3]))

    async def _close(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[Message]],
        reset: bool = False,
    ) -> None:
        """Close the client's connection, in order or by a TCP reset."""
        transport = self._connections.get(tuple(scope["client"]))
        if transport is None:  # the client was first
            return
        if reset:
            await asyncio.sleep(0.1)  # what was sent arrives first
            linger = struct.pack("ii", 1, 0)
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            transport.abort()
        else:
            transport.close()
        while (await receive())["type"] != "http.disconnect":
            pass


async def _read(scope: MutableMapping[str, Any], receive: Callable[[], Awaitable[Message]]) -> Call | None:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    return Call(
        method=scope["method"],
        path=scope["raw_path"].decode("ascii"),
        query=parse_qs(scope["query_string"].decode("ascii")),
        headers={name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
        body=bytes(body),
        port=scope["server"][1],
    )


async def _start(send: Callable[[Message], Awaitable[None]], reply: Reply) -> None:
    headers = dict(reply.headers)
    if reply.status != 304:
        headers["content-length"] = str(len(reply.body))
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": pairs})


def _entry(call: Call, scope: MutableMapping[str, Any], fault: Fault | None) -> LogEntry:
    login = LOGINS.get(call.headers.get("authorization", "").removeprefix("Bearer ").strip())
    return LogEntry(
        method=call.method,
        path=call.path,
        query=scope["query_string"].decode("ascii"),
        account=login.account.name if login else None,
        range=call.headers.get("range"),
        port=call.port,
        fault=fault.kind if fault else None,
    )

"""Faults on purpose, and the log of what clients asked for."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from .wire import Call, HubError

FaultKind = Literal["status", "delay", "cut", "reset", "lost_request", "lost_reply", "stale_parent"]


@dataclass
class Fault:
    """What goes wrong, with which requests, how often.

    - ``status``: the answer is ``status`` with ``headers`` (429 and ``retry-after: 1``, 503, …); nothing is done
    - ``delay``: the answer comes ``seconds`` later
    - ``cut``: the connection is closed in order (FIN) after ``after`` bytes of the body
    - ``reset``: as ``cut``, by a TCP reset
    - ``lost_request``: the connection is closed before anything is done
    - ``lost_reply``: the request is carried out, then the connection is closed without a reply
    - ``stale_parent``: somebody else's commit lands on the branch right before the client's
    """

    kind: FaultKind
    path: str = ""
    """Found anywhere in the quoted path: a regular expression."""
    method: str = ""
    """Any, if empty."""
    times: int = 1
    skip: int = 0
    """How many requests that fit go through first."""
    status: int = 503
    message: str = "injected"
    headers: dict[str, str] = field(default_factory=dict)
    after: int = 0
    seconds: float = 0.0

    def fits(self, call: Call) -> bool:
        return self.method in {"", call.method} and re.search(self.path, call.path) is not None


@dataclass
class LogEntry:
    """A request and its answer. No header values: those of requests hold tokens."""

    method: str
    path: str
    query: str
    account: str | None
    range: str | None
    port: int
    status: int | None = None
    fault: FaultKind | None = None


class Faults:
    """The faults that are still to happen."""

    def __init__(self) -> None:
        self._pending: list[Fault] = []

    def add(self, fault: Fault) -> None:
        self._pending.append(fault)

    def add_json(self, value: dict[str, Any]) -> None:
        """A fault from the admin endpoint."""
        try:
            fault = Fault(**value)
            re.compile(fault.path)
        except (TypeError, re.error) as error:
            raise HubError(400, f"Not a fault: {error}") from None
        self.add(fault)

    def take(self, call: Call) -> Fault | None:
        """The fault that this request meets, if any; it is used up by one."""
        for fault in self._pending:
            if not fault.fits(call):
                continue
            if fault.skip:
                fault.skip -= 1
                continue
            fault.times -= 1
            if fault.times <= 0:
                self._pending.remove(fault)
            return fault
        return None

    def clear(self) -> None:
        self._pending.clear()

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(fault) for fault in self._pending]

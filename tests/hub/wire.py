"""Requests, replies, errors and routes of the loopback Hub, over plain ASGI."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode


class Fields(dict[str, Any]):
    """A JSON object in which a missing field is the client's error."""

    def __missing__(self, name: str) -> Any:
        raise HubError(400, f"The field `{name}` is missing")


def read_json(text: bytes) -> Any:
    """What a client sent, with :class:`Fields` for objects."""
    try:
        return json.loads(text, object_hook=Fields)
    except ValueError as error:
        raise HubError(400, f"Invalid JSON in the request body: {error}") from None


@dataclass
class Call:
    """A request that has been read whole. The path stays quoted: a revision may be ``refs%2Fpr%2F1``."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes = b""
    port: int = 0

    def json(self) -> Fields:
        """The body, which must be a JSON object."""
        value = read_json(self.body or b"{}")
        if not isinstance(value, Fields):
            raise HubError(400, "The request body must be a JSON object")
        return value

    def form(self) -> dict[str, list[str]]:
        """The body as a form, or as the JSON object that says the same."""
        if "json" not in self.headers.get("content-type", ""):
            return parse_qs(self.body.decode())
        return {k: v if isinstance(v, list) else [str(v)] for k, v in self.json().items()}

    def parameter(self, name: str, default: str = "") -> str:
        """The first value of a query parameter."""
        return self.query.get(name, [default])[0]

    def flag(self, name: str) -> bool:
        """Whether a query parameter is set to something true."""
        return is_true(self.parameter(name))


@dataclass
class Reply:
    """A response that is held whole, so that a fault can cut it anywhere."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class HubError(Exception):
    """An error as the Hub words it: JSON ``{"error": …}`` with X-Error-Message and, for typed errors, X-Error-Code."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        headers: dict[str, str] | None = None,
        **body: object,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.headers = headers or {}
        self.body = body

    def reply(self) -> Reply:
        """What goes over the wire."""
        line = self.message.encode("ascii", "replace").decode().replace("\n", " ")
        headers = {"x-error-message": line, **self.headers}
        if self.code:
            headers["x-error-code"] = self.code
        return json_reply({"error": self.message, **self.body}, self.status, headers)


def is_true(value: str) -> bool:
    return value.lower() in {"1", "true", "yes"}


def json_reply(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Reply:
    """A JSON answer."""
    return Reply(status, {"content-type": "application/json", **(headers or {})}, json.dumps(value).encode())


def page_reply(call: Call, base: str, items: list[dict[str, Any]], size: int) -> Reply:
    """One page of a list; the address of the next one is in the header ``Link: <…>; rel="next"``."""
    start = int(call.parameter("cursor", "0"))
    headers = {}
    if start + size < len(items):
        query = urlencode(call.query | {"cursor": [str(start + size)]}, doseq=True)
        headers["link"] = f'<{base}{call.path}?{query}>; rel="next"'
    return json_reply(items[start : start + size], headers=headers)


def file_reply(call: Call, data: bytes, headers: dict[str, str]) -> Reply:
    """A file, or a range of it (206), or the word that the client has it already (304)."""
    headers = {"content-type": "application/octet-stream", "accept-ranges": "bytes", **headers}
    etag = headers.get("etag")
    if etag and etag in [tag.strip() for tag in call.headers.get("if-none-match", "").split(",")]:
        return Reply(304, headers)
    wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", call.headers.get("range", ""))
    stale = call.headers.get("if-range", etag) != etag
    if not wanted or call.method != "GET" or stale or wanted[0] == "bytes=-":
        return Reply(200, headers, data)
    size = len(data)
    if wanted[1]:
        first, last = int(wanted[1]), min(int(wanted[2] or size - 1), size - 1)
    else:
        first, last = max(0, size - int(wanted[2])), size - 1
    if first > last:
        raise HubError(416, "Requested range not satisfiable", headers={"content-range": f"bytes */{size}"})
    headers["content-range"] = f"bytes {first}-{last}/{size}"
    return Reply(206, headers, data[first : last + 1])


Handler = Callable[..., Reply]

_SEGMENTS = {
    "kind": "models|datasets|spaces",
    "prefix": "(?:datasets/|spaces/)?",
    "repo": "[^/]+/[^/]+",
    "rev": "[^/]+",
    "path": ".+",
    "name": ".+",
    "sha256": "[0-9a-f]{64}",
    "number": r"\d+",
}


class Router:
    """Finds the handler of a quoted path. ``{repo}`` is two segments, ``{path}`` and ``{name}`` are the rest."""

    def __init__(self) -> None:
        self._routes: list[tuple[frozenset[str], re.Pattern[str], Handler]] = []

    def route(self, methods: str, *patterns: str) -> Callable[[Handler], Handler]:
        """Register a handler: ``@router.route("GET HEAD", "/{prefix}{repo}/resolve/{rev}/{path}")``."""

        def register(handler: Handler) -> Handler:
            for pattern in patterns:
                expression = re.sub(r"\{(\w+)\}", lambda m: f"(?P<{m[1]}>{_SEGMENTS[m[1]]})", pattern)
                self._routes.append((frozenset(methods.split()), re.compile(expression), handler))
            return handler

        return register

    def include(self, routers: Iterable[Router]) -> None:
        """Take over the routes of others."""
        for router in routers:
            self._routes.extend(router._routes)

    def find(self, method: str, path: str) -> tuple[Handler, dict[str, str]]:
        """The handler and its unquoted arguments; 404 or 405 as an error."""
        allowed: set[str] = set()
        for methods, pattern, handler in self._routes:
            match = pattern.fullmatch(path)
            if match and method in methods:
                return handler, {name: unquote(value) for name, value in match.groupdict().items()}
            if match:
                allowed |= methods
        if allowed:
            raise HubError(405, f"{method} is not allowed here", headers={"allow": ", ".join(sorted(allowed))})
        raise HubError(404, f"The loopback Hub has no {method} {path}")

"""A span in the words of OpenTelemetry: its conventions for MCP and for GenAI tools.

Arguments and results, which the conventions leave to choice, are not among the attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping
from mcp_studio.protocol.trace_context import of_frame
from mcp_studio.trace.message import LISTEN

Value = str | int | bool
Attributes = dict[str, Value]
_LARGE = 1 << 20
"""Bytes of an answer up to which it is read for its error."""
_URIS = ("resources/read", "resources/subscribe", "resources/unsubscribe")
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_WORDS = 1_000


class Ended(NamedTuple):
    """One end of a span, and what else is known of it."""

    method: str
    target: str
    ours: bool
    """We asked."""
    outcome: str
    """See `message.OUTCOMES`."""
    request: bytes
    response: bytes = b""


class Told(NamedTuple):
    """A span as OpenTelemetry has it."""

    name: str
    client: bool
    """`CLIENT`, else `SERVER`: the server asked us."""
    attributes: Attributes
    failed: bool = False
    why: str = ""
    """What the error says; for a failed span only, and there it may be empty."""


def name_of(method: str, target: str) -> str:
    """`{mcp.method.name} {target}` where the target is one of few: a tool or prompt, but no URI."""
    return f"{method} {target}" if target and method in ("tools/call", "prompts/get") else method or "request"


def told(end: Ended, server: Mapping[str, Json], session: str = "") -> Told:
    """A span in those words.

    Args:
        server: what is known of it: `transport`, `version`, `url`, see `export.servers`.
        session: its id of the HTTP session.
    """
    found: Attributes = {"mcp.method.name": end.method}
    if (identity := _id(end.request)) is not None:
        found["jsonrpc.request.id"] = str(identity)[:_WORDS]
    if end.method == "tools/call":
        found["gen_ai.operation.name"] = "execute_tool"
    for key, methods in (
        ("gen_ai.tool.name", ("tools/call",)),
        ("gen_ai.prompt.name", ("prompts/get",)),
        ("mcp.resource.uri", _URIS),
    ):
        if end.method in methods and end.target:
            found[key] = end.target
    found.update(_server(server))
    if session:
        found["mcp.session.id"] = session
    for side, frame in (("request", end.request), ("response", end.response)):
        found.update({f"mcp_studio.{side}.{key}": str(text)[:_WORDS] for key, text in of_frame(frame).items()})
    failed, why = _failure(end, found)
    return Told(name_of(end.method, end.target), end.ours, found, failed, why)


def _failure(end: Ended, found: Attributes) -> tuple[bool, str]:
    """Whether it failed, and why; puts what kind of failure it is among the attributes."""
    if end.outcome in ("ok", "open", "") or (end.method == LISTEN and end.outcome != "error"):
        return False, ""
    if end.outcome == "tool error":
        found["error.type"] = "tool_error"
        return True, ""
    if end.outcome != "error":
        found["error.type"] = end.outcome
        return True, {"lost": "The connection ended before the answer came."}.get(end.outcome, "")
    error = mapping(_read(end.response).get("error"))
    code, message = error.get("code"), error.get("message")
    found["error.type"] = "_OTHER"
    if isinstance(code, int) and not isinstance(code, bool):
        found["error.type"] = found["rpc.response.status_code"] = str(code)[:_WORDS]
    return True, message[:_WORDS] if isinstance(message, str) else ""


def _server(server: Mapping[str, Json]) -> Attributes:
    found: Attributes = {}
    if isinstance(version := server.get("version"), str) and version:
        found["mcp.protocol.version"] = version
    transport, url = server.get("transport"), server.get("url")
    if transport == "stdio":
        return {**found, "network.transport": "pipe"}
    found |= {"network.transport": "tcp", "network.protocol.name": "websocket" if transport == "websocket" else "http"}
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        if parts.hostname:
            found["server.address"] = parts.hostname
            found["server.port"] = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return found
    return found


def _id(frame: bytes) -> int | str | None:
    identity = _read(frame).get("id")
    return identity if isinstance(identity, (int, str)) and not isinstance(identity, bool) else None


def _read(frame: bytes) -> dict[str, Json]:
    if len(frame) > _LARGE:
        return {}
    try:
        return mapping(loads(frame))
    except (JsonProblem, LimitExceeded):
        return {}


def told_of_signing_in(purpose: str, asked: str, came: str) -> Told:
    """An HTTP exchange of signing in: `asked` and `came` are the first lines of its messages, `came` may be empty."""
    method, _, url = asked.partition(" ")
    found: Attributes = {"http.request.method": method, "url.full": url[:_WORDS], "mcp_studio.purpose": purpose}
    try:
        parts = urlsplit(url)
        found["server.address"] = parts.hostname or ""
        found["server.port"] = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        pass
    status = came.partition(" ")[0]
    if status.isdecimal() and len(status) == 3:
        found["http.response.status_code"] = int(status)
        return Told(f"sign-in: {purpose}", True, found, status[0] in "45", came)
    return Told(f"sign-in: {purpose}", True, found, True, came or "There was no answer.")

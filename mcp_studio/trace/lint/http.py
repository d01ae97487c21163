"""Rules about HTTP: headers that say what the body says, statuses, content types, sessions (basic/transports)."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_studio.protocol.events import Outgoing, RequestId
from mcp_studio.protocol.versions import METHOD_NOT_FOUND, NAMED
from mcp_studio.trace.lint.messages import Requests
from mcp_studio.trace.lint.rules import Spot, quoted

if TYPE_CHECKING:
    from mcp_studio.transport.base import Headers, HttpRequest, HttpResponse

_REMEMBERED = 200
_VISIBLE = r"[\x21-\x7e]+"
_SENTINEL = r"=\?base64\?(.*)\?="


@dataclass(slots=True)
class Exchange:
    """One HTTP request and what became of it."""

    verb: str
    headers: dict[str, str]
    kind: str = ""
    """What the body carries: `request`, `notification`, `response`; empty without one."""
    identity: RequestId | None = None
    method: str = ""
    modern: bool = False
    status: int = 0
    stream: bool = False


class Exchanges:
    """The newest exchanges of one connection."""

    def __init__(self) -> None:
        self._known: dict[int, Exchange] = {}
        self._session = ""
        self._answered = False
        self._beside = False
        """Whether answers come on a stream of their own: it was opened before the handshake, so this is HTTP+SSE."""

    def request(self, request: HttpRequest) -> None:
        """A request head goes out."""
        self._known[request.exchange] = Exchange(request.method, _lower(request.headers))
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]

    def carries(self, number: int, out: Outgoing) -> list[Spot]:
        """The body of an exchange is this message: its headers must say the same."""
        exchange = self._known.get(number)
        if exchange is None:
            return []
        exchange.kind, exchange.method, exchange.modern = out.kind, out.method, out.modern
        exchange.identity = out.id
        if not out.modern or out.kind != "request" or exchange.verb != "POST":
            return []
        wanted = {"mcp-method": out.method, "mcp-protocol-version": out.version}
        if out.method in NAMED:
            wanted["mcp-name"] = out.target
        spots: list[Spot] = []
        for name, value in wanted.items():
            said = exchange.headers.get(name)
            if said is None:
                spots.append(Spot("http-header-mismatch", f"The header {name} is missing.", "", _standard(name)))
            elif _decoded(said) != value:
                text = f"The header {name} says {quoted(said)}, the body {quoted(value)}."
                spots.append(Spot("http-header-mismatch", text, "", _standard(name)))
        return spots

    def response(self, response: HttpResponse, requests: Requests) -> list[Spot]:
        """A response head came in; nothing is demanded of one to a request that was given up, or of how one ended."""
        exchange = self._known.get(response.exchange)
        if exchange is None or not response.status or response.error:
            return []
        headers = _lower(response.headers)
        media = headers.get("content-type", "").split(";", 1)[0].strip().lower()
        exchange.status, exchange.stream = response.status, media == "text/event-stream"
        if exchange.verb == "GET" and exchange.stream and not self._answered:
            self._beside = True
        spots = self._sessions(headers.get("mcp-session-id"), exchange)
        request = requests.get(exchange.identity)
        wanted = exchange.kind != "request" or (request is not None and request.state == "open")
        if exchange.verb == "POST" and 200 <= response.status < 300 and wanted and not self._beside:
            spots += _success(exchange, media)
        return spots

    def answered(self) -> None:
        """The handshake is done: a stream that is opened from now on is one of Streamable HTTP."""
        self._answered = True

    def leftover(self, number: int, frame: bytes) -> list[Spot]:
        """A frame that nobody took: a body where none belongs, or an event that is no message."""
        exchange = self._known.get(number)
        if exchange is None or self._beside or frame.lstrip()[:1] not in (b"{", b"["):
            return []
        if exchange.kind in ("notification", "response") and exchange.status < 300:
            return [Spot("http-accepted", f"What answers a {exchange.kind} has a body; it must have none.")]
        if exchange.stream:
            return [Spot("sse-event", 'An event of the stream has another type than "message".')]
        return []

    def refused(self, number: int, code: int) -> list[Spot]:
        """A JSON-RPC error came in on an exchange (2026-07-28: an unknown method is also HTTP status 404)."""
        exchange = self._known.get(number)
        if exchange is None or not exchange.modern or code != METHOD_NOT_FOUND or exchange.status in (0, 404):
            return []
        if exchange.stream:
            return []  # the head had gone out already
        return [Spot("http-status", f"An unknown method is answered with status {exchange.status}; it must be 404.")]

    def _sessions(self, session: str | None, exchange: Exchange) -> list[Spot]:
        if session is None:
            return []
        if exchange.modern:
            return [Spot("http-session", "The server gives a session id; 2026-07-28 has no sessions.")]
        if not re.fullmatch(_VISIBLE, session):
            return [Spot("http-session", "The session id has other characters than visible ASCII.")]
        if exchange.method == "initialize":
            self._session = session
        elif self._session and session != self._session:
            return [Spot("http-session", "The session id changes without a new handshake.")]
        return []


def _success(exchange: Exchange, media: str) -> list[Spot]:
    if exchange.headers.get("accept") == "application/json":
        return []  # HTTP+SSE (2024-11-05): answers come on a stream of their own, and any success will do.
    if exchange.kind == "request":
        if exchange.status == 202:
            return [Spot("http-accepted", "A request is answered with status 202, which answers nothing.")]
        if media not in ("application/json", "text/event-stream"):
            what = quoted(media) if media else "no content type"
            return [Spot("http-content-type", f"A request is answered with {what}.")]
    elif exchange.kind in ("notification", "response") and exchange.status != 202:
        return [Spot("http-accepted", f"A {exchange.kind} is answered with status {exchange.status}; it must be 202.")]
    return []


def _standard(name: str) -> str:
    return "basic/transports/streamable-http#protocol-version-header" if name == "mcp-protocol-version" else ""


def _lower(headers: Headers) -> dict[str, str]:
    return {name.lower(): value for name, value in headers}


def _decoded(value: str) -> str:
    found = re.fullmatch(_SENTINEL, value)
    if not found:
        return value
    try:
        return base64.b64decode(found[1], validate=True).decode("utf-8", "surrogatepass")
    except (binascii.Error, UnicodeDecodeError):
        return value

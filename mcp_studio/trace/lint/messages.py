"""Rules on messages as such: bytes, envelope, pairing of requests and answers, progress, logs, notifications, HTTP.

Specification: basic, "Messages"; basic/transports.
"""

from __future__ import annotations

import base64
import binascii
import re
import sys
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.protocol import versions
from mcp_studio.protocol.events import Outgoing, RequestId
from mcp_studio.trace.lint.rules import Spot, kind_in, kind_of, quoted
from mcp_studio.transport.base import Headers, HttpRequest, HttpResponse

_BOM = b"\xef\xbb\xbf"
_READ = 1 << 20
"""Bytes of a frame whose encoding is checked."""


def check_bytes(frame: bytes) -> Iterator[Spot]:
    """The problems of a frame's bytes."""
    begin = frame[:_READ]
    if begin.startswith(_BOM):
        yield Spot("byte-order-mark", "The message begins with a byte order mark, which JSON must not.")
    try:
        begin.decode()
    except UnicodeDecodeError as problem:
        # a character that the cut splits is not a fault
        if len(frame) <= _READ or problem.end < _READ - 3:
            bad = begin[problem.start : problem.start + 4].hex(" ")
            yield Spot("invalid-utf8", f"Byte {problem.start:,} is not UTF-8 ({bad} …).")


# ---------------------------------------------------------------------- envelope

_CALL = frozenset({"jsonrpc", "id", "method", "params"})
_ANSWER = frozenset({"jsonrpc", "id", "result", "error"})
_LONG_ID = 1_000
_JSONRPC_CODES = (-32700, -32600, -32601, -32602, -32603)
_RETIRED = -32002
""""No such resource" in earlier versions; 2026-07-28 uses -32602."""
_MODERN_CODES = (versions.HEADER_MISMATCH, versions.MISSING_CAPABILITY, versions.UNSUPPORTED_VERSION)


def check_envelope(value: Json, modern: bool) -> Iterator[Spot]:
    """The problems of a message's envelope."""
    message = mapping(value)
    if not isinstance(value, dict):
        yield Spot("not-a-message", f"A message is an object, not {kind_of(value)}.")
        return
    if message.get("jsonrpc") != "2.0":
        has = quoted(message["jsonrpc"]) if "jsonrpc" in message else "missing"
        yield Spot("jsonrpc-version", f'The member jsonrpc is {has}; it must be "2.0".', "/jsonrpc")
    if "id" in message:
        identity = message["id"]
        unread = identity is None and "error" in message and "method" not in message  # on an unreadable request
        if not isinstance(identity, str) and type(identity) is not int and not unread:
            text = f"The id is {kind_of(identity)}; it must be a string or an integer."
            yield Spot("id-type", text, "/id")
        elif isinstance(identity, str) and len(identity) > _LONG_ID:
            yield Spot("id-long", f"The id has {len(identity):,} characters.", "/id")
    if "method" in message:
        yield from _call(message)
    elif "result" in message or "error" in message:
        yield from _answer(message, modern)
    else:
        yield Spot("not-a-message", "It has no method, no result and no error.")
        return
    if unknown := message.keys() - (_CALL if "method" in message else _ANSWER):
        names = ", ".join(quoted(name) for name in sorted(unknown)[:5])
        yield Spot("unknown-member", f"The message has members that JSON-RPC does not know: {names}.")


def _call(message: dict[str, Json]) -> Iterator[Spot]:
    method, params = message["method"], message.get("params", {})
    if not isinstance(method, str):
        yield Spot("method-type", f"The method is {kind_of(method)}; it must be a string.", "/method")
        return
    if "id" in message and method.startswith("notifications/"):
        yield Spot("notification-id", f"{method[:80]} is a notification and must have no id.", "/id")
    if not isinstance(params, dict):
        text = f"The params of {method[:80]} are {kind_of(params)}; they must be an object."
        yield Spot("params-type", text, "/params")


def _answer(message: dict[str, Json], modern: bool) -> Iterator[Spot]:
    if "error" in message:
        yield from _error(message["error"], modern)
        if "result" in message:
            yield Spot("result-and-error", "The response has both a result and an error.")
    elif "id" not in message:
        yield Spot("id-type", "The response has no id.")
    result = message.get("result", {})
    if not isinstance(result, dict):
        yield Spot("result-object", f"The result is {kind_of(result)}; it must be an object.", "/result")


def _error(error: Json, modern: bool) -> Iterator[Spot]:
    if not isinstance(error, dict):
        text = f"The error is {kind_of(error)}; it must be an object with code and message."
        yield Spot("error-object", text, "/error")
        return
    known = mapping(error)
    code = known.get("code")
    if not isinstance(known.get("message"), str):
        yield Spot("error-object", "The error has no message that is a string.", "/error/message")
    if type(code) is not int:
        text = f"The code of the error is {kind_in(known, 'code')}; it must be an integer."
        yield Spot("error-code", text, "/error/code")
    elif -32768 <= code <= -32000 and code not in _JSONRPC_CODES:
        yield from _reserved_code(code, modern)


def _reserved_code(code: int, modern: bool) -> Iterator[Spot]:
    """Specification 2026-07-28, basic, "Error Codes"; earlier versions leave these codes to the server."""
    if code >= -32099 and (not modern or code in _MODERN_CODES):
        return
    if code >= -32019 and code != _RETIRED:
        text = f"{code} has no fixed meaning, and new servers should not use it."
        yield Spot("error-code-legacy", text, "/error/code")
    else:
        yield Spot("error-code-reserved", f"{code} is reserved, and means nothing in this version.", "/error/code")


# ---------------------------------------------------------------------- requests and their answers

_REMEMBERED = 2_000


@dataclass(slots=True)
class Sent:
    """A request of ours."""

    method: str
    version: str
    logs: bool
    """Whether the request carries a log level (2026-07-28)."""
    filter: dict[str, Json]
    """The notifications that a `subscriptions/listen` asks for."""
    state: Literal["open", "answered", "dropped"] = "open"
    progress: float | None = None
    """The newest progress."""
    acknowledged: bool = False
    """Whether the server has acknowledged the subscription (`subscriptions/listen`)."""
    task: bool = False
    """Whether the answer is a task, whose progress uses the same token (basic/utilities/tasks)."""


class Requests:
    """The requests of one connection. Of those that have ended, only the newest are remembered."""

    def __init__(self) -> None:
        # A dict would walk over all deleted entries to find its oldest.
        self.sent: OrderedDict[RequestId, Sent] = OrderedDict()
        self.tokens: OrderedDict[RequestId, Sent] = OrderedDict()
        """Requests by their progress tokens."""
        self._received: dict[RequestId, None] = {}

    def add(self, identity: RequestId, method: str, version: str, params: dict[str, Json]) -> None:
        """Record a request of ours."""
        meta = mapping(params.get("_meta"))
        token = meta.get("progressToken")
        request = self.sent[identity] = Sent(
            method, version, versions.META_LOG_LEVEL in meta, mapping(params.get("notifications"))
        )
        if isinstance(token, (int, str)):
            self.tokens[token] = request
        if len(self.sent) > _REMEMBERED:
            over = next((name for name, one in self.sent.items() if one.state != "open"), identity)
            del self.sent[over]
        if len(self.tokens) > _REMEMBERED:
            del self.tokens[next(iter(self.tokens))]

    def get(self, identity: Json) -> Sent | None:
        """The request with an id, open or ended."""
        return self.sent.get(identity) if isinstance(identity, (int, str)) else None

    def drop(self, identity: RequestId) -> None:
        """Record that nobody waits for an answer, so that a late answer is not a fault."""
        if (request := self.sent.get(identity)) is not None and request.state == "open":
            request.state = "dropped"

    def answer(self, identity: RequestId | None) -> tuple[Sent | None, list[Spot]]:
        """The open request that a response answers, and the problems of the response's id."""
        if identity is None:
            return None, [Spot("response-without-id", "The response does not say which request it answers.", "/id")]
        spots: list[Spot] = []
        request = self.sent.get(identity)
        if request is None and isinstance(identity, str) and identity.isdecimal() and len(identity) < 19:
            if (request := self.sent.get(int(identity))) is not None:
                text = "The id of the response is a string; that of the request is the same number."
                spots.append(Spot("response-id-type", text, "/id"))
        if request is None:
            return None, [Spot("orphan-response", "No request of ours has the id of this response.", "/id")]
        before, request.state = request.state, "answered"
        if before == "answered":
            text = f"A request ({request.method[:80]}) is answered a second time."
            return None, [Spot("duplicate-response", text, "/id")]
        return (request if before == "open" else None), spots

    def receive(self, identity: RequestId) -> list[Spot]:
        """Record a request of the server; returns the problems of its id."""
        reused = identity in self._received
        self._received[identity] = None
        if len(self._received) > _REMEMBERED:
            del self._received[next(iter(self._received))]
        return [Spot("request-id-reused", "The id was used by an earlier request.", "/id")] if reused else []


# ---------------------------------------------------------------------- notifications

_FILTERS = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    "notifications/resources/updated": "resourceSubscriptions",
}
"""Notifications on a subscription of a modern server, with the filter's member that asks for them."""
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


def check_progress(params: dict[str, Json], requests: Requests) -> Iterator[Spot]:
    """Check the types of progress, whether a running request has the token, and whether the progress increases."""
    token, progress, total = params.get("progressToken"), params.get("progress"), params.get("total")
    if isinstance(token, bool) or not isinstance(token, (int, str)):
        text = f"The progressToken is {kind_in(params, 'progressToken')}."
        yield Spot("progress-type", text, "/params/progressToken")
        return
    usable = True
    for name in ("progress", "total") if "total" in params else ("progress",):
        if not _is_finite(params.get(name)):
            usable = False
            text = f"The {name} is {kind_in(params, name)}; it must be a usable number."
            yield Spot("progress-type", text, f"/params/{name}")
    request = requests.tokens.get(token)
    if request is None:
        text = "No request carried the token of this progress."
        yield Spot("progress-without-token", text, "/params/progressToken")
    elif request.state == "answered" and not request.task:
        text = f"There is progress of {request.method} after its answer."
        yield Spot("progress-after-end", text, "/params/progressToken")
    elif usable and progress is not None and request.state != "dropped":  # else it came before the server knew
        if request.progress is not None and progress <= request.progress:
            text = f"Progress of {request.method} does not go forward."
            yield Spot("progress-not-increasing", text, "/params/progress")
        if total is not None and progress > total:
            yield Spot("progress-beyond-total", f"Progress of {request.method} is beyond its total.", "/params")
        request.progress = progress


def _is_finite(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def check_log(params: dict[str, Json], requests: Requests, modern: bool) -> Iterator[Spot]:
    """Check a `notifications/message`: its level, and in the stateless era whether a request asked for logs."""
    level = params.get("level")
    if level not in versions.LOG_LEVELS:
        text = f"The level is {quoted(level)}; it must be one of the eight of RFC 5424."
        yield Spot("log-level", text, "/params/level")
    if modern and not any(one.logs and one.state == "open" for one in requests.sent.values()):
        yield Spot("log-not-asked", "A log message came, though no open request carries a log level.")


def check_change(
    method: str, params: dict[str, Json], requests: Requests, subscribed: set[str], modern: bool
) -> Iterator[Spot]:
    """Check that a change notification was asked for; `subscribed` are the resources of the handshake era."""
    uri = params.get("uri")
    if modern and (method in _FILTERS or method == _ACKNOWLEDGED):
        yield from _on_subscription(method, params, requests)
    elif method == "notifications/resources/updated" and isinstance(uri, str) and not uri.startswith(tuple(subscribed)):
        yield Spot("not-subscribed", "An update came of a resource that nobody subscribed to.", "/params/uri")


def _on_subscription(method: str, params: dict[str, Json], requests: Requests) -> Iterator[Spot]:
    request = requests.get(mapping(params.get("_meta")).get(versions.META_SUBSCRIPTION))
    if request is None or (request.state == "open" and request.method != "subscriptions/listen"):
        yield Spot("subscription-id", f"{method} does not name a subscription that exists.", "/params/_meta")
    elif request.state != "open":
        return  # the server may not know yet
    elif method == _ACKNOWLEDGED:
        request.acknowledged = True
    else:
        if not request.acknowledged:
            text = "A notice came before the subscription was acknowledged."
            yield Spot("subscription-ack", text, "", "basic/patterns/subscriptions#acknowledgment")
        wanted = request.filter.get(_FILTERS[method])
        uris = tuple(uri for uri in items_of(wanted) if isinstance(uri, str))
        if not (wanted is True or str(params.get("uri")).startswith(uris)):
            text = f"{method} was not asked for by the subscription."
            yield Spot("subscription-filter", text, "", "basic/patterns/subscriptions#notification-filter")


# ---------------------------------------------------------------------- HTTP

_EXCHANGES = 200


@dataclass(slots=True)
class Exchange:
    """One HTTP request with its response."""

    verb: str
    headers: dict[str, str]
    kind: str = ""
    """The kind of the message in the body: `request`, `notification`, `response`; empty without a body."""
    id: RequestId | None = None
    method: str = ""
    modern: bool = False
    """Whether the message belongs to the stateless era."""
    status: int = 0
    stream: bool = False


class Exchanges:
    """The newest exchanges of one connection."""

    def __init__(self) -> None:
        self._known: dict[int, Exchange] = {}
        self._session = ""
        self.answered = False
        """Whether the handshake is done: a stream that is opened later is one of Streamable HTTP."""
        self._beside = False
        """Whether answers come on a stream that was opened before the handshake: the transport is HTTP+SSE."""

    def request(self, request: HttpRequest) -> None:
        """Record the head of an outgoing request."""
        self._known[request.exchange] = Exchange(request.method, _lower(request.headers))
        if len(self._known) > _EXCHANGES:
            del self._known[next(iter(self._known))]

    def carries(self, number: int, out: Outgoing) -> Iterator[Spot]:
        """Compare the headers of an exchange with the message in its body."""
        exchange = self._known.get(number)
        if exchange is None:
            return
        exchange.kind, exchange.id, exchange.method, exchange.modern = out.kind, out.id, out.method, out.modern
        if not out.modern or out.kind != "request" or exchange.verb != "POST":
            return
        wanted = {"mcp-method": out.method, "mcp-protocol-version": out.version}
        if out.method in versions.NAMED:
            wanted["mcp-name"] = out.target
        for name, value in wanted.items():
            header = exchange.headers.get(name)
            if header is None or _decoded(header) != value:
                has = "is missing" if header is None else f"says {quoted(header)}"
                section = "basic/transports/streamable-http#protocol-version-header" if name.endswith("version") else ""
                text = f"The header {name} {has}; the body says {quoted(value)}."
                yield Spot("http-header-mismatch", text, "", section)

    def response(self, response: HttpResponse, requests: Requests) -> Iterator[Spot]:
        """Check the head of a response, unless its request was given up or the exchange failed."""
        exchange = self._known.get(response.exchange)
        if exchange is None or not response.status or response.error:
            return
        headers = _lower(response.headers)
        media = headers.get("content-type", "").split(";", 1)[0].strip().lower()
        exchange.status, exchange.stream = response.status, media == "text/event-stream"
        if exchange.verb == "GET" and exchange.stream and not self.answered:
            self._beside = True
        if wrong := self._session_problem(headers.get("mcp-session-id"), exchange):
            yield Spot("http-session", wrong)
        request = requests.get(exchange.id)
        wanted = exchange.kind != "request" or (request is not None and request.state == "open")
        if exchange.verb == "POST" and 200 <= response.status < 300 and wanted and not self._beside:
            yield from _success(exchange, media)

    def leftover(self, number: int, frame: bytes) -> Iterator[Spot]:
        """Check a frame that nobody handled: a body where none belongs, or an event that is not a message."""
        exchange = self._known.get(number)
        if exchange is None or self._beside or frame.lstrip()[:1] not in (b"{", b"["):
            return
        if exchange.kind in ("notification", "response") and exchange.status < 300:
            yield Spot("http-accepted", f"What answers a {exchange.kind} has a body; it must have none.")
        elif exchange.stream:
            yield Spot("sse-event", 'An event of the stream has another type than "message".')

    def refused(self, number: int, code: int) -> Iterator[Spot]:
        """Check the status of a JSON-RPC error (2026-07-28: an unknown method also has HTTP status 404)."""
        exchange = self._known.get(number)
        # on a stream, the head was sent before the error
        if exchange is None or not exchange.modern or exchange.stream or code != versions.METHOD_NOT_FOUND:
            return
        if exchange.status not in (0, 404):
            text = f"An unknown method is answered with status {exchange.status}; it must be 404."
            yield Spot("http-status", text)

    def _session_problem(self, session: str | None, exchange: Exchange) -> str:
        if session is None:
            return ""
        if exchange.modern:
            return "The server gives a session id; 2026-07-28 has no sessions."
        if not re.fullmatch(r"[\x21-\x7e]+", session):
            return "The session id has other characters than visible ASCII."
        if exchange.method == "initialize":
            self._session = session
        return "The session id changes without a new handshake." if self._session not in ("", session) else ""


def _success(exchange: Exchange, media: str) -> Iterator[Spot]:
    if exchange.headers.get("accept") == "application/json":
        return  # HTTP+SSE (2024-11-05): answers come on a separate stream, and any success is right.
    if exchange.kind == "request" and exchange.status == 202:
        yield Spot("http-accepted", "A request is answered with status 202, which answers nothing.")
    elif exchange.kind == "request" and media not in ("application/json", "text/event-stream"):
        yield Spot("http-content-type", f"A request is answered with the content type {quoted(media)}.")
    elif exchange.kind in ("notification", "response") and exchange.status != 202:
        yield Spot("http-accepted", f"A {exchange.kind} is answered with status {exchange.status}; it must be 202.")


def _lower(headers: Headers) -> dict[str, str]:
    return {name.lower(): value for name, value in headers}


def _decoded(value: str) -> str:
    """The value of a header, which may be in base64 (2026-07-28, streamable-http, "Standard Request Headers")."""
    found = re.fullmatch(r"=\?base64\?(.*)\?=", value)
    try:
        return base64.b64decode(found[1], validate=True).decode("utf-8", "surrogatepass") if found else value
    except (binascii.Error, UnicodeDecodeError):
        return value

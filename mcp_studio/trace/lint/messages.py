"""Rules about messages as such: bytes, JSON-RPC envelope (specification, basic, "Messages"), which answer belongs to
which request, progress, logs, notices of change, HTTP (basic/transports).
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.protocol.events import Outgoing, RequestId
from mcp_studio.protocol.versions import (
    HEADER_MISMATCH,
    LOG_LEVELS,
    META_SUBSCRIPTION,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    NAMED,
    UNSUPPORTED_VERSION,
    URL_ELICITATION_REQUIRED,
)
from mcp_studio.trace.lint.rules import Spot, kind_of, quoted

if TYPE_CHECKING:
    from mcp_studio.transport.base import Headers, HttpRequest, HttpResponse

_BOM = b"\xef\xbb\xbf"
_READ = 1 << 20
"""Bytes of a frame whose encoding is checked."""


def check_bytes(frame: bytes) -> list[Spot]:
    """What is wrong with a frame before it is parsed; costs next to nothing for plain ASCII."""
    begin = frame[:_READ]
    if begin.isascii():
        return []
    spots: list[Spot] = []
    if begin.startswith(_BOM):
        spots.append(Spot("byte-order-mark", "The message begins with a byte order mark, which JSON must not."))
    try:
        begin.decode()
    except UnicodeDecodeError as problem:
        # A character that the cut divided is no fault.
        if len(frame) <= _READ or problem.end < _READ - 3:
            bad = begin[problem.start : problem.start + 4].hex(" ")
            spots.append(Spot("invalid-utf8", f"Byte {problem.start:,} is not UTF-8 ({bad} …)."))
    return spots


# ---------------------------------------------------------------------- envelope

_CALL = frozenset({"jsonrpc", "id", "method", "params"})
_ANSWER = frozenset({"jsonrpc", "id", "result", "error"})
_LONG_ID = 1_000
_JSONRPC_CODES = (-32700, -32600, -32601, -32602, -32603)
_MODERN_CODES = (HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION)
_RETIRED_CODES = {-32002: "-32602 in 2026-07-28", URL_ELICITATION_REQUIRED: "an input_required result"}


def check_envelope(value: Json, modern: bool) -> list[Spot]:
    """What is wrong with one message, whatever it is about."""
    if not isinstance(value, dict):
        return [Spot("not-a-message", f"A message is an object, not {kind_of(value)}.")]
    message = cast("dict[str, Json]", value)
    spots: list[Spot] = []
    if message.get("jsonrpc") != "2.0":
        has = f"{quoted(message['jsonrpc'])} as jsonrpc" if "jsonrpc" in message else "no jsonrpc member"
        spots.append(Spot("jsonrpc-version", f'The message has {has}; it must be "2.0".', "/jsonrpc"))
    if "id" in message:
        spots += _identity(message["id"], "error" in message and "method" not in message)
    if "method" in message:
        spots += _call(message)
    elif "result" in message or "error" in message:
        spots += _answer(message, modern)
    else:
        return [*spots, Spot("not-a-message", "It has no method, no result and no error.")]
    if unknown := message.keys() - (_CALL if "method" in message else _ANSWER):
        names = ", ".join(quoted(name) for name in sorted(unknown)[:5])
        spots.append(Spot("unknown-member", f"The message has members that JSON-RPC does not know: {names}."))
    return spots


def _identity(identity: Json, error: bool) -> list[Spot]:
    if isinstance(identity, str):
        return [Spot("id-long", f"The id has {len(identity):,} characters.", "/id")] if len(identity) > _LONG_ID else []
    if type(identity) is int or (identity is None and error):  # null: the request could not be read
        return []
    return [Spot("id-type", f"The id is {kind_of(identity)}; it must be a string or an integer.", "/id")]


def _call(message: dict[str, Json]) -> list[Spot]:
    method, params = message["method"], message.get("params", {})
    if not isinstance(method, str):
        return [Spot("method-type", f"The method is {kind_of(method)}; it must be a string.", "/method")]
    spots: list[Spot] = []
    if "id" in message and method.startswith("notifications/"):
        spots.append(Spot("notification-id", f"{method[:80]} is a notification and must have no id.", "/id"))
    if not isinstance(params, dict):
        text = f"The params of {method[:80]} are {kind_of(params)}; they must be an object."
        spots.append(Spot("params-type", text, "/params"))
    return spots


def _answer(message: dict[str, Json], modern: bool) -> list[Spot]:
    spots: list[Spot] = []
    if "error" in message:
        spots += _error(message["error"], modern)
        if "result" in message:
            spots.append(Spot("result-and-error", "The response has both a result and an error."))
    elif "id" not in message:
        spots.append(Spot("id-type", "The response has no id."))
    if "result" in message and not isinstance(message["result"], dict):
        text = f"The result is {kind_of(message['result'])}; it must be an object."
        spots.append(Spot("result-object", text, "/result"))
    return spots


def _error(error: Json, modern: bool) -> list[Spot]:
    if not isinstance(error, dict):
        text = f"The error is {kind_of(error)}; it must be an object with code and message."
        return [Spot("error-object", text, "/error")]
    known = cast("dict[str, Json]", error)
    spots: list[Spot] = []
    if not isinstance(known.get("message"), str):
        spots.append(Spot("error-object", "The error has no message that is a string.", "/error/message"))
    code = known.get("code")
    if type(code) is not int:
        has = f"{kind_of(code)} as its code" if "code" in known else "no code"
        return [*spots, Spot("error-code", f"The error has {has}; it must be an integer.", "/error/code")]
    return spots + [Spot(rule, text, "/error/code") for rule, text in _code(code, modern)]


def _code(code: int, modern: bool) -> list[tuple[str, str]]:
    """Specification 2026-07-28, basic, "Error Codes"; earlier versions leave the server range to the server."""
    if not -32768 <= code <= -32000 or code in _JSONRPC_CODES:
        return []
    if code < -32099:
        return [("error-code-reserved", f"{code} is reserved by JSON-RPC and means nothing.")]
    if not modern or code in _MODERN_CODES:
        return []
    if code in _RETIRED_CODES:
        return [("error-code-reserved", f"{code} is of earlier versions; it became {_RETIRED_CODES[code]}.")]
    if code < -32019:
        return [("error-code-reserved", f"{code} is reserved for the specification, which has no such code.")]
    return [("error-code-legacy", f"{code} has no fixed meaning, and new servers should not use it.")]


# ---------------------------------------------------------------------- requests and their answers

_REMEMBERED = 2_000


@dataclass(slots=True)
class Sent:
    """A request of ours."""

    method: str
    version: str = ""
    state: Literal["open", "answered", "dropped"] = "open"
    token: RequestId | None = None
    progress: float | None = None
    """The newest progress."""
    logs: bool = False
    """It carries a log level (2026-07-28)."""
    filter: dict[str, Json] = field(default_factory=dict[str, Json])
    """The notices that a `subscriptions/listen` asks for."""
    acknowledged: bool = False
    task: bool = False
    """The answer is a task: progress goes on under the same token (basic/utilities/tasks)."""


class Requests:
    """What was asked on one connection. Of the requests that are over, the newest are remembered."""

    def __init__(self) -> None:
        self._sent: dict[RequestId, Sent] = {}
        self._tokens: dict[RequestId, Sent] = {}
        self._received: dict[RequestId, None] = {}
        self.all_tokens_known = True
        """False once a request was too large to be parsed again."""

    def add(self, identity: RequestId, request: Sent) -> None:
        """A request of ours goes out."""
        self._sent[identity] = request
        if request.token is not None:
            self._tokens[request.token] = request
        if len(self._sent) > _REMEMBERED:
            over = next((name for name, one in self._sent.items() if one.state != "open"), identity)
            del self._sent[over]
        if len(self._tokens) > _REMEMBERED:
            del self._tokens[next(iter(self._tokens))]

    def get(self, identity: Json) -> Sent | None:
        """The request with an id, whether it is open or over."""
        return self._sent.get(identity) if isinstance(identity, (int, str)) else None

    def with_token(self, token: RequestId) -> Sent | None:
        """The request that carried a progress token."""
        return self._tokens.get(token)

    def wants_logs(self) -> bool:
        """Whether an open request carries a log level."""
        return any(one.logs and one.state == "open" for one in self._sent.values())

    def drop(self, identity: RequestId) -> None:
        """Nobody waits for an answer any more; one that still comes is no fault."""
        if (request := self._sent.get(identity)) is not None and request.state == "open":
            request.state = "dropped"

    def answer(self, identity: RequestId | None) -> tuple[Sent | None, list[Spot]]:
        """The open request that a response answers; and what is wrong with the response's id."""
        if identity is None:
            return None, [Spot("response-without-id", "The response does not say which request it answers.", "/id")]
        spots: list[Spot] = []
        request = self._sent.get(identity)
        if request is None and isinstance(identity, str) and identity.isdecimal() and len(identity) < 19:
            if (request := self._sent.get(int(identity))) is not None:
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
        """The server asks something."""
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
"""Notices that a modern server sends on a subscription, and the member of the filter that asks for them."""
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


def check_progress(params: dict[str, Json], requests: Requests) -> list[Spot]:
    """Types, whether the token is one of a running request, and whether it went forward."""
    token, progress, total = params.get("progressToken"), params.get("progress"), params.get("total", 0)
    if isinstance(token, bool) or not isinstance(token, (int, str)):
        what = kind_of(token) if "progressToken" in params else "missing"
        return [Spot("progress-type", f"The progressToken is {what}.", "/params/progressToken")]
    spots: list[Spot] = []
    for name, value in (("progress", progress), ("total", total)):
        if not _is_finite(value):
            what = kind_of(value) if name in params else "missing"
            spots.append(Spot("progress-type", f"{name} is {what}; it must be a usable number.", f"/params/{name}"))
    request = requests.with_token(token)
    if request is None and requests.all_tokens_known:
        text = "No request carried the token of this progress."
        spots.append(Spot("progress-without-token", text, "/params/progressToken"))
    if request is None or request.state == "dropped":
        return spots  # of a dropped one the server could not know in time
    if request.state == "answered" and not request.task:
        text = f"There is progress of {request.method} after its answer."
        return [*spots, Spot("progress-after-end", text, "/params/progressToken")]
    if spots or progress is None:
        return spots
    if request.progress is not None and progress <= request.progress:
        how = "stays the same" if progress == request.progress else "goes backwards"
        spots.append(Spot("progress-not-increasing", f"Progress of {request.method} {how}.", "/params/progress"))
    if "total" in params and progress > total:
        spots.append(Spot("progress-beyond-total", f"Progress of {request.method} is beyond its total.", "/params"))
    request.progress = progress
    return spots


def _is_finite(value: Json) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_log(params: dict[str, Json], requests: Requests, modern: bool) -> list[Spot]:
    """`notifications/message`: one of the levels, and in the stateless era only where a request asked for logs."""
    spots: list[Spot] = []
    level = params.get("level")
    if level not in LOG_LEVELS:
        what = quoted(level) if "level" in params else "missing"
        text = f"The level is {what}; it must be one of the eight of RFC 5424."
        spots.append(Spot("log-level", text, "/params/level"))
    if modern and not requests.wants_logs():
        spots.append(Spot("log-not-asked", "A log message came, though no open request carries a log level."))
    return spots


def check_change(
    method: str, params: dict[str, Json], requests: Requests, subscribed: set[str], modern: bool
) -> list[Spot]:
    """Notices of change are for who asked; `subscribed` are the resources of the handshake era."""
    if modern and (method in _FILTERS or method == _ACKNOWLEDGED):
        return _on_subscription(method, params, requests)
    uri = params.get("uri")
    if method == "notifications/resources/updated" and isinstance(uri, str) and not uri.startswith(tuple(subscribed)):
        return [Spot("not-subscribed", "An update came of a resource that nobody subscribed to.", "/params/uri")]
    return []


def _on_subscription(method: str, params: dict[str, Json], requests: Requests) -> list[Spot]:
    identity = mapping(params.get("_meta")).get(META_SUBSCRIPTION)
    if identity is None:
        text = f"{method} does not say to which subscription it belongs."
        return [Spot("subscription-id", text, "/params/_meta")]
    request = requests.get(identity)
    if request is None or (request.state == "open" and request.method != "subscriptions/listen"):
        return [Spot("subscription-id", f"{method} names a subscription that does not exist.", "/params/_meta")]
    if request.state != "open":
        return []  # the server could not know in time
    if method == _ACKNOWLEDGED:
        request.acknowledged = True
        return []
    spots: list[Spot] = []
    if not request.acknowledged:
        text = "A notice came before the subscription was acknowledged."
        spots.append(Spot("subscription-ack", text, "", "basic/patterns/subscriptions#acknowledgment"))
    wanted = request.filter.get(_FILTERS[method])
    uris = tuple(uri for uri in items_of(wanted) if isinstance(uri, str))
    if not (wanted is True or str(params.get("uri")).startswith(uris)):
        text = f"{method} was not asked for by the subscription."
        spots.append(Spot("subscription-filter", text, "", "basic/patterns/subscriptions#notification-filter"))
    return spots


# ---------------------------------------------------------------------- HTTP

_EXCHANGES = 200


@dataclass(slots=True)
class Exchange:
    """One HTTP request and what became of it."""

    verb: str
    headers: dict[str, str]
    message: Outgoing | None = None
    """What the body carries."""
    status: int = 0
    stream: bool = False

    @property
    def kind(self) -> str:
        """`request`, `notification`, `response`; empty without a body."""
        return self.message.kind if self.message is not None else ""

    @property
    def modern(self) -> bool:
        """Whether it is of the stateless era."""
        return self.message is not None and self.message.modern


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
        if len(self._known) > _EXCHANGES:
            del self._known[next(iter(self._known))]

    def carries(self, number: int, out: Outgoing) -> list[Spot]:
        """The body of an exchange is this message: its headers must say the same."""
        exchange = self._known.get(number)
        if exchange is None:
            return []
        exchange.message = out
        if not out.modern or out.kind != "request" or exchange.verb != "POST":
            return []
        wanted = {"mcp-method": out.method, "mcp-protocol-version": out.version}
        if out.method in NAMED:
            wanted["mcp-name"] = out.target
        spots: list[Spot] = []
        for name, value in wanted.items():
            header = exchange.headers.get(name)
            if header is not None and _decoded(header) == value:
                continue
            text = f"The header {name} says {quoted(header)}, the body {quoted(value)}."
            if header is None:
                text = f"The header {name} is missing."
            section = "basic/transports/streamable-http#protocol-version-header" if name.endswith("version") else ""
            spots.append(Spot("http-header-mismatch", text, "", section))
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
        spots: list[Spot] = []
        if (session := headers.get("mcp-session-id")) is not None and (
            wrong := self._session_problem(session, exchange)
        ):
            spots.append(Spot("http-session", wrong))
        request = requests.get(exchange.message.id) if exchange.message is not None else None
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

    def _session_problem(self, session: str, exchange: Exchange) -> str:
        if exchange.modern:
            return "The server gives a session id; 2026-07-28 has no sessions."
        if not re.fullmatch(r"[\x21-\x7e]+", session):
            return "The session id has other characters than visible ASCII."
        if exchange.message is not None and exchange.message.method == "initialize":
            self._session = session
        return "The session id changes without a new handshake." if self._session not in ("", session) else ""


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


def _lower(headers: Headers) -> dict[str, str]:
    return {name.lower(): value for name, value in headers}


def _decoded(value: str) -> str:
    """The value of a header that may be in base64 (2026-07-28, streamable-http, "Standard Request Headers")."""
    found = re.fullmatch(r"=\?base64\?(.*)\?=", value)
    try:
        return base64.b64decode(found[1], validate=True).decode("utf-8", "surrogatepass") if found else value
    except (binascii.Error, UnicodeDecodeError):
        return value

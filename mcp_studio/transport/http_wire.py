"""What the HTTP exchanges of one connection share: where frames go, the session, and how a body becomes frames."""

from __future__ import annotations

import asyncio
import base64
import re
from dataclasses import field
from typing import TYPE_CHECKING, Any, cast

from mcp_studio import jsontext
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import LimitExceeded
from mcp_studio.limits import MB, Limits
from mcp_studio.protocol.events import Outgoing, RequestId
from mcp_studio.protocol.versions import MODERN_VERSIONS
from mcp_studio.protocol.versions import NAMED as NAME_KEYS
from mcp_studio.record import record
from mcp_studio.transport.base import Sink, Tap
from mcp_studio.transport.edge import _VALUE, Edge, HeaderList, Standing, merged
from mcp_studio.transport.http_errors import HttpFailure
from mcp_studio.transport.http_response import Answer
from mcp_studio.transport.http_status import sign_in
from mcp_studio.transport.lines import Oversize, answer_for, size_text
from mcp_studio.transport.sse import SseParser

if TYPE_CHECKING:
    import httpx2

_ID = rb'(-?[0-9]{1,18}|"[^"\\\x00-\x1f]{0,200}")'
_WS = rb"[ \t\r\n]*"
_VERSION = rb'"jsonrpc"' + _WS + rb":" + _WS + rb'"2\.0"' + _WS + rb"," + _WS
_KEY = rb'"id"' + _WS + rb":" + _WS + _ID + _WS
_AHEAD = re.compile(
    _WS
    + rb"\{"
    + _WS
    + rb"(?:"
    + _VERSION
    + rb")?"
    + _KEY
    + rb","
    + _WS
    + rb"(?:"
    + _VERSION
    + rb')?"(?:result|error)"'
)
_VERSION_LAST = _WS + rb"," + _WS + rb'"jsonrpc"' + _WS + rb":" + _WS + rb'"2\.0"'
_BEHIND = re.compile(rb"(?<=[{, \t\r\n])" + _KEY + rb"(?:" + _VERSION_LAST + rb")?" + _WS + rb"\}" + _WS + rb"\Z")
_RESULT_FIRST = re.compile(_WS + rb"\{" + _WS + rb"(?:" + _VERSION + rb')?"(?:result|error)"')
_TAIL = 300


def answered(frame: bytes) -> tuple[RequestId, ...]:
    """Ids of the requests that this frame holds responses to; empty for anything else, also for broken JSON.

    A large frame is usually a response with its id at one of its ends: it is read there, so that only the core parses
    the whole.
    """
    found = _AHEAD.match(frame)
    if found is None and _RESULT_FIRST.match(frame):
        found = _BEHIND.search(frame, max(0, len(frame) - _TAIL))
    if found is not None:
        return (cast(RequestId, jsontext.loads(found[1])),)
    try:
        value = jsontext.loads(frame)
    except (jsontext.JsonProblem, LimitExceeded):
        return ()
    items = cast(list[Any], value) if isinstance(value, list) else [value]
    return tuple(found for item in items if (found := _response_id(item)) is not None)


def _response_id(item: Any) -> RequestId | None:
    if not isinstance(item, dict):
        return None
    message = cast(dict[str, Any], item)
    if "method" in message or not ("result" in message or "error" in message):
        return None
    found = message.get("id")
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


def named(body: bytes) -> tuple[str, str]:
    """The method of a message, and its subject where it has one (`Mcp-Name`); empty where they cannot be read."""
    try:
        value = jsontext.loads(body)
    except (jsontext.JsonProblem, LimitExceeded):
        return "", ""
    message = jsontext.mapping(value)
    method, params = message.get("method"), message.get("params")
    if not isinstance(method, str):
        return "", ""
    target = cast(dict[str, Any], params).get(NAME_KEYS.get(method, "")) if isinstance(params, dict) else ""
    return method, target if isinstance(target, str) else ""


def readable(body: bytes) -> bool:
    """Whether a body is one JSON text."""
    try:
        jsontext.loads(body)
    except (jsontext.JsonProblem, LimitExceeded):
        return False
    return True


def error_frame(body: bytes, request_id: RequestId) -> bytes | None:
    """The JSON-RPC error that a body with an error status holds, made to answer `request_id`; None if it is none.

    Servers put null or a constant there when they reject a request before reading its id; the HTTP exchange says
    which request it is about.
    """
    try:
        value = jsontext.loads(body, exact=True)
    except (jsontext.JsonProblem, LimitExceeded):
        return None
    if not isinstance(value, dict):
        return None
    message = cast(dict[str, Any], value)
    if "jsonrpc" not in message or not isinstance(message.get("error"), dict) or "method" in message:
        return None
    if message.get("id") == request_id and type(message.get("id")) is type(request_id):
        return body
    return jsontext.dumps({**message, "id": request_id})


ACCEPT = "application/json, text/event-stream"
NAMED = frozenset({"tools/call", "prompts/get", "resources/read"})
"""Methods whose requests carry `Mcp-Name` (specification 2026-07-28, basic/transports/streamable-http)."""

_PLAIN = re.compile(r"[\x20-\x7e]*")
_SENTINEL = re.compile(r"=\?base64\?.*\?=")
_LONGEST_ID = 4096
_SESSION = re.compile(r"[\x21-\x7e]+")


def encode_value(value: str) -> str:
    """A header value that says `value` exactly.

    Printable ASCII without blanks at its ends goes as it is, everything else as `=?base64?…?=`, also what looks like
    that form already (specification 2026-07-28, basic/transports/streamable-http, "Encoding of header values").
    """
    if _PLAIN.fullmatch(value) and value == value.strip(" ") and not _SENTINEL.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode('ascii')}?="


def modern_headers(out: Outgoing) -> list[tuple[str, str]]:
    """What a message of the stateless era says in headers besides its content type."""
    headers = [("MCP-Protocol-Version", out.version), ("Mcp-Method", encode_value(out.method))]
    if out.method in NAMED or (out.target and out.method.startswith("tasks/")):
        headers.append(("Mcp-Name", encode_value(out.target)))
    return headers + list(out.headers)


def legacy_headers(session: str, version: str) -> list[tuple[str, str]]:
    """Session and version, as every message of an older era after `initialize` says them; empty ones are left out."""
    headers = (("Mcp-Session-Id", session), ("MCP-Protocol-Version", version))
    return [(name, value) for name, value in headers if value]


def valid_session(value: str) -> bool:
    """Whether a session id consists of visible ASCII (specification 2025-06-18, basic/transports)."""
    return _SESSION.fullmatch(value) is not None


def resumable(event_id: str) -> bool:
    """Whether an event id can be sent back in `Last-Event-ID`."""
    return len(event_id) <= _LONGEST_ID and event_id == event_id.strip() and _VALUE.fullmatch(event_id) is not None


FIRST_MODERN = MODERN_VERSIONS[0]
"""The first version without sessions."""
_LINGER = 1.0
"""Seconds a server gets to end the stream after its answer, so that the connection can be used again."""
_RETRY = 1.0
_ERROR_BODY = MB
_ERROR_WAIT = 5.0


@record()
class Waiting:
    """A request that has not been answered."""

    out: Outgoing
    answered: bool = False
    task: asyncio.Task[None] | None = None
    standing: Standing = field(default_factory=Standing)


@record()
class Cursor:
    """How far a stream was read: what resuming it needs."""

    last_id: str = ""
    retry: int | None = None
    events: int = 0
    """Complete events so far, also those that only carry an id."""
    messages: int = 0
    """Events that carried something."""

    def follow(self, parser: SseParser) -> None:
        """Take over what the parser has learnt."""
        self.last_id = parser.last_id if resumable(parser.last_id) else ""
        self.retry = self.retry if parser.retry is None else parser.retry
        self.events += parser.events
        parser.events = 0

    def delay(self, tries: int, limits: Limits) -> float:
        """Seconds to wait before reconnecting: as the server asked, else 1 s, doubled with every try in vain."""
        wait = max(_RETRY if self.retry is None else self.retry / 1000, limits.retry_min)
        return min(wait * 2 ** min(tries, 10), limits.retry_max)


class Wire:
    """One connection's HTTP traffic, below the decisions that `http.HttpTransport` takes."""

    def __init__(self, config: ServerConfig, limits: Limits, tap: Tap, edge: Edge | None = None) -> None:
        self.edge = edge or Edge(config, limits, tap)
        self._idle = config.timeouts.idle or limits.call_idle
        self.limits = limits
        self.tap = tap
        self.sink: Sink | None = None
        """Where frames go; None before opening and after the end."""
        self.session = ""
        self.version = ""
        self.endpoint: httpx2.URL | None = None
        """Where messages are posted to, if it is not the configured address (HTTP+SSE)."""
        self.waiting: dict[RequestId, Waiting] = {}

    def headers(self, out: Outgoing) -> HeaderList:
        """Headers of the POST that carries `out`."""
        base = self._base()
        if out.modern:
            return merged(base, modern_headers(out))
        if out.method == "initialize":
            return base
        return merged(base, legacy_headers(self.session, out.version or self.version), list(out.headers))

    def _base(self) -> HeaderList:
        # In HTTP+SSE nothing is answered here; that we do not accept a stream tells those exchanges from the others.
        return [
            ("Accept", ACCEPT if self.endpoint is None else "application/json"),
            ("Content-Type", "application/json"),
        ]

    def raw_headers(self, data: bytes) -> HeaderList:
        """Headers of the POST that carries a hand-written body: what a message of this kind would have, now."""
        base = self._base()
        if self.version < FIRST_MODERN:
            return merged(base, legacy_headers(self.session, self.version))
        method, target = named(data)
        return merged(base, modern_headers(Outgoing(data, "request", None, method, target, self.version, True)))

    def stream_headers(self, cursor: Cursor) -> HeaderList:
        """Headers of a GET that opens or resumes a stream."""
        resume = [("Last-Event-ID", cursor.last_id)] if cursor.last_id else []
        return merged([("Accept", "text/event-stream")], legacy_headers(self.session, self.version), resume)

    def deliver(self, frame: bytes, exchange: int) -> None:
        """Tell the tap of a frame, then hand it over."""
        self.tap.received(frame, exchange)
        self.hand_over(frame)

    def hand_over(self, frame: bytes) -> None:
        """Note which requests a frame answers, and give it to the sink."""
        for request_id in answered(frame):
            found = self.waiting.get(request_id)
            if found is None and isinstance(request_id, str) and request_id.isdecimal() and len(request_id) < 19:
                found = self.waiting.get(int(request_id))  # As tolerant as the core, which names the fault.
            if found is not None:
                found.answered = True
        if self.sink is not None:
            self.sink.frame(frame)

    async def pump(self, answer: Answer, cursor: Cursor, waiting: Waiting | None = None) -> None:
        """Deliver the events of a stream until it ends, or until shortly after `waiting` was answered.

        Raises:
            HttpLost: the connection ended before the body did.
            LimitExceeded: an event on the stream of `waiting` is too large.
        """
        # What comes on the stream of one request is that request's alone; on the other, the rest has to go on.
        parser = SseParser(self.limits.message, self.too_long if waiting is None else None)
        parser.last_id = cursor.last_id
        try:
            async with asyncio.timeout(None) as linger:
                while chunk := await answer.chunk():
                    for event in parser.feed(chunk):
                        cursor.messages += 1
                        if event.kind == "message":
                            self.deliver(event.data, answer.exchange)
                        else:
                            self.tap.received(event.data, answer.exchange)  # Not for us; shown all the same.
                        await answer.breathe()
                    cursor.follow(parser)
                    if waiting is not None and waiting.answered and linger.when() is None:
                        linger.reschedule(asyncio.get_running_loop().time() + _LINGER)
        except TimeoutError:
            return

    def too_long(self, message: Oversize) -> None:
        """A message was dropped for its size; where its ends show whose answer it was, that request hears of it."""
        limit = self.limits.message
        size = size_text(message.size)
        self.tap.note(f"dropped a message of {size}: longer than {size_text(limit)}, the limit called message")
        if self.sink is not None and (frame := answer_for(message, limit)):
            self.sink.frame(frame)

    async def error_body(self, answer: Answer) -> bytes:
        """The body of a failure, as much as comes in a short time and is bearable."""
        body = bytearray()
        try:
            async with asyncio.timeout(_ERROR_WAIT):
                while len(body) < _ERROR_BODY and (part := await answer.chunk()):
                    body += part
        except (TimeoutError, HttpFailure):
            self.tap.note("The body of the failure did not come to its end.")
        return bytes(body)

    def sign_in(self, answer: Answer, body: bytes) -> HttpFailure:
        """The error for an answer that wants a sign-in."""
        return sign_in(answer, self.edge.place, body, had_credentials=self.edge.credentials)

    @property
    def patience(self) -> float:
        """Seconds that a request may wait where the server asks for it: a part of the time that it has."""
        own = self._idle if self.version else self.edge.connect
        return min(self.limits.retry_max, own / 2)

    def standing(self, request_id: RequestId | None) -> str:
        """How far a request has got, in words; None is for the newest."""
        if request_id is None:
            request_id = next(reversed(self.waiting), 0)
        found = self.waiting.get(request_id)
        return found.standing.words if found is not None else ""


def is_json(media_type: str) -> bool:
    """Whether a content type says JSON."""
    return media_type == "application/json" or media_type.endswith("+json")

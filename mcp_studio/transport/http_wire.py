"""What the HTTP exchanges of one connection share: headers, the session, and how a body becomes frames."""

from __future__ import annotations

import asyncio
import re
from dataclasses import field
from typing import TYPE_CHECKING

from mcp_studio import jsontext
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import LimitExceeded, StudioError
from mcp_studio.limits import MB, Limits
from mcp_studio.protocol.events import Outgoing, RequestId
from mcp_studio.protocol.message import Failure, Malformed, Response, parse
from mcp_studio.protocol.versions import MODERN_VERSIONS
from mcp_studio.protocol.versions import NAMED as NAME_KEYS
from mcp_studio.protocol.views import encode_value
from mcp_studio.record import record
from mcp_studio.transport.base import HeaderList, Sink, Tap
from mcp_studio.transport.edge import HEADER_VALUE, Edge, Standing, merged
from mcp_studio.transport.http_errors import sign_in, wants_sign_in, wrong_type
from mcp_studio.transport.http_response import Answer
from mcp_studio.transport.lines import Oversize, answered_request, dropped_text, too_large
from mcp_studio.transport.sse import SseParser

if TYPE_CHECKING:
    import httpx2

ACCEPT = "application/json, text/event-stream"
NAMED = frozenset({"tools/call", "prompts/get", "resources/read"})
"""Methods whose requests carry `Mcp-Name` (specification 2026-07-28, basic/transports/streamable-http)."""
FIRST_MODERN = MODERN_VERSIONS[0]
"""The first version without sessions."""
_LINGER = 1.0
"""Seconds a server gets to end the stream after its answer, so that the connection can be used again."""
_RETRY = 1.0
_ERROR_BODY, _ERROR_WAIT = MB, 5.0
_LONGEST_ID = 4096
_SESSION = re.compile(r"[\x21-\x7e]+")


def answered(frame: bytes) -> tuple[RequestId, ...]:
    """Ids of the requests that this frame answers, also where it cannot be read: the core says what is wrong then."""
    found = (one.id for one in parse(frame).messages if isinstance(one, Response | Failure | Malformed))
    return tuple(identity for identity in found if identity is not None)


def named(body: bytes) -> tuple[str, str]:
    """The method of a message, and its subject where it has one (`Mcp-Name`); empty where they cannot be read."""
    message = jsontext.mapping(parse(body).value)
    method, params = message.get("method"), jsontext.mapping(message.get("params"))
    if not isinstance(method, str):
        return "", ""
    target = params.get(NAME_KEYS.get(method, ""))
    return method, target if isinstance(target, str) else ""


def readable(body: bytes) -> bool:
    """Whether a body is one JSON text."""
    return not any(isinstance(one, Malformed) and one.unread for one in parse(body).messages)


def error_frame(body: bytes, request_id: RequestId) -> bytes | None:
    """The JSON-RPC error that a body with an error status holds, made to answer `request_id`; None if it is none.

    Servers put null or a constant there when they reject a request before reading its id; the HTTP exchange says
    which request it is about.
    """
    try:
        message = jsontext.mapping(jsontext.loads(body, exact=True))
    except (jsontext.JsonProblem, LimitExceeded):
        return None
    if "jsonrpc" not in message or not isinstance(message.get("error"), dict) or "method" in message:
        return None
    if message.get("id") == request_id and type(message.get("id")) is type(request_id):
        return body
    return jsontext.dumps({**message, "id": request_id})


def modern_headers(out: Outgoing) -> HeaderList:
    """What a message of the stateless era says in headers besides its content type."""
    headers = [("MCP-Protocol-Version", out.version), ("Mcp-Method", encode_value(out.method))]
    if out.method in NAMED or (out.target and out.method.startswith("tasks/")):
        headers.append(("Mcp-Name", encode_value(out.target)))
    return headers + list(out.headers)


def legacy_headers(session: str, version: str) -> HeaderList:
    """Session and version, as every message of an older era after `initialize` says them; empty ones are left out."""
    headers = (("Mcp-Session-Id", session), ("MCP-Protocol-Version", version))
    return [(name, value) for name, value in headers if value]


def valid_session(value: str) -> bool:
    """Whether a session id consists of visible ASCII (specification 2025-06-18, basic/transports)."""
    return _SESSION.fullmatch(value) is not None


def resumable(event_id: str) -> bool:
    """Whether an event id can be sent back in `Last-Event-ID`."""
    return len(event_id) <= _LONGEST_ID and event_id == event_id.strip() and bool(HEADER_VALUE.fullmatch(event_id))


def is_json(media_type: str) -> bool:
    """Whether a content type says JSON."""
    return media_type == "application/json" or media_type.endswith("+json")


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
    """One connection's HTTP traffic, below the decisions that the transports take."""

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
        # In HTTP+SSE nothing is answered here; that we do not accept a stream tells those exchanges from the others.
        accept = ACCEPT if self.endpoint is None else "application/json"
        base = [("Accept", accept), ("Content-Type", "application/json")]
        if out.modern:
            return merged(base, modern_headers(out))
        if out.method == "initialize":
            return base
        return merged(base, legacy_headers(self.session, out.version or self.version), list(out.headers))

    def raw_headers(self, data: bytes) -> HeaderList:
        """Headers of the POST that carries a hand-written body: what a message of this kind would have, now."""
        method, target = named(data)
        modern = self.version >= FIRST_MODERN
        return self.headers(Outgoing(data, "request", None, method if modern else "", target, self.version, modern))

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
        for request_id in answered(frame) if self.waiting else ():
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
        parser = SseParser(self.limits.message)
        parser.last_id = cursor.last_id
        try:
            async with asyncio.timeout(None) as linger:
                while chunk := await answer.chunk():
                    for event in parser.feed(chunk):
                        cursor.messages += 1
                        if isinstance(event.data, Oversize):
                            self.too_long(event.data, waiting)
                        elif event.kind == "message":
                            self.deliver(event.data, answer.exchange)
                        else:
                            self.tap.received(event.data, answer.exchange)  # Not for us; shown all the same.
                        await answer.breathe()
                    cursor.follow(parser)
                    if parser.held > self.limits.message and waiting is not None:
                        self.too_long(Oversize(b"", b"", parser.held), waiting)
                    if waiting is not None and waiting.answered and linger.when() is None:
                        linger.reschedule(asyncio.get_running_loop().time() + _LINGER)
        except TimeoutError:
            return

    def too_long(self, message: Oversize, waiting: Waiting | None = None) -> None:
        """A message was dropped for its size; where its ends show whose answer it was, that request hears of it.

        Raises:
            LimitExceeded: it came on the stream of `waiting`, so it is that request's.
        """
        self.tap.note(dropped_text(message, self.limits.message))
        if waiting is not None:
            raise too_large(message, self.limits.message)
        if self.sink is not None and (out := answered_request(message)):
            self.sink.undelivered(out, too_large(message, self.limits.message))

    async def error_body(self, answer: Answer) -> bytes:
        """The body of a failure, as much as comes in a short time and is bearable."""
        return await answer.beginning(_ERROR_BODY, _ERROR_WAIT)

    def sign_in(self, answer: Answer, body: bytes) -> StudioError:
        """The error for an answer that wants a sign-in."""
        return sign_in(answer, self.edge.place, body, had_credentials=self.edge.credentials)

    async def expect_stream(self, answer: Answer) -> bytes | None:
        """None if this is an event stream, else the body of what it is instead.

        Raises:
            HttpSignIn: the server wants other credentials.
            HttpBroken: it is a success of another type.
        """
        if answer.status == 200 and answer.media_type == "text/event-stream":
            return None
        body = await self.error_body(answer)
        if wants_sign_in(answer):
            raise self.sign_in(answer, body)
        if 200 <= answer.status < 300:
            raise wrong_type(answer, self.edge.place, body, wanted="an event stream")
        return body

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

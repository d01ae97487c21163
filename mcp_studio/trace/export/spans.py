"""The requests of a recording as OpenTelemetry's spans.

A request that carried a `traceparent` has the ids of that; all others get some that are the same in every export of
the same recording, so that a collector takes nothing twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from mcp_studio import __version__
from mcp_studio.errors import LimitExceeded, UsageError
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping
from mcp_studio.protocol import versions
from mcp_studio.protocol.versions import Context
from mcp_studio.trace import message as bits
from mcp_studio.trace.export.item import Extra, Item, Source
from mcp_studio.trace.message import KINDS, LISTEN
from mcp_studio.trace.server_tap import read, redacted
from mcp_studio.trace.tree import answer_to, asked_for, parent_of, signs_in

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.trace import SpanContext

Attributes = dict[str, str | int | bool]
_FINDING = "mcp_studio.finding"
"""The event of a span that says what the lint found."""
_LARGE = 1 << 20
"""Bytes of an answer up to which it is parsed for its error."""
_WORDS = 1_000
_PLACES = 10_000
_REQUEST, _HTTP = KINDS.index("request"), KINDS.index("http")
_SESSION = re.compile(r"(?im)^mcp-session-id: (.+)$")
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_TARGETS = {
    "tools/call": "gen_ai.tool.name",
    "prompts/get": "gen_ai.prompt.name",
    "resources/read": "mcp.resource.uri",
    "resources/subscribe": "mcp.resource.uri",
    "resources/unsubscribe": "mcp.resource.uri",
}
"""Method -> the attribute that its target is."""


def spans_of(source: Source, items: Iterator[Item]) -> Iterator[ReadableSpan]:
    """Requests as spans, also those of signing in; lines of standard error and the like have no place in it.

    Needs the extra `otlp`.

    Raises:
        UsageError: none of what was chosen is a request or an answer.
    """
    columns = source.columns
    rows = (number - columns.first for number in source.numbers)
    if not any(columns.outcome[row] or columns.kind[row] & 15 == _REQUEST or signs_in(columns, row) for row in rows):
        raise UsageError("None of it is a request or an answer, and a collector takes spans alone.")
    spans = _Spans(source)
    return (span for item in items if (span := spans.of(item)) is not None)


# ---------------------------------------------------------------------- what a span says


class Exchange(NamedTuple):
    """A request and what became of it."""

    method: str
    target: str
    ours: bool
    """We asked."""
    outcome: str
    """See `message.OUTCOMES`."""
    request: bytes
    response: bytes = b""


class Description(NamedTuple):
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


def describe(exchange: Exchange, server: Mapping[str, Json], session: str = "") -> Description:
    """A request in the words of OpenTelemetry's conventions for MCP.

    Args:
        server: what is known of it: `transport`, `version`, `url`, see `item.servers_in`.
        session: its id of the HTTP session.
    """
    found: Attributes = {"mcp.method.name": exchange.method}
    identity = _parsed(exchange.request).get("id")
    if isinstance(identity, (int, str)) and not isinstance(identity, bool):
        found["jsonrpc.request.id"] = str(identity)[:_WORDS]
    if exchange.method == "tools/call":
        found["gen_ai.operation.name"] = "execute_tool"
    if exchange.method in _TARGETS and exchange.target:
        found[_TARGETS[exchange.method]] = exchange.target
    found |= _server(server)
    if session:
        found["mcp.session.id"] = session
    for side, frame in (("request", exchange.request), ("response", exchange.response)):
        context = versions.of_frame(frame)
        found |= {f"mcp_studio.{side}.{key}": str(text)[:_WORDS] for key, text in context.items()}
    failed, why = _failure(exchange, found)
    return Description(name_of(exchange.method, exchange.target), exchange.ours, found, failed, why)


def _failure(exchange: Exchange, found: Attributes) -> tuple[bool, str]:
    """Whether it failed, and why; puts what kind of failure it is among the attributes."""
    outcome = exchange.outcome
    if outcome in ("ok", "open", "") or (exchange.method == LISTEN and outcome != "error"):
        return False, ""
    if outcome != "error":
        found["error.type"] = outcome.replace(" ", "_")
        return True, "The connection ended before the answer came." if outcome == "lost" else ""
    error = mapping(_parsed(exchange.response).get("error"))
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
    protocol = "websocket" if transport == "websocket" else "http"
    return {**found, "network.transport": "tcp", "network.protocol.name": protocol, **_host(url)}


def _host(url: Json) -> Attributes:
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return {}
    return {"server.address": parts.hostname, "server.port": port} if parts.hostname else {}


def _describe_sign_in(purpose: str, asked: str, came: str) -> Description:
    """An HTTP exchange of signing in: `asked` and `came` are the first lines of its messages, `came` may be empty."""
    method, _, url = asked.partition(" ")
    found: Attributes = {"http.request.method": method, "url.full": url[:_WORDS], "mcp_studio.purpose": purpose}
    found |= _host(url)
    status = came.partition(" ")[0]
    failed = True
    if status.isdecimal() and len(status) == 3:
        found["http.response.status_code"] = int(status)
        failed = status[0] in "45"
    return Description(f"sign-in: {purpose}", True, found, failed, came or "There was no answer.")


def _parsed(frame: bytes) -> dict[str, Json]:
    try:
        return mapping(loads(frame)) if len(frame) <= _LARGE else {}
    except (JsonProblem, LimitExceeded):
        return {}


# ---------------------------------------------------------------------- spans of entries


def _events(item: Item, end: int) -> list[Event]:
    from opentelemetry.sdk.trace import Event

    return [
        Event(
            _FINDING,
            {
                "mcp_studio.finding.severity": one.severity,
                "mcp_studio.finding.rule": one.rule,
                "mcp_studio.finding.message": one.text,
            },
            end,
        )
        for one in item.extra.findings
    ]


def _nanos(time: float) -> int:
    """A moment as OpenTelemetry has it."""
    return max(0, round(time * 1_000_000)) * 1_000


def _context(context: Context, state: str = "") -> SpanContext:
    from opentelemetry.trace import SpanContext, TraceState

    states = TraceState.from_header([state]) if state else None
    return SpanContext(int(context.trace, 16), int(context.span, 16), is_remote=False, trace_state=states)


_Place = tuple[Context, str, Context | None]
"""Where a span stands among all others: its own ids, the id of the span above it in the same trace, and a span of
another trace that it belongs to."""


class _Spans:
    """Makes spans of entries."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._columns = columns = source.columns
        begin = columns.time[0] if len(columns) else 0.0
        self._seed = f"{begin!r} {columns.first} {' '.join(columns.servers.texts[:20])}"
        self._place = lru_cache(_PLACES)(self._find_place)
        self._begun: dict[int, Extra] = {}
        """Findings and comments on requests whose answers are still to come."""

    def of(self, item: Item) -> ReadableSpan | None:
        """The span whose last chosen end an entry is: an answer, or a request whose answer was not chosen."""
        columns = self._columns
        row = item.number - columns.first
        if signs_in(columns, row):
            return self._sign_in(item)
        if columns.kind[row] & 15 == _REQUEST:
            if not self._source.chosen(item.link):
                return self._request(item.number, item)
            if item.extra != Extra():
                self._begun[item.number] = item.extra
            return None
        if not columns.outcome[row] or item.link < columns.first:
            return None
        begun = self._begun.pop(item.link, Extra())
        comment = "\n".join(filter(None, (begun.comment, item.extra.comment)))
        return self._request(item.link, item._replace(extra=Extra(begun.findings + item.extra.findings, comment)))

    def _request(self, number: int, item: Item) -> ReadableSpan:
        columns, source = self._columns, self._source
        row, link = number - columns.first, columns.link[number - columns.first]
        request, response = self._body(number), b""
        if columns.first <= link < columns.first + len(columns):
            response = self._body(link)
        ours = columns.direction_of(row) == "out"
        exchange = Exchange(item.method, item.target, ours, columns.outcome_of(row), request, response)
        about = describe(exchange, mapping(source.servers.get(item.server)), self._session(row))
        state = versions.of_frame(request).get("tracestate") or ""
        return self._span(about, item, number, link if response else 0, state)

    def _sign_in(self, item: Item) -> ReadableSpan | None:
        """An exchange of signing in, which is a trace of its own: it goes to another server."""
        columns, reader, redactor = self._columns, self._source.reader, self._source.redactor
        number = item.number if item.direction == "out" else asked_for(columns, item.number - columns.first)
        answer = answer_to(columns, number - columns.first) if number else 0
        if not number or (answer != item.number and answer and self._source.chosen(answer)):
            return None
        asked, came = (redacted(reader.body(one), redactor) if one else b"" for one in (number, answer))
        about = _describe_sign_in(item.target, read(asked).line, read(came).line)
        return self._span(about, item, number, answer)

    def _span(self, about: Description, item: Item, number: int, answer: int, state: str = "") -> ReadableSpan:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        from opentelemetry.trace import Link, SpanKind, Status, StatusCode

        columns, (own, parent, link) = self._columns, self._place(number)
        row = number - columns.first
        begin = columns.time[row]
        end = _nanos(max(begin, columns.time[answer - columns.first]) if answer else begin)
        attributes: Attributes = {**about.attributes, "mcp_studio.server": item.server, "mcp_studio.number": number}
        if outcome := columns.outcome_of(row):
            attributes["mcp_studio.outcome"] = outcome
        if columns.flags[row] & bits.BY_HAND:
            attributes["mcp_studio.by_hand"] = True
        if item.extra.comment:
            attributes["mcp_studio.comment"] = item.extra.comment
        return ReadableSpan(
            about.name,
            context=_context(own, state),
            parent=_context(Context(own.trace, parent), state) if parent else None,
            resource=Resource({"service.name": "mcp-studio", "service.version": __version__}),
            attributes=attributes,
            events=_events(item, end),
            links=[Link(_context(link))] if link is not None else (),
            kind=SpanKind.CLIENT if about.client else SpanKind.SERVER,
            status=Status(StatusCode.ERROR, about.why or None) if about.failed else Status(),
            start_time=_nanos(begin),
            end_time=end,
            instrumentation_scope=InstrumentationScope("mcp-studio", __version__),
        )

    def _session(self, row: int) -> str:
        """The HTTP session that a request went in: its head stands right before it."""
        columns = self._columns
        if not columns.exchange[row] or row == 0 or columns.kind[row - 1] & 15 != _HTTP:
            return ""
        found = _SESSION.search(self._body(columns.first + row - 1).decode("utf-8", "replace"))
        return self._source.redactor.headers([("Mcp-Session-Id", found[1])])[0][1] if found else ""

    def _body(self, number: int) -> bytes:
        return self._source.redactor.bytes(self._source.reader.body(number))

    def _find_place(self, number: int) -> _Place:
        columns = self._columns
        row, above = number - columns.first, parent_of(columns, number)
        parent = self._place(above)[0] if above >= columns.first else None
        named = versions.read(versions.of_frame(self._body(number)).get("traceparent"))
        span = self._hash(8, number)
        if named is None:
            trace = parent.trace if parent else self._hash(16, number)
            return Context(trace, span), parent.span if parent else "", None
        same = parent is not None and parent.trace == named.trace
        if columns.direction_of(row) == "in" or columns.flags[row] & bits.BY_HAND:
            if parent is None or same:
                return Context(named.trace, span), named.span, None
            return Context(parent.trace, span), parent.span, named
        return named, parent.span if parent and same else "", None if same else parent

    def _hash(self, size: int, number: int) -> str:
        return blake2b(f"{self._seed} {number}".encode("utf-8", "replace"), digest_size=size).hexdigest()

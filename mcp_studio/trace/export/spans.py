"""The requests of a recording as OTLP spans (JSON encoding: ids in hexadecimal, 64-bit numbers as texts, enums as
numbers).

A request that carried a `traceparent` has the ids of that; all others get some that are the same in every export of
the same recording, so that a collector takes nothing twice.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import urlsplit

from mcp_studio import __version__
from mcp_studio.errors import LimitExceeded, UsageError
from mcp_studio.jsontext import Json, JsonProblem, dumps, loads, mapping
from mcp_studio.protocol import versions
from mcp_studio.protocol.versions import Context, of_frame
from mcp_studio.trace import message as bits
from mcp_studio.trace.export.item import Extra, Item, Source
from mcp_studio.trace.message import KINDS, LISTEN
from mcp_studio.trace.server_tap import cleaned, read
from mcp_studio.trace.tree import answer_to, asked_for, parent_of, signs_in

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


_CLIENT, _SERVER, _ERROR = 3, 2, 2
_NOTHING = Extra()
_KEPT = 10_000
_DEEP = 100
_REQUEST, _HTTP = KINDS.index("request"), KINDS.index("http")
_SESSION = re.compile(r"(?im)^mcp-session-id: (.+)$")


class Place(NamedTuple):
    """Where a span stands among all others."""

    own: Context
    parent: str = ""
    """The id of the span above it, of the same trace."""
    link: Context | None = None
    """A span of another trace that it belongs to."""


class Spans:
    """Makes spans of entries."""

    def __init__(self, source: Source) -> None:
        self._source = source
        columns = source.columns
        begin = columns.time[0] if len(columns) else 0.0
        self._seed = f"{begin!r} {columns.first} {' '.join(columns.servers.texts[:20])}"
        self._places: OrderedDict[int, Place] = OrderedDict()
        self._begun: dict[int, Extra] = {}

    def of(self, item: Item) -> dict[str, Json] | None:
        """The span whose last chosen end an entry is: an answer, or a request whose answer was not chosen."""
        columns = self._source.columns
        row = item.number - columns.first
        if signs_in(columns, row):
            return self._signing_in(item)
        if columns.kind[row] & 15 == _REQUEST:
            if not self._source.chosen(item.link):
                return self._made(item.number, item, item.body)
            if item.extra != _NOTHING:
                self._begun[item.number] = item.extra
            return None
        if not columns.outcome[row] or item.link < columns.first:
            return None
        begun = self._begun.pop(item.link, _NOTHING)
        extra = Extra(
            begun.findings + item.extra.findings, "\n".join(filter(None, (begun.comment, item.extra.comment)))
        )
        return self._made(item.link, item._replace(extra=extra), self._body(item.link))

    def _made(self, number: int, item: Item, request: bytes) -> dict[str, Json]:
        columns, source = self._source.columns, self._source
        row = number - columns.first
        answer = columns.link[row] - columns.first
        response = self._body(columns.link[row]) if 0 <= answer < len(columns) else b""
        ours = columns.direction_of(row) == "out"
        end = Ended(item.method, item.target, ours, columns.outcome_of(row), request, response)
        known = told(end, mapping(source.servers.get(item.server)), self._session(row))
        place = self._place(number, request)
        begin = columns.time[row]
        span: dict[str, Json] = {
            "traceId": place.own.trace, "spanId": place.own.span, "name": known.name,
            "kind": _CLIENT if known.client else _SERVER, "startTimeUnixNano": _nanos(begin),
            "endTimeUnixNano": _nanos(max(begin, columns.time[answer]) if response else begin),
            "attributes": self._attributes(known, item, number),
        }  # fmt: skip
        span |= _further(place, known, versions.of_frame(request))
        if item.extra.findings:
            span["events"] = [
                _event(item.time, {"severity": one.severity, "rule": one.rule, "message": one.text})
                for one in item.extra.findings
            ]
        return span

    def _signing_in(self, item: Item) -> dict[str, Json] | None:
        """An exchange of signing in, which is a trace of its own: it goes to another server."""
        columns = self._source.columns
        number = item.number if item.direction == "out" else asked_for(columns, item.number - columns.first)
        answer = answer_to(columns, number - columns.first) if number else 0
        if not number or (answer != item.number and answer and self._source.chosen(answer)):
            return None
        asked, came = self._http(number), self._http(answer) if answer else b""
        known = told_of_signing_in(item.target, read(asked).line, read(came).line)
        begin = columns.time[number - columns.first]
        place = self._place(number, b"")
        return {
            "traceId": place.own.trace, "spanId": place.own.span, "name": known.name, "kind": _CLIENT,
            "startTimeUnixNano": _nanos(begin),
            "endTimeUnixNano": _nanos(max(begin, columns.time[answer - columns.first]) if answer else begin),
            "attributes": self._attributes(known, item, number),
            **_further(place, known, {}),
        }  # fmt: skip

    def _attributes(self, known: Told, item: Item, number: int) -> list[Json]:
        mine: dict[str, Value] = {"mcp_studio.server": item.server, "mcp_studio.number": number}
        columns = self._source.columns
        row = number - columns.first
        if outcome := columns.outcome_of(row):
            mine["mcp_studio.outcome"] = outcome
        if columns.flags[row] & bits.BY_HAND:
            mine["mcp_studio.by_hand"] = True
        if item.extra.comment:
            mine["mcp_studio.comment"] = item.extra.comment
        return [{"key": key, "value": _value(value)} for key, value in (known.attributes | mine).items()]

    def _session(self, row: int) -> str:
        """The HTTP session that a request went in: its head stands right before it."""
        columns = self._source.columns
        if not columns.exchange[row] or row == 0 or columns.kind[row - 1] & 15 != _HTTP:
            return ""
        found = _SESSION.search(self._body(columns.first + row - 1).decode("utf-8", "replace"))
        return self._source.redactor.headers([("Mcp-Session-Id", found[1])])[0][1] if found else ""

    def _http(self, number: int) -> bytes:
        return cleaned(self._source.reader.body(number), self._source.redactor)

    def _body(self, number: int) -> bytes:
        return self._source.redactor.bytes(self._source.reader.body(number))

    # ------------------------------------------------------------------ ids

    def _place(self, number: int, request: bytes) -> Place:
        """Where a span stands; what is above it is placed first."""
        columns, above = self._source.columns, list[int]()
        parent = parent_of(columns, number)
        while parent >= columns.first and parent not in self._places and len(above) < _DEEP:
            above.append(parent)
            parent = parent_of(columns, parent)
        for one in reversed(above):
            self._put(one, self._body(one))
        return self._put(number, request)

    def _put(self, number: int, request: bytes) -> Place:
        place = self._places[number] = self._found(number, request)
        if len(self._places) > _KEPT:
            self._places.popitem(last=False)
        return place

    def _found(self, number: int, request: bytes) -> Place:
        columns = self._source.columns
        row = number - columns.first
        parent = self._places.get(parent_of(columns, number))
        said = versions.read(versions.of_frame(request).get("traceparent"))
        span = self._hash(8, number)
        foreign = columns.direction_of(row) == "in" or bool(columns.flags[row] & bits.BY_HAND)
        if said is None:
            trace = parent.own.trace if parent else self._hash(16, number)
            return Place(Context(trace, span), parent.own.span if parent else "")
        if not foreign:
            same = parent is not None and parent.own.trace == said.trace
            return Place(said, parent.own.span if parent and same else "", None if same or not parent else parent.own)
        if parent is None or parent.own.trace == said.trace:
            return Place(Context(said.trace, span), said.span)
        return Place(Context(parent.own.trace, span), parent.own.span, said)

    def _hash(self, size: int, number: int) -> str:
        return blake2b(f"{self._seed} {number}".encode("utf-8", "replace"), digest_size=size).hexdigest()


def _further(place: Place, known: Told, context: dict[str, Json]) -> dict[str, Json]:
    """What not all spans have."""
    found: dict[str, Json] = {}
    if place.parent:
        found["parentSpanId"] = place.parent
    if place.link is not None:
        found["links"] = [{"traceId": place.link.trace, "spanId": place.link.span}]
    if "tracestate" in context:
        found["traceState"] = context["tracestate"]
    if known.failed:
        found["status"] = {"code": _ERROR, **({"message": known.why} if known.why else {})}
    return found


def _event(time: float, known: dict[str, Value]) -> Json:
    attributes = [{"key": f"mcp_studio.finding.{key}", "value": _value(value)} for key, value in known.items()]
    return {"timeUnixNano": _nanos(time), "name": "mcp_studio.finding", "attributes": attributes}


def _value(value: Value) -> Json:
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def _nanos(time: float) -> str:
    return str(max(0, round(time * 1_000_000)) * 1_000)


BATCH = 500
"""Spans of one line."""
_LINE = 2 << 20
"""Bytes from which on a line ends."""


def spans_of(source: Source, items: Iterator[Item]) -> Iterator[dict[str, Json]]:
    """Requests as spans, also those of signing in; lines of standard error and the like have no place in it.

    Raises:
        UsageError: none of what was chosen is a request or an answer.
    """
    columns = source.columns
    rows = (number - columns.first for number in source.numbers)
    if not any(columns.outcome[row] or columns.kind[row] & 15 == _REQUEST or signs_in(columns, row) for row in rows):
        raise UsageError("None of it is a request or an answer, and OTLP has spans alone.")
    spans = Spans(source)
    return (span for item in items if (span := spans.of(item)) is not None)


def write(source: Source, items: Iterator[Item]) -> Iterator[bytes]:
    """Lines of some hundred spans each."""
    waiting: list[bytes] = []
    size = 0
    for span in spans_of(source, items):
        waiting.append(dumps(span))
        size += len(waiting[-1])
        if len(waiting) >= BATCH or size > _LINE:
            yield message(waiting) + b"\n"
            waiting, size = [], 0
    if waiting:
        yield message(waiting) + b"\n"


def message(spans: list[bytes]) -> bytes:
    """An `ExportTraceServiceRequest` with these spans, which are JSON already."""
    about: dict[str, Json] = {"service.name": "mcp-studio", "service.version": __version__}
    resource = {"attributes": [{"key": key, "value": {"stringValue": value}} for key, value in about.items()]}
    scope = {"name": "mcp-studio", "version": __version__}
    return b'{"resourceSpans":[{"resource":%b,"scopeSpans":[{"scope":%b,"spans":[%b]}]}]}' % (
        dumps(resource), dumps(scope), b",".join(spans)
    )  # fmt: skip

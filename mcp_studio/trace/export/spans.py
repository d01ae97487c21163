"""The requests of a recording as OTLP spans (JSON encoding: ids in hexadecimal, 64-bit numbers as texts, enums as
numbers).

A request that carried a `traceparent` has the ids of that; all others get some that are the same in every export of
the same recording, so that a collector takes nothing twice.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from hashlib import blake2b
from typing import NamedTuple

from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol import trace_context
from mcp_studio.protocol.trace_context import Context
from mcp_studio.trace import columns as bits
from mcp_studio.trace.export.item import Extra, Item
from mcp_studio.trace.export.writer import Source
from mcp_studio.trace.heads import cleaned, read
from mcp_studio.trace.message import KINDS
from mcp_studio.trace.otel import Ended, Told, Value, told, told_of_signing_in
from mcp_studio.trace.tree import answer_to, asked_for, parent_of, signs_in

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
        span |= _further(place, known, trace_context.of_frame(request))
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
        said = trace_context.read(trace_context.of_frame(request).get("traceparent"))
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

"""One entry of the trace with all that belongs to it. Pure functions over the store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from mcp_studio.safetext import safe
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.store import TraceStore
from mcp_studio.tui import describe

AROUND = 5.0
"""Seconds before and after an exchange in which stderr lines are shown with it."""
_SCANNED = 4_000
_STDERR_MOST = 500
_DIRECTIONS = {"out": "sent", "in": "received", "none": ""}


class Detail(NamedTuple):
    """What the detail view shows of one entry."""

    title: str
    request: bytes
    """The frame that asked; for an entry that is no answer and no request, the entry itself."""
    response: bytes
    headers: str
    stderr: str
    timeline: str


def detail_of(store: TraceStore, entry: WireMessage) -> Detail:
    """Gather the exchange that an entry belongs to."""
    entry = _frame_of(store, entry)
    span = entry.span
    request = span.request if span else entry
    response = span.response if span else None
    return Detail(
        _title(entry), request.body, response.body if response else b"", _headers(store, request, response),
        _stderr(store, request, response), _timeline(store, entry),
    )  # fmt: skip


def first_tab(entry: WireMessage) -> str:
    """Which part of the detail says most about an entry."""
    if entry.kind == "http":
        return "headers"
    if entry.kind in ("stderr", "stray", "note"):
        return "stderr"
    return "response" if entry.span is not None and entry is entry.span.response else "request"


def _frame_of(store: TraceStore, entry: WireMessage) -> WireMessage:
    """For the head of an HTTP exchange: a request or answer that went with it."""
    if entry.kind != "http" or not entry.exchange:
        return entry
    for other in _near(store, entry):
        if other.exchange == entry.exchange and other.server == entry.server and other.span is not None:
            return other
    return entry


def _title(entry: WireMessage) -> str:
    span = entry.span
    if span is None:
        return " · ".join(
            filter(None, (f"{entry.kind} {entry.number}", safe(entry.method, 80), safe(entry.server, 40)))
        )
    what = " ".join(filter(None, (safe(span.method, 80), safe(span.target, 80))))
    took = span.outcome if span.ms is None else f"{describe.duration(span.ms)} · {span.outcome}"
    return f"{what} · {safe(span.server, 40)} · request {safe(span.request.id, 40)} · {took}"


def _timeline(store: TraceStore, entry: WireMessage) -> str:
    span = entry.span
    if span is None:
        return f"{clock(entry.time)}  {describe.size(entry.size)}"
    begin = span.request.time
    lines = [f"{clock(begin)}  asked, {describe.size(span.request.size)}"]
    for inner in _children(store, entry):
        lines.append(f"{describe.duration((inner.time - begin) * 1000):>12}  {safe(inner.method, 80)}")
    if span.response is not None:
        took = describe.duration((span.response.time - begin) * 1000)
        lines.append(f"{took:>12}  answered, {describe.size(span.response.size)}")
    return "\n".join(lines)


def _children(store: TraceStore, entry: WireMessage) -> Iterator[WireMessage]:
    """Requests of the server that came while this one was open."""
    if entry.span is None:
        return
    for other in _near(store, entry.span.request):
        if other.span is not None and other.span.parent is entry.span and other is other.span.request:
            yield other


def clock(seconds: float) -> str:
    """`12:01:07.113`"""
    return time.strftime("%H:%M:%S", time.localtime(seconds)) + f".{int(seconds * 1000) % 1000:03}"


def _headers(store: TraceStore, *ends: WireMessage | None) -> str:
    exchanges = {(end.server, end.exchange) for end in ends if end is not None and end.exchange}
    if not exchanges:
        return ""
    first = next(end for end in ends if end is not None)
    return "\n\n".join(
        f"{_DIRECTIONS[other.direction]} {clock(other.time)}\n{other.body.decode('utf-8', 'replace')}"
        for other in _near(store, first)
        if other.kind == "http" and (other.server, other.exchange) in exchanges
    )


def _stderr(store: TraceStore, request: WireMessage, response: WireMessage | None) -> str:
    begin, end = request.time - AROUND, (response or request).time + AROUND
    lines = [
        f"{clock(other.time)}  {other.kind}  {other.body.decode('utf-8', 'replace')}"
        for other in _near(store, request)
        if other.kind in ("stderr", "stray", "note") and other.server == request.server and begin <= other.time <= end
    ]
    return "\n".join(lines[:_STDERR_MOST])


def _near(store: TraceStore, entry: WireMessage) -> Iterator[WireMessage]:
    """Entries around one, at most some thousand on both sides: a store may hold very many."""
    at = entry.number - store.first_number
    for index in range(max(0, at - _SCANNED), min(len(store), at + _SCANNED)):
        yield store[index]

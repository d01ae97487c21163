"""One entry of the trace with all that belongs to it. Pure functions over the store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from mcp_studio.safetext import safe
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.store import TraceStore
from mcp_studio.tui import conversation, describe, findings

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
    findings: str = ""
    """What the lint says about the messages of the exchange."""
    headline: str = ""
    """The worst of it in one line."""


def detail_of(store: TraceStore, entry: WireMessage) -> Detail:
    """Gather the exchange that an entry belongs to."""
    entry = _frame_of(store, entry)
    span = entry.span
    request = span.request if span else entry
    response = span.response if span else None
    return Detail(
        _title(entry), request.body, response.body if response else b"", _headers(store, request, response),
        _stderr(store, request, response), _timeline(store, entry),
        findings.text(_parts(store, request, response)),
        findings.headline([part for _, part in _parts(store, request, response)]),
    )  # fmt: skip


def messages_of(store: TraceStore, entry: WireMessage) -> list[WireMessage]:
    """The messages of the exchange that an entry belongs to."""
    span = _frame_of(store, entry).span
    return [entry] if span is None else [end for end in (span.request, span.response) if end is not None]


def _parts(store: TraceStore, request: WireMessage, response: WireMessage | None) -> list[tuple[str, WireMessage]]:
    """The messages of an exchange that findings can be on, with their names."""
    span = request.span
    first = "Message" if span is None else "Request" if span.direction == "out" else "Request of the server"
    found = [(first, request), *([("Answer", response)] if response else [])]
    exchanges = {(end.server, end.exchange) for _, end in found if end.exchange}
    if exchanges:
        heads = (other for other in _near(store, request) if other.kind == "http" and other.findings)
        found += [("HTTP", head) for head in heads if (head.server, head.exchange) in exchanges]
    return found


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
    hand = "written by hand" if (span.request if span else entry).by_hand else ""
    if span is None:
        return " · ".join(
            filter(None, (f"{entry.kind} {entry.number}", safe(entry.method, 80), safe(entry.server, 40), hand))
        )
    what = " ".join(filter(None, (safe(span.method, 80), safe(span.target, 80))))
    took = span.outcome if span.ms is None else f"{describe.duration(span.ms)} · {span.outcome}"
    which = " · ".join(filter(None, (f"request {safe(span.request.id, 40)}", conversation.place(span), hand)))
    return f"{what} · {safe(span.server, 40)} · {which} · {took}"


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
    rounds = conversation.text(span, lambda first, last: _between(store, first, last), clock)
    return "\n".join([*lines, *(["", rounds] if rounds else [])])


def _between(store: TraceStore, first: WireMessage, last: WireMessage) -> Iterator[WireMessage]:
    """What the same server's trace has between two entries, at most some thousand."""
    at = max(first.number, last.number - _SCANNED, store.first_number - 1)
    for index in range(at + 1 - store.first_number, min(len(store), last.number - store.first_number)):
        if store[index].server == first.server:
            yield store[index]


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

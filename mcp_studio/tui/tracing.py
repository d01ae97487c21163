"""One entry of a trace with all that belongs to it. Pure functions over a recording: cheap, whatever it holds.

What is near is found in the columns; bodies are read of what is shown alone.
"""

from __future__ import annotations

import re
import time
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.trace.message import DIRECTIONS, KINDS, MARKED, SEVERITY, Columns, Recording, WireMessage
from mcp_studio.trace.tree import Node, parent_of, request_of, tree, walk
from mcp_studio.tui import findings
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.trace_marks import rows_with

AROUND = 5.0
"""Seconds before and after an exchange in which stderr lines are shown with it."""
_NEAR = 4_000
"""Entries before and after an exchange in which its HTTP heads stand."""
_WIDEST = 500_000
"""Entries that are looked through at most for what a server printed."""
_MOST_PRINTED = 300
_BEFORE, _MOST_ASKED = 500_000, 500
"""Entries, and requests among them, in which the one is looked for that a notification came for."""
_READ = 1_000_000
_TOKEN = re.compile(rb'"progressToken"\s*:\s*("[^"\\]{0,200}"|-?\d{1,18})')
_MOST_HEADS = 40
_DIRECTIONS = {"out": "sent", "in": "received", "none": ""}


def codes(*kinds: str, direction: str = "") -> bytes:
    """The values of the column `kind` that stand for some kinds, in one direction or in all."""
    ways = [place for place, name in enumerate(DIRECTIONS) if direction in ("", name)]
    return bytes(KINDS.index(kind) | way << 4 for kind in kinds for way in ways)  # type: ignore[arg-type]


_ASKED = codes("request", direction="out")
_PRINTED = codes("stderr", "stray", "note")
_HTTP = codes("http")


class Detail(NamedTuple):
    """What the detail view shows of one entry."""

    title: str
    request: WireMessage
    """The frame that asked; for an entry that is no answer and no request, the entry itself."""
    response: WireMessage | None
    heads: tuple[int, ...]
    """The numbers of the HTTP heads that belong to it."""
    printed: tuple[int, ...]
    """The numbers of what the server printed, and of lifecycle events, around that time."""
    family: Node
    """The whole tree of requests that it belongs to."""
    findings: str
    """What the lint says about the messages of the exchange."""
    headline: str
    """The worst of it, and the person's comments, in a few lines."""

    @property
    def relatives(self) -> int:
        """How many other requests belong to it."""
        others = (node for _, node in walk(self.family) if node.number != self.request.number)
        return sum(1 for node in others if node.relation not in ("http", "note"))


def detail_of(recording: Recording, entry: WireMessage) -> Detail:
    """Gather the exchange that an entry belongs to."""
    columns = recording.columns
    request, response = exchange_of(recording, entry)
    heads = _heads(columns, request, response)
    parts = _parts(recording, request, response, heads)
    family = tree(recording, _caller(recording, request)) or Node(request.number, "root")
    said = (recording.comment_on(number) for number in dict.fromkeys((entry.number, *(one.number for _, one in parts))))
    comments = [f"{findings.comment_sign()} {safe(text, 500)}" for text in said if text]
    headline = findings.headline([part for _, part in parts])
    marks = (columns.flags[one.number - columns.first] & MARKED for _, one in parts if one.number >= columns.first)
    marked = f"{glyphs().marked} " if any(marks) else ""
    return Detail(
        marked + _title(recording, request, response, family), request, response, heads,
        _printed(columns, request, response), family, findings.text(parts),
        "\n".join([*comments, *([headline] if headline else [])]),
    )  # fmt: skip


def exchange_of(recording: Recording, entry: WireMessage) -> tuple[WireMessage, WireMessage | None]:
    """The request, or the entry itself, and its answer."""
    columns = recording.columns
    number = request_of(columns, entry.number)
    if number is None or not 0 <= number - columns.first < len(columns):
        return entry, None
    request = entry if number == entry.number else recording.entry(number)
    if request is None:
        return entry, None
    link = columns.link[number - columns.first] if request.kind == "request" else 0
    return request, (entry if link == entry.number else recording.entry(link)) if link else None


def _caller(recording: Recording, entry: WireMessage) -> int:
    """The request that a notification came for, by its token or its HTTP exchange; else the entry itself."""
    if entry.kind != "notification":
        return entry.number
    columns = recording.columns
    token = token_of(entry) if entry.method == "notifications/progress" else b""
    server, row = columns.servers.known(entry.server), entry.number - columns.first
    if server is None or not (token or entry.exchange):
        return entry.number
    asked = list(rows_with(columns.kind, _ASKED, row - _BEFORE, row))
    for at in reversed(asked[-_MOST_ASKED:]):
        link = columns.link[at]
        if columns.server[at] != server or 0 < link < entry.number:
            continue
        if token and (request := recording.entry(columns.first + at)) is not None and token_of(request) == token:
            return request.number
        if not token and columns.exchange[at] == entry.exchange:
            return columns.first + at
    return entry.number


def token_of(entry: WireMessage | None) -> bytes:
    """The progress token that a small message carries, as it stands there; else nothing."""
    if entry is None or entry.size > _READ:
        return b""
    found = _TOKEN.search(entry.body)
    return found[1] if found else b""


def messages_of(recording: Recording, entry: WireMessage) -> list[WireMessage]:
    """The messages of the exchange that an entry belongs to."""
    return [end for end in exchange_of(recording, entry) if end is not None]


def first_tab(entry: WireMessage) -> str:
    """Which part of the detail says most about an entry."""
    if entry.kind == "http":
        return "headers"
    if entry.kind in ("stderr", "stray", "note"):
        return "stderr"
    answers = entry.kind in ("result", "error") and entry.span is not None
    return "response" if answers else "request"


def clock(seconds: float) -> str:
    """`12:01:07.113`"""
    return time.strftime("%H:%M:%S", time.localtime(seconds)) + f".{int(seconds * 1000) % 1000:03}"


def _title(recording: Recording, request: WireMessage, response: WireMessage | None, family: Node) -> str:
    hand = "written by hand" if request.by_hand else ""
    server, what = safe(request.server, 40), " ".join((safe(request.method, 80), safe(request.target, 80))).strip()
    if request.kind != "request":
        return " · ".join(filter(None, (f"{request.kind} {request.number}", what, server, hand)))
    columns = recording.columns
    row = request.number - columns.first
    known = 0 <= row < len(columns)
    outcome = columns.outcome_of(row) if known else ""
    ms = columns.ms(row) if known and response is not None else None
    took = outcome if ms is None else f"{units.duration(ms)} · {outcome}"
    which = " · ".join(filter(None, (f"request {safe(request.id, 40)}", _round(columns, request.number, family), hand)))
    return " · ".join((what, server, which, took))


def _round(columns: Columns, number: int, family: Node) -> str:
    """`round 2 of 3`; empty for a request that was answered at once."""
    first = parent_of(columns, number) if number in columns.follows else number
    for _, node in walk(family):
        if node.number == first:
            rounds = [first, *(child.number for child in node.children if child.relation == "round")]
            if len(rounds) > 1 and number in rounds:
                return f"round {rounds.index(number) + 1} of {len(rounds)}"
    return ""


def _parts(
    recording: Recording, request: WireMessage, response: WireMessage | None, heads: Iterable[int]
) -> list[tuple[str, WireMessage]]:
    """The messages of an exchange that findings can be on, with their names."""
    asks = request.kind == "request"
    first = "Message" if not asks else "Request" if request.direction == "out" else "Request of the server"
    found = [(first, request), *([("Answer", response)] if response else [])]
    columns = recording.columns
    wrong = (number for number in heads if columns.flags[number - columns.first] >> SEVERITY & 3)
    return [
        *found,
        *(("HTTP", head) for head in map(recording.entry, wrong) if head is not None and head is not request),
    ]


def _heads(columns: Columns, request: WireMessage, response: WireMessage | None) -> tuple[int, ...]:
    """HTTP heads of the exchanges on which a request and its answer went."""
    wanted = {end.exchange for end in (request, response) if end is not None and end.exchange}
    server = columns.servers.known(request.server)
    if not wanted or server is None:
        return ()
    first, last = request.number - columns.first, (response or request).number - columns.first
    spans = [(first - _NEAR, first + _NEAR)]
    if last > first + _NEAR:
        spans.append((max(first + _NEAR, last - _NEAR), last + _NEAR))
    rows = (row for span in spans for row in rows_with(columns.kind, _HTTP, *span))
    found = (row for row in rows if columns.exchange[row] in wanted and columns.server[row] == server)
    return tuple(columns.first + row for row, _ in zip(found, range(_MOST_HEADS), strict=False))


def _printed(columns: Columns, request: WireMessage, response: WireMessage | None) -> tuple[int, ...]:
    """What the server printed around an exchange; of very much the end is left out."""
    server = columns.servers.known(request.server)
    begin = bisect_left(columns.time, request.time - AROUND)
    end = min(bisect_left(columns.time, (response or request).time + AROUND), begin + _WIDEST)
    rows = (row for row in rows_with(columns.kind, _PRINTED, begin, end) if columns.server[row] == server)
    return tuple(columns.first + row for row, _ in zip(rows, range(_MOST_PRINTED), strict=False))


# Texts of what is shown


def headers(recording: Recording, heads: Iterable[int]) -> str:
    """HTTP heads as text."""
    return "\n\n".join(
        f"{_DIRECTIONS[head.direction]} {clock(head.time)}\n{head.body.decode('utf-8', 'replace')}"
        for head in map(recording.entry, heads)
        if head is not None
    )


def printed(recording: Recording, numbers: Iterable[int]) -> str:
    """Lines of stderr, stray lines and lifecycle events as text."""
    return "\n".join(
        f"{clock(line.time)}  {line.kind}  {line.body.decode('utf-8', 'replace')}"
        for line in map(recording.entry, numbers)
        if line is not None
    )


def family_of(recording: Recording, number: int) -> array[int]:
    """All that belongs to what an entry belongs to: requests and their answers, HTTP heads, notes."""
    columns = recording.columns
    found = tree(recording, number)
    numbers = {number} if found is None else {node.number for _, node in walk(found)}
    rows = (one - columns.first for one in tuple(numbers))
    numbers.update(columns.link[row] for row in rows if 0 <= row < len(columns) and columns.link[row])
    return array("I", sorted(numbers))


def marked(columns: Columns) -> array[int]:
    """The entries that a person has marked."""
    return array("I", (number for number, flags in enumerate(columns.flags, columns.first) if flags & MARKED))

"""One exchange of a trace in tabs: when all of it happened, request, response, HTTP, output around it, findings."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import ContentSwitcher, Static, Tab, Tabs

from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.trace.lint.rules import SEVERITIES, Finding, Severity
from mcp_studio.trace.message import MARKED, Columns, Recording, WireMessage
from mcp_studio.trace.store import TraceStore
from mcp_studio.trace.tree import request_of, tree
from mcp_studio.tui.views.find import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.line import Line
from mcp_studio.tui.views.text_view import TextView
from mcp_studio.tui.views.timeline import Drawing, Event, timeline
from mcp_studio.tui.views.trace_row import clock, codes, rows_with
from mcp_studio.tui.views.virtual_list import VirtualList

_AROUND = 5.0
"""Seconds before and after an exchange in which what its server printed is shown with it."""
_NEAR, _WIDEST = 4_000, 500_000
"""Entries before and after an exchange in which its HTTP heads stand; entries that are looked through at most."""
_MOST = 300
"""HTTP heads, and lines, that are shown."""
_EVERY = 0.5
"""Seconds between two looks whether something has come to the exchange."""
_PRINTED, _HTTP = codes("stderr", "stray", "note"), codes("http")


class Exchange(NamedTuple):
    """One entry of a trace with what belongs to it."""

    request: WireMessage
    """The frame that asked; for an entry that is no answer and no request, the entry itself."""
    response: WireMessage | None
    heads: tuple[WireMessage, ...]
    """The HTTP messages that belong to it."""
    printed: tuple[WireMessage, ...]
    """What the server printed, and lifecycle events, around that time."""

    @property
    def ends(self) -> tuple[WireMessage, ...]:
        """Request and response, as far as there are any."""
        return (self.request,) if self.response is None else (self.request, self.response)

    @property
    def findings(self) -> list[Finding]:
        """What the lint says about its messages, the worst first."""
        messages = {message.number: message for message in (*self.heads, *self.ends)}
        found = (one for message in messages.values() for one in message.findings)
        return sorted(found, key=lambda one: SEVERITIES.index(one.severity))


def exchange_of(recording: Recording, entry: WireMessage) -> Exchange:
    """Gather the exchange that an entry belongs to; cheap, whatever the recording holds."""
    columns = recording.columns
    request, response = ends_of(recording, entry)
    ends = (request, response or request)
    first, last = (end.number - columns.first for end in ends)
    wanted = {end.exchange for end in ends} - {0}
    heads = rows_with(columns.kind, _HTTP, first - _NEAR, min(last, first + _WIDEST) + _NEAR) if wanted else iter(())
    begin, end = (bisect_left(columns.time, at) for at in (ends[0].time - _AROUND, ends[1].time + _AROUND))
    printed = rows_with(columns.kind, _PRINTED, begin, min(end, begin + _WIDEST))

    def entries(rows: Iterator[int]) -> tuple[WireMessage, ...]:
        server = columns.servers.known(request.server)
        numbers = (columns.first + row for row in rows if columns.server[row] == server)
        return tuple(filter(None, map(recording.entry, islice(numbers, _MOST))))

    heads = (row for row in heads if columns.exchange[row] in wanted)
    return Exchange(request, response, entries(heads), entries(printed))


def ends_of(recording: Recording, entry: WireMessage) -> tuple[WireMessage, WireMessage | None]:
    """The request, or the entry itself, and its answer."""
    columns = recording.columns
    number = request_of(columns, entry.number)
    request = recording.entry(number) if number is not None else None
    if request is None:
        return entry, None
    link = columns.link[request.number - columns.first] if request.kind == "request" else 0
    return request, recording.entry(link) if link else None


def first_tab(entry: WireMessage) -> str:
    """The tab that says most about an entry."""
    if entry.kind in ("http", "stderr", "stray", "note"):
        return "http" if entry.kind == "http" else "output"
    return "response" if entry.kind in ("result", "error") and entry.span is not None else "request"


def title_of(columns: Columns, exchange: Exchange) -> str:
    """Method, target, server, which request, how long it took and how it ended; safe."""
    request = exchange.request
    what = f"{safe(request.method, 80)} {safe(request.target, 80)}".strip()
    hand = "written by hand" if request.by_hand else ""
    row = request.number - columns.first
    if request.kind != "request" or not 0 <= row < len(columns):
        parts = (what, f"{request.kind} {request.number}", safe(request.server, 40), hand)
    else:
        ms = columns.ms(row) if exchange.response is not None else None
        took = "" if ms is None else units.duration(ms)
        parts = (what, safe(request.server, 40), f"request {safe(request.id, 40)}", hand, took, columns.outcome_of(row))
    return f" {glyphs().dot} ".join(filter(None, parts))


def sign_of(severity: Severity) -> str:
    """One character for a severity."""
    signs = glyphs()
    return {"error": signs.bad, "warning": signs.warning, "hint": signs.dot}[severity]


def heads_text(exchange: Exchange) -> str:
    """HTTP messages as text."""
    ways = {"out": "sent", "in": "received", "none": ""}
    parts = (f"{ways[one.direction]} {clock(one.time)}\n{_body(one)}" for one in exchange.heads)
    return "\n\n".join(parts)


def printed_text(exchange: Exchange) -> str:
    """Lines of stderr, unexpected lines on stdout and lifecycle events as text."""
    return "\n".join(f"{clock(one.time)}  {one.kind:<6}  {_body(one)}" for one in exchange.printed)


def findings_text(exchange: Exchange) -> str:
    """What the lint says, the worst first: what, where, and what the specification says of it."""
    return "\n".join(
        f"{sign_of(one.severity)} {one.severity}: {safe(one.text, 500)}\n"
        f"  message {one.number} {safe(one.pointer, 200)}, rule {one.rule}, specification {one.section}\n"
        for one in exchange.findings
    )


def _body(entry: WireMessage) -> str:
    return entry.body.decode("utf-8", "replace")


_TEXTS = {"http": heads_text, "output": printed_text, "findings": findings_text}
_EMPTY = {
    "request": "It has no body.", "response": "There is no response.",
    "http": "No HTTP headers: it did not go over HTTP.", "output": "The server printed nothing around that time.",
    "findings": "Nothing is wrong with it, as far as the lint can see.",
}  # fmt: skip
_TABS = {
    "when": "Timeline", "request": "Request", "response": "Response", "http": "HTTP", "output": "Output",
    "findings": "Findings",
}  # fmt: skip
_VIEWS = {"when": "timeline", "request": "body", "response": "body"}


class ExchangeView(Vertical):
    """Shows one exchange, and looks now and then whether something has come to it."""

    DEFAULT_CSS = """
    ExchangeView {
        & > #head { height: auto; max-height: 6; }
        & > ContentSwitcher { height: 1fr; }
        & #hint { padding: 1 0; color: $quiet; }
    }
    """
    tabs = getters.query_one(Tabs)
    switcher = getters.query_one(ContentSwitcher)

    @dataclass
    class Went(Message):
        """The person chose another entry that belongs to the exchange."""

        number: int

    def __init__(self, hint: str = "") -> None:
        """`hint` is said while nothing is shown."""
        super().__init__()
        self._hint = hint
        self._drawing = Drawing(())
        self.events = VirtualList[Event | None](self._draw, key=lambda event: event and event.number, id="timeline")
        self.json = JsonView()
        self.text = TextView()
        self.recording: Recording | None = None
        self.entry: WireMessage | None = None
        self._revision = -1
        self._filled: dict[str, object] = {}

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        yield Tabs(*(Tab(label, id=name) for name, label in _TABS.items()))
        with ContentSwitcher(initial="hint"):
            yield Static(self._hint, id="hint", markup=False)
            yield self.events
            yield Findable(self.json, id="body")
            yield Findable(self.text, id="text")

    def on_mount(self) -> None:
        self.tabs.display = False
        self.set_interval(_EVERY, self._look)

    def show(self, recording: Recording, entry: WireMessage) -> None:
        """Show the exchange of another entry. Whoever reads bodies gets that of the entry, else the tab stays."""
        wanted, bodies = first_tab(entry), ("request", "response")
        if self.entry is None or (self.tabs.active in bodies and wanted in bodies):
            self.tabs.active = wanted
        self.tabs.display = True
        self.recording, self.entry = recording, entry
        self.refill()

    def clear(self) -> None:
        """Show nothing."""
        self.recording = self.entry = None
        self._filled.clear()
        self.tabs.display = False
        self.query_one("#head", Static).update()
        self.switcher.current = "hint"

    @property
    def view(self) -> VirtualList[Event | None] | JsonView | TextView:
        """The viewer that is seen."""
        return {"timeline": self.events, "body": self.json}.get(_VIEWS.get(self.tabs.active, ""), self.text)

    def copy(self) -> None:
        """Copy the value under the cursor, the text, or the message of the row."""
        if not isinstance(self.view, VirtualList):
            self.view.copy()
        elif self.recording is not None and self.events.row and (entry := self.recording.entry(self.events.row.number)):
            self.app.copy_to_clipboard(_body(entry))

    def _look(self) -> None:
        """The answer may have come, or a finding."""
        if self.region and self.recording is not None and self.recording.revision != self._revision:
            self.refill()

    # Filling what is seen

    @on(Tabs.TabActivated)
    def refill(self) -> None:
        """Show the exchange as it is now."""
        recording, entry, tab = self.recording, self.entry, self.tabs.active
        if recording is None or entry is None:
            return
        self._revision = recording.revision
        exchange, had_focus = exchange_of(recording, entry), self.switcher.has_focus_within
        self._fill_head(recording, exchange)
        self.switcher.current = _VIEWS.get(tab, "text")
        if tab == "when":
            self._fill_timeline(recording, exchange.request)
        elif tab in _TEXTS:
            text = _TEXTS[tab](exchange)
            if self._is_new("text", (tab, text)):
                self.text.empty = _EMPTY[tab]
                self.text.show(text)
        else:
            self._fill_body(tab, exchange.request if tab == "request" else exchange.response)
        if had_focus:
            self.view.focus()

    def _fill_head(self, recording: Recording, exchange: Exchange) -> None:
        """Title, comments and the worst finding; how much is in the tabs."""
        columns, found = recording.columns, exchange.findings
        flags = [columns.flags[end.number - columns.first] for end in exchange.ends if end.number >= columns.first]
        mark = f"{glyphs().marked} " if any(flag & MARKED for flag in flags) else ""
        lines = [Content.styled(mark + title_of(columns, exchange), "bold")]
        for comment in filter(None, (recording.comment_on(end.number) for end in exchange.ends)):
            lines.append(Content.styled(f"{glyphs().said} {safe(comment, 500)}", "$accent"))
        if found:
            more = f" (+{len(found) - 1})" if len(found) > 1 else ""
            lines.append(Content.styled(f"{sign_of(found[0].severity)} {safe(found[0].text, 200)}{more}", "$quiet"))
        self.query_one("#head", Static).update(Content("\n").join(lines))
        counts = {"http": len(exchange.heads), "output": len(exchange.printed), "findings": len(found)}
        for name, count in counts.items():
            self.query_one(f"#{name}", Tab).label = Content(f"{_TABS[name]} {count or ''}".rstrip())
        asks = exchange.request.kind == "request"
        self.query_one("#request", Tab).label = Content("Request" if asks else "Message")

    def _is_new(self, view: str, what: object) -> bool:
        """Whether a viewer has something else to show than it does: else its folds and place stay."""
        known = self._filled.get(view) == what
        self._filled[view] = what
        return not known

    def _fill_timeline(self, recording: Recording, request: WireMessage) -> None:
        family = tree(recording, request.number)
        events = timeline(recording, family, request.number) if family is not None else ()
        self._drawing = Drawing(events, time.time() if isinstance(recording, TraceStore) else 0.0)
        other = self._is_new("timeline", request.number)
        self.events.show((None, *events), keep=not other)
        if other:
            self.events.go_to(request.number)

    def _draw(self, event: Event | None, width: int, selected: bool) -> Line:
        return self._drawing.draw(event, width)

    @on(VirtualList.Chosen)
    def _chosen(self, event: VirtualList.Chosen) -> None:
        event.stop()
        if event.row is not None and event.row.number:
            self.post_message(self.Went(event.row.number))

    def _fill_body(self, tab: str, entry: WireMessage | None) -> None:
        here = entry and (entry.number, isinstance(entry.held, bytes), len(entry.findings))
        if self._is_new("body", (tab, here, id(self.recording))):
            self.run_worker(self._load_body(tab, entry), group="body", exclusive=True)

    async def _load_body(self, tab: str, entry: WireMessage | None) -> None:
        """A large body is on disk, or is being redacted beside the event loop."""
        body, marks = b"", dict[str, str]()
        if entry is not None and self.recording is not None:
            if not isinstance(entry.held, bytes):
                self.json.empty = f"Loading {units.size(entry.size)} {glyphs().more}"
                self.json.show(b"")
            body = await self.recording.body(entry)
            marks = {one.pointer: f"{sign_of(one.severity)} {one.text}" for one in entry.findings if one.pointer}
        self.json.empty = _EMPTY[tab]
        self.json.show(body, marks)

"""One exchange of a trace in tabs: when all of it happened, request, response, HTTP, output around it, findings."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, NamedTuple

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import ContentSwitcher, Static, Tab, Tabs

from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.trace.lint.rules import SEVERITIES, Finding, Severity
from mcp_studio.trace.message import MARKED, SEVERITY, Columns, Recording, WireMessage
from mcp_studio.trace.store import TraceStore
from mcp_studio.trace.tree import Node, request_of, tree
from mcp_studio.tui.views import trace_row
from mcp_studio.tui.views.find import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.line import Line
from mcp_studio.tui.views.text_view import TextView
from mcp_studio.tui.views.timeline import Drawing, Event, timeline, token_of
from mcp_studio.tui.views.trace_row import clock, codes, rows_with
from mcp_studio.tui.views.virtual_list import VirtualList

_AROUND = 5.0
"""Seconds before and after an exchange in which what its server printed is shown with it."""
_NEAR = 4_000
"""Entries before and after an exchange in which its HTTP heads stand."""
_WIDEST = 500_000
"""Entries that are looked through at most."""
_MOST_PRINTED, _MOST_HEADS, _MOST_ASKED = 300, 40, 500
_EVERY = 0.5
"""Seconds between two looks whether something has come to the exchange."""
_ASKED, _PRINTED, _HTTP = codes("request", direction="out"), codes("stderr", "stray", "note"), codes("http")


class Exchange(NamedTuple):
    """One entry of a trace with all that belongs to it."""

    title: str
    """Method, target, server, how long and how it ended; safe."""
    request: WireMessage
    """The frame that asked; for an entry that is no answer and no request, the entry itself."""
    response: WireMessage | None
    heads: tuple[int, ...]
    """The numbers of the HTTP messages that belong to it."""
    printed: tuple[int, ...]
    """The numbers of what the server printed, and of lifecycle events, around that time."""
    family: Node
    """The whole tree of requests that it belongs to."""
    comments: tuple[str, ...]
    """What the person wrote on its messages; not made safe."""

    @property
    def ends(self) -> tuple[WireMessage, ...]:
        """Request and response, as far as there are any."""
        return (self.request,) if self.response is None else (self.request, self.response)


def exchange_of(recording: Recording, entry: WireMessage) -> Exchange:
    """Gather the exchange that an entry belongs to; cheap, whatever the recording holds."""
    columns = recording.columns
    request, response = ends_of(recording, entry)
    family = tree(recording, _caller(recording, request)) or Node(request.number, "root")
    numbers = {entry.number, request.number, *([response.number] if response else [])}
    comments = tuple(filter(None, map(recording.comment_on, sorted(numbers))))
    flags = (columns.flags[number - columns.first] for number in numbers if number >= columns.first)
    mark = f"{glyphs().marked} " if any(flag & MARKED for flag in flags) else ""
    heads, printed = _heads(columns, request, response), _printed(columns, request, response)
    return Exchange(mark + _title(columns, request, response), request, response, heads, printed, family, comments)


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
    if entry.kind == "http":
        return "http"
    if entry.kind in ("stderr", "stray", "note"):
        return "output"
    return "response" if entry.kind in ("result", "error") and entry.span is not None else "request"


def _title(columns: Columns, request: WireMessage, response: WireMessage | None) -> str:
    what = f"{safe(request.method, 80)} {safe(request.target, 80)}".strip()
    hand = "written by hand" if request.by_hand else ""
    row = request.number - columns.first
    if request.kind != "request" or not 0 <= row < len(columns):
        parts = (what, f"{request.kind} {request.number}", safe(request.server, 40), hand)
    else:
        ms = columns.ms(row) if response is not None else None
        took = "" if ms is None else units.duration(ms)
        parts = (what, safe(request.server, 40), f"request {safe(request.id, 40)}", hand, took, columns.outcome_of(row))
    return f" {glyphs().dot} ".join(filter(None, parts))


def _caller(recording: Recording, entry: WireMessage) -> int:
    """The request that a notification came for, by its token or its HTTP exchange; else the entry itself."""
    columns = recording.columns
    token = token_of(entry) if entry.method == "notifications/progress" else b""
    server, row = columns.servers.known(entry.server), entry.number - columns.first
    if entry.kind != "notification" or not (token or entry.exchange):
        return entry.number
    asked = list(rows_with(columns.kind, _ASKED, row - _WIDEST, row))
    for at in reversed(asked[-_MOST_ASKED:]):
        if columns.server[at] != server or 0 < columns.link[at] < entry.number:
            continue
        same = token_of(recording.entry(columns.first + at)) == token if token else False
        if same or (not token and columns.exchange[at] == entry.exchange):
            return columns.first + at
    return entry.number


def _heads(columns: Columns, request: WireMessage, response: WireMessage | None) -> tuple[int, ...]:
    """HTTP heads of the exchanges on which a request and its answer went."""
    ends = [end for end in (request, response) if end is not None and end.exchange]
    server, wanted = columns.servers.known(request.server), {end.exchange for end in ends}
    near = {
        row: None
        for end in ends
        for row in rows_with(
            columns.kind, _HTTP, end.number - columns.first - _NEAR, end.number - columns.first + _NEAR
        )
    }
    found = (row for row in near if columns.exchange[row] in wanted and columns.server[row] == server)
    return tuple(columns.first + row for row in islice(found, _MOST_HEADS))


def _printed(columns: Columns, request: WireMessage, response: WireMessage | None) -> tuple[int, ...]:
    """What the server printed around an exchange; of very much the end is left out."""
    server = columns.servers.known(request.server)
    begin = bisect_left(columns.time, request.time - _AROUND)
    end = min(bisect_left(columns.time, (response or request).time + _AROUND), begin + _WIDEST)
    found = (row for row in rows_with(columns.kind, _PRINTED, begin, end) if columns.server[row] == server)
    return tuple(columns.first + row for row in islice(found, _MOST_PRINTED))


def heads_text(recording: Recording, exchange: Exchange) -> str:
    """HTTP messages as text."""
    ways = {"out": "sent", "in": "received", "none": ""}
    found = filter(None, map(recording.entry, exchange.heads))
    return "\n\n".join(
        f"{ways[head.direction]} {clock(head.time)}\n{head.body.decode('utf-8', 'replace')}" for head in found
    )


def printed_text(recording: Recording, exchange: Exchange) -> str:
    """Lines of stderr, unexpected lines on stdout and lifecycle events as text."""
    found = filter(None, map(recording.entry, exchange.printed))
    return "\n".join(f"{clock(one.time)}  {one.kind:<6}  {one.body.decode('utf-8', 'replace')}" for one in found)


def sign_of(severity: Severity) -> str:
    """One character for a severity."""
    signs = glyphs()
    return {"error": signs.bad, "warning": signs.warning, "hint": signs.dot}[severity]


def findings_of(recording: Recording, exchange: Exchange) -> list[tuple[str, WireMessage]]:
    """The messages of an exchange that the lint found something on, with their names."""
    columns, request = recording.columns, exchange.request
    asks = request.kind == "request"
    first = "Message" if not asks else "Request" if request.direction == "out" else "Request of the server"
    wrong = (number for number in exchange.heads if columns.flags[number - columns.first] >> SEVERITY & 3)
    heads = (("HTTP", head) for head in filter(None, map(recording.entry, wrong)) if head is not request)
    parts = [(first, request), *(("Response", end) for end in exchange.ends[1:]), *heads]
    return [(name, message) for name, message in parts if message.findings]


def _ranked(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda one: SEVERITIES.index(one.severity))


def findings_text(parts: Iterable[tuple[str, WireMessage]]) -> str:
    """All findings, each message under its heading, the worst first."""
    lines: list[str] = []
    for heading, message in parts:
        lines += [*([""] if lines else []), f"{heading} (message {message.number})"]
        for one in _ranked(message.findings):
            where = f"at {safe(one.pointer, 200)}, " if one.pointer else ""
            lines += ["", f"{sign_of(one.severity)} {one.severity}: {safe(one.text, 500)}"]
            lines.append(f"  {where}rule {one.rule}, specification {one.section}")
    return "\n".join(lines)


_EMPTY = {
    "request": "It has no body.", "response": "There is no response.",
    "http": "No HTTP headers: it did not go over HTTP.", "output": "The server printed nothing around that time.",
    "findings": "Nothing is wrong with it, as far as the lint can see.",
}  # fmt: skip
_TABS = {
    "timeline": "Timeline", "request": "Request", "response": "Response", "http": "HTTP", "output": "Output",
    "findings": "Findings",
}  # fmt: skip


class EventList(VirtualList[Event | None]):
    """The rows of a timeline, in the colours of the trace."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {trace_row.IN, trace_row.OUT}
    DEFAULT_CSS = """
    EventList { & > .trace--in { color: $wire-in; } & > .trace--out { color: $wire-out; } }
    """


class ExchangeView(Vertical):
    """Shows one exchange, and looks now and then whether something has come to it."""

    DEFAULT_CSS = """
    ExchangeView {
        & > #title { height: auto; max-height: 4; padding: 0 1; text-style: bold; }
        & > #notes { height: auto; max-height: 4; padding: 0 1; color: $quiet; }
        & > ContentSwitcher { height: 1fr; }
        & #hint { padding: 1 2; color: $quiet; }
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
        self.events = EventList(self._draw, key=lambda event: event and event.number, id="timeline")
        self.json = JsonView()
        self.text = TextView()
        self.recording: Recording | None = None
        self.entry: WireMessage | None = None
        self.exchange: Exchange | None = None
        self._revision = -1
        self._filled: dict[str, object] = {}

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Static(id="notes", markup=False)
        yield Tabs(*(Tab(label, id=name) for name, label in _TABS.items()))
        with ContentSwitcher(initial="hint"):
            yield Static(self._hint, id="hint", markup=False)
            yield self.events
            yield Findable(self.json, id="body")
            yield Findable(self.text, id="text")

    def on_mount(self) -> None:
        self.tabs.display = False
        self.set_interval(_EVERY, self._look)
        self._fill()

    def show(self, recording: Recording, entry: WireMessage) -> None:
        """Show the exchange of another entry. Whoever reads bodies gets that of the entry, else the tab stays."""
        before, wanted = self.entry, first_tab(entry)
        self.recording, self.entry = recording, entry
        if not self.is_mounted:
            return
        if before is None or (self.tab in ("request", "response") and wanted in ("request", "response")):
            self.tabs.active = wanted
        self.refill()

    def refill(self) -> None:
        """Show the exchange as it is now."""
        self._revision = -1
        self._look()

    @property
    def tab(self) -> str:
        """The tab that is shown."""
        return self.tabs.active

    @property
    def view(self) -> EventList | JsonView | TextView:
        """The viewer that is seen."""
        return {"timeline": self.events, "request": self.json, "response": self.json}.get(self.tab, self.text)

    def copy(self) -> None:
        """Copy the value under the cursor, the text, or the message of the row."""
        if not isinstance(self.view, EventList):
            self.view.copy()
        elif self.recording is not None and self.events.row and (entry := self.recording.entry(self.events.row.number)):
            self.app.copy_to_clipboard(entry.body.decode("utf-8", "replace"))

    def _look(self) -> None:
        """The answer may have come, or a finding."""
        if self.recording is None or self.entry is None or self.recording.revision == self._revision:
            return
        self._revision = self.recording.revision
        if self.exchange is None:
            self.tabs.display, self.tabs.active = True, first_tab(self.entry)
        self.exchange = exchange_of(self.recording, self.entry)
        self._fill()

    # Filling what is seen

    @on(Tabs.TabActivated)
    def _turned(self, event: Tabs.TabActivated) -> None:
        event.stop()
        self._fill()

    def _fill(self) -> None:
        recording, exchange, tab = self.recording, self.exchange, self.tab
        if recording is None or exchange is None:
            return
        parts = findings_of(recording, exchange)
        self._fill_head(exchange, parts)
        had_focus = self.switcher.has_focus_within
        if tab == "timeline":
            self.switcher.current = "timeline"
            self._fill_timeline(recording, exchange)
        elif tab in ("request", "response"):
            self.switcher.current = "body"
            self._fill_body(tab, exchange.request if tab == "request" else exchange.response)
        else:
            self.switcher.current = "text"
            texts = {"http": heads_text, "output": printed_text}
            text = texts[tab](recording, exchange) if tab in texts else findings_text(parts)
            if self._is_new("text", (tab, text)):
                self.text.empty = _EMPTY[tab]
                self.text.show(text)
        if had_focus:
            self.view.focus()

    def _fill_head(self, exchange: Exchange, parts: list[tuple[str, WireMessage]]) -> None:
        self.query_one("#title", Static).update(Content(exchange.title))
        found = _ranked(one for _, message in parts for one in message.findings)
        notes = [f"{glyphs().said} {safe(text, 500)}" for text in exchange.comments]
        if found:
            more = f" (+{len(found) - 1})" if len(found) > 1 else ""
            notes.append(f"{sign_of(found[0].severity)} {safe(found[0].text, 200)}{more}")
        head = self.query_one("#notes", Static)
        head.display = bool(notes)
        head.update(Content("\n".join(notes)))
        counts = {"http": len(exchange.heads), "output": len(exchange.printed), "findings": len(found)}
        for name, count in counts.items():
            self.query_one(f"#{name}", Tab).label = Content(f"{_TABS[name]} {count or ''}".rstrip())
        asks = exchange.request.kind == "request"
        self.query_one("#request", Tab).label = Content("Request" if asks else "Message")
        self.query_one("#response", Tab).display = asks

    def _is_new(self, view: str, what: object) -> bool:
        """Whether a viewer has something else to show than it does: else its folds and place stay."""
        if self._filled.get(view) == what:
            return False
        self._filled[view] = what
        return True

    def _fill_timeline(self, recording: Recording, exchange: Exchange) -> None:
        events = timeline(recording, exchange.family, exchange.request.number)
        times = recording.columns.time
        now = time.time() if isinstance(recording, TraceStore) else times[-1] if times else 0.0
        self._drawing = Drawing(events, now)
        other = self._is_new("timeline", (exchange.family.number, exchange.request.number))
        self.events.show((None, *events), keep=not other)
        if other:
            self.events.go_to(exchange.request.number)

    def _draw(self, event: Event | None, width: int, selected: bool) -> Line:
        return self._drawing.draw(event, width)

    @on(VirtualList.Chosen)
    def _chosen(self, event: VirtualList.Chosen) -> None:
        event.stop()
        if event.row is not None and event.row.number:
            self.post_message(self.Went(event.row.number))

    def _fill_body(self, tab: str, entry: WireMessage | None) -> None:
        here = entry and (entry.number, isinstance(entry.held, bytes), len(entry.findings))
        if not self._is_new("body", (tab, here, id(self.recording))):
            return
        self.json.empty = _EMPTY[tab]
        self.json.show(b"")
        if entry is not None:
            self.run_worker(self._load_body(entry), group="body", exclusive=True)
        else:
            self.workers.cancel_group(self, "body")

    async def _load_body(self, entry: WireMessage) -> None:
        """A large body is on disk, or is being redacted beside the event loop."""
        assert self.recording is not None
        if not isinstance(entry.held, bytes):
            self.json.empty = f"Loading {units.size(entry.size)} {glyphs().more}"
        body = await self.recording.body(entry)
        marks = {one.pointer: f"{sign_of(one.severity)} {one.text}" for one in entry.findings if one.pointer}
        self.json.empty = _EMPTY["request"]
        self.json.show(body, marks)

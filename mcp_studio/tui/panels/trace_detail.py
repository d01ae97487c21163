"""One exchange of a trace: when all of it happened, what was said, what belongs to it, what was printed around it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.trace.message import Recording, WireMessage
from mcp_studio.trace.store import TraceStore
from mcp_studio.trace.tree import Node, walk
from mcp_studio.tui import tracing
from mcp_studio.tui.panels.pane import Tab
from mcp_studio.tui.timeline import Event, timeline
from mcp_studio.tui.tracing import Detail
from mcp_studio.tui.views import trace_row
from mcp_studio.tui.views.findable import Findable
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.line import Line
from mcp_studio.tui.views.messages import Copied
from mcp_studio.tui.views.text_view import TextView
from mcp_studio.tui.views.trace_list import TraceList
from mcp_studio.tui.views.trace_timeline import Drawing
from mcp_studio.tui.views.virtual_list import VirtualList

_EMPTY = {
    "request": "It has no body.",
    "response": "There is no answer.",
    "headers": "No HTTP headers: it did not go over HTTP.",
    "children": "No other request belongs to it.",
    "stderr": "The server printed nothing around that time.",
    "findings": "Nothing is wrong with it, as far as the lint can see.",
}
TABS = ("timeline", "request", "response", "headers", "children", "stderr", "findings")
_BODIES = ("request", "response")
_PATIENCE = 0.1
"""Seconds after which a body that is being read is said to be."""


class TraceDetail(Vertical):
    """A body under tabs that the pane or dialog around it draws into its border."""

    class Went(Message):
        """The person chose another entry that belongs to it."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._line = Static(classes="head")
        self._drawing = Drawing(())
        self._events = TraceList[Event | None](
            self._draw_event, key=lambda row: row and row.number, stops=lambda row: bool(row and row.number)
        )
        self._children = TraceList[tuple[int, Node] | None](
            self._draw_child, key=lambda row: row and row[1].number, stops=bool, empty=_EMPTY["children"]
        )
        self._views: Mapping[str, Widget] = {tab: self._make(tab) for tab in TABS}
        self._recording: Recording | None = None
        self._detail: Detail | None = None
        self._filled: dict[str, object] = {}
        self._number = 0
        self.tab = "request"

    def _make(self, tab: str) -> Widget:
        match tab:
            case "timeline":
                return self._events
            case "children":
                return self._children
            case "request" | "response":
                return Findable(JsonView(empty=_EMPTY[tab]), classes="viewer")
            case _:
                return Findable(TextView(empty=_EMPTY[tab]), classes="viewer")

    def compose(self) -> ComposeResult:
        """What it is, above the views."""
        yield self._line
        yield from self._views.values()

    def on_mount(self) -> None:
        """Only one of them is seen."""
        self.show_tab(self.tab)

    def tabs(self) -> list[Tab]:
        """The tabs, for a border."""
        counts: dict[str, int] = {}
        if (detail := self._detail) is not None:
            counts = {"children": detail.relatives, "stderr": len(detail.printed), "headers": len(detail.heads)}
            ends = (end for end in (detail.request, detail.response) if end is not None)
            counts["findings"] = sum(len(end.findings) for end in ends)
        shown = {tab: f"{count}" if count else "" for tab, count in counts.items()}
        names = {tab: tab.capitalize() for tab in TABS} | {"stderr": "stderr"}
        if detail is not None and detail.request.kind != "request":
            names["request"] = "Message"
        return [Tab(tab, names[tab], count=shown.get(tab, "")) for tab in TABS]

    @property
    def exchange(self) -> Detail | None:
        """What is shown."""
        return self._detail

    def show(self, recording: Recording, entry: WireMessage) -> None:
        """Show another exchange, or the same as it is now."""
        if recording is not self._recording:
            self._filled.clear()
        if entry.number != self._number:
            self._number = entry.number
            # Whoever reads bodies wants that of the message itself.
            if self.tab in _BODIES and (tab := tracing.first_tab(entry)) in _BODIES and tab != self.tab:
                self._turn(tab)
        detail = tracing.detail_of(recording, entry)
        self._recording, self._detail = recording, detail
        self._line.update(Content("\n".join(filter(None, (detail.title, detail.headline)))))
        self._fill()

    def show_tab(self, tab: str) -> None:
        """Show another part."""
        self._turn(tab)
        self._fill()

    def _turn(self, tab: str) -> None:
        had_focus, self.tab = self.has_focus_within, tab
        for name, view in self._views.items():
            view.display = name == tab
        if had_focus:  # not `focus()`, which waits in a queue: by then another part may be seen
            self.screen.set_focus(self.view)

    @property
    def view(self) -> Any:
        """The viewer that is seen."""
        view = self._views[self.tab]
        return view.view if isinstance(view, Findable) else view

    def action_copy(self) -> None:
        """Copy the value under the cursor, the text, or the message of the row."""
        view = self.view
        if not isinstance(view, VirtualList):
            view.action_copy()
        elif self._recording is not None and (entry := self._recording.entry(self._number_of(view.row))) is not None:
            self.post_message(Copied(entry.body.decode("utf-8", "replace"), "message"))

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """Go to the entry of a row."""
        event.stop()
        if number := self._number_of(event.row):
            self.post_message(self.Went(number))

    @staticmethod
    def _number_of(row: Event | tuple[int, Node] | None) -> int:
        return 0 if row is None else row.number if isinstance(row, Event) else row[1].number

    # Filling the part that is seen

    def _fill(self) -> None:
        detail, recording, tab = self._detail, self._recording, self.tab
        if detail is None or recording is None or not self.is_attached:
            return
        match tab:
            case "timeline":
                self._fill_timeline(recording, detail)
            case "children":
                rows = [row for row in walk(detail.family) if row[1].relation != "http"]
                self._children.set_rows([None, *rows] if detail.relatives else ())
            case "request" | "response":
                self._fill_body(tab, detail.request if tab == "request" else detail.response)
            case "headers":
                if self._is_new(tab, detail.heads):
                    self.view.set_text(tracing.headers(recording, detail.heads))
            case "stderr":
                if self._is_new(tab, detail.printed):
                    self.view.set_text(tracing.printed(recording, detail.printed))
            case _:
                if self._is_new(tab, detail.findings):
                    self.view.set_text(detail.findings)

    def _is_new(self, tab: str, what: object) -> bool:
        """Whether a part has something else to show than it does."""
        if tab in self._filled and self._filled[tab] == what:
            return False
        self._filled[tab] = what
        return True

    def _fill_timeline(self, recording: Recording, detail: Detail) -> None:
        events = timeline(recording, detail.family, detail.request.number)
        times = recording.columns.time
        now = time.time() if isinstance(recording, TraceStore) else times[-1] if times else 0.0
        self._drawing = Drawing(events, now)
        rows: tuple[Event | None, ...] = (None, *events)
        if self._is_new("timeline", (detail.family.number, detail.request.number)):
            self._events.set_rows(rows, keep=False)
            self._events.go_to_key(detail.request.number)
        else:
            self._events.set_rows(rows)

    def _fill_body(self, tab: str, entry: WireMessage | None) -> None:
        if entry is None:
            if self._is_new(tab, None):
                self.workers.cancel_group(self, f"body-{tab}")
                self._show_body(tab, b"")
            return
        held = entry.held
        # A body that is redacted beside the event loop comes later.
        if self._is_new(tab, (entry.number, len(held) if isinstance(held, bytes) else -1)):
            self.workers.cancel_group(self, f"body-{tab}")
            if isinstance(held, bytes):
                self._show_body(tab, held)
            else:
                self.run_worker(self._load_body(tab, entry), group=f"body-{tab}", exclusive=True)

    async def _load_body(self, tab: str, entry: WireMessage) -> None:
        """Read a body that is on disk; what takes a while is said to be read."""
        assert self._recording is not None
        reading = asyncio.ensure_future(self._recording.body(entry))
        try:
            done, _ = await asyncio.wait((reading,), timeout=_PATIENCE)
            if not done:
                self._show_body(tab, b"", f"Loading {units.size(entry.size)} …")
            self._show_body(tab, await reading)
        finally:
            reading.cancel()

    def _show_body(self, tab: str, data: bytes, instead: str = "") -> None:
        found = self._views[tab]
        if isinstance(found, Findable):
            found.view.empty = instead or _EMPTY[tab]
            found.view.set_json(data)

    # Rows

    def _draw_event(self, event: Event | None, width: int, selected: bool) -> Line:
        return self._drawing.draw(event, width, selected)

    def _draw_child(self, row: tuple[int, Node] | None, width: int, selected: bool) -> Line:
        if self._recording is None:
            return []
        columns = self._recording.columns
        longest = trace_row.longest_server(columns)
        if row is None:
            return trace_row.header(width, longest)
        depth, node = row
        place = node.number - columns.first
        if not 0 <= place < len(columns):
            return [(safe(f"message {node.number} is not kept any more"), "dim")]
        entry = self._recording.entry(node.number)
        shown = trace_row.of_columns(columns, place, lambda: entry.body if entry else b"")
        return trace_row.draw(shown._replace(depth=min(depth, 6)), width, longest)

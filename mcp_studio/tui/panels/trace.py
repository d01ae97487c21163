"""Pane 5: everything that crossed the wire, and beside it, where there is room, the exchange under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from mcp_studio.safetext import safe
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.store import TraceStore
from mcp_studio.tui import late, late_copy, late_trace, tracing
from mcp_studio.tui.bindings import refuse
from mcp_studio.tui.panels.filter_line import FilterLine
from mcp_studio.tui.panels.pane import Pane
from mcp_studio.tui.views.messages import Copied
from mcp_studio.tui.views.trace_header import TraceHeader
from mcp_studio.tui.views.trace_table import TraceTable

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.panels.trace_detail import TraceDetail

_EMPTY = "Nothing has crossed the wire yet. Connect a server, and every message appears here."
_NONE = "No message has all of this; esc ends the filter."


class TracePanel(Pane, scope="trace"):
    """The table, with a filter above it."""

    number = 5

    class Opened(Message):
        """The person wants to see an exchange."""

        def __init__(self, entry: WireMessage) -> None:
            super().__init__()
            self.entry = entry

    class Highlighted(Message):
        """The cursor came to another entry."""

        def __init__(self, entry: WireMessage | None) -> None:
            super().__init__()
            self.entry = entry

        def can_replace(self, message: Message) -> bool:
            """Only the newest one waiting matters."""
            return isinstance(message, TracePanel.Highlighted)

    def __init__(self, store: TraceStore) -> None:
        super().__init__(id="trace")
        self._store = store
        self.filter = FilterLine("filter: words, ~s server, ~m method, ~t target, error, ~w findings")
        self.table = TraceTable(store, empty=_EMPTY)

    def compose(self) -> ComposeResult:
        """Column names above the table; the filter appears with `/`."""
        yield self.filter
        yield TraceHeader()
        yield self.table

    def on_mount(self) -> None:
        """No filter yet."""
        self.filter.display = False
        self.show_title(Content("Trace"))

    def entry_point(self) -> Widget:
        """The table."""
        return self.table

    def on_trace_table_changed(self, event: TraceTable.Changed) -> None:
        """Tell how much there is."""
        event.stop()
        self._tell()

    def _tell(self) -> None:
        """In the border: the filter, how much is shown, and whether the newest is followed."""
        shown, kept, dropped = self.table.row_count, len(self._store), self._store.dropped
        parts = [f"{shown:,} of {kept:,}" if self.filter.text else f"{kept:,}"]
        if self.filter.text:
            parts.insert(0, safe(self.filter.text, 40))
        if dropped:
            parts.append(f"{dropped:,} dropped")
        parts.append("following" if self.table.following else "f follows")
        self.show_note(Content(" · ".join(parts)))

    def on_trace_table_highlighted(self, event: TraceTable.Highlighted) -> None:
        """Say which entry the cursor is on."""
        event.stop()
        self.post_message(self.Highlighted(event.message))

    def on_trace_table_chosen(self, event: TraceTable.Chosen) -> None:
        """Show the exchange."""
        event.stop()
        self.post_message(self.Opened(event.message))

    def on_filter_line_changed(self, event: FilterLine.Changed) -> None:
        """Show only what the text wants."""
        event.stop()
        self.table.set_filter(event.text)
        self.table.empty = _NONE if event.text else _EMPTY
        self._tell()

    def on_filter_line_left(self, event: FilterLine.Left) -> None:
        """Back to the table."""
        event.stop()
        self.filter.display = bool(self.filter.text)
        self.screen.set_focus(self.table)

    async def end_filter(self) -> None:
        """Show everything again."""
        await self.filter.clear()
        self.filter.display = False

    async def action_filter(self) -> None:
        """Start typing a filter."""
        self.filter.display = True
        await self.filter.open()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a filter is typed, enter and slash belong to its input."""
        return action not in ("open", "filter") or not self.filter.has_focus_within

    def action_open(self) -> None:
        """Show the exchange under the cursor."""
        if self.table.message is None:
            refuse(self, "There is nothing to show yet.")
        else:
            self.post_message(self.Opened(self.table.message))

    def action_follow(self) -> None:
        """Follow the newest, or stop that."""
        self.table.action_follow()

    def action_copy(self) -> None:
        """Copy the message under the cursor."""
        if self.table.message is None:
            refuse(self, "There is nothing to copy yet.")
        else:
            self.app.copy_to_clipboard(self.table.message.body.decode("utf-8", "replace"))

    def action_by_hand(self) -> None:
        """Edit the message under the cursor and send it again."""
        late.edit_by_hand(cast("StudioApp", self.app), self.table.message)

    def action_copy_call(self, choose: bool) -> None:
        """Copy the call under the cursor as a command line, or as what the person chooses."""
        late_copy.copy_message(cast("StudioApp", self.app), self.table.message, choose=choose)


class DetailPane(Pane, scope="detail"):
    """The exchange under the cursor of the trace; on wide screens only."""

    def __init__(self, store: TraceStore) -> None:
        super().__init__(id="detail")
        self._store = store
        self._detail: TraceDetail | None = None
        self._entry: WireMessage | None = None

    def show(self, entry: WireMessage | None) -> None:
        """Show an entry, while the pane is on screen at all."""
        if entry is None or not self.display:
            return
        self._entry = entry
        if self._detail is None:
            self._detail = late_trace.trace_detail()
            self.mount(self._detail)
            self.show_tabs(self._detail.tabs(), self._detail.tab)
        self._detail.show(tracing.detail_of(self._store, entry))

    def entry_point(self) -> Widget:
        """The viewer that is seen."""
        return self._detail.view if self._detail else self

    def on_pane_tab_chosen(self, event: Pane.TabChosen) -> None:
        """Another part of the exchange."""
        event.stop()
        if self._detail is not None:
            had_focus = self.has_focus_within
            self._detail.show_tab(event.tab)
            self.show_tabs(self._detail.tabs(), event.tab)
            if had_focus:
                self._detail.view.focus()

    def on_copied(self, event: Copied) -> None:
        """Put it on the clipboard."""
        event.stop()
        self.app.copy_to_clipboard(event.text)

    def action_by_hand(self) -> None:
        """Edit the message and send it again."""
        late.edit_by_hand(cast("StudioApp", self.app), self._entry)

    def action_copy_call(self, choose: bool) -> None:
        """Copy the call as a command line, or as what the person chooses."""
        late_copy.copy_message(cast("StudioApp", self.app), self._entry, choose=choose)

    def action_copy(self) -> None:
        """Copy the value under the cursor."""
        if self._detail is not None:
            self._detail.view.action_copy()

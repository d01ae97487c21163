"""Pane 5: everything that crossed the wire, now or in an earlier session."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from mcp_studio.errors import StudioError
from mcp_studio.safetext import safe
from mcp_studio.trace.message import Recording, WireMessage
from mcp_studio.tui import late_trace
from mcp_studio.tui.bindings import key_for, refuse
from mcp_studio.tui.ended_in import EndedIn
from mcp_studio.tui.panels.filter_line import FilterLine
from mcp_studio.tui.panels.query_line import HINT, QueryLine
from mcp_studio.tui.replaying import Replaying, Shown
from mcp_studio.tui.views.trace_header import TraceHeader
from mcp_studio.tui.views.trace_table import TraceTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.screens.opening import Shelf
    from mcp_studio.tui.trace_acts import Base

_EMPTY = "Nothing has crossed the wire yet. Connect a server, and every message appears here."
_EMPTY_PAST = "Nothing was recorded in this session."
_REFRESH = 0.5
"""Seconds between two looks at what another studio writes."""
_NONE = "No message has all of this; esc ends the filter."
_SEARCHING = "Nothing found yet."
_BEHIND = 5_000
"""Messages of the live trace that the filter may have before it without its being said: more come all the time."""


class TracePanel(Replaying, EndedIn, scope="trace"):
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

    def __init__(self, store: Recording) -> None:
        super().__init__(id="trace")
        self._store = self.recording = store
        self.filter = QueryLine(HINT, lambda: self.recording)
        self.header = TraceHeader()
        self.table = TraceTable(store, empty=_EMPTY)
        self.base: Base | None = None
        """The message that the next one is compared with."""
        self.shelf: Shelf | None = None
        """Files that are open."""
        self._refreshing: Timer | None = None

    def compose(self) -> ComposeResult:
        """Column names above the table; the filter appears with `/`."""
        yield self.filter
        yield self.filter.aid
        yield self.header
        yield self.table

    def on_mount(self) -> None:
        """No filter yet."""
        self.filter.display = False
        self.show_title(Content("Trace"))

    def entry_point(self) -> Widget:
        """The table."""
        return self.table

    # What is shown

    @property
    def live(self) -> bool:
        """Whether it shows what is being recorded now."""
        return self.recording is self._store

    async def show(self, recording: Recording, kind: str, title: str, refresh: Callable[[], bool] | None) -> None:
        """Show an earlier session, or what came out of a file; recording goes on meanwhile.

        Args:
            recording: what is to be shown.
            kind: what it is, such as `Past session`.
            title: which one; foreign text.
            refresh: takes over what another studio goes on writing to it.
        """
        await self._show(recording, Content.assemble((f"{kind} ", "b $state-busy"), safe(title, 120)), refresh)

    async def go_live(self) -> None:
        """Show what is being recorded now."""
        await self._show(self._store, Content("Trace"))

    async def _show(self, recording: Recording, title: Content, refresh: Callable[[], bool] | None = None) -> None:
        await self.end_filter()
        self.recording = recording
        self.set_class(not self.live, "-past")
        self.table.empty = _EMPTY if self.live else _EMPTY_PAST
        self.table.show(recording)
        self.show_title(title)
        if self._refreshing is not None:
            self._refreshing.stop()
        self._refreshing = self.set_interval(_REFRESH, lambda: self._refresh(refresh)) if refresh else None
        self.tell()

    def _refresh(self, refresh: Callable[[], bool]) -> None:
        """Another studio may be writing the session that is shown."""
        try:
            refresh()
        except StudioError as error:
            self._app.fail(error)
            if self._refreshing is not None:
                self._refreshing.stop()

    def on_unmount(self) -> None:
        """Let files go."""
        if self.shelf is not None:
            self.shelf.close()

    def on_trace_table_changed(self, event: TraceTable.Changed) -> None:
        """Tell how much there is."""
        event.stop()
        self.tell()

    def tell(self) -> None:
        """In the border: the filter, how much is shown and new, and whether the newest is followed."""
        table = self.table
        self.header.show(table.longest)
        shown, kept, dropped = table.row_count, len(self.recording), self.recording.first_number - 1
        parts = [f"{shown:,} of {kept:,}" if table.filter_text else f"{kept:,}"]
        if table.filter_text:
            parts.insert(0, safe(table.filter_text, 40))
        behind = (1 - table.searched) * kept > (_BEHIND if self.live else 0)
        if table.trouble or behind:
            parts.insert(0, table.trouble or f"{int(100 * table.searched)}% searched")
        if table.filter_text:
            table.empty = _SEARCHING if behind else _NONE
        if dropped:
            parts.append(f"{dropped:,} dropped")
        if self.base is not None:
            parts.insert(0, f"{key_for(self, 'trace-compare')} compares with {self.base.entry.number}")
        if table.new:
            parts.append(f"{table.new:,} new")
        if self.live or self._refreshing is not None:
            parts.append("following" if table.following else f"{key_for(self, 'trace-follow')} follows")
        if not self.live:
            parts.append(f"{key_for(self, 'trace-live')} back to now")
        self.show_note(Content(" · ".join(parts)))

    def on_trace_table_highlighted(self, event: TraceTable.Highlighted) -> None:
        """Say which entry the cursor is on."""
        event.stop()
        self.post_message(self.Highlighted(event.message))

    def on_trace_table_chosen(self, event: TraceTable.Chosen) -> None:
        """Show the exchange."""
        event.stop()
        self.post_message(self.Opened(event.message))

    def on_descendant_focus(self) -> None:
        """The person looks here."""
        self.table.look_again()

    def on_descendant_blur(self) -> None:
        """The person looks elsewhere: what comes now is new to them."""
        self.call_after_refresh(self.table.look_again)

    # Filter

    def on_filter_line_changed(self, event: FilterLine.Changed) -> None:
        """Show only what the text wants."""
        event.stop()
        self.filter.apply(lambda text: self.table.set_filter(text, None if self.live else self.table.newest))
        self.table.empty = _NONE if self.table.filter_text else _EMPTY if self.live else _EMPTY_PAST
        self.tell()

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

    # What the person does

    @property
    def _app(self) -> StudioApp:
        return cast("StudioApp", self.app)

    def shown(self) -> Shown:
        """The message under the cursor, and what the filter shows."""
        return Shown(self.recording, self.table.message, self.table.numbers)

    def action_open(self) -> None:
        """Show the exchange under the cursor."""
        if self.table.message is None:
            refuse(self, "There is nothing to show yet.")
        else:
            self.post_message(self.Opened(self.table.message))

    def action_follow(self) -> None:
        """Follow the newest, or stop that."""
        self.table.action_follow()

    async def action_copy(self) -> None:
        """Copy the message under the cursor."""
        entry = self.table.message
        if entry is None:
            refuse(self, "There is nothing to copy yet.")
        else:
            self.app.copy_to_clipboard((await self.recording.body(entry)).decode("utf-8", "replace"))

    def action_mark(self) -> None:
        """Mark the message under the cursor, or no longer."""
        late_trace.acts().mark(self._app, self.recording, self.table.message)

    def action_comment(self) -> None:
        """Comment on the message under the cursor."""
        late_trace.acts().comment(self._app, self.recording, self.table.message)

    def action_noted(self, step: int) -> None:
        """Go to the next or last message with a mark or a comment."""
        if not self.table.go_to_noted(step):
            where = "below" if step > 0 else "above"
            refuse(self, f"No message {where} has a mark or a comment; {key_for(self, 'trace-mark')} marks one.")

    def action_first_new(self) -> None:
        """Go to the first message that came while the person was away."""
        if not self.table.go_to_new():
            refuse(self, "Nothing has come since you looked.")

    def action_compare(self) -> None:
        """Begin to compare the message under the cursor, or compare with it."""
        self.compare(self.table.message)

    def compare(self, entry: WireMessage | None, recording: Recording | None = None) -> None:
        """The first of two messages that are compared, or the second one."""
        late_trace.acts().choose(self._app, self, recording or self.recording, entry)
        self.tell()

    def action_other(self) -> None:
        """Go to the answer of the request under the cursor, or to the request of the answer."""
        entry = self.table.message
        row = entry.number - self.recording.columns.first if entry is not None else -1
        link = self.recording.columns.link[row] if row >= 0 else 0
        if not link:
            refuse(self, "It has no other end: it is no request, or has no answer.")
        elif not self.table.go_to_number(link):
            refuse(self, f"Message {link} is not shown: the filter leaves it out, or it is not kept any more.")

    def action_sessions(self) -> None:
        """Choose a session to be shown."""
        self.run_worker(late_trace.opening().choose(self._app, self), group="sessions", exclusive=True)

    def action_export(self) -> None:
        """Export this exchange, what is marked or filtered, or everything."""
        self.app.push_screen(late_trace.export_dialog(self.recording, self.table.message, self.table.numbers))

    def action_live(self) -> None:
        """Back to what is being recorded now."""
        if self.live:
            refuse(self, "This is what is being recorded now.")
        else:
            self.run_worker(self.go_live(), group="sessions", exclusive=True)

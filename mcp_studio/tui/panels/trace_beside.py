"""Beside the trace, where there is room: the exchange under its cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.widget import Widget

from mcp_studio.trace.message import WireMessage
from mcp_studio.tui import late_trace
from mcp_studio.tui.panels.pane import Pane
from mcp_studio.tui.panels.trace import TracePanel
from mcp_studio.tui.replaying import Replaying, Shown
from mcp_studio.tui.views.messages import Copied

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.panels.trace_detail import TraceDetail

_EVERY = 0.25
"""Seconds between two looks whether something has come to the exchange."""


class DetailPane(Replaying, Pane, scope="detail"):
    """The exchange under the cursor of the trace; on wide screens only."""

    def __init__(self, trace: TracePanel) -> None:
        super().__init__(id="detail")
        self._trace = trace
        self._detail: TraceDetail | None = None
        self._entry: WireMessage | None = None
        self._revision = -1

    def show(self, entry: WireMessage | None) -> None:
        """Show an entry, while the pane is on screen at all."""
        if entry is None or not self.display:
            return
        self._entry = entry
        if self._detail is None:
            self._detail = late_trace.trace_detail()
            self.mount(self._detail)
            self.set_interval(_EVERY, self._look)
        self._fill()

    def _fill(self) -> None:
        recording = self._trace.recording
        if self._detail is not None and self._entry is not None:
            self._revision = recording.revision
            self._detail.show(recording, self._entry)
            self.show_tabs(self._detail.tabs(), self._detail.tab)

    def _look(self) -> None:
        """The answer may have come, or a finding."""
        if self.display and self.region and self._revision != self._trace.recording.revision:
            self._fill()

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

    def on_trace_detail_went(self, event: TraceDetail.Went) -> None:
        """Another entry that belongs to it: the cursor of the trace goes there, where it is shown."""
        event.stop()
        if not self._trace.table.go_to_number(event.number):
            self.show(self._trace.recording.entry(event.number))

    def on_copied(self, event: Copied) -> None:
        """Put it on the clipboard."""
        event.stop()
        self.app.copy_to_clipboard(event.text)

    @property
    def _app(self) -> StudioApp:
        return cast("StudioApp", self.app)

    def shown(self) -> Shown:
        """The message, of the trace beside it."""
        return Shown(self._trace.recording, self._entry)

    def action_copy(self) -> None:
        """Copy the value under the cursor."""
        if self._detail is not None:
            self._detail.action_copy()

    def action_mark(self) -> None:
        """Mark the message, or no longer."""
        late_trace.acts().mark(self._app, self._trace.recording, self._entry)

    def action_comment(self) -> None:
        """Comment on the message."""
        late_trace.acts().comment(self._app, self._trace.recording, self._entry)

    def action_compare(self) -> None:
        """Begin to compare the message, or compare with it."""
        self._trace.compare(self._entry)

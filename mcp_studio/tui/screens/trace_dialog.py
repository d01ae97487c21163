"""One exchange of the trace over the whole screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual.content import Content
from textual.events import Click, Resize
from textual.widget import Widget

from mcp_studio.trace.message import Recording, WireMessage
from mcp_studio.trace.store import TraceStore
from mcp_studio.tui import late_trace, tracing
from mcp_studio.tui.panels.tab_line import tab_line
from mcp_studio.tui.panels.trace_detail import TABS, TraceDetail
from mcp_studio.tui.replaying import Replaying, Shown
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.messages import Copied

if TYPE_CHECKING:
    from mcp_studio.tui.panels.trace import TracePanel

_EVERY = 0.25
"""Seconds between two looks whether something has come to the exchange."""


class TraceDialog(Replaying, Dialog[None], scope="trace detail"):
    """Times, request, response, headers, what belongs to it, stderr and findings, in tabs."""

    def __init__(self, recording: Recording, entry: WireMessage, panel: TracePanel | None = None) -> None:
        """`panel`: the table that it was opened from, for going on from message to message."""
        super().__init__()
        self._recording = recording
        self._entry = entry
        self._panel = panel
        self._detail = TraceDetail()
        self._way: list[WireMessage] = []
        self._revision = -1
        self._spans: list[tuple[int, int, str]] = []

    def heading(self) -> Content:
        """The tabs."""
        boxes = self.query("#box")
        room = boxes.first().outer_size.width - 6 if boxes else 90
        line, self._spans = tab_line(self._detail.tabs(), self._detail.tab, room)
        return line

    def body(self) -> Iterable[Widget]:
        """One detail."""
        yield self._detail

    def on_mount(self) -> None:
        """Fill it."""
        self.query_one("#box").add_class("-tall")
        self._show(self._entry)
        self._turn(tracing.first_tab(self._entry))
        self.set_interval(_EVERY, self._look)

    def _show(self, entry: WireMessage) -> None:
        self._entry = entry
        self._again()
        self.run_worker(self._look_closer(entry), group="closer", exclusive=True)

    def _again(self) -> None:
        self._revision = self._recording.revision
        self._detail.show(self._recording, self._entry)
        self.retitle(self.heading())

    def _look(self) -> None:
        """The answer may have come, or something else that belongs to it."""
        if self._recording.revision != self._revision:
            self._again()

    async def _look_closer(self, entry: WireMessage) -> None:
        """Check the exchange against the model of its version, and show what that finds."""
        if isinstance(self._recording, TraceStore):
            await self._recording.look(tracing.messages_of(self._recording, entry))
            self._again()

    def on_resize(self, event: Resize) -> None:
        """Fit the tabs anew."""
        self.call_after_refresh(lambda: self.retitle(self.heading()))

    async def on_click(self, event: Click) -> None:
        """A click on a tab in the border turns it."""
        place = self.query_one("#box").region
        for start, end, tab in self._spans:
            if event.screen_y == place.y and start <= event.screen_x - place.x - 3 < end:
                self._turn(tab)
        await super().on_click(event)

    def on_trace_detail_went(self, event: TraceDetail.Went) -> None:
        """Another entry that belongs to it; esc comes back."""
        event.stop()
        entry = self._recording.entry(event.number)
        if entry is not None and entry.number != self._entry.number:
            self._way.append(self._entry)
            self._show(entry)
            self._turn(tracing.first_tab(entry))

    def _turn(self, tab: str) -> None:
        self._detail.show_tab(tab)
        self.retitle(self.heading())
        self._detail.view.focus()

    def on_copied(self, event: Copied) -> None:
        """Put it on the clipboard."""
        event.stop()
        self.app.copy_to_clipboard(event.text)

    def action_turn(self, step: int) -> None:
        """Another tab."""
        self._turn(TABS[(TABS.index(self._detail.tab) + step) % len(TABS)])

    def action_step(self, step: int) -> None:
        """The next message of the trace, or the one before."""
        table = self._panel.table if self._panel is not None and self._panel.recording is self._recording else None
        if table is None:
            self._studio_app.say("It was not opened from the trace, so that there is no next one.", "warning")
            return
        table.action_move(step)
        if table.message is not None and table.message.number != self._entry.number:
            self._way.clear()
            self._show(table.message)
        else:
            self._studio_app.say("This is the last one." if step > 0 else "This is the first one.")

    def action_copy(self) -> None:
        """Copy the value under the cursor, the text, or the message of the row."""
        self._detail.action_copy()

    def shown(self) -> Shown:
        """The message."""
        return Shown(self._recording, self._entry)

    def action_mark(self) -> None:
        """Mark the message, or no longer."""
        late_trace.acts().mark(self._studio_app, self._recording, self._entry)
        self._again()

    def action_comment(self) -> None:
        """Comment on the message."""
        late_trace.acts().comment(self._studio_app, self._recording, self._entry)

    def action_compare(self) -> None:
        """Begin to compare the message, or compare with it."""
        self._studio_app.main.trace.compare(self._entry, self._recording)

    def action_close(self) -> None:
        """Back to where the person came from, or leave."""
        if self._way:
            self._show(self._way.pop())
        else:
            self.dismiss(None)

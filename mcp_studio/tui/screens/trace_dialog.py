"""One exchange of the trace over the whole screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.events import Click
from textual.widget import Widget

from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.store import TraceStore
from mcp_studio.tui import late, late_copy, tracing
from mcp_studio.tui.panels.trace_detail import TABS, TraceDetail
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.messages import Copied

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp


class TraceDialog(Dialog[None], scope="trace detail"):
    """Request, response, findings, headers, stderr and times, in tabs."""

    def __init__(self, store: TraceStore, entry: WireMessage) -> None:
        super().__init__()
        self._store = store
        self._entry = entry
        self._detail = TraceDetail()

    def heading(self) -> Content:
        """The tabs."""
        parts: list[str | tuple[str, str]] = []
        for tab in TABS:
            parts += [" │ " if parts else "", (tab, "b $accent" if tab == self._detail.tab else "not b $quiet")]
        return Content.assemble(*parts)

    def body(self) -> Iterable[Widget]:
        """One detail."""
        yield self._detail

    def on_mount(self) -> None:
        """Fill it."""
        self.query_one("#box").add_class("-tall")
        self._detail.show(tracing.detail_of(self._store, self._entry))
        self._turn(tracing.first_tab(self._entry))
        self.run_worker(self._look_closer())

    async def _look_closer(self) -> None:
        """Check the exchange against the model of its version, and show what that finds."""
        await self._store.examiner.look(tracing.messages_of(self._store, self._entry))
        self._detail.show(tracing.detail_of(self._store, self._entry))

    async def on_click(self, event: Click) -> None:
        """A click on a tab in the border turns it."""
        place = self.query_one("#box").region
        x = place.x + 3
        for tab in TABS:
            if event.screen_y == place.y and x <= event.screen_x < x + len(tab):
                self._turn(tab)
            x += len(tab) + 3

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

    def action_copy(self) -> None:
        """Copy the value under the cursor, or the text."""
        self._detail.view.action_copy()

    def action_by_hand(self) -> None:
        """Edit the message and send it again."""
        late.edit_by_hand(cast("StudioApp", self.app), self._entry)

    def action_copy_call(self, choose: bool) -> None:
        """Copy the call as a command line, or as what the person chooses."""
        late_copy.copy_message(cast("StudioApp", self.app), self._entry, choose=choose)

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)

"""What the trace panel tells of servers in the recording that it shows, be that the running one or an earlier one."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from mcp_studio.tui import late_trace
from mcp_studio.tui.bindings import refuse
from mcp_studio.tui.panels.pane import Pane

if TYPE_CHECKING:
    from mcp_studio.trace.message import Recording
    from mcp_studio.tui.screens.mortem_dialog import Wish
    from mcp_studio.tui.views.trace_table import TraceTable


class EndedIn(Pane):
    """Actions of the trace panel: how servers ended, and what they printed besides the protocol."""

    recording: Recording
    table: TraceTable

    def action_endings(self) -> None:
        """How servers ended, the newest first; of the server under the cursor where it ended."""
        endings = late_trace.endings()
        message = self.table.message
        found = endings(self.recording, message.server) if message is not None else []
        found = found or endings(self.recording)
        if not found:
            refuse(self, "No server of ours ended in it, as far as its notes say.")
            return
        known = found[::-1]
        self.app.push_screen(late_trace.mortem_dialog(lambda: known, lambda: None, lambda one: False), self._wished)

    def action_stray(self) -> None:
        """What the server under the cursor printed to standard output besides the protocol."""
        if self.table.message is None:
            refuse(self, "There is no message under the cursor that would say which server is meant.")
        else:
            self._stray(self.table.message.server)

    def _wished(self, wish: Wish | None) -> None:
        if wish is None:
            return
        what, one = wish
        if what == "trace":
            self._go(one.last)
        elif what == "stray":
            self._stray(one.server)

    def _stray(self, server: str) -> None:
        argv = late_trace.command_of(self.recording, server)
        try:
            words = shlex.split(argv)
        except ValueError:
            words = argv.split()
        self.app.push_screen(late_trace.stray_of(self.recording, server, words), self._go)

    def _go(self, number: int | None) -> None:
        if number is None:
            return
        self.screen.set_focus(self.table)
        if not self.table.go_to_number(number):
            refuse(self, "The filter hides it; esc ends the filter.")

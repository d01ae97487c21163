"""Pane 5."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from mcp_studio.tui.panels.pane import Pane


class TracePanel(Pane, scope="trace"):
    number = 5

    def __init__(self, store):
        super().__init__(id="trace")
        self.store = store
        self.rev = -1

    def compose(self) -> ComposeResult:
        x = Static(Content("No trace"))
        x.can_focus = True
        yield x

    def on_mount(self):
        self.show_title(Content("Trace"))

    def look(self):
        if self.rev != self.store.revision:
            self.rev = self.store.revision
            self.query_one(Static).update(
                Content("\n".join(f"{m.number} {m.server} {m.kind} {m.method} {m.size}" for m in list(self.store)[-8:]))
            )

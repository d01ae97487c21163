"""Pane 3."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from mcp_studio.tui.panels.pane import Pane


class CallPanel(Pane, scope="call"):
    number = 3

    def __init__(self):
        super().__init__(id="call")
        self.touched = False

    def compose(self) -> ComposeResult:
        x = Static(Content("Nothing is open. Choose a tool in pane 2 and press enter."))
        x.can_focus = True
        yield x

    def on_mount(self):
        self.show_title(Content("Call"))

    def show(self, opened):
        self.query_one(Static).update(Content(repr(opened)[:2000]))

    def show_state(self, s):
        pass

    def unreadable(self):
        return ()

    def show_problems(self, p):
        pass

    def focus_problem(self, p):
        pass

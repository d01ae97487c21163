"""Pane 4."""
from __future__ import annotations
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static
from mcp_studio.tui.panels.pane import Pane
class ResultPanel(Pane, scope="result"):
    number = 4
    def __init__(self): super().__init__(id="result")
    def compose(self) -> ComposeResult:
        x= Static(Content("No result")); x.can_focus=True; yield x
    def on_mount(self): self.show_title(Content("Result"))
    def show(self, opened, call):
        self.query_one(Static).update(Content(repr(call and call.outcome)[:3000]))
    def tick(self): pass

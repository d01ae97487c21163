"""A question with yes and no."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Choice, Dialog


class Confirm(Dialog[bool]):
    """True for yes; anything else is no. What destroys something has the focus on no."""

    DEFAULT_CLASSES = "-small"

    def __init__(self, title: str, text: str, yes: str, *, destroys: bool = False) -> None:
        self.choices = (Choice("yes", yes, "error" if destroys else "primary"), Choice("back", "Cancel"))
        super().__init__()
        self._title_text = title
        self._text = text
        self._destroys = destroys

    def heading(self) -> str:
        return self._title_text

    def body(self) -> Iterable[Widget]:
        yield Static(Content(safe(self._text, 8_000, lines=True)))

    def on_mount(self) -> None:
        self.query_one("#back" if self._destroys else "#yes").focus()

    def action_yes(self) -> None:
        self.dismiss(True)

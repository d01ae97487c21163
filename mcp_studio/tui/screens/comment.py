"""A few words of the person's own on an entry of the trace."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Dialog

LONGEST = 2_000
"""Characters of a comment."""


class Comment(Dialog[str], scope="comment"):
    """Answers the text, which is empty where the comment is to go; None when the person leaves it as it was."""

    def __init__(self, about: str, text: str) -> None:
        super().__init__()
        self._about = about
        self._text = text

    def heading(self) -> Content:
        """What it is."""
        return Content("Comment")

    def body(self) -> Iterable[Widget]:
        """The entry, and a line to type into."""
        yield Static(Content(safe(self._about, 300)), classes="quiet")
        yield Input(self._text, placeholder="what is to be remembered of it", max_length=LONGEST, compact=True)

    def on_mount(self) -> None:
        """Type at once, behind what is there."""
        line = self.query_one(Input)
        line.focus()
        line.cursor_position = len(self._text)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter keeps it."""
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        """Keep the comment."""
        self.dismiss(self.query_one(Input).value.strip())

    def action_close(self) -> None:
        """Leave it as it was."""
        self.dismiss(None)

"""A question with yes and no."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Dialog

_LONGEST = 20_000
"""Characters; what is agreed to is shown whole."""


class Confirm(Dialog[bool], scope="confirm"):
    """Answers True for yes."""

    reads = True

    def __init__(self, heading: str, question: str) -> None:
        super().__init__()
        self._heading = heading
        self._question = question

    def heading(self) -> Content:
        """What it is about."""
        return Content(safe(self._heading))

    def body(self) -> Iterable[Widget]:
        """The question."""
        yield Static(Content(safe(self._question, _LONGEST, lines=True)))

    def action_yes(self) -> None:
        """Yes."""
        self.dismiss(True)

    def action_no(self) -> None:
        """No."""
        self.dismiss(False)

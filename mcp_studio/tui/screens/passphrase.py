"""Asking for the passphrase of the encrypted file in which secrets are kept."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Dialog

SHORTEST = 8
"""Characters of a new passphrase."""


class PassphraseDialog(Dialog[str], scope="passphrase"):
    """Answers the passphrase; None where nobody gave one.

    Args:
        reason: what it is for, in a sentence.
        new: it is chosen now: it is typed twice.
    """

    def __init__(self, reason: str, *, new: bool) -> None:
        super().__init__()
        self._reason = reason
        self._new = new
        self._first = Input(password=True, placeholder="passphrase", compact=True, classes="frame")
        self._second = Input(password=True, placeholder="once more", compact=True, classes="frame")
        self._note = Static(classes="bad")

    def heading(self) -> Content:
        """What it is."""
        return Content("A new passphrase" if self._new else "Passphrase")

    def body(self) -> Iterable[Widget]:
        """What it is for, and where to type it."""
        yield Static(Content(safe(self._reason, 800, lines=True)))
        if self._new:
            words = "Without it nobody can read the file again, you neither: it is kept nowhere."
            yield Static(Content(words), classes="quiet gap")
        yield self._first
        if self._new:
            yield self._second
        yield self._note

    def on_mount(self) -> None:
        """Type at once."""
        self._first.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter goes on."""
        event.stop()
        if self._new and event.input is self._first:
            self._second.focus()
        else:
            self.action_accept()

    def action_accept(self) -> None:
        """Answer, once it is right."""
        text = self._first.value
        if not text:
            self._say("Nothing is typed yet.")
        elif self._new and len(text) < SHORTEST:
            self._say(f"It has {len(text)} characters; with fewer than {SHORTEST} it would be found by trying.")
        elif self._new and text != self._second.value:
            self._say("The two are not the same.")
            self._second.value = ""
            self._second.focus()
        else:
            self._first.value = self._second.value = ""
            self.dismiss(text)

    def action_back(self) -> None:
        """Leave without one."""
        self._first.value = self._second.value = ""
        self.dismiss(None)

    def _say(self, text: str) -> None:
        self._note.update(Content(text))

"""Asking for the passphrase of the encrypted file in which secrets are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.screens.typed import Typed

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
        self._first = Typed("passphrase", self._entered, password=True)
        self._second = Typed("once more", self._entered, password=True)
        self._note = Static(classes="bad")
        self.gone = asyncio.Event()
        """Set when it is on the screen no longer."""

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
        self.set_focus(self._first)

    def _entered(self, line: Input) -> None:
        if self._new and line is self._first:
            self.set_focus(self._second)
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
            self.set_focus(self._second)
        else:
            self._first.value = self._second.value = ""
            self.dismiss(text)

    def on_unmount(self) -> None:
        """Whoever wants to ask again may."""
        self.gone.set()

    def action_back(self) -> None:
        """Leave without one."""
        self._first.value = self._second.value = ""
        self.dismiss(None)

    def _say(self, text: str) -> None:
        self._note.update(Content(text))

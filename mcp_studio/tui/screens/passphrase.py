"""Asking for the passphrase of the encrypted file in which secrets are kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from concurrent.futures import CancelledError

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.safetext import safe
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.vault.base import AskPassphrase
from mcp_studio.vault.file import file_in

_SHORTEST = 8
"""Characters of a new passphrase."""
_SOON = 20.0
"""Seconds after an answer in which being asked again means that it was not the right one."""
_REST = 10.0
"""Seconds for which nobody is asked again who gave none."""


class Passphrase(Dialog[str]):
    """Answers the passphrase; None where nobody gave one.

    Args:
        reason: what it is for, in a sentence.
        new: it is chosen now: it is typed twice.
    """

    DEFAULT_CLASSES = "-small"
    choices = (Choice("submit", "Unlock", "primary"), Choice("back", "Cancel"))
    first = getters.query_one("#first", Input)
    second = getters.query_one("#second", Input)

    def __init__(self, reason: str, *, new: bool) -> None:
        super().__init__()
        self._reason = reason
        self._new = new

    def heading(self) -> str:
        return "New passphrase" if self._new else "Passphrase"

    def body(self) -> Iterable[Widget]:
        yield Static(Content(safe(self._reason, 800, lines=True)), classes="gap")
        yield Input(placeholder="passphrase", id="first", password=True, compact=True)
        yield Input(placeholder="once more", id="second", password=True, compact=True)
        yield Static(id="problem", classes="bad", markup=False)

    def on_mount(self) -> None:
        self.second.display = self._new
        self.first.focus()

    @on(Input.Submitted, "#first")
    def go_on(self) -> None:
        if self._new and not self.second.value:
            self.second.focus()
        else:
            self.action_submit()

    @on(Input.Submitted, "#second")
    def action_submit(self) -> None:
        problem = ""
        if not self.first.value:
            problem = "A passphrase is required."
        elif self._new and len(self.first.value) < _SHORTEST:
            problem = f"A passphrase must have at least {_SHORTEST} characters."
        elif self._new and self.first.value != self.second.value:
            problem = "The two are not the same."
        if problem:
            self.query_one("#problem", Static).update(problem)
        else:
            self.dismiss(self.first.value)

    @staticmethod
    def asker(app: StudioApp) -> AskPassphrase:
        """What asks for the passphrase, for any thread but that of the app; one question at a time."""
        return PassphraseAsker(app, asyncio.get_running_loop()).ask


class PassphraseAsker:
    """Asks one question at a time.

    Args:
        loop: that of the app.
    """

    def __init__(self, app: StudioApp, loop: asyncio.AbstractEventLoop) -> None:
        self._app = app
        self._loop = loop
        self._turn = asyncio.Lock()
        self._answered = self._refused = -_REST

    def ask(self, new: bool) -> str:
        """The passphrase; empty where nobody gave one."""
        try:
            return asyncio.run_coroutine_threadsafe(self._ask(new), self._loop).result()
        except (CancelledError, RuntimeError):  # the app has ended meanwhile
            return ""

    async def _ask(self, new: bool) -> str:
        async with self._turn:
            now = time.monotonic()
            if not new and now - self._refused < _REST:
                return ""
            again = not new and now - self._answered < _SOON
            done: asyncio.Future[str] = self._loop.create_future()

            def take(text: str | None) -> None:
                if not done.done():
                    done.set_result(text or "")

            dialog = Passphrase(_reason(self._app, new=new, again=again), new=new)
            self._app.call_later(self._app.push_screen, dialog, take)
            text = await done
            if text:
                self._answered = time.monotonic()
            else:
                self._refused = time.monotonic()
            return text


def _reason(app: StudioApp, *, new: bool, again: bool) -> str:
    file = file_in(app.studio.paths.state)
    if new:
        return f"Tokens and secrets will be kept in {file}, encrypted under a passphrase that you choose now."
    first = "That was not the passphrase of the file. " if again else ""
    return (
        f"{first}Tokens and secrets are kept in {file}, which is encrypted. Its passphrase opens it for this session."
    )

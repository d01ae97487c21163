"""What the studio asks of a person about the vault: its passphrase, and whether secrets go there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from concurrent.futures import CancelledError
from typing import Any

from textual import on
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.config.model import ServerConfig
from mcp_studio.config.secrets import offers
from mcp_studio.present import units
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.screens.dialog import Choice, Choose, Dialog
from mcp_studio.vault.base import beside
from mcp_studio.vault.file import file_in
from mcp_studio.vault.keyring import move

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

    def __init__(self, reason: str, *, new: bool) -> None:
        super().__init__("New passphrase" if new else "Passphrase")
        self._reason = reason
        self._new = new

    def body(self) -> Iterable[Widget]:
        yield Static(Content(safe(self._reason, 800, lines=True)), classes="gap")
        for hint in ("passphrase", "once more") if self._new else ("passphrase",):
            yield Input(placeholder=hint, password=True, compact=True)

    @on(Input.Submitted)
    def action_submit(self) -> None:
        typed = [field.value for field in self.query(Input)]
        if not typed[0]:
            problem = "A passphrase is required."
        elif self._new and len(typed[0]) < _SHORTEST:
            problem = f"A passphrase must have at least {_SHORTEST} characters."
        elif not typed[-1]:
            problem = ""
            self.query(Input).last().focus()
        elif typed[0] != typed[-1]:
            problem = "The two are not the same."
        else:
            self.dismiss(typed[0])
            return
        self.refuse(problem)


class PassphraseAsker:
    """Asks for the passphrase from any thread but that of the app, in whose loop it is made; once at a time."""

    def __init__(self, app: StudioApp) -> None:
        self._app = app
        self._loop = asyncio.get_running_loop()
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
            now, file = time.monotonic(), file_in(self._app.studio.paths.state)
            if new:
                reason = (
                    f"Tokens and secrets will be stored in {file}, encrypted under a passphrase that you choose now."
                )
            elif now - self._refused < _REST:
                return ""
            else:
                again = "That was not the passphrase of the file. " if now - self._answered < _SOON else ""
                reason = f"{again}Tokens and secrets are stored in {file}, which is encrypted. Its passphrase opens it."
            done: asyncio.Future[str | None] = self._loop.create_future()
            dialog = Passphrase(reason, new=new)
            self._app.call_later(self._app.push_screen, dialog, lambda text: done.done() or done.set_result(text))
            if text := await done:
                self._answered = time.monotonic()
            else:
                self._refused = time.monotonic()
            return text or ""


async def offered(screen: Screen[Any], redactor: Redactor, servers: list[ServerConfig]) -> list[ServerConfig] | None:
    """The entries as they are to be written, once the person was asked about secrets in clear; None where they leave.

    Raises:
        ConfigError: the secrets cannot be kept: why, and what else there is.
    """
    found = [one for server in servers for one in offers(server)]
    if not found:
        return servers
    them = "it" if len(found) == 1 else "them"
    options = (
        ("keep", f"Keep {them} in the keyring, and write ${{keyring:{found[0].name}}}"),
        ("clear", f"Write {them} into the file in clear"),
    )
    places = ", ".join(dict.fromkeys(safe(one.key, 60) for one in found))
    title = f"{units.plural(len(found), 'secret')} in clear: {places}"
    match await screen.app.push_screen_wait(Choose(title, options, "keep")):
        case "keep":
            return await beside(move, servers, redactor)
        case "clear":
            return servers
        case _:
            return None

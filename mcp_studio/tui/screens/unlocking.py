"""Asking for the passphrase of the encrypted file, from whatever thread needs it."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

from mcp_studio.tui.screens.passphrase import PassphraseDialog
from mcp_studio.vault.file import file_in

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp

_SOON = 20.0
"""Seconds after an answer in which being asked again means that it was not the right one."""
_REST = 10.0
"""Seconds for which nobody is asked again who gave none, unless they are at something that needs it."""


class Unlocking:
    """Asks one question at a time.

    Args:
        loop: that of the app.
    """

    def __init__(self, app: StudioApp, loop: asyncio.AbstractEventLoop) -> None:
        self._app = app
        self._loop = loop
        self._turn = asyncio.Lock()
        self._given = self._refused = -_REST

    def ask(self, new: bool) -> str:
        """The passphrase; empty where nobody gave one. For other threads than that of the app."""
        try:
            return asyncio.run_coroutine_threadsafe(self._ask(new), self._loop).result()
        except (CancelledError, RuntimeError):  # the app has ended meanwhile
            return ""

    async def _ask(self, new: bool) -> str:
        async with self._turn:
            now, app = time.monotonic(), self._app
            if not new and now - self._refused < _REST and app.screen is app.main:
                return ""
            again = not new and now - self._given < _SOON
            done: asyncio.Future[str] = self._loop.create_future()
            dialog = PassphraseDialog(_reason(app, new=new, again=again), new=new)

            def take(text: str | None) -> None:
                if not done.done():
                    done.set_result(text or "")

            app.call_later(lambda: app.push_screen(dialog, take))
            text = await done
            # Another dialog before this one is gone would come under the screen below it.
            await dialog.gone.wait()
            if text:
                self._given, self._refused = time.monotonic(), -_REST
            else:
                self._refused = time.monotonic()
            return text


def _reason(app: StudioApp, *, new: bool, again: bool) -> str:
    file = file_in(app.studio.paths.state)
    if new:
        return f"Tokens and secrets will be kept in {file}, encrypted under a passphrase that you choose now."
    first = "That was not the passphrase of the file. Once more: " if again else ""
    return (
        f"{first}Tokens and secrets are kept in {file}, which is encrypted. Its passphrase opens it for this session."
    )

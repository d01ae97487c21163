"""Asking for the passphrase of the encrypted file, from whatever thread needs it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

from mcp_studio.tui.screens.passphrase import PassphraseDialog
from mcp_studio.vault.file import file_in

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp

_SOON = 20.0
"""Seconds after an answer in which being asked again means that it was not the right one."""


def asking(app: StudioApp, loop: asyncio.AbstractEventLoop) -> Callable[[bool], str]:
    """A function that asks, for threads other than the one of the app's loop; an empty answer is none."""
    answered = [0.0]

    async def ask(new: bool) -> str:
        done: asyncio.Future[str] = loop.create_future()

        def take(text: str | None) -> None:
            answered[0] = time.monotonic()
            if not done.done():
                done.set_result(text or "")

        again = not new and time.monotonic() - answered[0] < _SOON
        dialog = PassphraseDialog(_reason(app, new=new, again=again), new=new)
        app.call_later(lambda: app.push_screen(dialog, take))
        return await done

    def from_thread(new: bool) -> str:
        try:
            return asyncio.run_coroutine_threadsafe(ask(new), loop).result()
        except (CancelledError, RuntimeError):  # the app has ended meanwhile
            return ""

    return from_thread


def _reason(app: StudioApp, *, new: bool, again: bool) -> str:
    file = file_in(app.studio.paths.state)
    if new:
        return f"Tokens and secrets will be kept in {file}, encrypted under a passphrase that you choose now."
    first = "That was not the passphrase of the file. Once more: " if again else ""
    return (
        f"{first}Tokens and secrets are kept in {file}, which is encrypted. Its passphrase opens it for this session."
    )

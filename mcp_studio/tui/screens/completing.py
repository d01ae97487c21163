"""Asking a server for completions while something is typed into the open form."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mcp_studio.errors import StudioError, Unreachable
from mcp_studio.safetext import safe
from mcp_studio.tui.form.offer import Offer

if TYPE_CHECKING:
    from mcp_studio.tui.form.offer import Complete
    from mcp_studio.tui.opened import Opened
    from mcp_studio.tui.screens.main import MainScreen


class Completing:
    """Completions of the open prompt or template."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._studio = screen.studio
        self._said = ""

    def of(self, opened: Opened) -> Complete | None:
        """What asks the server while something is typed; only where it can be asked."""
        return partial(self._complete, opened) if opened.entry.ref.kind in ("prompt", "template") else None

    async def _complete(self, opened: Opened, argument: str, value: str) -> Offer:
        """Ask the server; why it does not answer is said once, not with every letter."""
        if opened is not self._screen.calling.opened:
            return Offer()  # another entry has been opened meanwhile
        ref = opened.entry.ref
        known = {name: text for name, text in opened.words().items() if name != argument and text}
        if ref.server not in self._studio.manager.names() or self._studio.manager.status(ref.server).state != "ready":
            return Offer()
        try:
            found = await self._studio.caller.complete(ref, argument, value, known)
        except Unreachable:
            return Offer()  # the state of the server says it
        except StudioError as error:
            if self._said != error.message:
                self._said = error.message
                self._screen.studio_app.say(f"No completions from {safe(ref.server, 60)}: {safe(error.message, 200)}")
            return Offer()
        self._said = ""
        return Offer(found.values, found.count)

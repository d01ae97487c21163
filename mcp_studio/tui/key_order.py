"""Keys act in the order in which they were typed.

Textual looks at bindings with priority before the focused widget has worked off the keys that came earlier, so that
text and `^j` typed at once would call before the text is there. Here the next key is held back until the one before
has been handled by the widget it went to, and everything that came of it has risen to the app.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from textual.events import Key
from textual.message_pump import MessagePump
from textual.widget import Widget

_PATIENCE = 0.25
"""Seconds that a key is waited for at the most: a widget that hangs must not take the keyboard along."""
_MOST = 4_096
"""Keys held back; a paste without brackets may be long."""


class KeyOrder:
    """Lets one key act at a time.

    Args:
        app: the last to hear of a key.
        act: does what a key does.
    """

    def __init__(self, app: MessagePump, act: Callable[[Key], Awaitable[None]]) -> None:
        self._app = app
        self._act = act
        self._held: deque[Key] = deque(maxlen=_MOST)
        self._busy = False
        self._number = 0
        self._timer: asyncio.TimerHandle | None = None

    async def take(self, key: Key) -> None:
        """Act on a key now, or when those before it are done."""
        if self._busy:
            self._held.append(key)
        else:
            self._busy = True
            await self._act(key)

    def follow(self, focused: Widget | None) -> None:
        """A key was handed to this widget: it is done when word of it has been through every queue above."""
        self._number += 1
        above = [focused, *(node for node in focused.ancestors if isinstance(node, Widget))] if focused else []
        self._timer = asyncio.get_running_loop().call_later(_PATIENCE, self._hop, [], self._number)
        self._hop(above, self._number)

    def _hop(self, above: list[Widget], number: int) -> None:
        for place, widget in enumerate(above):
            if widget.call_later(self._hop, above[place + 1 :], number):
                return
        self._app.call_later(self._done, number)

    async def _done(self, number: int) -> None:
        if number != self._number or not self._busy:
            return
        if self._timer is not None:
            self._timer.cancel()
        if self._held:
            await self._act(self._held.popleft())
        else:
            self._busy = False

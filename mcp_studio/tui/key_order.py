"""What a person does acts in the order in which it was done: keys, what is pasted, and the mouse.

Textual looks at bindings with priority before the focused widget has worked off the keys that came earlier, so that
text and `^j` typed at once would call before the text is there; and it runs other bindings when a key has risen to the
app, so that what is pasted after `end` would arrive before the cursor has moved. Here the next thing is held back until
the key, paste or click before has been handled by the widget it went to, and everything that came of it has come to
pass: another focus, another screen.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

from textual.app import App
from textual.errors import NoWidget
from textual.events import Callback, Event, Key, MouseDown, MouseEvent, MouseUp, Paste
from textual.widget import Widget

_TICK = 0.01
"""Seconds between two looks at whether it takes too long."""
_PATIENCE = 25
"""Ticks that a key is waited for at the most: a widget that hangs must not take the keyboard along.

Where the whole program stands still, because a machine has much else to do, a tick is late and still is one.
"""
_PASSES = 2
"""Ways of the word of a key through all queues, before the next one acts."""


def waits_for(event: Event) -> bool:
    """Whether what comes next has to wait until this is done: not for the mouse's way nor for its wheel."""
    return isinstance(event, Key | Paste | MouseDown | MouseUp)


class KeyOrder:
    """Lets one key, paste or click act at a time; none is lost, however many wait.

    Args:
        app: the last to hear of a key.
        act: does what a key, a paste or the mouse does, and tells `follow` where it went.
    """

    def __init__(self, app: App[int], act: Callable[[Event], Awaitable[None]]) -> None:
        self._app = app
        self._act = act
        self._held: deque[Event] = deque()
        self._busy = False
        self._number = 0
        self._left = self._passes = 0
        self._target: Widget | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def take(self, event: Event) -> None:
        """Act on it now, or when what came before is done."""
        self._held.append(event)
        if not self._busy:
            await self._go_on()

    def target(self, event: Event) -> Widget:
        """Where it goes: to what has the focus, or is under the mouse."""
        if isinstance(event, MouseEvent):
            with suppress(NoWidget):
                return self._app.mouse_captured or self._app.get_widget_at(event.x, event.y)[0]
            return self._app.screen
        return self._app.focused or self._app.screen

    def follow(self, target: Widget) -> None:
        """A key, paste or click was handed to this widget.

        It is done when word of it has been through every queue above, twice: by then also what they told each other
        about it has been heard, and a screen that was opened by it is there.
        """
        self._number += 1
        self._target = target
        self._tick(self._number)
        self._hop(self._number, list(_from(target)))

    def expect(self, seconds: float) -> None:
        """Whoever acts on it may take so long, and tells others only then: what comes next waits for them, too."""
        self._left = max(self._left, round(seconds / _TICK))
        self._passes += 1

    def _tick(self, number: int) -> None:
        if number == self._number and self._left:
            self._left -= 1
            self._timer = asyncio.get_running_loop().call_later(_TICK, self._tick, number)
        elif number == self._number:
            self._passes = 1
            self._hop(number, [])

    def _hop(self, number: int, above: list[Widget]) -> None:
        for place, widget in enumerate(above):
            if widget.post_message(Callback(callback=_Step(self._hop, number, above[place + 1 :]))):
                return
        self._app.post_message(Callback(callback=_Step(self._arrived, number)))

    async def _arrived(self, number: int) -> None:
        if number != self._number or not self._busy:
            return
        self._passes -= 1
        if self._passes and self._target is not None:
            now = self._app.focused or self._app.screen
            self._hop(number, list(dict.fromkeys((*_from(self._target), *_from(now)))))
            return
        if self._timer is not None:
            self._timer.cancel()
        await self._go_on()

    async def _go_on(self) -> None:
        self._busy = False
        while self._held and not self._busy:
            event = self._held.popleft()
            self._busy, self._left, self._passes = waits_for(event), _PATIENCE, _PASSES
            await self._act(event)


class _Step:
    """What is to be called, with what. Of a `partial` Textual finds out each time how many parameters it has."""

    _param_count = 0

    def __init__(self, call: Callable[..., Awaitable[None] | None], *given: object) -> None:
        self._call, self._given = call, given

    async def __call__(self) -> None:
        if (more := self._call(*self._given)) is not None:
            await more


def _from(widget: Widget) -> Iterable[Widget]:
    return (node for node in widget.ancestors_with_self if isinstance(node, Widget))

"""The only listener to the studio's signals: messages tell the main screen which stores have changed, and one widget
what it alone follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from textual.message import Message
from textual.message_pump import MessagePump

if TYPE_CHECKING:
    from mcp_studio.call.call import Call
    from mcp_studio.session.inbox import Answer, InputRequest
    from mcp_studio.signal import Signal
    from mcp_studio.tui.app import StudioApp

PAUSE = 0.04
"""The least number of seconds between two messages, so that a storm of changes costs at most 25 repaints per second."""
Store = Literal["servers", "resources", "calls", "inbox", "tasks", "trace"]
"""Servers with everything they list, subscribed resources, the history of calls, requests, tasks, messages."""


@dataclass
class StudioChanged(Message):
    """These stores have changed; widgets read from them what they show."""

    stores: frozenset[Store]


@dataclass
class CallChanged(Message):
    """A call has made progress, waits for the person, or has ended."""

    call: Call
    ended: bool


def relay(signal: Signal[Any], target: MessagePump, message: Callable[[Any], Message]) -> Callable[[], None]:
    """Post messages to a widget that alone follows a signal; the returned function ends that."""
    return signal.connect(lambda event: target.post_message(message(event)))


class Bridge:
    """Gathers signals into `StudioChanged` messages: the first is posted at once, the next ones after a pause."""

    def __init__(self, app: StudioApp, target: MessagePump) -> None:
        self._app = app
        self._target = target
        self._changed: set[Store] = set()
        self.waiting: asyncio.Handle | None = None
        """The timer that posts the gathered changes; None if there are no changes."""
        self._last = 0.0

    def open(self) -> StudioChanged:
        """Start listening; gives all stores, for they may have changed since the panes were made."""
        studio = self._app.studio
        signals: dict[Store, list[Signal[Any]]] = {
            "servers": [studio.manager.changed, studio.trace.wronged, studio.catalog.changed],
            "resources": [studio.subscriptions.changed],
            "calls": [studio.memory.history.changed],
            "inbox": [studio.inbox.changed],
            "tasks": [studio.tasks.changed, studio.tasks.removed],
            "trace": [studio.trace.changed],
        }
        for store, changes in signals.items():
            for change in changes:
                change.connect(partial(self._note, store))
        studio.rules.answered.connect(self._count_ruled)
        studio.trace.troubled.connect(lambda why: self._app.say(why, "warning"))
        return StudioChanged(frozenset(signals))

    def _count_ruled(self, answered: tuple[InputRequest, Answer]) -> None:
        """Count an answer of a rule for the newest call that it can belong to."""
        for call in [one for one in self._app.studio.caller.running if str(one.ref) == answered[0].subject][-1:]:
            call.ruled += 1

    def _note(self, store: Store, which: object = None) -> None:
        self._changed.add(store)
        if self.waiting is None:
            loop = asyncio.get_running_loop()
            self.waiting = loop.call_at(max(loop.time(), self._last + PAUSE), self._flush)

    def _flush(self) -> None:
        self.waiting = None
        self._last = asyncio.get_running_loop().time()
        stores, self._changed = frozenset(self._changed), set()
        self._target.post_message(StudioChanged(stores))

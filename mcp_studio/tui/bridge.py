"""The only place that listens to the studio's stores: it tells the main screen what changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from textual.message import Message
from textual.message_pump import MessagePump

from mcp_studio.catalog.listing import EntryKind, Ref

if TYPE_CHECKING:
    from mcp_studio.studio import Studio

PAUSE = 0.04
"""Seconds between two messages, at least: a storm of changes costs 25 repaints a second."""


@dataclass
class StudioChanged(Message):
    """Something in the stores is another than it was; readers pull what they show."""

    servers: set[str] = field(default_factory=set[str])
    """Servers whose connection, or what is wrong with them, has changed."""
    listings: set[tuple[str, EntryKind]] = field(default_factory=set[tuple[str, EntryKind]])
    """Lists that were read, or forgotten."""
    resources: set[str] = field(default_factory=set[str])
    """Servers of which a subscribed resource has changed."""
    calls: set[Ref] = field(default_factory=set[Ref])
    """Entries of which a call was added to the history, or deleted."""
    inbox: bool = False
    tasks: bool = False


class Bridge:
    """Collects signals and posts one `StudioChanged` for many of them: at once after a rest, then paced."""

    def __init__(self, studio: Studio, target: MessagePump) -> None:
        self._studio = studio
        self._target = target
        self._next = StudioChanged()
        self._handle: asyncio.Handle | None = None
        self._last = 0.0
        self._disconnects: list[Callable[[], None]] = []

    def open(self) -> None:
        """Start listening. Everything is told once: it may have changed since the panes were made."""
        studio = self._studio
        self._note("inbox")
        self._note("tasks")
        self._next.servers.update(studio.manager.names())
        self._disconnects = [
            studio.manager.changed.connect(lambda server: self._note("servers", server)),
            studio.trace.wronged.connect(lambda server: self._note("servers", server)),
            studio.catalog.changed.connect(lambda listing: self._note("listings", listing)),
            studio.subscriptions.changed.connect(lambda server: self._note("resources", server)),
            studio.memory.changed.connect(lambda ref: self._note("calls", ref)),
            studio.inbox.changed.connect(lambda request: self._note("inbox")),
            studio.tasks.changed.connect(lambda task: self._note("tasks")),
            studio.tasks.removed.connect(lambda task: self._note("tasks")),
        ]

    def close(self) -> None:
        """Stop listening; nothing is posted any more."""
        for disconnect in self._disconnects:
            disconnect()
        if self._handle:
            self._handle.cancel()

    @property
    def waiting(self) -> bool:
        """Whether something changed that was not posted yet."""
        return self._handle is not None

    def _note(self, what: str, which: object = None) -> None:
        if which is None:
            setattr(self._next, what, True)
        else:
            getattr(self._next, what).add(which)
        if self._handle is None:
            loop = asyncio.get_running_loop()
            self._handle = loop.call_at(max(loop.time(), self._last + PAUSE), self._flush)

    def _flush(self) -> None:
        self._handle = None
        self._last = asyncio.get_running_loop().time()
        message, self._next = self._next, StudioChanged()
        self._target.post_message(message)

"""The only place that listens to the studio's stores: it tells the screen what changed, seldom enough to draw."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message
from textual.message_pump import MessagePump

from mcp_studio.catalog.listing import KINDS, EntryKind, Ref
from mcp_studio.session.inbox import InputRequest
from mcp_studio.session.tasks import Task
from mcp_studio.tui.large import Large

if TYPE_CHECKING:
    from mcp_studio.studio import Studio

PAUSE = 0.04
"""Seconds between two messages, at least: a storm of changes costs no more than 25 repaints a second."""


class StudioChanged(Message):
    """Something in the stores is another than it was."""

    def __init__(
        self,
        servers: set[str],
        kinds: set[EntryKind],
        inbox: bool,
        watched: frozenset[str] = frozenset(),
        tasks: bool = False,
        called: frozenset[Ref] = frozenset(),
    ) -> None:
        super().__init__()
        self.watched = watched
        """Servers of which a watched resource is another."""
        self.servers = servers
        self.kinds = kinds
        self.inbox = inbox
        self.tasks = tasks
        """A task is new, another than before, or gone."""
        self.called = called
        """Entries of which a call was remembered, or forgotten."""


class Bridge:
    """Collects signals and posts one `StudioChanged` for many of them: at once after a rest, then paced."""

    def __init__(self, studio: Studio, target: MessagePump) -> None:
        self._studio = studio
        self._target = target
        self._servers: set[str] = set()
        self._kinds: set[EntryKind] = set()
        self._inbox = False
        self._watched: set[str] = set()
        self._tasks = False
        self._called: set[Ref] = set()
        self._handle: asyncio.Handle | None = None
        self._last = 0.0
        self._ends: list[Callable[[], None]] = []
        self._large = Large()

    def open(self) -> None:
        """Start listening."""
        studio = self._studio
        self._ends = [
            studio.manager.changed.connect(self._server_changed),
            studio.catalog.changed.connect(self._catalog_changed),
            studio.trace.wronged.connect(self._server_changed),
            studio.inbox.changed.connect(self._inbox_changed),
            studio.subscriptions.changed.connect(self._watched_changed),
            studio.tasks.changed.connect(self._task_changed),
            studio.tasks.removed.connect(self._task_changed),
            studio.memory.changed.connect(self._memory_changed),
        ]
        self._measure()

    def close(self) -> None:
        """Stop listening; nothing is posted any more."""
        for end in self._ends:
            end()
        self._ends = []
        self._large.close()
        if self._handle:
            self._handle.cancel()

    def _server_changed(self, name: str) -> None:
        self._servers.add(name)
        self._soon()

    def _catalog_changed(self, change: tuple[str, EntryKind]) -> None:
        self._kinds.add(change[1])
        self._soon()

    def _inbox_changed(self, request: InputRequest) -> None:
        self._inbox = True
        self._soon()

    def _watched_changed(self, server: str) -> None:
        self._watched.add(server)
        self._soon()

    def _task_changed(self, task: Task) -> None:
        self._tasks = True
        self._soon()

    def _memory_changed(self, ref: Ref) -> None:
        self._called.add(ref)
        self._soon()

    def _soon(self) -> None:
        if self._handle is None:
            loop = asyncio.get_running_loop()
            self._handle = loop.call_at(max(loop.time(), self._last + PAUSE), self._flush)

    def _flush(self) -> None:
        self._handle = None
        self._last = asyncio.get_running_loop().time()
        watched, called = frozenset(self._watched), frozenset(self._called)
        if self._kinds:
            self._measure()
        message = StudioChanged(self._servers, self._kinds, self._inbox, watched, self._tasks, called)
        self._servers, self._kinds, self._watched, self._called = set(), set(), set(), set()
        self._inbox = self._tasks = False
        self._target.post_message(message)

    def _measure(self) -> None:
        catalog = self._studio.catalog
        self._large.grown(sum(len(catalog.listing(name, kind).entries) for name in catalog.servers for kind in KINDS))

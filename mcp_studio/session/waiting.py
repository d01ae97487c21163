"""The requests of one connection that have no answer yet: settled, told of progress, paused, given up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from mcp_studio.errors import StudioError
from mcp_studio.protocol.core import ClientCore
from mcp_studio.protocol.events import Answered, Progressed, Refused
from mcp_studio.protocol.outgoing import Outgoing, RequestId
from mcp_studio.session.deadline import Deadline
from mcp_studio.session.inflight import InFlight, Running
from mcp_studio.session.request import OnProgress, Reply, Waiter, fail


class Waiting:
    """Who waits for what.

    Args:
        inflight: shows them among those of all servers.
        stop: gives a request up, for whoever cancels it there.
    """

    def __init__(self, inflight: InFlight, server: str, core: ClientCore, stop: Callable[[RequestId], None]) -> None:
        self._inflight = inflight
        self._server = server
        self._core = core
        self._stop = stop
        self._waiters: dict[RequestId, Waiter] = {}
        self._lasting: dict[RequestId, tuple[OnProgress, Deadline]] = {}
        self._pauses = 0

    @property
    def calls(self) -> set[RequestId]:
        """The open requests that want to hear of progress: calls."""
        return {identity for identity, waiter in self._waiters.items() if waiter.on_progress is not None}

    def add(self, out: Outgoing, deadline: Deadline, on_progress: OnProgress | None) -> Waiter:
        """A request is about to be sent."""
        identity = out.id if out.id is not None else 0
        call = on_progress is not None
        shown = Running(self._server, out.method, out.target, identity, lambda: self._cancel(identity), call)
        waiter = Waiter(asyncio.get_running_loop().create_future(), deadline, on_progress, shown)
        self._waiters[identity] = waiter
        self._inflight.add(shown)
        return waiter

    def begin(self, deadline: Deadline) -> None:
        """A deadline has started; it stands still at once where a person is being asked."""
        if self._pauses:
            deadline.pause()

    def remove(self, identity: RequestId) -> None:
        """A request is answered, or nobody waits any more."""
        if waiter := self._waiters.pop(identity, None):
            self._inflight.remove(waiter.shown)

    @contextmanager
    def lasting(self, identity: RequestId, on_progress: OnProgress, deadline: Deadline) -> Generator[None]:
        """Go on after the answer with its progress and its deadline, as a task of 2025-11-25 makes it."""
        self._lasting[identity] = on_progress, deadline
        self._core.lasting.add(identity)
        try:
            yield
        finally:
            del self._lasting[identity]
            self._core.lasting.discard(identity)

    def pause(self) -> None:
        """A person is being asked by this server: no deadline runs, also of requests that follow; pauses nest."""
        self._pauses += 1
        if self._pauses == 1:
            for waiter in self._waiters.values():
                waiter.deadline.pause()
                waiter.shown.paused = True
            for _, deadline in self._lasting.values():
                deadline.pause()

    def resume(self) -> None:
        """The person has answered."""
        self._pauses -= 1
        if self._pauses == 0:
            for waiter in self._waiters.values():
                waiter.deadline.resume()
                waiter.shown.paused = False
            for _, deadline in self._lasting.values():
                deadline.resume()

    def answered(self, event: Answered | Refused, size: int) -> None:
        """An answer came; `size` is that of its frame."""
        if (waiter := self._waiters.get(event.id)) and not waiter.answer.done():
            waiter.answer.set_result(Reply(event, size, event.id))

    def progressed(self, event: Progressed) -> None:
        """Progress came: the idle limit starts anew."""
        waiter = self._waiters.get(event.id)
        if waiter is None:
            if told := self._lasting.get(event.id):
                told[0](event.progress, event.total, event.message)
            return
        waiter.deadline.extend()
        shown = waiter.shown
        shown.done, shown.total, shown.message = event.progress, event.total, event.message
        shown.progressed = time.monotonic()
        if waiter.on_progress is not None:
            waiter.on_progress(event.progress, event.total, event.message)

    def fail(self, identity: RequestId, error: StudioError) -> None:
        """There will be no usable answer to a request."""
        if waiter := self._waiters.get(identity):
            fail(waiter.answer, error)

    def fail_all(self, error: Callable[[], StudioError]) -> None:
        """There will be no answers any more; each waiter gets an error of its own."""
        for waiter in self._waiters.values():
            fail(waiter.answer, error())

    def _cancel(self, identity: RequestId) -> None:
        if identity in self._waiters:
            self._stop(identity)

"""The tasks of one transport, or of one connection: none of them outlives it, and none fails unheard."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from mcp_studio.errors import StudioError
from mcp_studio.protocol.outgoing import Outgoing

log = logging.getLogger(__name__)


class Tasks:
    """Starts tasks and ends them together.

    Args:
        failed: told of an error that nobody foresaw, which is logged: it is that of the message that the task was
            about, or of the whole where that is None.
    """

    def __init__(self, failed: Callable[[Outgoing | None, StudioError], None]) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed = failed

    def spawn(self, work: Coroutine[Any, Any, None], out: Outgoing | None = None) -> asyncio.Task[None]:
        """Start a task, about a message or about the whole."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(partial(self._done, out))
        return task

    def cancel(self) -> None:
        """Cancel all but the task that calls this."""
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()

    async def end(self, seconds: float) -> None:
        """Cancel all and wait for their ends, for so long at most."""
        self.cancel()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=seconds)

    def _done(self, out: Outgoing | None, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        problem = None if task.cancelled() else task.exception()
        if problem is not None:
            log.error("a task of a connection failed", exc_info=problem)
            self._failed(out, StudioError(f"The exchange failed unexpectedly: {type(problem).__name__}: {problem}"))

"""The tasks of one transport: each message's own, none of which outlives the transport."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial

from mcp_studio.errors import StudioError
from mcp_studio.protocol.outgoing import Outgoing


class Tasks:
    """Starts tasks and ends them together.

    Args:
        failed: told of an error that nobody foresaw: it is that of the message that the task was about, or of the
            whole transport where that is None.
    """

    def __init__(self, failed: Callable[[Outgoing | None, StudioError], None]) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed = failed

    def spawn(self, work: Coroutine[None, None, None], out: Outgoing | None = None) -> asyncio.Task[None]:
        """Start a task, about a message or about the transport itself."""
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
            self._failed(out, StudioError(f"The exchange failed unexpectedly: {type(problem).__name__}: {problem}"))

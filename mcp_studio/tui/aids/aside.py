"""Waiting for the disk, or for another program, where that may take for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from mcp_studio.errors import StudioError

T = TypeVar("T")


async def aside(work: Callable[[], T]) -> T:
    """Do something in a thread of its own. One that never comes back holds up neither other threads nor leaving.

    Raises:
        OSError, ValueError, StudioError: what the work raised; it may raise nothing else.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(answer: Callable[[], None]) -> None:
        if not done.done():
            answer()

    def run() -> None:
        try:
            result = work()
        except (OSError, ValueError, StudioError) as problem:
            answer = lambda problem=problem: done.set_exception(problem)  # noqa: E731
        else:
            answer = lambda: done.set_result(result)  # noqa: E731
        with suppress(RuntimeError):  # the loop may have ended meanwhile
            loop.call_soon_threadsafe(tell, answer)

    threading.Thread(target=run, name="aside", daemon=True).start()
    return await done


class Latest(Generic[T]):
    """Answers to requests of which only the newest counts, one at a time: a disk that hangs holds a single thread."""

    def __init__(self) -> None:
        self._wanted: Callable[[], T] | None = None
        self._busy = False

    async def ask(self, work: Callable[[], T], take: Callable[[T], None]) -> None:
        """Have the work done and its result taken, unless it is overtaken by a newer request."""
        self._wanted = work
        if self._busy:
            return
        self._busy = True
        try:
            while (wanted := self._wanted) is not None:
                result = await aside(wanted)
                if self._wanted is wanted:
                    self._wanted = None
                    take(result)
        finally:
            self._busy = False

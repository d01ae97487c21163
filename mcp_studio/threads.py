"""Work in threads that nobody has to wait for: it neither delays the end of the program nor keeps its caller."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def in_thread(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> Future[T]:
    """Run a function in a thread of its own; the program can end without waiting for it."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work(*args, **named))
        except BaseException as problem:  # boundary: a library of the system may raise anything
            future.set_exception(problem)

    threading.Thread(target=run, name=getattr(work, "__qualname__", None), daemon=True).start()
    return future


async def beside(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Await a function that may wait for a person. Cancelling the caller ends the wait; the function goes on."""
    return await asyncio.wrap_future(in_thread(work, *args, **named))

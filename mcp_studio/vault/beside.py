"""Waiting for a vault without holding up the event loop, other threads, or leaving."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def beside(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Do something that may wait for a person, in a thread of its own that nobody waits for at the end.

    Cancelled, it is not waited for any longer; what it does still happens.

    Raises:
        Exception: what the work raised.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, problem: Exception | None) -> None:
        if done.done():
            return
        if problem is not None:
            done.set_exception(problem)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        answer: tuple[T | None, Exception | None]
        try:
            answer = work(*args, **named), None
        except Exception as problem:  # boundary: whoever waits would do so for ever
            answer = None, problem
        with suppress(RuntimeError):  # the loop may have ended meanwhile
            loop.call_soon_threadsafe(tell, *answer)

    threading.Thread(target=run, name="vault", daemon=True).start()
    return await done

"""Work in threads that nobody has to wait for."""

from __future__ import annotations

import asyncio
import threading

import pytest

from mcp_studio.threads import beside


async def test_what_is_raised_beside_the_loop_comes_back_whatever_it_is() -> None:
    """A library of the system may raise anything: nobody waits for an answer that never comes."""

    def fails(kind: type[Exception]) -> None:
        raise kind("no")

    assert await beside(lambda: 1) == 1
    for kind in (OSError, ValueError, KeyError, MemoryError):
        with pytest.raises(kind):
            await beside(fails, kind)


async def test_whoever_leaves_is_not_held_up() -> None:
    done = threading.Event()
    task = asyncio.create_task(beside(done.wait, 10))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    done.set()

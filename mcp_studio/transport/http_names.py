"""Looking host names up without holding up the end of the process."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress


async def look_up(host: str) -> None:
    """Wait until a host name resolves.

    The event loop looks names up in threads that are joined when the loop ends, and a look-up that hangs would hold
    up quitting for as long. So it is tried first in a thread that nobody waits for; only what resolves goes further.

    Raises:
        OSError: the name does not resolve.
        UnicodeError: it cannot be a host name.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[Exception | None] = loop.create_future()

    def tell(problem: Exception | None) -> None:
        if not found.done():
            found.set_result(problem)

    def look() -> None:
        problem: Exception | None = None
        try:
            socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            problem = error
        with suppress(RuntimeError):  # The loop may have ended meanwhile.
            loop.call_soon_threadsafe(tell, problem)

    threading.Thread(target=look, name=f"look up {host}", daemon=True).start()
    problem = await found
    if problem is not None:
        raise problem

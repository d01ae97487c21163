"""Redacting large bodies in a thread, so that the event loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from mcp_studio.redact import Redactor
from mcp_studio.trace.message import WireMessage

_PATIENCE = 0.3
"""Seconds before a large body is redacted: the result in it is shown first, which needs the interpreter too."""


class Redacting:
    """Gives entries their bodies once they are without secrets.

    Args:
        done: told of each entry that has got its body.
    """

    def __init__(self, redactor: Redactor, done: Callable[[WireMessage], None]) -> None:
        self._redactor = redactor
        self._done = done
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._patient: dict[int, tuple[asyncio.TimerHandle, WireMessage, bytes]] = {}

    def later(self, entry: WireMessage, body: bytes) -> bool:
        """Redact this and put it into the entry; without an event loop at once. Whether it will come later."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            entry.body = self._redactor.bytes(body)
            return False
        self._waiting[entry.number] = loop.create_future()
        self._patient[entry.number] = loop.call_later(_PATIENCE, self._begin, entry, body), entry, body
        return True

    async def finished(self, entry: WireMessage) -> None:
        """Wait until an entry has its body."""
        if (waiting := self._waiting.get(entry.number)) is not None:
            await asyncio.wait((waiting,))

    async def hurry(self, timeout: float) -> None:
        """Give all of them their bodies now; waits at most so many seconds."""
        for timer, entry, body in tuple(self._patient.values()):
            timer.cancel()
            self._begin(entry, body)
        if self._waiting:
            await asyncio.wait(tuple(self._waiting.values()), timeout=timeout)

    def _begin(self, entry: WireMessage, body: bytes) -> None:
        self._patient.pop(entry.number, None)
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, self._redactor.bytes, body).add_done_callback(partial(self._redacted, entry))

    def _redacted(self, entry: WireMessage, future: asyncio.Future[bytes]) -> None:
        if not future.cancelled():
            entry.body = future.result()
        self._waiting.pop(entry.number).set_result(None)
        self._done(entry)

"""The credentials of one connection: who has them is asked when there is something to use, or a request is refused.

Whatever signing in needs is imported then, in a thread: a studio whose servers are programs, or remote ones that nobody
has to sign in to, never has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Protocol

from mcp_studio.transport.credentials import Credentials, HeaderList, Refused
from mcp_studio.transport.tap import Headers


class Clock(Protocol):
    """What measures the time of connecting; fetching a token has bounds of its own and is not counted."""

    def pause(self) -> None:
        """It stands still from now on; pauses nest."""
        ...

    def resume(self) -> None:
        """It goes on."""
        ...


class Signer:
    """Implements `transport.credentials.Credentials`.

    Args:
        load: gives the credentials, or None where there is nothing to sign in to; called once.
        pointless: whether it is known without them that there is nothing to send yet.
    """

    def __init__(
        self,
        load: Callable[[], Awaitable[Credentials | None]],
        pointless: Callable[[], bool],
        clock: Clock | None,
    ) -> None:
        self._load = load
        self._pointless = pointless
        self._clock = clock
        self._loading = asyncio.Lock()
        self._known = False
        self._found: Credentials | None = None

    @property
    def present(self) -> bool:
        """Whether there is anything to send."""
        return self._found is not None and self._found.present

    async def lines(self, method: str, url: str) -> HeaderList:
        """See `Credentials.lines`."""
        if not self._known and self._pointless():
            return []
        with self._paused():
            found = await self._credentials()
            return [] if found is None else await found.lines(method, url)

    def seen(self, url: str, headers: Headers) -> None:
        """See `Credentials.seen`."""
        if self._found is not None:
            self._found.seen(url, headers)

    async def refused(self, refused: Refused) -> bool:
        """See `Credentials.refused`."""
        with self._paused():
            found = await self._credentials()
            return found is not None and await found.refused(refused)

    async def _credentials(self) -> Credentials | None:
        if not self._known:
            async with self._loading:
                if not self._known:
                    self._found = await self._load()
                    self._known = True
        return self._found

    @contextmanager
    def _paused(self) -> Generator[None]:
        if self._clock is None:
            yield
            return
        self._clock.pause()
        try:
            yield
        finally:
            self._clock.resume()

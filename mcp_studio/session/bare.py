"""A connection without a handshake: nothing is sent on it that a person did not write."""

from __future__ import annotations

import asyncio

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import StudioError, Unreachable
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol.core import ClientCore
from mcp_studio.protocol.versions import LATEST_MODERN
from mcp_studio.session.connection import Connection, limit_of
from mcp_studio.session.raw import RawExchange
from mcp_studio.session.state import InFlight
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.transport.base import Opened, Tasks, Transport


class Bare:
    """Open it, `send`, close it; it ends by itself when the server does.

    Questions of the server stay without an answer, unless one is written by hand.

    Args:
        info: our `Implementation` object, for stamps.
    """

    def __init__(self, config: ServerConfig, transport: Transport, tap: ServerTap, limits: Limits, info: Json) -> None:
        self.config = config
        self._limits = limits
        self._tasks = Tasks(lambda _, error: self._connection.closed(error))
        info = info if config.client_info is None else config.client_info
        self._core = core = ClientCore(info, {} if config.capabilities is None else config.capabilities)
        self._connection = Connection(
            transport, core, tap, limits, config.timeouts,
            probe=0, on_event=lambda event: None, spawn=self._tasks.spawn, inflight=InFlight(),
        )  # fmt: skip

    @property
    def ended(self) -> asyncio.Future[StudioError | None]:
        """Settled when it is over: why, or None when it was closed on purpose."""
        return self._connection.ended

    @property
    def stamp(self) -> dict[str, Json]:
        """What a request says in its `_meta` where the server's entry names the stateless era; else nothing."""
        modern = LATEST_MODERN if self.config.era == "modern" else ""
        return self._core.stamp(self.config.protocol_version or modern)

    async def open(self) -> Opened:
        """Start or reach the server.

        Raises:
            StudioError: why it did not work, in words.
        """
        longest = limit_of("connect", self._limits.connect, "limits.connect", self.config.timeouts)
        try:
            async with asyncio.timeout(longest.seconds):
                return await self._connection.open_alone()
        except TimeoutError:
            raise Unreachable(f"No connection within {longest}.") from None

    def spare_id(self) -> int:
        """An id that was not used yet."""
        return self._connection.by_hand.spare_id()

    def send(self, frame: bytes, *, wait: float | None = None, newlines: bool = False) -> RawExchange:
        """Send a frame; see `ByHand.send`."""
        return self._connection.by_hand.send(frame, wait=wait, newlines=newlines)

    async def close(self) -> None:
        """End it in a bounded time; any number of times."""
        await self._tasks.end(self._limits.close)
        try:
            async with asyncio.timeout(self._limits.close + 1):
                await self._connection.close()
        except TimeoutError:
            return

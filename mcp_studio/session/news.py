"""What servers say by themselves, as long as they are connected: changes that were subscribed to, and log messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.session.log_levels import LogLevels
from mcp_studio.session.logs import LogStore
from mcp_studio.session.owner import Seat
from mcp_studio.session.subscriptions import Subscriptions


class News:
    """Subscriptions, log messages and their levels, of all servers.

    Args:
        redact: takes secrets out of a text.
        on_missed: told a server whose lists may have changed while nobody listened.
    """

    def __init__(self, limits: Limits, redact: Callable[[str], str], on_missed: Callable[[str], None]) -> None:
        self.subscriptions = Subscriptions(limits, on_missed)
        self.logs = LogStore(limits, redact)
        self.levels = LogLevels()

    def begin(self, seat: Seat) -> None:
        """A connection is ready."""
        if (connection := seat.connection) is not None:
            self.levels.begin(seat, connection)
            self.subscriptions.begin(seat, connection)

    async def serve(self, seat: Seat, beside: Coroutine[Any, Any, None]) -> None:
        """Tell a connected server what is wanted of it, until cancelled; `beside` runs at the same time."""
        async with asyncio.TaskGroup() as tasks:
            if (connection := seat.connection) is not None:
                tasks.create_task(self.levels.serve(seat, connection))
                tasks.create_task(self.subscriptions.serve(seat))
            tasks.create_task(beside)

    def take(self, seat: Seat, method: str, params: dict[str, Json]) -> None:
        """Take a notification."""
        if method == "notifications/message":
            entry = seat.tap.newest
            request = seat.tap.carrier(entry) if seat.status.modern and entry is not None else ""
            if entry is None:
                self.logs.add(seat.config.name, params)
            else:
                self.logs.add(
                    seat.config.name, params, request=request, entry=entry.number, size=entry.size, plain=seat.tap.plain
                )
        else:
            self.subscriptions.on_notification(seat.config.name, method, params)

    def forget(self, server: str) -> None:
        """A server is gone."""
        self.subscriptions.forget(server)
        self.logs.forget(server)
        self.levels.forget(server)

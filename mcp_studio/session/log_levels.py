"""Which level of log messages is asked of each server, and how each era is told."""

from __future__ import annotations

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ProtocolError, StudioError, UsageError
from mcp_studio.protocol.events import Refused
from mcp_studio.protocol.versions import LOG_LEVELS
from mcp_studio.session.connection import Connection
from mcp_studio.session.owner import Seat


class LogLevels:
    """Levels by server: what the configuration says until a person chooses another one."""

    def __init__(self) -> None:
        self._chosen: dict[str, str] = {}

    def of(self, config: ServerConfig) -> str:
        """The level that is asked for; empty where that is left to the server."""
        return self._chosen.get(config.name, config.log_level)

    def begin(self, seat: Seat, connection: Connection) -> None:
        """A connection is ready: requests of the stateless era carry the level from now on (2026-07-28)."""
        if seat.status.modern:
            connection.core.log_level = self.of(seat.config)

    async def serve(self, seat: Seat, connection: Connection) -> None:
        """Tell a server of the handshake era (logging/setLevel) where it declares logging and a level is wanted."""
        level = self.of(seat.config)
        if not level or seat.status.modern or not _declares(seat):
            return
        try:
            await _tell(connection, level)
        except StudioError as error:
            if not connection.ended.done():
                seat.warn(f"declares logging, but does not take a level: {error.message}")

    async def set(self, seat: Seat, level: str) -> str:
        """Ask for another level from now on, over reconnects too; what that means, in a sentence.

        Args:
            level: one of `LOG_LEVELS`, or empty to leave it to the server.

        Raises:
            UsageError: there is no such level.
            StudioError: the server refuses it, or gives no answer.
        """
        if level and level not in LOG_LEVELS:
            raise UsageError(f"There is no log level {level!r}.", hint=f"Levels are {', '.join(LOG_LEVELS)}.")
        self._chosen[seat.config.name] = level
        connection, name = seat.connection, seat.config.name
        if connection is None:
            return f"{name} is asked for it when it is connected."
        if seat.status.modern:
            connection.core.log_level = level
            return f"Every request to {name} asks for it." if level else f"No request to {name} asks for messages."
        if not _declares(seat):
            return f"{name} does not declare logging; what it sends all the same is shown."
        if not level:
            return f"{name} keeps the level that it has until it is connected anew."
        await _tell(connection, level)
        return f"{name} has taken the level."

    def forget(self, server: str) -> None:
        """A server is gone."""
        self._chosen.pop(server, None)


def _declares(seat: Seat) -> bool:
    capabilities = seat.status.capabilities
    return isinstance(capabilities, dict) and isinstance(capabilities.get("logging"), dict)


async def _tell(connection: Connection, level: str) -> None:
    reply = await connection.request("logging/setLevel", {"level": level})
    if isinstance(reply.event, Refused):
        raise ProtocolError(f"It refused the level {level}: {reply.event.said}.")

"""What happens to servers, as typed events: for programs that embed the studio, for `watch --events`, for the trace."""

from __future__ import annotations

from dataclasses import fields

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.record import record
from mcp_studio.session.state import Status


@record(frozen=True)
class ServerEvent:
    """Something happened to a server."""

    server: str

    @property
    def said(self) -> str:
        """It in words, after the server's name."""
        return "connecting"

    @property
    def facts(self) -> dict[str, Json]:
        """It for scripts: its name, its fields, and the words."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        texts = {name: value.message if isinstance(value, StudioError) else value for name, value in values.items()}
        return {"event": type(self).__name__, **texts, "said": self.said}


@record(frozen=True)
class ServerConnecting(ServerEvent):
    """It is started or reached, for the first time or because somebody wants it."""


@record(frozen=True)
class ServerConnected(ServerEvent):
    """It is ready."""

    version: str = ""

    @property
    def said(self) -> str:
        return f"connected, {self.version}"


@record(frozen=True)
class ServerReconnecting(ServerEvent):
    """It ended by itself, or could not be reached, and is tried again."""

    attempt: int = 1
    of: int = 1

    @property
    def said(self) -> str:
        return f"reconnecting, attempt {self.attempt} of {self.of}"


@record(frozen=True)
class ServerReconnected(ServerConnected):
    """It is ready again."""

    @property
    def said(self) -> str:
        return f"reconnected, {self.version}"


@record(frozen=True)
class ServerLost(ServerEvent):
    """A connection that was ready has ended by itself."""

    error: StudioError = StudioError("")

    @property
    def said(self) -> str:
        return f"disconnected: {self.error.message}"


@record(frozen=True)
class ServerFailed(ServerLost):
    """It is not tried any more until somebody wants it."""

    @property
    def said(self) -> str:
        return f"failed: {self.error.message}"


@record(frozen=True)
class ServerRemoved(ServerEvent):
    """It is not part of the studio any more."""

    reason: str = ""

    @property
    def said(self) -> str:
        return f"removed: {self.reason}"


def event_of(before: Status, now: Status, attempts: int) -> ServerEvent | None:
    """What a change of status means; None where it is no event of its own.

    Args:
        attempts: how often a server is tried again.
    """
    if before.state == now.state:
        return None
    name = now.server
    match now.state:
        case "connecting" if now.attempt:
            return ServerReconnecting(name, now.attempt, attempts)
        case "connecting":
            return ServerConnecting(name)
        case "ready":
            return (ServerReconnected if before.attempt else ServerConnected)(name, now.version)
        case "stopping" if now.error is not None:
            return ServerLost(name, now.error)
        case "failed" | "needs_auth":
            return ServerFailed(name, now.error or StudioError("for no known reason"))
        case _:
            return None

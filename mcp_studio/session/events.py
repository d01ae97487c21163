"""Typed events on servers, for programs that embed the studio, for `watch --events`, and for the trace."""

from __future__ import annotations

from dataclasses import fields
from typing import ClassVar

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.record import record
from mcp_studio.session.state import Status


@record(frozen=True)
class ServerEvent:
    """An event on a server."""

    words: ClassVar[str] = "connecting"
    """The words of the event, with its fields as placeholders."""
    server: str

    @property
    def text(self) -> str:
        """The event in words, to follow the server's name."""
        return self.words.format(self)

    @property
    def facts(self) -> dict[str, Json]:
        """The event for scripts: its name, its fields, and the words."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        texts = {name: value.message if isinstance(value, StudioError) else value for name, value in values.items()}
        return {"event": type(self).__name__, **texts, "said": self.text}


@record(frozen=True)
class ServerConnecting(ServerEvent):
    """The server is started or reached, for the first time or on demand."""


@record(frozen=True)
class ServerConnected(ServerEvent):
    """The server is ready."""

    words: ClassVar[str] = "connected, {0.version}"
    version: str = ""


@record(frozen=True)
class ServerReconnecting(ServerEvent):
    """The server ended by itself, or could not be reached, and is tried again."""

    words: ClassVar[str] = "reconnecting, attempt {0.attempt} of {0.of}"
    attempt: int = 1
    of: int = 1


@record(frozen=True)
class ServerReconnected(ServerConnected):
    """The server is ready again."""

    words: ClassVar[str] = "reconnected, {0.version}"


@record(frozen=True)
class ServerLost(ServerEvent):
    """A ready connection ended by itself."""

    words: ClassVar[str] = "disconnected: {0.error.message}"
    error: StudioError = StudioError("")


@record(frozen=True)
class ServerFailed(ServerLost):
    """The server failed, and is tried again only on demand."""

    words: ClassVar[str] = "failed: {0.error.message}"


@record(frozen=True)
class ServerRemoved(ServerEvent):
    """The server was removed from the studio."""

    words: ClassVar[str] = "removed: {0.reason}"
    reason: str = ""


def event_of(before: Status, now: Status, attempts: int) -> ServerEvent | None:
    """The event of a change of status; None where the change is not an event.

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

"""The log messages of all servers in one store, bounded for each server."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from mcp_studio.errors import ProtocolError, StudioError, UsageError
from mcp_studio.jsontext import Json, JsonProblem, dumps, loads, mapping
from mcp_studio.limits import DEFAULT, Limits
from mcp_studio.protocol.events import Refused
from mcp_studio.protocol.versions import LOG_LEVELS
from mcp_studio.protocol.views import text_of
from mcp_studio.session.connection import Connection
from mcp_studio.signal import Signal

if TYPE_CHECKING:
    from mcp_studio.session.supervisor import Supervisor

LONGEST = 8_000
"""Characters that are kept of one message; the trace has all of it."""
_NAME = 200


class LogMessage(NamedTuple):
    """One `notifications/message` (specification, server/utilities/logging). All texts are foreign."""

    number: int
    """The number of the message, from 1 over all servers."""
    time: float
    """The time of arrival, in seconds since the epoch."""
    server: str
    level: str
    """The server's text; `rank` interprets it."""
    logger: str
    text: str
    """The data as text without secrets: a string as it is, other data as JSON; cut at `LONGEST` characters."""
    is_json: bool = False
    """Whether the data was not a string."""
    request: str = ""
    """The request on whose stream the message came, where it is known (2026-07-28 over HTTP)."""
    entry: int = 0
    """The trace's number of the message; 0 where it has none."""

    @property
    def rank(self) -> int:
        """The severity: the index of the level in `LOG_LEVELS`; an unknown level counts as `info`."""
        return rank_of(self.level)

    @property
    def line(self) -> str:
        """Server, level, logger and data as one text."""
        logger = f"{self.logger}: " if self.logger else ""
        return f"{self.server} {self.level or 'no level'} {logger}{self.text}"

    @property
    def data(self) -> Json:
        """The kept data as a value, or as text where it was cut."""
        if not self.is_json:
            return self.text
        try:
            return loads(self.text)
        except JsonProblem:
            return self.text


def rank_of(level: str) -> int:
    """The index of a level in `LOG_LEVELS`; an unknown one counts as `info`, an empty one as the least severe."""
    return LOG_LEVELS.index(level) if level in LOG_LEVELS else 1 if level else 0


class LogStore:
    """The newest messages of every server, at most `limits.logs` of each.

    Args:
        redact: removes secrets from a text.
    """

    def __init__(self, limits: Limits = DEFAULT, redact: Callable[[str], str] = str) -> None:
        self._limits = limits
        self._redact = redact
        self._messages: dict[str, deque[LogMessage]] = {}
        self.revision = 0
        """A number that changes with every message, for polling."""
        self.total = 0
        """The number of messages so far, with dropped ones."""
        self.added: Signal[LogMessage] = Signal()
        """Emits every message."""

    def add(
        self, server: str, params: dict[str, Json], *, request: str = "", entry: int = 0, plain: bool = False
    ) -> LogMessage:
        """Store the parameters of a notification; missing or invalid members count as empty.

        Args:
            plain: the parameters are known to contain no secrets.
        """
        self.total += 1
        self.revision += 1
        redact: Callable[[str], str] = str if plain else self._redact
        data, level = params.get("data"), text_of(params, "level", _NAME)
        raw = data if isinstance(data, str) else dumps(data).decode("utf-8", "replace")
        text = redact(raw[: LONGEST * 2])[:LONGEST]
        message = LogMessage(
            self.total, time.time(), server, level if level in LOG_LEVELS else self._redact(level),
            redact(text_of(params, "logger", _NAME)), text + "…" if len(raw) > LONGEST else text,
            not isinstance(data, str), request, entry,
        )  # fmt: skip
        messages = self._messages.setdefault(server, deque(maxlen=max(1, self._limits.logs)))
        messages.append(message)
        self.added.emit(message)
        return message

    def messages(
        self, servers: Iterable[str] | None = None, *, least: str = "", words: Iterable[str] = ()
    ) -> list[LogMessage]:
        """The stored messages, oldest first.

        Args:
            servers: only messages of these servers; None for all.
            least: the least severe level.
            words: words that all must occur in message, logger, level or server's name, in any case.
        """
        wanted, rank = [word.casefold() for word in words], rank_of(least)
        names = self._messages if servers is None else [name for name in servers if name in self._messages]
        kept = sorted(one for name in names for one in self._messages[name])
        return [one for one in kept if one.rank >= rank and (not wanted or _has(one, wanted))]

    def count(self, server: str) -> int:
        """The number of stored messages of a server."""
        return len(self._messages.get(server, ()))

    def forget(self, server: str) -> None:
        self._messages.pop(server, None)
        self.revision += 1


def _has(message: LogMessage, words: list[str]) -> bool:
    text = f"{message.server} {message.level} {message.logger} {message.text}".casefold()
    return all(word in text for word in words)


async def begin_level(supervisor: Supervisor, connection: Connection) -> None:
    """Set the level of log messages for a new connection, where the server declares logging and a level is configured.

    In the stateless era every request carries the level; the handshake era has logging/setLevel.
    """
    level = supervisor.log_level
    if connection.core.modern:
        connection.core.log_level = level
    elif level and _declares(supervisor):
        try:
            await _tell(connection, level)
        except StudioError as error:
            if not connection.ended.done():
                supervisor.warn(f"declares logging, but does not take a level: {error.message}")


async def set_level(supervisor: Supervisor, level: str) -> str:
    """Ask for another level from now on, also after reconnects; returns a sentence on the effect.

    Args:
        level: one of `LOG_LEVELS`, or empty to leave it to the server.

    Raises:
        UsageError: there is no such level.
        StudioError: the server refuses the level, or does not answer.
    """
    if level and level not in LOG_LEVELS:
        raise UsageError(f"There is no log level {level!r}.", hint=f"Levels are {', '.join(LOG_LEVELS)}.")
    supervisor.log_level = level
    connection, name = supervisor.connection, supervisor.config.name
    if connection is None:
        return f"{name} is asked for it when it is connected."
    if connection.core.modern:
        connection.core.log_level = level
        return f"Every request to {name} asks for it." if level else f"No request to {name} asks for messages."
    if not _declares(supervisor):
        return f"{name} does not declare logging; what it sends all the same is shown."
    if not level:
        return f"{name} keeps the level that it has until it reconnects."
    await _tell(connection, level)
    return f"{name} has taken the level."


def _declares(supervisor: Supervisor) -> bool:
    return isinstance(mapping(supervisor.status.capabilities).get("logging"), dict)


async def _tell(connection: Connection, level: str) -> None:
    reply = await connection.request("logging/setLevel", {"level": level})
    if isinstance(reply.event, Refused):
        raise ProtocolError(f"It refused the level {level}: {reply.event.text}.")

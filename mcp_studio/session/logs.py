"""What servers say in log messages: all servers in one store, bounded for each."""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, cast

from mcp_studio.jsontext import Json, JsonProblem, dumps, loads
from mcp_studio.limits import DEFAULT, Limits
from mcp_studio.protocol.versions import LOG_LEVELS
from mcp_studio.signal import Signal

LONGEST = 8_000
"""Characters kept of one message; the trace has the whole."""
_NAME = 200
_SMALL = 32 * 1024
"""Bytes of a message whose data is written whole, which is quicker than writing as much as is kept."""


class LogMessage(NamedTuple):
    """One `notifications/message` (specification, server/utilities/logging). All of it is foreign text."""

    number: int
    """Counts from 1 over all servers."""
    time: float
    """When it came, in seconds since the epoch."""
    server: str
    level: str
    """As the server wrote it; `rank` says what it counts as."""
    logger: str
    text: str
    """The data as text, secrets taken out: a string as it is, anything else as JSON; cut at `LONGEST` characters."""
    is_json: bool = False
    """The data was no string."""
    request: str = ""
    """The request of ours on whose stream it came, where that is known (2026-07-28 over HTTP)."""
    entry: int = 0
    """Its number in the trace, 0 where it has none."""

    @property
    def rank(self) -> int:
        """How severe it is: the place of its level in `LOG_LEVELS`; an unknown level counts as `info`."""
        return rank_of(self.level)

    @property
    def line(self) -> str:
        """All of it but the time in one text: server, level, logger, data."""
        logger = f"{self.logger}: " if self.logger else ""
        return f"{self.server} {self.level or 'no level'} {logger}{self.text}"

    @property
    def data(self) -> Json:
        """The data as it is kept: a value, or the text where it was cut."""
        if not self.is_json:
            return self.text
        try:
            return loads(self.text)
        except JsonProblem:
            return self.text


def rank_of(level: str) -> int:
    """The place of a level in `LOG_LEVELS`; an unknown one counts as `info`, an empty one as the least."""
    return LOG_LEVELS.index(level) if level in LOG_LEVELS else 1 if level else 0


class LogStore:
    """The newest messages of every server, `limits.logs` of each.

    Args:
        redact: takes secrets out of a text.
    """

    def __init__(self, limits: Limits = DEFAULT, redact: Callable[[str], str] = str) -> None:
        self._limits = limits
        self._redact = redact
        self._kept: dict[str, deque[LogMessage]] = {}
        self._dropped: dict[str, int] = {}
        self.revision = 0
        """Changes with every message; front ends poll it."""
        self.total = 0
        """Messages so far, the dropped ones too."""
        self.added: Signal[LogMessage] = Signal()
        """Every message, as it comes."""

    def add(
        self, server: str, params: dict[str, Json], *, request: str = "", entry: int = 0, size: int = _SMALL + 1,
        plain: bool = False,
    ) -> LogMessage:  # fmt: skip
        """Keep the parameters of one notification of `size` bytes; whatever is missing or wrong in them is empty.

        With `plain` it is known already that there is no secret in them.
        """
        self.total += 1
        self.revision += 1
        data, level = params.get("data"), _text(params, "level")
        raw = data if isinstance(data, str) else _whole(data) if size <= _SMALL else _beginning(data, LONGEST * 2)
        text = (raw if plain else self._redact(raw[: LONGEST * 2]))[:LONGEST]
        cut, logger = len(raw) > LONGEST, _text(params, "logger")
        message = LogMessage(
            self.total, time.time(), server, level if level in LOG_LEVELS else self._redact(level),
            logger if plain else self._redact(logger),
            text + "…" if cut else text, not isinstance(data, str), request, entry,
        )  # fmt: skip
        kept = self._kept.setdefault(server, deque(maxlen=max(1, self._limits.logs)))
        if len(kept) == kept.maxlen:
            self._dropped[server] = self._dropped.get(server, 0) + 1
        kept.append(message)
        self.added.emit(message)
        return message

    def messages(
        self, servers: Iterable[str] | None = None, *, least: str = "", words: Iterable[str] = ()
    ) -> list[LogMessage]:
        """The messages kept, the oldest first.

        Args:
            servers: only these; all where None.
            least: the least severe level that is wanted.
            words: all of them occur in a message, its logger, its level or its server's name, in any case.
        """
        wanted, rank = [word.casefold() for word in words], rank_of(least)
        names = self._kept if servers is None else [name for name in servers if name in self._kept]
        merged: Iterator[LogMessage] = heapq.merge(*(self._kept[name] for name in names), key=lambda one: one.number)
        return [one for one in merged if one.rank >= rank and (not wanted or _has(one, wanted))]

    def count(self, server: str) -> int:
        """How many messages of a server are kept."""
        return len(self._kept.get(server, ()))

    def dropped(self, server: str) -> int:
        """How many messages of a server had to go."""
        return self._dropped.get(server, 0)

    def forget(self, server: str) -> None:
        """A server is gone."""
        self._kept.pop(server, None)
        self._dropped.pop(server, None)
        self.revision += 1


def _has(message: LogMessage, words: list[str]) -> bool:
    text = f"{message.server} {message.level} {message.logger} {message.text}".casefold()
    return all(word in text for word in words)


def _beginning(value: Json, most: int) -> str:
    """The JSON text of a value, cut somewhere after `most` characters: a large one is never written whole."""
    parts: list[str] = []
    size = 0
    inside: list[tuple[Iterator[tuple[str, Json]], str]] = [(iter((("", value),)), "")]
    while inside and size <= most:
        items, end = inside[-1]
        lead, item = next(items, (end, inside))
        if item is inside:
            inside.pop()
        elif isinstance(item, dict):
            inside.append((_members(cast("dict[str, Json]", item), most), "}"))
            lead += "{"
        elif isinstance(item, list):
            inside.append((_elements(cast("list[Json]", item)), "]"))
            lead += "["
        else:
            lead += _scalar(item, most)
        parts.append(lead)
        size += len(lead)
    return "".join(parts)


def _members(value: dict[str, Json], most: int) -> Iterator[tuple[str, Json]]:
    for number, (key, item) in enumerate(value.items()):
        yield f"{',' if number else ''}{_scalar(key, most)}:", item


def _elements(value: list[Json]) -> Iterator[tuple[str, Json]]:
    return (("," if number else "", item) for number, item in enumerate(value))


def _scalar(value: Json, most: int) -> str:
    return _whole(value[:most] if isinstance(value, str) else value)


def _whole(value: Json) -> str:
    return dumps(value).decode("utf-8", "replace")


def _text(params: dict[str, Json], key: str) -> str:
    value = params.get(key)
    return value[:_NAME] if isinstance(value, str) else ""

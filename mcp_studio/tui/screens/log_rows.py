"""Rows of the log view: log messages, and lines of standard error beside them, in the order in which they came."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from mcp_studio.jsontext import pretty
from mcp_studio.protocol.versions import LOG_LEVELS
from mcp_studio.safetext import safe
from mcp_studio.trace.message import DIRECTIONS, KINDS
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, fit, mark_matches, width_of

if TYPE_CHECKING:
    from mcp_studio.session.logs import LogMessage
    from mcp_studio.studio import Studio

STDERR = "stderr"
_CODE = bytes((DIRECTIONS.index("in") << 4 | KINDS.index("stderr"),))
"""How the columns of the trace name a line of standard error."""
_LINES = 10_000
"""The newest lines of standard error that are looked at."""
_WHOLE = 6_000
_LOOKS: dict[str, str] = {"debug": "dim", "notice": "accent", "warning": "warn"} | dict.fromkeys(LOG_LEVELS[4:], "bad")


class LogRow(NamedTuple):
    """One message or line."""

    entry: int
    """Its number in the trace."""
    number: int
    """Tells rows of one entry apart."""
    time: float
    server: str
    level: str
    logger: str
    text: str
    message: LogMessage | None = None
    """None for a line of standard error."""


class LogSource:
    """Gives rows, and knows when there are others."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio

    def stamp(self, stderr: bool) -> tuple[int, int]:
        """Changes whenever there are other rows."""
        return self._studio.logs.revision, self._studio.trace.total if stderr else 0

    def rows(self, servers: Sequence[str] | None, least: str, words: Sequence[str], stderr: bool) -> list[LogRow]:
        """The rows that are wanted, the oldest first."""
        messages = [_row(one) for one in self._studio.logs.messages(servers, least=least, words=words)]
        if not stderr:
            return messages
        return list(heapq.merge(messages, self._lines(servers, words), key=lambda row: row.time))

    def _lines(self, servers: Sequence[str] | None, words: Sequence[str]) -> Iterable[LogRow]:
        wanted = [word.casefold() for word in words]
        trace = self._studio.trace
        columns = trace.columns
        kinds, names = columns.kind.tobytes(), columns.servers.texts
        found: list[LogRow] = []
        row = len(kinds)
        for _ in range(_LINES):
            row = kinds.rfind(_CODE, 0, row)
            if row < 0:
                break
            if servers is not None and names[columns.server[row]] not in servers:
                continue
            entry = trace.entry(columns.first + row)
            text = entry.body.decode("utf-8", "replace").rstrip("\r\n") if entry is not None else ""
            if entry is not None and all(word in f"{entry.server} {STDERR} {text}".casefold() for word in wanted):
                found.append(LogRow(entry.number, 0, entry.time, entry.server, STDERR, "", text))
        return reversed(found)


def _row(one: LogMessage) -> LogRow:
    return LogRow(one.entry, one.number, one.time, one.server, one.level, one.logger, one.text, one)


def draw(row: LogRow, width: int, *, names: int, words: Sequence[str]) -> Line:
    """A row on one line; `names` is how wide the column of server names is, 0 for none."""
    look = "dim" if row.level == STDERR else _LOOKS.get(row.level, "")
    head: list[Piece] = [(f"{_clock(row.time)} ", "dim"), (fit(safe(row.level, 20) or "-", 9), look), (" ", "")]
    if names:
        head.append((fit(safe(row.server), names, more=glyphs().more) + " ", "dim"))
    if row.logger:
        head.append((f"{cut(safe(row.logger, 60), 20, more=glyphs().more)}: ", "accent"))
    room = max(4, width - width_of(head))
    return [*head, *mark_matches(cut(safe(row.text[: room * 4], room * 4), room, more=glyphs().more), words)]


def whole(row: LogRow) -> str:
    """All of a row: JSON laid out, and where it came from."""
    message = row.message
    text = pretty(message.data) if message is not None and message.is_json else row.text
    about = [row.server, row.level or "no level", row.logger]
    if message is not None and message.request:
        about.append(f"with {message.request}")
    return f"{' · '.join(safe(part, 200) for part in about if part)}\n{safe(text, _WHOLE, lines=True)}"


def _clock(when: float) -> str:
    return f"{time.strftime('%H:%M:%S', time.localtime(when))}.{int(when * 1000) % 1000:03}"

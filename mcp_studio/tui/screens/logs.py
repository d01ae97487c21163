"""Log messages of one server or of all, the newest at the bottom, by level and words, with stderr on request."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from textual import getters, on
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Checkbox, Input, Select, Static

from mcp_studio.jsontext import pretty
from mcp_studio.protocol.versions import LOG_LEVELS
from mcp_studio.safetext import safe
from mcp_studio.search.names import words_of
from mcp_studio.session.logs import LogMessage
from mcp_studio.trace.message import DIRECTIONS, KINDS
from mcp_studio.tui.screens.choose import Choose
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, fit, mark_matches, width_of
from mcp_studio.tui.views.trace_row import clock
from mcp_studio.tui.views.virtual_list import VirtualList

_PAUSE = 0.25
"""Seconds between two looks at what came."""
_STDERR = "stderr"
_CODE = bytes((DIRECTIONS.index("in") << 4 | KINDS.index("stderr"),))
"""How the columns of the trace name a line of standard error."""
_LINES = 10_000
"""The newest lines of standard error that are looked at."""
_NAMES = 16
"""Cells of the widest column of server names."""
_LOOKS: dict[str, str] = {"debug": "dim", "notice": "accent", "warning": "warn"} | dict.fromkeys(LOG_LEVELS[4:], "bad")


class Logs(Dialog[int]):
    """Filled anew while it is open; answers the number of a message that is to be shown in the trace.

    Args:
        server: whose messages; empty for all.
    """

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    Logs {
        & #ways { height: 1; margin-bottom: 1; }
        & Select { width: 26; margin-right: 2; }
        & #words { width: 1fr; }
        & VirtualList { height: 1fr; }
        & #whole { height: auto; max-height: 8; border-top: solid $panel; }
    }
    """
    choices = (
        Choice("submit", "Show in the trace", "primary"), Choice("level", "Ask for another level"),
        Choice("copy", "Copy"), Choice("back", "Close"),
    )  # fmt: skip
    rows = getters.query_one("#log", VirtualList)

    def __init__(self, server: str) -> None:
        super().__init__()
        self._server = server
        self._stamp: object = None
        self._names = 0

    def heading(self) -> str:
        return f"Log of {self._server}" if self._server else "Log of all servers"

    def body(self) -> Iterable[Widget]:
        levels = [("all levels", ""), *((f"{level} and worse", level) for level in LOG_LEVELS[1:])]
        yield Horizontal(
            Select(levels, value="", allow_blank=False, id="least", compact=True),
            Input(placeholder="filter: words", id="words", compact=True),
            Checkbox("with stderr", id="stderr", compact=True),
            id="ways",
        )
        yield VirtualList(self._draw, key=lambda row: (row.entry, row.number), id="log")
        yield Static(id="whole", markup=False)

    def on_mount(self) -> None:
        self.rows.focus()
        self._look()
        self.set_interval(_PAUSE, self._look)

    @property
    def _servers(self) -> Sequence[str]:
        return (self._server,) if self._server else self.app.studio.manager.names()

    @on(Select.Changed)
    @on(Input.Changed)
    @on(Checkbox.Changed)
    def _look(self) -> None:
        """Show what came; who is on the newest row stays on the newest."""
        studio = self.app.studio
        least, stderr = str(self.query_one("#least", Select).value), self.query_one("#stderr", Checkbox).value
        words = words_of(self.query_one("#words", Input).value)
        stamp = least, stderr, words, studio.logs.revision, studio.trace.total if stderr else 0
        if stamp == self._stamp:
            return
        self._stamp = stamp
        following = self.rows.cursor >= self.rows.row_count - 1
        rows: list[LogMessage] = studio.logs.messages(self._servers, least=least, words=words)
        if stderr:
            rows = list(heapq.merge(rows, self._stderr(words), key=lambda row: row.time))
        several = {row.server for row in rows} if not self._server else set[str]()
        self._names = min(_NAMES, max(map(len, several))) if len(several) > 1 else 0
        self.rows.empty = self._empty(bool(words or least))
        self.rows.show(rows)
        if following:
            self.rows.action_last()
        self._show_whole()

    def _empty(self, filtered: bool) -> str:
        studio = self.app.studio
        names = self._servers
        if filtered and any(studio.logs.count(name) for name in names):
            return "No message has this level and all these words."
        asked = [f"{name} from {level} on" for name in names if (level := studio.manager.log_level(name))]
        now = f"Asked for: {', '.join(asked)}." if asked else "No level was asked for."
        return f"No log messages.\n\n{now} Servers send them during calls, some only once a level was asked for."

    @on(VirtualList.Highlighted)
    def show_row(self, event: VirtualList.Highlighted) -> None:
        event.stop()
        self._show_whole()

    def _show_whole(self) -> None:
        row = self.rows.row
        self.query_one("#whole", Static).update(Content(_whole(row)) if row is not None else "")

    def _draw(self, row: LogMessage, width: int, selected: bool) -> Line:
        look = "dim" if row.level == _STDERR else _LOOKS.get(row.level, "")
        head: list[Piece] = [(f"{clock(row.time)} ", "dim"), (fit(safe(row.level, 20) or "-", 9), look), (" ", "")]
        if self._names:
            head.append((fit(safe(row.server), self._names, more=glyphs().more) + " ", "dim"))
        if row.logger:
            head.append((f"{cut(safe(row.logger, 60), 20, more=glyphs().more)}: ", "accent"))
        room = max(4, width - width_of(head))
        text = cut(safe(row.text[: room * 4], room * 4), room, more=glyphs().more)
        return [*head, *mark_matches(text, words_of(self.query_one("#words", Input).value))]

    @on(VirtualList.Chosen)
    def action_submit(self) -> None:
        """Show the message in the trace."""
        row = self.rows.row
        if row is not None and self.app.studio.trace.entry(row.entry) is not None:
            self.dismiss(row.entry)
        else:
            self.app.say("The trace does not keep that message.", "warning")

    def action_level(self) -> None:
        """Ask the server, or that of the row under the cursor, for another level."""
        names, row = self.app.studio.manager.names(), self.rows.row
        name = self._server or (row.server if row is not None else names[0] if names else "")
        if name not in names:
            self.app.say("There is no server to ask.", "warning")
            return

        def ask(level: str | None) -> None:
            if level is not None:
                self.app.attempt(self, self._ask(name, level), "level")

        options = [("", "leave it to the server"), *((level, f"{level} and worse") for level in LOG_LEVELS)]
        self.app.push_screen(Choose(f"Ask {name} for", options, self.app.studio.manager.log_level(name)), ask)

    async def _ask(self, name: str, level: str) -> None:
        self.app.say(await self.app.studio.manager.levels.set(self.app.studio.manager.supervisor(name), level))

    def action_copy(self) -> None:
        if (row := self.rows.row) is not None:
            self.app.copy(row.text)

    def _stderr(self, words: Sequence[str]) -> Iterable[LogMessage]:
        """The newest lines of standard error that have all these words, the oldest first."""
        wanted, trace, columns = (
            [word.casefold() for word in words],
            self.app.studio.trace,
            self.app.studio.trace.columns,
        )
        kinds, names = columns.kind.tobytes(), columns.servers.texts
        found: list[LogMessage] = []
        row = len(kinds)
        for _ in range(_LINES):
            row = kinds.rfind(_CODE, 0, row)
            if row < 0:
                break
            entry = trace.entry(columns.first + row) if names[columns.server[row]] in self._servers else None
            text = entry.body.decode("utf-8", "replace").rstrip("\r\n") if entry is not None else ""
            if entry is not None and all(word in f"{entry.server} {text}".casefold() for word in wanted):
                found.append(LogMessage(0, entry.time, entry.server, _STDERR, "", text, entry=entry.number))
        return reversed(found)


def _whole(row: LogMessage) -> str:
    """All of a row: JSON laid out, and where it came from."""
    about = (row.server, row.level or "no level", row.logger, f"with {row.request}" if row.request else "")
    text = pretty(row.data) if row.is_json else row.text
    return f"{' · '.join(safe(part, 200) for part in about if part)}\n{safe(text, 6_000, lines=True)}"

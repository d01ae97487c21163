"""The log messages of one server or of all, the newest at the bottom, filtered by level and words."""

from __future__ import annotations

from collections.abc import Sequence

from textual import getters, on, work
from textual.containers import Horizontal
from textual.widgets import Input, Select, Static

from mcp_studio.jsontext import pretty
from mcp_studio.present import units
from mcp_studio.protocol.versions import LOG_LEVELS
from mcp_studio.safetext import safe
from mcp_studio.search.names import words_of
from mcp_studio.session.logs import LogMessage, set_level
from mcp_studio.tui.screens.dialog import Choice, Choose, Dialog, Item, Widgets
from mcp_studio.tui.views.rows import Line, Piece, VirtualList, cut, fit, mark_matches, width_of

_EMPTY = "No log messages. Servers send them during calls, some only once a level was asked for."
_FILTERED = "No message has this level and all these words."
_NAMES = 12
"""The cells for the name of a server."""
_LOOKS: dict[str, str] = {"debug": "dim", "notice": "accent", "warning": "warn"} | dict.fromkeys(LOG_LEVELS[4:], "bad")


class Logs(Dialog[int]):
    """Shows new messages while it is open; answers the number of the message to show in the trace.

    Args:
        server: the server of the messages; empty for all servers.
    """

    DEFAULT_CLASSES = "-large"
    choices = (
        Choice("submit", "Show in the trace", "primary"), Choice("level", "Set the level…"),
        Choice("copy", "Copy"), Choice("back", "Close"),
    )  # fmt: skip
    AUTO_FOCUS = "#log"
    every = 0.25
    rows = getters.query_one("#log", VirtualList)

    def __init__(self, server: str) -> None:
        super().__init__(f"Log of {server or 'all servers'}")
        self._server = server
        self._stamp: object = None

    def body(self) -> Widgets:
        levels = [("all levels", ""), *((f"{level} and worse", level) for level in LOG_LEVELS[1:])]
        least = Select(levels, value="", allow_blank=False, id="least", compact=True)
        yield Horizontal(least, Input(placeholder="filter: words", id="words", compact=True), id="ways")
        yield VirtualList(self._draw, key=lambda row: (row.entry, row.number), id="log")
        yield Static(id="whole", markup=False)

    @property
    def _words(self) -> Sequence[str]:
        return words_of(self.query_one("#words", Input).value)

    @property
    def _servers(self) -> Sequence[str]:
        return (self._server,) if self._server else self.app.studio.manager.names()

    @on(Select.Changed)
    @on(Input.Changed)
    def look(self) -> None:
        """Show new messages; a cursor on the newest row follows them."""
        studio, least = self.app.studio, str(self.query_one("#least", Select).value)
        stamp = least, self._words, studio.logs.revision
        if stamp == self._stamp:
            return
        self._stamp = stamp
        following = self.rows.cursor >= self.rows.row_count - 1
        rows = studio.logs.messages(self._servers, least=least, words=self._words)
        hidden = (self._words or least) and any(studio.logs.count(name) for name in self._servers)
        self.rows.empty = _FILTERED if hidden else _EMPTY
        self.rows.show(rows)
        if following:
            self.rows.action_last()

    @on(VirtualList.Highlighted)
    def show_row(self) -> None:
        """Show the whole message under the cursor."""
        self.put("whole", _whole(self.rows.row) if self.rows.row is not None else "")

    def _draw(self, row: LogMessage, width: int, selected: bool) -> Line:
        level = fit(safe(row.level, 20) or "-", 9), _LOOKS.get(row.level, "")
        head: list[Piece] = [(f"{units.clock(row.time)} ", "dim"), level, (" ", "")]
        if len(self._servers) > 1:
            head.append((fit(safe(row.server), _NAMES) + " ", "dim"))
        if row.logger:
            head.append((f"{cut(safe(row.logger, 60), 20)}: ", "accent"))
        room = max(4, width - width_of(head))
        text = cut(safe(row.text[: room * 4], room * 4), room)
        return [*head, *mark_matches(text, self._words)]

    @on(VirtualList.Chosen)
    def action_submit(self) -> None:
        row = self.rows.row
        if row is not None and self.app.studio.trace.entry(row.entry) is not None:
            self.dismiss(row.entry)
        else:
            self.app.say("The trace does not keep that message.", "warning")

    @work(group="level", exclusive=True)
    async def action_level(self) -> None:
        """Set the level of the server, or of that of the row under the cursor."""
        manager, row = self.app.studio.manager, self.rows.row
        name = self._server or (row.server if row is not None else next(iter(manager.names()), ""))
        if name not in manager.names():
            self.app.say("There is no server to ask.", "warning")
            return
        options = [Item("leave it to the server", ""), *(Item(f"{level} and worse", level) for level in LOG_LEVELS)]
        level = await self.app.push_screen_wait(Choose(f"Level of {name}", options, manager.supervisor(name).log_level))
        if level in ("", *LOG_LEVELS) and name in manager.names():  # None if the person chose nothing
            self.app.say(await set_level(manager.supervisor(name), level))

    def action_copy(self) -> None:
        if (row := self.rows.row) is not None:
            self.app.copy(row.text)


def _whole(row: LogMessage) -> str:
    """The whole message of a row: its source, and its text, with JSON laid out."""
    about = (row.server, row.level or "no level", row.logger, f"with {row.request}" if row.request else "")
    text = pretty(row.data) if row.is_json else row.text
    return f"{' · '.join(safe(part, 200) for part in about if part)}\n{safe(text, 6_000, lines=True)}"

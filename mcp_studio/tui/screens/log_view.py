"""Log messages of one server or of all, the newest at the bottom, by level and words."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.errors import StudioError
from mcp_studio.protocol.versions import LOG_LEVELS
from mcp_studio.safetext import safe
from mcp_studio.search.names import Matcher
from mcp_studio.tui import late_trace
from mcp_studio.tui.panels.filter_line import FilterLine
from mcp_studio.tui.screens.choose import Choose
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.screens.log_rows import LogRow, LogSource, draw, whole
from mcp_studio.tui.views.line import Line
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.tui.app import StudioApp

_POLL = 0.25
_REST = 10
"""Times as long as filling it took, it is not filled again because something came."""
_ALL = "all servers"
_NAMES = 16
"""Cells of the widest column of server names."""


class LogList(VirtualList[LogRow]):
    """Follows the newest row until the person moves away from it."""

    following = True

    def move_to(self, index: int, *, center: bool = False) -> None:
        """A move to the last row follows from then on, any other one stays where it is."""
        self.following = index >= self.row_count - 1
        super().move_to(index, center=center)

    def follow(self) -> None:
        """Go to the newest row, and stay on it."""
        self.move_to(self.row_count - 1)
        self.following = True


class LogView(Dialog[None], scope="log"):
    """Filled anew while it is open; `server` is empty for all."""

    def __init__(self, studio: Studio, server: str) -> None:
        super().__init__()
        self._studio = studio
        self._server = server
        self._least = ""
        self._stderr = False
        self._source = LogSource(studio)
        self._stamp: object = None
        self._wanted: object = None
        self._rest_until = 0.0
        self._filter = FilterLine("words of the message, its logger, its server")
        self._list = LogList(self._draw, key=lambda row: (row.entry, row.number))
        self._whole = Static(classes="whole")
        self._words: Sequence[str] = ()
        self._names = 0

    def heading(self) -> Content:
        """Which server, which levels, and how much there is."""
        level = f"{self._least} and worse" if self._least else "all levels"
        kept = len(self._list.rows)
        dropped = sum(self._studio.logs.dropped(name) for name in self._servers or self._studio.manager.names())
        parts = [f"Log of {safe(self._server, 40) or _ALL}", level, f"{kept:,} shown"]
        parts += [f"{dropped:,} older ones dropped"] if dropped else []
        parts += ["with stderr"] if self._stderr else []
        return Content(
            " · ".join([*parts, "following" if self._list.following else f"{self._app.spell('log-follow')} follows"])
        )

    def body(self) -> Iterable[Widget]:
        """A filter, the rows, and the whole of the one under the cursor."""
        return self._filter, self._list, self._whole

    def on_mount(self) -> None:
        """Fill it, and look again now and then."""
        self.query_one("#box").add_class("-tall")
        self._list.empty = self._teach()
        self._filter.display = False
        self._poll()
        self._list.focus()
        self.set_interval(_POLL, self._poll)

    @property
    def _servers(self) -> list[str] | None:
        return [self._server] if self._server else None

    def _teach(self) -> str:
        names = self._servers or self._studio.manager.names()
        if (self._words or self._least) and any(self._studio.logs.count(name) for name in names):
            keys = self._app.spell("log-least"), self._app.spell("log-filter")
            return f"No message has this level and all these words; {keys[0]} and {keys[1]} choose others."
        asked = [f"{name} from {level} on" for name in names if (level := self._studio.manager.log_level(name))]
        now = f"Asked for: {', '.join(asked)}." if asked else "No level is asked for."
        return f"No log messages.\n\n{now} Servers send them during calls, some only once a level was asked for."

    def _poll(self) -> None:
        wanted = self._server, self._least, self._words, self._stderr
        stamp = *wanted, self._source.stamp(self._stderr)
        began = time.monotonic()
        if stamp != self._stamp and (began >= self._rest_until or wanted != self._wanted):
            self._stamp, self._wanted = stamp, wanted
            following = self._list.following
            rows = self._source.rows(self._servers, self._least, self._words, self._stderr)
            several = {row.server for row in rows} if not self._server else set[str]()
            self._names = min(_NAMES, max(map(len, several))) if len(several) > 1 else 0
            self._list.empty = self._teach()
            self._list.set_rows(rows)
            if following:
                self._list.follow()
            self._show_whole()
            self._rest_until = time.monotonic() + (time.monotonic() - began) * _REST
        self.retitle(self.heading())

    def _draw(self, row: LogRow, width: int, selected: bool) -> Line:
        return draw(row, width, names=self._names, words=self._words)

    def _show_whole(self) -> None:
        row = self._list.row
        self._whole.display = row is not None
        self._whole.update(Content(whole(row)) if row is not None else "")

    # Events

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Show the whole of the row under the cursor."""
        event.stop()
        self._show_whole()
        self.retitle(self.heading())

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click shows it in the trace."""
        event.stop()
        self.action_open()

    def on_filter_line_changed(self, event: FilterLine.Changed) -> None:
        """Show only what has all the words."""
        event.stop()
        self._words = Matcher(event.text).words
        self._poll()

    def on_filter_line_left(self, event: FilterLine.Left) -> None:
        """Back to the rows."""
        event.stop()
        self._filter.display = bool(self._filter.text)
        self.set_focus(self._list)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a filter is typed, letters, enter and escape belong to its input."""
        return not self._filter.has_focus_within and super().check_action(action, parameters)

    # Actions

    async def action_filter(self) -> None:
        """Start typing a filter."""
        self._filter.display = True
        await self._filter.open()

    def action_follow(self) -> None:
        """Follow the newest row, or stay where the cursor is."""
        if self._list.following:
            self._list.following = False
        else:
            self._list.follow()
        self.retitle(self.heading())

    def action_stderr(self) -> None:
        """With lines of standard error, or without."""
        self._stderr = not self._stderr
        self._poll()

    def action_least(self) -> None:
        """Choose the least level that is shown."""
        options = [("", "all levels"), *((level, f"{level} and worse") for level in LOG_LEVELS[1:])]
        self._choose("The least level that is shown", options, self._least, self._set_least)

    def _set_least(self, level: str) -> None:
        self._least = level
        self._poll()

    def action_server(self) -> None:
        """Choose whose messages are shown."""
        names = self._studio.manager.names()
        options = [("", _ALL), *((name, name) for name in names)]
        self._choose("Of which server", options, self._server, self._set_server)

    def _set_server(self, name: str) -> None:
        self._server = name
        self._poll()

    def action_ask(self) -> None:
        """Ask the server, or that of the row under the cursor, for another level."""
        names = self._studio.manager.names()
        row = self._list.row
        name = self._server or (row.server if row is not None else names[0] if len(names) == 1 else "")
        if name not in names:
            self._app.say(f"Choose a server first ({self._app.spell('log-server')}).", "warning")
            return
        options = [("", "leave it to the server"), *((level, f"{level} and worse") for level in LOG_LEVELS)]
        now = self._studio.manager.log_level(name)
        self._choose(f"Ask {name} for", options, now, lambda level: self._ask(name, level))

    def _ask(self, name: str, level: str) -> None:
        async def tell() -> None:
            try:
                self._app.say(await self._studio.manager.levels.set(self._studio.manager.supervisor(name), level))
            except StudioError as error:
                self._app.fail(error)

        self.run_worker(tell(), group="level", exclusive=True)

    def action_open(self) -> None:
        """Show the message in the trace, where it is kept."""
        row, trace = self._list.row, self._studio.trace
        if row is None:
            self._app.say("There is no message to open yet.", "warning")
            return
        place = row.entry - trace.first_number
        if 0 <= place < len(trace):
            self._app.push_screen(late_trace.trace_dialog(trace, trace[place]))
        else:
            self._app.say("The trace does not keep it any more.", "warning")

    def action_copy(self) -> None:
        """Copy the message."""
        if self._list.row is not None:
            self._app.copy(self._list.row.text)

    async def action_close(self) -> None:
        """End the filter, or leave."""
        if self._filter.text:
            await self._filter.clear()
            self._filter.display = False
        else:
            self.dismiss(None)

    def _choose(self, heading: str, options: list[tuple[str, str]], now: str, then: Callable[[str], None]) -> None:
        def chosen(value: str | None) -> None:
            if value is not None:
                then(value)

        self._app.push_screen(Choose(heading, options, now), chosen)

    @property
    def _app(self) -> StudioApp:
        return cast("StudioApp", self.app)

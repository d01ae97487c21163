"""Unexpected output: what a server printed to stdout besides the protocol, between the messages around it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.present import stray, units
from mcp_studio.safetext import safe
from mcp_studio.trace.message import Recording, WireMessage
from mcp_studio.trace.postmortem import command_of
from mcp_studio.tui.screens.comment import name_of
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, cut, fit
from mcp_studio.tui.views.trace_row import clock
from mcp_studio.tui.views.virtual_list import VirtualList

_EVERY = 0.5
_MOST = 500
"""Lines that are listed."""
_SORT = 16
_NONE = "Nothing: every line on its standard output was a message."


class Row(NamedTuple):
    """A line, or the message before or after some lines."""

    place: Literal["before", "line", "after"]
    entry: WireMessage | None
    sort: stray.Sort = "text"


class UnexpectedOutput(Dialog[int]):
    """Answers the message of the trace to go to.

    Args:
        recording: an earlier session; without it what is being recorded.
    """

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    UnexpectedOutput {
        & VirtualList { height: 1fr; }
        & #about { height: auto; min-height: 3; margin-top: 1; color: $quiet; }
    }
    """
    choices = (
        Choice("show_trace", "Show in the trace", "primary"), Choice("copy", "Copy all"), Choice("back", "Close"),
    )  # fmt: skip
    rows: getters.query_one[VirtualList[Row]] = getters.query_one(VirtualList)

    def __init__(self, server: str, recording: Recording | None = None) -> None:
        super().__init__()
        self._server = server
        self._given = recording
        self._total = -1

    @property
    def _recording(self) -> Recording:
        return self._given or self.app.studio.trace

    def heading(self) -> str:
        return f"Unexpected output: {self._server}"

    def body(self) -> Iterable[Widget]:
        yield VirtualList[Row](self._draw, key=lambda row: (row.place, row.entry and row.entry.number), empty=_NONE)
        yield Static(id="about", markup=False)

    def on_mount(self) -> None:
        self._look()
        self.rows.focus()
        self.set_interval(_EVERY, self._look)

    def _look(self) -> None:
        recording = self._recording
        if recording.total == self._total:
            return
        self._total = recording.total
        rows: list[Row] = []
        bursts = stray.bursts(recording, self._server, most=_MOST)
        for burst in bursts:
            lines = (Row("line", one.entry, one.sort) for one in reversed(burst.lines))
            rows += [Row("after", burst.after), *lines, Row("before", burst.before)]
        count = sum(len(burst.lines) for burst in bursts)
        self.rows.show(rows)
        newest = f"the newest {_MOST} lines" if count >= _MOST else units.plural(count, "line")
        self.retitle(f"Unexpected output: {self._server} · {newest} on stdout")
        self._explain()

    def _draw(self, row: Row, width: int, selected: bool) -> Line:
        entry = row.entry
        if row.place != "line":
            text = "no message"
            if entry is not None:
                sign = glyphs().sent if entry.direction == "out" else glyphs().received
                text = f"{clock(entry.time)} {sign} {name_of(entry)}, {units.size(entry.size)}"
            return [(f"  {row.place:<6}  ", "dim"), (cut(text, width - 10), "dim")]
        if entry is None:
            return []
        room = max(8, width - _SORT - 4)
        sort = fit(stray.SORTS[row.sort], _SORT)
        return [(f"{glyphs().bad} ", "bad"), (sort, "warn"), ("  ", ""), (cut(_text(entry, room * 4), room), "")]

    @on(VirtualList.Highlighted)
    def _explain(self) -> None:
        """Say what the line under the cursor is, and how it comes about in the server's language."""
        row, text = self.rows.row, Content("")
        if row is not None and row.place == "line" and row.entry is not None:
            said, line = stray.explain(row.sort, self._command()), _text(row.entry, 600)
            text = Content.assemble((said, "$foreground"), f"\n{clock(row.entry.time)}  {line}")
        self.query_one("#about", Static).update(text)

    def _command(self) -> Sequence[str]:
        """The words of the command that started the server."""
        manager = self.app.studio.manager
        if self._given is None and self._server in manager.names():
            config = manager.config(self._server)
            return (config.command, *config.args)
        line = command_of(self._recording, self._server)
        try:
            return shlex.split(line)
        except ValueError:
            return line.split()

    @on(VirtualList.Chosen)
    def action_show_trace(self) -> None:
        """Go to the line in the trace."""
        row = self.rows.row
        self.dismiss(row.entry.number if row is not None and row.entry is not None else None)

    def action_copy(self) -> None:
        """Copy all lines, the oldest first."""
        lines = [row.entry for row in reversed(self.rows.rows) if row.place == "line" and row.entry is not None]
        self.app.copy("\n".join(one.body.decode("utf-8", "replace") for one in lines))


def _text(entry: WireMessage, most: int) -> str:
    return safe(stray.text_of(entry)[:most].decode("utf-8", "replace"), most)

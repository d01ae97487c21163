"""What a server printed to standard output besides the protocol: every line, between the messages around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.present import stray, units
from mcp_studio.safetext import safe
from mcp_studio.trace.message import Recording, WireMessage
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.tracing import clock
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, cut, fit
from mcp_studio.tui.views.virtual_list import VirtualList

_POLL = 0.5
_MOST = 500
"""Lines that are listed."""
_SORT = 16
_NONE = "Nothing: every line on its standard output was a message."


class Row(NamedTuple):
    """A line, or a message before or after some."""

    what: Literal["before", "line", "after", "gap"]
    entry: WireMessage | None
    sort: stray.Sort = "text"


class StrayDialog(Dialog[int], scope="stray"):
    """Answers with the number of the entry that is to be shown in the trace."""

    def __init__(self, trace: Recording, server: str, argv: Sequence[str]) -> None:
        super().__init__()
        self._trace = trace
        self._server = server
        self._argv = argv
        self._said = Static(classes="whole")
        self._total = -1
        self._count = 0
        self._list: VirtualList[Row] = VirtualList(
            self._draw,
            key=lambda row: (row.what, row.entry.number if row.entry else 0),
            stops=lambda row: row.what == "line",
            empty=_NONE,
        )

    def heading(self) -> Content:
        """Whose, and how many."""
        count = units.plural(self._count, "line") if self._count < _MOST else f"the newest {_MOST} lines"
        return Content(f"{safe(self._server, 40)} on standard output, besides the protocol: {count}")

    def body(self) -> Iterable[Widget]:
        """The lines, and what the one under the cursor is."""
        return self._list, self._said

    def on_mount(self) -> None:
        """Fill it, and look again now and then."""
        self.query_one("#box").add_class("-tall", "-wide")
        self._look()
        self._list.focus()
        self.set_interval(_POLL, self._look)

    def _look(self) -> None:
        if self._trace.total == self._total:
            return
        self._total = self._trace.total
        bursts = stray.bursts(self._trace, self._server, most=_MOST)
        self._count = sum(len(burst.lines) for burst in bursts)
        rows: list[Row] = []
        for burst in bursts:
            rows += [Row("gap", None)] if rows else []
            rows.append(Row("after", burst.after))
            rows += [Row("line", one.entry, one.sort) for one in reversed(burst.lines)]
            rows.append(Row("before", burst.before))
        self._list.set_rows(rows)
        self._explain()
        self.retitle(self.heading())

    def _draw(self, row: Row, width: int, selected: bool) -> Line:
        entry, more = row.entry, glyphs().more
        if row.what == "gap":
            return []
        if row.what != "line":
            if entry is None:
                text = "no message before it" if row.what == "before" else "no message since"
                return [(f"  {row.what:<6}  ", "dim"), (text, "dim")]
            sign = glyphs().sent if entry.direction == "out" else glyphs().received
            what = " ".join(filter(None, (safe(entry.method, 60), safe(entry.target, 60)))) or entry.kind
            kind = "" if entry.kind in ("request", "notification") else f" {entry.kind}"
            text = f"{clock(entry.time)} {sign} {what}{kind}, {units.size(entry.size)}"
            return [(f"  {row.what:<6}  ", "dim"), (cut(text, width - 10, more=more), "dim")]
        if entry is None:
            return []
        room = max(8, width - _SORT - 4)
        text = safe(stray.text_of(entry)[: room * 4].decode("utf-8", "replace"), room * 4)
        sort = fit(stray.SORTS[row.sort], _SORT, more=more)
        return [(f"{glyphs().bad} ", "bad"), (sort, "warn"), ("  ", ""), (cut(text, room, more=more), "")]

    def _explain(self) -> None:
        row = self._list.row
        self._said.display = row is not None and row.what == "line"
        if row is None or row.entry is None:
            return
        line = safe(stray.text_of(row.entry).decode("utf-8", "replace"), 600)
        said = stray.explain(row.sort, self._argv)
        self._said.update(Content.assemble((said, ""), "\n", (f"{clock(row.entry.time)}  {line}", "$quiet")))

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Say what the line under the cursor is."""
        event.stop()
        self._explain()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click goes to it in the trace."""
        event.stop()
        self.action_open()

    def action_open(self) -> None:
        """Go to the line in the trace."""
        if (row := self._list.row) is not None and row.entry is not None:
            self.dismiss(row.entry.number)

    def action_copy(self) -> None:
        """Copy the line."""
        if (row := self._list.row) is not None and row.entry is not None:
            self.app.copy_to_clipboard(row.entry.body.decode("utf-8", "replace"))

    def action_copy_all(self) -> None:
        """Copy all lines, the oldest first."""
        lines = [row.entry for row in reversed(self._list.rows) if row.what == "line" and row.entry is not None]
        self.app.copy_to_clipboard("\n".join(one.body.decode("utf-8", "replace") for one in lines))

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)

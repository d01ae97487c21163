"""The tab History of pane 3: saved calls of the open entry, what its form held before, and its earlier calls."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from typing import ClassVar, Literal, NamedTuple

from textual.binding import BindingType
from textual.message import Message

from mcp_studio.call.history import Past
from mcp_studio.call.saved import SavedCall
from mcp_studio.jsontext import Json, printable
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.tui.bindings import bindings, refuse
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, spread, width_of
from mcp_studio.tui.views.virtual_list import VirtualList

EMPTY = (
    "Nothing is remembered of it yet.\n\n"
    "Every call comes here, also those of the command line. {save} saves one under a name."
)
_LOOKS = {"ok": ("ok", "ok"), "task": ("half", "warn"), "stopped": ("off", "dim"), "not sent": ("off", "dim")}
_ROOM = 8
"""Cells from which on a summary is worth showing."""
_SUMMARY = 2_000
_DAY = 86_400.0


class Row(NamedTuple):
    """A heading, a saved call, what the form held before, or an earlier call."""

    what: Literal["heading", "saved", "draft", "past"]
    text: str = ""
    saved: SavedCall | None = None
    past: Past | None = None
    value: Json = None
    """What the form held."""
    shown: Json = None
    """The same without its secrets."""

    @property
    def key(self) -> Hashable:
        """By which it is found again."""
        return (self.what, self.saved.file if self.saved else self.past.id if self.past else self.text)


class HistoryList(VirtualList[Row]):
    """Newest first."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("history")

    class Wanted(Message):
        """Something is to be done with a row: `fill run command copy rename open delete`."""

        def __init__(self, what: str, row: Row) -> None:
            super().__init__()
            self.what = what
            self.row = row

    def __init__(self) -> None:
        super().__init__(self._draw_one, key=lambda row: row.key, stops=lambda row: row.what != "heading", empty=" ")

    def show(self, rows: Sequence[Row], save_key: str) -> None:
        """Show these rows."""
        self._empty = EMPTY.format(save=save_key)
        self.set_rows(rows)

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Keep it to this list."""
        event.stop()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click fills the form."""
        event.stop()
        self.action_ask("fill")

    def action_ask(self, what: str) -> None:
        """Have something done with the row under the cursor."""
        if self.row is None or self.row.what == "heading":
            refuse(self, "There is nothing here yet.")
        else:
            self.post_message(self.Wanted(what, self.row))

    def _draw_one(self, row: Row, width: int, selected: bool) -> Line:
        if row.saved is not None:
            return saved_line(row.saved, width)
        if row.past is not None:
            return _past_line(row.past, width)
        if row.what == "draft":
            return [("  before  ", "dim"), (cut(summary(row.shown), max(1, width - 10), more=glyphs().more), "")]
        return [(row.text, "dim")]


def saved_line(saved: SavedCall, width: int, *, whole: bool = False) -> Line:
    """A saved call on a line; `whole` also says of what it is."""
    of = f"{safe(saved.ref.server, 40)}.{safe(saved.ref.name, 80)}" if whole else ""
    end: list[Piece] = [(f" {saved.where}", "dim")]
    name = cut(safe(saved.name, 80), max(8, width // 2), more=glyphs().more)
    pieces: list[Piece] = [(f"{glyphs().mark} ", "dim"), (name, "")]
    more = "  ".join(filter(None, (of, safe(saved.description, 200) or summary(saved.arguments))))
    left = width - width_of(pieces) - width_of(end) - 2
    if more and left >= _ROOM:
        pieces.append((f"  {cut(more, left, more=glyphs().more)}", "dim"))
    return spread(pieces, end, width)


def summary(value: Json) -> str:
    """A value on a line."""
    return "no arguments" if value in (None, {}) else safe(printable(value, indent=None)[:_SUMMARY], _SUMMARY)


def _past_line(past: Past, width: int) -> Line:
    sign, look = _LOOKS.get(past.kind, ("bad", "bad"))
    head: list[Piece] = [(f"{getattr(glyphs(), sign)} ", look), (f"{when(past.at)} ", "dim")]
    if past.kind != "ok":
        head.append((f" {past.kind}", look))
    facts = [units.duration(past.ms)] if past.ms else []
    facts += [units.size(past.size)] if past.size and width > 50 else []
    end: list[Piece] = [(f" {' '.join(facts)}", "dim")] if facts else []
    left = width - width_of(head) - width_of(end) - 1
    if left >= _ROOM:
        said = f"{safe(past.said, 200)}  " if past.said else ""
        what = "too large to be kept" if past.large else summary(past.arguments)
        lost = "  (a secret is left out)" if past.left_out else ""
        head.append((f" {cut(said + what + lost, left, more=glyphs().more)}", ""))
    return spread(head, end, width)


def when(at: float, now: float | None = None) -> str:
    """A moment in the past: the time of today, else the day."""
    now = time.time() if now is None else now
    then = time.localtime(at)
    if time.localtime(now)[:3] == then[:3]:
        return time.strftime("%H:%M:%S", then)
    return time.strftime("%d %b" if abs(now - at) < 300 * _DAY else "%Y-%m-%d", then)

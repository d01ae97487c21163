"""The tab History of pane 3: saved calls of the shown entry, and its earlier calls, newest first."""

from __future__ import annotations

import shlex
import time
from collections.abc import Awaitable, Hashable
from dataclasses import dataclass
from typing import NamedTuple

from textual import getters
from textual.message import Message

from mcp_studio.call.history import Past
from mcp_studio.call.saved import SavedCall
from mcp_studio.jsontext import Json, printable
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.opened import Opened
from mcp_studio.tui.panes.saved_calls import SavedCalls
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, spread, width_of
from mcp_studio.tui.views.virtual_list import VirtualList

_LOOKS = {"ok": ("ok", "ok"), "task": ("half", "warn"), "stopped": ("off", "dim"), "not sent": ("off", "dim")}
_ROOM = 8
"""Cells from which on a summary is worth showing."""
_SUMMARY = 2_000
_LONG_AGO = 300 * 86_400.0


class HistoryRow(NamedTuple):
    """A saved call, or an earlier one."""

    saved: SavedCall | None = None
    past: Past | None = None

    @property
    def key(self) -> Hashable:
        """By which it is found again."""
        return self.saved.file if self.saved else self.past.id if self.past else None


class HistoryList(VirtualList[HistoryRow]):
    """Enter fills the form with the row under the cursor."""

    app = getters.app(StudioApp)
    BINDINGS = bindings("history")

    @dataclass
    class FillRequested(Message):
        """The form is to be filled with the arguments of an earlier call, and submitted with `submit`."""

        value: Json
        submit: bool

    def __init__(self, opened: Opened, saved: SavedCalls) -> None:
        empty = "No calls yet. Every call is listed here, also those of the command line; ^s saves one under a name."
        super().__init__(self._draw_one, key=lambda row: row.key, empty=empty)
        self._opened = opened
        self._saved = saved

    def on_mount(self) -> None:
        self.reload()

    def reload(self) -> None:
        """Read it again."""
        self.run_worker(self._load(), group="history", exclusive=True)

    async def _load(self) -> None:
        ref = self._opened.entry.ref
        past = await self.app.studio.memory.history.of(ref)
        saved = [one for one in (await self._saved.load()).calls if one.ref == ref]
        self.show([*(HistoryRow(saved=one) for one in saved), *(HistoryRow(past=one) for one in past)])

    def row_chosen(self, index: int) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Fill the form with it."""
        self._use(submit=False)

    def action_repeat(self) -> None:
        """Run it again."""
        self._use(submit=True)

    def _use(self, *, submit: bool) -> None:
        row = self.row
        if row is not None and row.saved is not None:
            self.app.attempt(self, self._saved.use(row.saved, run=submit), "saved")
        elif row is not None and row.past is not None:
            whole = not (row.past.large or row.past.left_out)
            if not row.past.large:
                self.post_message(self.FillRequested(row.past.arguments, submit and whole))
            if not whole:
                self.app.say(row.past.loss, "warning")

    def action_copy(self) -> None:
        """Copy its arguments as JSON."""
        if (row := self.row) is not None:
            arguments = row.saved.arguments if row.saved else row.past.arguments if row.past else None
            self.app.copy(printable(arguments), "its arguments")

    def action_copy_as(self) -> None:
        """Copy it as a command line."""
        if (row := self.row) is None:
            return
        if row.saved is not None:
            self.app.copy(f"mcp-studio call --saved {shlex.quote(row.saved.name)}")
        elif row.past is not None:
            self.post_message(self.FillRequested(row.past.arguments, False))
            self.app.say("The form is filled with it; copy it from there.")

    def action_edit(self) -> None:
        """Rename the saved call."""
        if (saved := self._saved_row()) is not None:
            self.app.attempt(self, self._then_reload(self._saved.rename(saved)), "saved")

    def action_open_outside(self) -> None:
        """Open the file of the saved call in the editor."""
        if (saved := self._saved_row()) is not None:
            self.app.attempt(self, self._then_reload(self._saved.open_file(str(saved.file))), "saved")

    def action_delete(self) -> None:
        """Delete it, after asking where it is a saved call."""
        row = self.row
        if row is not None and row.saved is not None:
            self.app.attempt(self, self._then_reload(self._saved.delete(row.saved)), "saved")
        elif row is not None and row.past is not None:
            forget = self.app.studio.memory.history.forget(row.past)
            self.app.attempt(self, self._then_reload(forget), "saved")

    async def _then_reload(self, work: Awaitable[None]) -> None:
        await work
        self.reload()

    def _saved_row(self) -> SavedCall | None:
        if self.row is not None and self.row.saved is not None:
            return self.row.saved
        self.app.say("This is not a saved call.", "warning")
        return None

    def _draw_one(self, row: HistoryRow, width: int, selected: bool) -> Line:
        if row.saved is not None:
            return _saved_line(row.saved, width)
        return _past_line(row.past, width) if row.past is not None else []


def _saved_line(saved: SavedCall, width: int) -> Line:
    end: list[Piece] = [(f" {saved.where}", "dim")]
    name = cut(safe(saved.name, 80), max(8, width // 2), more=glyphs().more)
    pieces: list[Piece] = [(f"{glyphs().mark} ", "accent"), (name, "")]
    left = width - width_of(pieces) - width_of(end) - 2
    more = safe(saved.description, 200) or _summary(saved.arguments)
    if left >= _ROOM:
        pieces.append((f"  {cut(more, left, more=glyphs().more)}", "dim"))
    return spread(pieces, end, width)


def _summary(value: Json) -> str:
    """A value on a line."""
    return "no arguments" if value in (None, {}) else safe(printable(value, indent=None)[:_SUMMARY], _SUMMARY)


def _past_line(past: Past, width: int) -> Line:
    sign, look = _LOOKS.get(past.kind, ("bad", "bad"))
    head: list[Piece] = [(f"{getattr(glyphs(), sign)} ", look), (f"{_when(past.at)} ", "dim")]
    if past.kind != "ok":
        head.append((f" {past.kind}", look))
    facts = [units.duration(past.ms)] if past.ms else []
    facts += [units.size(past.size)] if past.size and width > 50 else []
    end: list[Piece] = [(f" {' '.join(facts)}", "dim")] if facts else []
    left = width - width_of(head) - width_of(end) - 1
    if left >= _ROOM:
        said = f"{safe(past.said, 200)}  " if past.said else ""
        what = "too large to be kept" if past.large else _summary(past.arguments)
        lost = "  (a secret is left out)" if past.left_out else ""
        head.append((f" {cut(said + what + lost, left, more=glyphs().more)}", ""))
    return spread(head, end, width)


def _when(at: float) -> str:
    """A moment in the past: the time of today, else the day."""
    now, then = time.time(), time.localtime(at)
    if time.localtime(now)[:3] == then[:3]:
        return time.strftime("%H:%M:%S", then)
    return time.strftime("%d %b" if abs(now - at) < _LONG_AGO else "%Y-%m-%d", then)

"""The filter of the catalog: what is typed, what it leaves, and where enter and esc lead."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, cast

from mcp_studio.catalog.listing import KINDS, EntryKind, Ref
from mcp_studio.tui import late_filter
from mcp_studio.tui.bindings import key_for
from mcp_studio.tui.panels import catalog_rows
from mcp_studio.tui.panels.catalog_rows import Row
from mcp_studio.tui.panels.filter_line import FilterLine
from mcp_studio.tui.panels.pane import Pane
from mcp_studio.tui.views.line import Line
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.panels.narrowing import Narrowing

_PATIENCE = 1.0
"""Seconds for which enter waits for what the index finds, where nothing else could be opened."""


class EntryList(VirtualList[Row]):
    """A list whose risk marks have the theme's colours."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"view--risk-read", "view--risk-write", "view--risk-destructive"}
    used = False
    """Somebody has moved the cursor, or done something with its row: until then it is on the first, whatever comes."""

    def move_to(self, index: int, *, center: bool = False) -> None:
        """Put the cursor on a row, on which it stays from then on."""
        self.used = True
        super().move_to(index, center=center)


class CatalogFilter(Pane):
    """The filtered part of the catalog.

    Rows that have all the words are shown with the key that made them so, always in the same order. Where none of
    their names has them the index is asked, and what it finds comes below: nothing that is shown moves for it.
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._rows: dict[EntryKind, list[Row]] = {kind: [] for kind in KINDS}
        self._why: dict[EntryKind, str] = dict.fromkeys(KINDS, "")
        self.kind: EntryKind = "tool"
        self.filter = FilterLine("filter", ("enter", "Open"), ("down", "To the list"), ("escape", "End filter"))
        self.list = EntryList(self._draw_row, key=catalog_rows.key, stops=lambda row: not row.heading)
        self._query = ""
        self._home: Hashable = None
        self._narrowing: Narrowing | None = None
        self.sought: tuple[EntryKind, str] = ("tool", "")
        """What the index is to be asked: a kind, and a text, which is empty where nothing has to be asked."""
        self._answered = asyncio.Event()

    # What subclasses do

    def _draw_row(self, row: Row, width: int, selected: bool) -> Line:
        raise NotImplementedError

    def _draw_note(self) -> None:
        raise NotImplementedError

    def action_open(self) -> None:
        """Open the entry under the cursor."""
        raise NotImplementedError

    def seek(self) -> None:
        """Say that the index is to be asked for what is `sought`."""
        raise NotImplementedError

    # Typing

    async def action_filter(self) -> None:
        """Start typing a filter."""
        self._note_home()
        await self.filter.open()
        self.call_after_refresh(self._read_ahead)

    def _note_home(self) -> None:
        """The row under the cursor is the one to come back to."""
        self.list.used = True
        self._home = catalog_rows.key(self.list.row) if self.list.row else None

    def _read_ahead(self) -> None:
        """Before the first letter, and with other things in between."""
        if self.filter.has_focus_within or self._query:
            if self._narrowed.read_ahead(self._rows, self.kind):
                self.call_later(self._read_ahead)

    @property
    def _narrowed(self) -> Narrowing:
        if self._narrowing is None:
            self._narrowing = late_filter.narrowing()
        return self._narrowing

    @property
    def _filtered(self) -> Narrowing | None:
        """What the filter leaves; None where there is none."""
        return self._narrowing if self._query.strip() else None

    def on_filter_line_changed(self, event: FilterLine.Changed) -> None:
        """Show only what has all the words."""
        event.stop()
        if not self._query:
            self._note_home()
        self._query = event.text
        self._fill(keep=not self._query.strip())
        if not self._query and not self.filter.has_focus_within:
            self._narrowing = None

    async def on_filter_line_left(self, event: FilterLine.Left) -> None:
        """Back to the list; enter opens what is under the cursor, esc goes back to where the filter began."""
        event.stop()
        self.screen.set_focus(self.list)
        if event.how == "escape" and self._home is not None:
            self.list.go_to_key(self._home)
        if event.how == "enter":
            if self._filtered is not None and not self._filtered.count and self.sought[1]:
                # Nothing is acted on before this is done: enter is for the answer to what was typed.
                cast("StudioApp", self.app).key_order.expect(_PATIENCE)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._answered.wait(), _PATIENCE)
            self.action_open()

    async def end_filter(self) -> None:
        """Show everything again; the cursor stays."""
        if self.filter.text:
            await self.filter.clear()

    # Showing

    def _fill(self, keep: bool) -> None:
        rows = self._rows[self.kind]
        if self._query.strip():
            rows = self._narrowed.rows(self._rows, self.kind, self._query)
        at_top = self._filtered is not None and not self.list.top
        self.list.set_rows(rows, keep=keep)
        if at_top:  # what is better than the row under the cursor is not to be hidden above it
            self.list.scroll_rows(0)
            self.list.show_cursor()
        self._seek_more()
        self._teach()
        self._draw_note()

    def _seek_more(self) -> None:
        filtered = self._filtered
        text = self._query if filtered is not None and not filtered.enough else ""
        if (self.kind, text) != self.sought and (text or self.sought[1]):
            self.sought = self.kind, text
            self._answered.clear()
            self.seek()

    def show_also(
        self, kind: EntryKind, text: str, pieces: Mapping[Ref, tuple[str, ...]], *, whole: bool = True
    ) -> None:
        """Show what the index found below what has all the words: the best first, with pieces of names to be marked.

        `whole` is False while it has not looked at everything.
        """
        filtered = self._filtered
        if filtered is None or (kind, text) != self.sought:
            return
        again = filtered.also[:2] == (kind, text)
        if again and [*filtered.also.pieces.items()] == [*pieces.items()] and (self._answered.is_set() or not whole):
            return  # the index knows more now, and nothing of it is for this
        filtered.also = filtered.also._replace(kind=kind, text=text, pieces=pieces)
        if whole:
            self._answered.set()
        at_first = all(row.heading for row in self.list.rows[: self.list.cursor])
        self._fill(keep=again or bool(filtered.count) or not at_first)

    def _teach(self) -> None:
        text = self._why[self.kind] if self._filtered is None else ""
        if self._filtered is not None and not self.list.row_count:
            text = self._nothing(self._filtered)
        if text != self.list.empty:
            self.list.empty = text

    def _nothing(self, filtered: Narrowing) -> str:
        if not self._answered.is_set():
            return "Nothing here has all these words. Looking for what is similar …"
        elsewhere = filtered.elsewhere(self._rows, self.kind, self._query)
        text = "Nothing here has all these words; esc ends the filter."
        key = key_for(self, "search")
        return f"{text}\n\n{elsewhere}.\n{key} searches everything." if elsewhere else text

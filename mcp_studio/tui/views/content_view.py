"""Content blocks of every kind, one below the other: text wrapped, pictures drawn, links and files to be chosen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.message import Message

from mcp_studio.safetext import safe
from mcp_studio.tui.views.glyphs import ASCII, glyphs
from mcp_studio.tui.views.line import Line, Piece
from mcp_studio.tui.views.messages import Copied
from mcp_studio.tui.views.picture import NoPicture, draw
from mcp_studio.tui.views.virtual import VirtualView
from mcp_studio.tui.views.wrapped import WrappedText

TEXT_MOST = 256 * 1024
"""Bytes of one text that are wrapped here; the rest is in the raw result."""
ROWS_MOST = 20_000
PICTURE_ROWS = 18
"""Rows that a picture takes at most; chosen, it is drawn larger."""
PICTURE_MOST = 16 * 1024 * 1024
PICTURES_MOST = 20
"""Pictures drawn by themselves; the others are drawn when they are chosen."""


class Item(NamedTuple):
    """One block as this view needs it; all text is foreign."""

    head: str = ""
    """One line on what it is, made safe."""
    hint: str = ""
    """What can be done with it."""
    text: str = ""
    picture: Callable[[], bytes] | None = None
    """Gives the bytes of a picture; may raise ValueError."""
    copies: str = ""
    """What copying it gives."""


class _Row(NamedTuple):
    item: int
    pieces: Sequence[Piece]


class ContentView(VirtualView):
    """A list of rows that belong to blocks; enter on one of them chooses its block.

    Args:
        picture_rows: rows that a picture may take; 0 is as many as the view has.
    """

    class Chosen(Message):
        """Enter, space or a double click on a row of this block."""

        def __init__(self, view: ContentView, index: int) -> None:
            super().__init__()
            self.view = view
            self.index = index

    def __init__(self, *, picture_rows: int = PICTURE_ROWS, empty: str = "", classes: str | None = None) -> None:
        super().__init__(empty=empty, classes=classes)
        self._items: Sequence[Item] = ()
        self._rows: list[_Row] = []
        self._drawn: dict[int, list[list[Piece]]] = {}
        self._trouble: dict[int, str] = {}
        self._wrapped: dict[int, list[Sequence[Piece]]] = {}
        """Texts as they are wrapped at this width: each picture that is drawn has all rows built again."""
        self._picture_rows = picture_rows
        self._built = 0
        self._version = 0

    def show(self, items: Sequence[Item]) -> None:
        """Show other blocks, from the first one on."""
        self._items = items
        self._drawn, self._trouble, self._wrapped = {}, {}, {}
        self._built = 0
        if self.is_attached and self.row_width:
            self._build(keep=False)
            self._draw_soon()

    @property
    def index(self) -> int:
        """The block under the cursor; 0 when there is none."""
        return self._rows[self.cursor].item if self._rows else 0

    @property
    def row_count(self) -> int:
        """Rows of all blocks."""
        return len(self._rows)

    def row_version(self, index: int) -> Hashable:
        """Number and what is shown."""
        return index, self._version

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        """One row as it was built."""
        return self._rows[index].pieces

    def row_chosen(self, index: int) -> None:
        """Tell which block it belongs to."""
        self.post_message(self.Chosen(self, self._rows[index].item))

    def resized(self) -> None:
        """Wrap and draw anew at another width."""
        super().resized()
        if self.row_width and self._built != self.row_width:
            self._drawn, self._wrapped = {}, {}
            self._build(keep=True)
            self._draw_soon()

    def shown(self) -> None:
        """Take over what was set while nobody could see it."""
        self.resized()

    def turn_block(self, step: int) -> None:
        """Put the cursor on the first row of the next block, or of the one before."""
        wanted = self.index + step
        for place, row in enumerate(self._rows):
            if row.item == wanted and row.pieces:
                self.move_to(place, center=True)
                return

    def action_copy(self) -> None:
        """Copy the block under the cursor: its text, or its address."""
        if self._items:
            item = self._items[self.index]
            self.post_message(Copied(item.copies or item.text or item.head, "block"))

    # Rows

    def _build(self, *, keep: bool) -> None:
        """Make all rows; with `keep` the cursor stays on its block."""
        here = self.index if keep else 0
        self._built = self.row_width
        self._version += 1
        rows: list[_Row] = []
        for index, item in enumerate(self._items):
            if rows:
                rows.append(_Row(index, ()))
            rows += [_Row(index, pieces) for pieces in self._lines(index, item)]
            if len(rows) > ROWS_MOST:
                rows = [*rows[:ROWS_MOST], _Row(index, [("There is more; the raw result has all of it.", "warn")])]
                break
        self._rows = rows
        cursor = next((place for place, row in enumerate(rows) if row.item == here and row.pieces), 0)
        self.rows_changed(None if keep else 0, cursor=cursor)

    def _draw_soon(self) -> None:
        if any(item.picture for item in self._items):
            self.run_worker(self._draw_pictures(), group="pictures", exclusive=True)

    def _lines(self, index: int, item: Item) -> list[Sequence[Piece]]:
        lines: list[Sequence[Piece]] = []
        if item.head:
            hint: list[Piece] = [(f"  {item.hint}", "dim")] if item.hint else []
            beside = cell_len(item.head) + cell_len(item.hint) + 4 <= self.row_width
            lines.append([(f"{glyphs().mark} ", "accent"), (item.head, "strong"), *(hint if beside else [])])
            if hint and not beside:
                lines.append(hint)
        if item.picture is not None:
            lines += self._drawn.get(index, ())
            if trouble := self._trouble.get(index):
                lines.append([(f"  {safe(trouble, 300)}", "dim")])
        if item.text:
            if index not in self._wrapped:
                self._wrapped[index] = self._text_lines(item.text)
            lines += self._wrapped[index]
        return lines

    def _text_lines(self, text: str) -> list[Sequence[Piece]]:
        data = text[: TEXT_MOST + 1].encode("utf-8", "backslashreplace")
        wrapped = WrappedText(data[:TEXT_MOST], self.row_width)
        while not wrapped.advance(1.0):
            pass
        lines: list[Sequence[Piece]] = [[(wrapped.row(number), "")] for number in range(wrapped.rows)]
        if len(data) > TEXT_MOST:
            lines.append([("There is more of this text; the raw result has all of it.", "warn")])
        return lines

    async def _draw_pictures(self) -> None:
        """Decode in a thread, one after the other, so that the text is there at once."""
        items, width = self._items, self.row_width
        height = self._picture_rows or max(1, self.size.height - 1)
        plain = glyphs() is ASCII
        waiting = [(index, item.picture) for index, item in enumerate(items) if item.picture is not None]
        for index, picture in waiting[:PICTURES_MOST]:
            if index in self._drawn:
                continue
            try:
                rows = await asyncio.to_thread(_draw, picture, width, height, plain)
            except (NoPicture, ValueError) as problem:
                self._drawn[index], self._trouble[index] = [], str(problem)
            else:
                self._drawn[index] = rows
            if items is not self._items or width != self.row_width:
                return  # something else is shown by now
            self._build(keep=True)


def _draw(picture: Callable[[], bytes], width: int, height: int, ascii: bool) -> list[list[Piece]]:
    data = picture()
    if len(data) > PICTURE_MOST:
        raise NoPicture("it is too large to be drawn here")
    return draw(data, width, height, ascii=ascii)

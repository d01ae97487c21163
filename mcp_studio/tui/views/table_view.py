"""Arrays of objects as a table, which can be sorted by any column and copied as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text
from textual.widgets import DataTable

from mcp_studio.jsontext import Json, printable
from mcp_studio.present.units import plural
from mcp_studio.safetext import safe
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.views.json_view import ROWS_MOST
from mcp_studio.tui.views.rows import cut, glyphs

Row = Mapping[str, Json]
COLUMNS_MOST = 60
_LOOKED_AT = 1_000
"""The rows whose keys become columns."""
_PAGE = 3_000
"""Cells that are added at a time, which takes 20 ms."""
_WIDEST = 40


def columns_of(rows: Sequence[Row]) -> list[str]:
    """The keys of the first rows in order of appearance."""
    return list(dict.fromkeys(key for row in rows[:_LOOKED_AT] for key in row))


def csv_of(rows: Sequence[Row]) -> str:
    """Rows as CSV with a heading; nested values are written as JSON."""
    columns = columns_of(rows)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_plain(row.get(column)) for column in columns] for row in rows)
    return out.getvalue()


def _plain(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else printable(value, indent=None)


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(row: Row, name: str) -> str:
    value = row.get(name, "")
    # Write only the visible part, because a nested value can have megabytes.
    return "null" if value is None else safe(value, 4 * _WIDEST)


class Cell(NamedTuple):
    """A value on one line, shortened; numbers are aligned to the right.

    It is drawn when it is seen. Textual asks a cell that can tell its width for it, which took a `Text` 30 µs.
    """

    row: Row
    name: str
    width: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        value = self.row.get(self.name, "")
        style = "dim" if value is None or isinstance(value, (dict, list)) else ""
        justify = "right" if _is_number(value) else "left"
        yield Text(cut(_text(self.row, self.name), self.width), style=style, justify=justify, no_wrap=True, end="")


def _order(value: Json) -> tuple[int, Any]:
    """A sort key: numbers before texts before nested values; missing values come last."""
    if value is None:
        return 3, 0
    if isinstance(value, (bool, int, float)):
        return 0, value
    return (1, value.casefold()) if isinstance(value, str) else (2, safe(value, 200))


class TableView(DataTable[Cell]):
    """A table of JSON objects; a click on a heading, or space in a column, sorts by that column."""

    BINDINGS = bindings("list", "table")

    def __init__(self, rows: Sequence[Row], *, is_part: bool = False) -> None:
        """`is_part`: these are only the first rows."""
        super().__init__(zebra_stripes=True)
        self._all, self._objects, self._is_part = rows, rows, is_part
        """All rows, and those that have the text of the filter."""
        self._needle = ""
        self._names = columns_of(rows)[:COLUMNS_MOST]
        self._page = _PAGE // max(1, len(self._names))
        self._widths = [
            min(_WIDEST, max(cell_len(name) + 2, *(cell_len(_text(row, name)) for row in rows[: 4 * self._page])))
            for name in self._names
        ]
        self._order: tuple[int, bool] | None = None
        """The column that the table is sorted by, and whether the largest value comes first."""

    @property
    def _most(self) -> int:
        return min(len(self._objects), ROWS_MOST)

    @property
    def summary(self) -> str:
        """The number of rows, and the number of shown rows if the table shows only some."""
        count = plural(len(self._objects), "row")
        if self._needle:
            return f"{len(self._objects):,} of {plural(len(self._all), 'row')}"
        if self._is_part:
            return f"first {plural(self._most, 'row')}"
        return f"first {self._most:,} of {count}" if self._most < len(self._objects) else count

    def on_mount(self) -> None:
        """Show the first rows now, and further rows as soon as the person scrolls to them."""
        self.clear(columns=True)
        for place, width in enumerate(self._widths):
            self.add_column(self._heading(place), width=width)
        self._add_page()

    def _add_page(self) -> None:
        begin, end = self.row_count, min(self._most, self.row_count + self._page)
        columns = list(zip(self._names, self._widths, strict=True))
        self.add_rows([Cell(row, name, width) for name, width in columns] for row in self._objects[begin:end])

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        # Without rows, the table is just being cleared.
        if 0 < self.row_count < min(self._most, new_value + 2 * self.size.height):
            self._add_page()

    def _heading(self, place: int) -> Text:
        column, is_reverse = self._order or (-1, False)
        sign = (glyphs().down if is_reverse else glyphs().up) if column == place else " "
        name = cut(safe(self._names[place], 200), self._widths[place] - 2)
        is_number = any(_is_number(row.get(self._names[place])) for row in self._objects[:10])
        text = f"{sign} {name}" if is_number else f"{name} {sign}"
        return Text(text, justify="right" if is_number else "left", no_wrap=True, end="")

    def sort_by(self, column: int) -> None:
        """Sort by a column; sorting by the same column again reverses the order."""
        is_reverse = self._order == (column, False)
        self._order = column, is_reverse
        name = self._names[column]
        self._all = sorted(self._all, key=lambda row: _order(row.get(name)), reverse=is_reverse)
        self.filter(self._needle)
        self.move_cursor(row=0, column=column)

    def filter(self, text: str) -> None:
        """Show only the rows with a text in one of their values."""
        self._needle = text.casefold()
        self._objects = [row for row in self._all if self._needle in printable([*row.values()]).casefold()]
        self.on_mount()

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        event.stop()
        self.sort_by(event.column_index)

    def action_toggle_item(self) -> None:
        self.sort_by(self.cursor_column)

    def action_copy(self) -> None:
        if self._objects:
            self.app.copy_to_clipboard(_plain(self._objects[self.cursor_row].get(self._names[self.cursor_column])))

    def action_copy_as(self) -> None:
        """Copy all rows that the filter leaves as CSV, in the present order."""
        self.app.copy_to_clipboard(csv_of(self._objects))

    def action_first(self) -> None:
        self.move_cursor(row=0)

    def action_last(self) -> None:
        """Go to the last row, and show that adding the rows before it takes a moment."""
        self.loading = self.row_count < self._most
        if self.loading:
            self._add_page()
            self.call_after_refresh(self.action_last)  # a page for each frame
        else:
            self.move_cursor(row=self.row_count - 1)

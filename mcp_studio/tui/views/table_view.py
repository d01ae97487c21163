"""Arrays of objects as a table: sorted by any column, copied as CSV."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

from rich.text import Text
from textual.binding import BindingType
from textual.widgets import DataTable

from mcp_studio.jsontext import Json, printable
from mcp_studio.present.units import plural
from mcp_studio.safetext import safe
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import cut

Row = Mapping[str, Json]
ROWS_MOST = 10_000
CELLS_MOST = 60_000
"""What is shown at most; what is copied as CSV is all of it."""
COLUMNS_MOST = 60
_LOOKED_AT = 1_000
"""Rows of which the columns are taken."""
_PAGE = 600
"""Cells that are added at once: Textual measures each, and draws the screen anew, for about 30 ms."""
_WIDEST = 40


class Table(NamedTuple):
    """An array of objects within a JSON value."""

    pointer: str
    """Where it is, as a JSON pointer; empty for the whole value."""
    rows: Sequence[Row]


def table_in(value: Json) -> Table | None:
    """The first array of objects within two levels of a value; None where there is none."""
    level: list[tuple[str, Json]] = [("", value)]
    for _ in range(3):
        for pointer, candidate in level:
            if _is_table(candidate):
                return Table(pointer, candidate)
        level = [
            (f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}", inner)
            for pointer, candidate in level
            if isinstance(candidate, dict)
            for key, inner in cast("dict[str, Json]", candidate).items()
        ]
    return None


def _is_table(value: Json) -> bool:
    if not isinstance(value, list):
        return False
    rows = cast("list[Json]", value)
    return bool(rows) and all(isinstance(row, dict) for row in rows) and any(rows)


def columns_of(rows: Sequence[Row]) -> list[str]:
    """The keys of the first rows, in the order in which they occur."""
    return list(dict.fromkeys(key for row in rows[:_LOOKED_AT] for key in row))


def csv_of(rows: Sequence[Row]) -> str:
    """Rows as CSV with a heading; what is nested stands in it as JSON."""
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


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as the table draws it: on one line, shortened, numbers at the right."""

    value: Json
    is_missing: bool = False

    def __rich__(self) -> Text:
        if self.is_missing:
            return Text("", end="")
        value = self.value
        # Only what may be seen is written out: a nested value can be megabytes.
        text = "null" if value is None else safe(value, 4 * _WIDEST)
        style = "dim" if value is None or isinstance(value, (dict, list)) else ""
        return Text(
            cut(text, _WIDEST, more=glyphs().more),
            style=style,
            justify="right" if self.is_number else "left",
            no_wrap=True,
            end="",
        )

    @property
    def is_number(self) -> bool:
        """Whether it stands at the right."""
        return isinstance(self.value, (int, float)) and not isinstance(self.value, bool)

    @property
    def order(self) -> tuple[int, Any]:
        """Sorts numbers before texts before what is nested; what is not there comes last."""
        value = self.value
        if self.is_missing or value is None:
            return 3, 0
        if isinstance(value, (bool, int, float)):
            return 0, value
        return (1, value.casefold()) if isinstance(value, str) else (2, safe(value, 200))


class TableView(DataTable[Cell]):
    """A table of JSON objects; a click on a heading, or space on a column, sorts by it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("list", "table")
    DEFAULT_CSS = """
    TableView { height: 1fr; background: transparent; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; }
    TableView > .datatable--header { text-style: bold; color: $text-primary; background: $panel; }
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        super().__init__(zebra_stripes=True)
        self._objects = rows
        self._names = columns_of(rows)[:COLUMNS_MOST]
        self._most = min(ROWS_MOST, CELLS_MOST // max(1, len(self._names)))
        self._order: tuple[int, bool] | None = None
        """The column that it is sorted by, and whether the largest comes first."""

    def on_mount(self) -> None:
        """Show the first rows at once, further ones as soon as they are scrolled to."""
        self._restart()

    @property
    def summary(self) -> str:
        """How many rows there are, and how many of them can be shown where those are not all."""
        count = len(self._objects)
        return f"first {self._most:,} of {plural(count, 'row')}" if count > self._most else plural(count, "row")

    @property
    def _is_whole(self) -> bool:
        return self.row_count >= min(self._most, len(self._objects))

    def _restart(self) -> None:
        self.clear(columns=True)
        for place in range(len(self._names)):
            self.add_column(self._heading(place), key=str(place))
        self._add_page()

    def _add_page(self) -> None:
        begin = self.row_count
        end = min(self._most, begin + max(1, _PAGE // max(1, len(self._names))))
        self.add_rows([self._cell(row, name) for name in self._names] for row in self._objects[begin:end])

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        near_end = new_value + 2 * self.size.height > self.row_count
        if near_end and self.row_count and not self._is_whole:  # without rows it is being cleared
            self._add_page()

    @staticmethod
    def _cell(row: Row, name: str) -> Cell:
        return Cell(row.get(name), name not in row)

    def _heading(self, place: int) -> Text:
        column, is_reverse = self._order or (-1, False)
        sign = (glyphs().down if is_reverse else glyphs().up) if column == place else " "
        name = cut(safe(self._names[place], 200), _WIDEST)
        is_number = any(self._cell(row, self._names[place]).is_number for row in self._objects[:10])
        text = f"{sign} {name}" if is_number else f"{name} {sign}"
        return Text(text, justify="right" if is_number else "left", no_wrap=True, end="")

    def sort_by(self, column: int) -> None:
        """Sort by a column; by the same one again, the other way round."""
        is_reverse = self._order == (column, False)
        self._order = column, is_reverse
        name = self._names[column]
        self._objects = sorted(self._objects, key=lambda row: self._cell(row, name).order, reverse=is_reverse)
        self._restart()
        self.move_cursor(row=0, column=column)

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        event.stop()
        self.sort_by(event.column_index)

    async def action_toggle_item(self, attribute_name: str = "") -> None:
        if self.row_count:
            self.sort_by(self.cursor_column)

    def action_copy(self) -> None:
        if self.row_count:
            self.app.copy_to_clipboard(_plain(self.get_cell_at(self.cursor_coordinate).value))

    def action_copy_as(self) -> None:
        """Copy all rows as CSV, those too that are not shown, in the order that is shown."""
        self.app.copy_to_clipboard(csv_of(self._objects))

    def action_first(self) -> None:
        self.move_cursor(row=0)

    def action_last(self) -> None:
        """Go to the last row; those before it are added behind a sign that it takes a moment."""
        self.loading = not self._is_whole
        self.run_worker(self._go_last(), group="last", exclusive=True)

    async def _go_last(self) -> None:
        while not self._is_whole:
            self._add_page()
            await asyncio.sleep(0.001)
        self.loading = False
        self.move_cursor(row=self.row_count - 1)

"""The differences between two JSON values: each place with its old and new value."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from difflib import unified_diff
from itertools import islice
from typing import NamedTuple

from textual.message import Message

from mcp_studio.jsontext import Json, printable
from mcp_studio.present.trace import difference_line
from mcp_studio.present.units import plural
from mcp_studio.safetext import safe
from mcp_studio.trace.diff import USUAL, Difference, Ignore, diff, path_text
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.views.rows import CursorView, Line

_LINES_MOST = 2_000
"""Lines of a value that are shown, and lines of two texts that are compared."""
_SIGNS = {"-": "bad", "+": "ok", " ": ""}
"""The look of a line of the old value, of the new one, or of both."""
_LOOKS = {"added": "ok", "removed": "bad", "changed": "warn", "type": "warn", "moved": "accent", "more": "dim"}


class DiffRow(NamedTuple):
    """One line: the place of a difference, or a line of the old or new value."""

    sign: str
    """`-` and `+` for a line of the old or new value, a space for a line of both, empty for a place."""
    text: str
    look: str


class DiffView(CursorView):
    """The differences, one below the other; n and N go from one to the next."""

    BINDINGS = bindings("viewer")

    class Compared(Message):
        """The comparison is finished."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[DiffRow] = ()
        self.differences: tuple[Difference, ...] = ()
        """The differences; empty until the comparison is finished."""

    def show(self, before: Json, after: Json, ignore: Ignore = USUAL) -> None:
        """Compare two values in a thread, and show the differences."""
        self._rows, self.differences, self.empty = (), (), "Comparing"
        self.rows_changed(0, cursor=0)
        self.run_worker(self._compare(before, after, ignore), group="compare", exclusive=True)

    async def _compare(self, before: Json, after: Json, ignore: Ignore) -> None:
        def compare() -> tuple[tuple[Difference, ...], list[DiffRow]]:
            differences = diff(before, after, ignore)
            return differences, [row for one in differences for row in rows_of(one)]

        self.differences, self._rows = await asyncio.to_thread(compare)
        self.empty = "No differences. Times and ids that change with every call do not count." if ignore.usual else ""
        self.rows_changed(0, cursor=0)
        self.post_message(self.Compared())

    @property
    def row_count(self) -> int:
        return len(self._rows)

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        sign, text, look = self._rows[index]
        return [(f"  {sign} " * bool(sign) + safe(text, 4 * width), look)]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action not in ("find", "back")

    def action_next_match(self) -> None:
        self._go_to(range(self.cursor + 1, len(self._rows)))

    def action_previous_match(self) -> None:
        self._go_to(range(self.cursor - 1, -1, -1))

    def _go_to(self, places: Iterable[int]) -> None:
        self.move_to(next((place for place in places if not self._rows[place].sign), self.cursor), center=True)

    def action_copy(self) -> None:
        """Copy the differences, one per line."""
        self.app.copy_to_clipboard("\n".join(difference_line(one, 200) for one in self.differences) or "no differences")


def rows_of(one: Difference) -> Iterator[DiffRow]:
    """The rows of a difference: its place, and below it the old and the new value."""
    place, look = path_text(one.path) or "the whole value", _LOOKS[one.kind]
    if one.kind in ("more", "moved"):
        moved = f"{place}  moved from {path_text(one.was)}"
        yield DiffRow("", moved if one.kind == "moved" else "There are more differences, which are not compared.", look)
        return
    yield DiffRow("", f"{place}  {'another type' if one.kind == 'type' else one.kind}", look)
    old = [] if one.kind == "added" else _lines(one.before)
    new = [] if one.kind == "removed" else _lines(one.after)
    if isinstance(one.before, str) and isinstance(one.after, str) and len(old) + len(new) > 2:
        yield from _texts(old, new)
    else:
        yield from (DiffRow(sign, line, _SIGNS[sign]) for sign, lines in (("-", old), ("+", new)) for line in lines)


def _lines(value: Json) -> list[str]:
    """The lines of a value: a text as it is, any other value as JSON."""
    text = value if isinstance(value, str) and "\n" in value else printable(value)
    lines = text.split("\n")
    more = len(lines) - _LINES_MOST
    return [*lines[:_LINES_MOST], f"and {plural(more, 'more line')}"] if more > 0 else lines


def _texts(old: list[str], new: list[str]) -> Iterator[DiffRow]:
    """The differences between two texts of several lines, with some equal lines around each."""
    for line in islice(unified_diff(old, new, lineterm=""), 2, None):  # without the names of two files
        yield DiffRow(line[0], line[1:], _SIGNS[line[0]]) if line[0] in _SIGNS else DiffRow(" ", line, "dim")

"""Two JSON values beside each other, or one below the other where it is narrow, with what differs between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar, Literal, NamedTuple, cast

from rich.cells import cell_len
from textual.binding import BindingType
from textual.message import Message

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, printable
from mcp_studio.present.units import plural
from mcp_studio.safetext import safe
from mcp_studio.trace.diff import USUAL, Difference, Ignore, Path, diff, shown
from mcp_studio.tui.bindings import bindings
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, fit
from mcp_studio.tui.views.rows import CursorView

RowKind = Literal["same", "removed", "added", "changed", "moved"]
_WIDE = 96
"""Cells from which on both sides stand beside each other."""
_LEAD = 12
"""Characters that two long lines have in common and that are shown before they differ."""
_ROWS_MOST = 200_000
"""Lines of one comparison."""
_TEXT = 4_000
"""Lines of two texts that are put together; of longer ones the first belongs to the first, and so on."""
_AROUND = 3
"""Lines that are the same and are shown around what differs."""
_LOOKS = {"removed": "bad", "added": "ok", "changed": "warn", "moved": "accent", "same": ""}


class DiffRow(NamedTuple):
    """One line on both sides; None where a side has none. The texts are foreign."""

    kind: RowKind
    before: str | None
    after: str | None


class Fold(NamedTuple):
    """Lines that are the same, and are not shown."""

    lines: int


class _Half(NamedTuple):
    """One side of a row, on a line of its own."""

    kind: RowKind
    text: str


_Row = DiffRow | Fold | _Half
_Step = DiffRow | Callable[[], Iterator[Any]]
"""A row, or what makes further ones."""


class DiffView(CursorView):
    """The lines of two values with what differs marked; what is the same is folded until enter shows it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("viewer")

    @dataclass
    class Compared(Message):
        """It is known what differs."""

        differences: tuple[Difference, ...]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._all: list[DiffRow] = []
        self._rows: Sequence[_Row] = ()
        self._is_folded = True
        self.differences: tuple[Difference, ...] = ()
        """What differs; empty until it is known."""

    def show(self, before: Json, after: Json, ignore: Ignore = USUAL) -> None:
        """Compare two values, in a thread, and show them."""
        self._all, self.differences, self.empty = [], (), "Comparing"
        self._lay_out()
        self.run_worker(self._compare(before, after, ignore), group="compare", exclusive=True)

    async def _compare(self, before: Json, after: Json, ignore: Ignore) -> None:
        def compare() -> tuple[tuple[Difference, ...], list[DiffRow]]:
            differences = diff(before, after, ignore)
            return differences, diff_rows(before, after, differences)

        self.differences, self._all = await asyncio.to_thread(compare)
        self._lay_out()
        self.move_to(next((place for place, row in enumerate(self._rows) if _differs(row)), 0), center=True)
        self.post_message(self.Compared(self.differences))

    def _lay_out(self) -> None:
        rows: Sequence[_Row] = folded(self._all) if self._is_folded else self._all
        self._rows = rows if self.row_width >= _WIDE else _below(rows)
        self.rows_changed(0, cursor=0)

    def on_resize(self) -> None:
        """Beside each other, or below."""
        before = self.cursor
        self._lay_out()
        self.move_to(before)

    @property
    def row_count(self) -> int:
        return len(self._rows)

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        signs, row = glyphs(), self._rows[index]
        if isinstance(row, Fold):
            return [(f"{signs.folded} {plural(row.lines, 'line')} the same", "dim")]
        marks = {"removed": signs.gone, "added": signs.new, "changed": signs.changed, "moved": signs.sent}
        mark, look = marks.get(row.kind, " "), _LOOKS[row.kind]
        if isinstance(row, _Half):
            return [(f"{mark} {cut(safe(row.text, 4 * width), width - 2)}", look)]
        half = (width - 3) // 2
        before, after = _apart(row, half - 2)
        left, right = _half(before, look, mark, half), _half(after, look, mark, width - half - 3)
        return [left, (f" {signs.bar} ", "dim"), right]

    def row_chosen(self, index: int) -> None:
        """Show what is folded, or fold it again."""
        if self._is_folded and not isinstance(self._rows[index], Fold):
            return
        self._is_folded = not self._is_folded
        self._lay_out()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action not in ("find", "back")

    def action_next_match(self) -> None:
        """Go to the next run of lines that differ."""
        self._go_to(place for place in range(self.cursor + 1, len(self._rows)) if self._begins(place))

    def action_previous_match(self) -> None:
        self._go_to(place for place in range(self.cursor - 1, -1, -1) if self._begins(place))

    def _begins(self, place: int) -> bool:
        return _differs(self._rows[place]) and (place == 0 or not _differs(self._rows[place - 1]))

    def _go_to(self, places: Iterable[int]) -> None:
        self.move_to(next(iter(places), self.cursor), center=True)

    def action_copy(self) -> None:
        """Copy the differences, one a line."""
        self.app.copy_to_clipboard("\n".join(shown(one, 200).line for one in self.differences) or "no difference")


def _differs(row: _Row) -> bool:
    return not isinstance(row, Fold) and row.kind != "same"


def _half(text: str | None, look: str, mark: str, width: int) -> Piece:
    return (" " * width, "") if text is None else (fit(f"{mark} {safe(text, 4 * width)}", width), look)


def _below(rows: Iterable[_Row]) -> list[_Row]:
    """Each side on lines of its own: of a run of lines that differ first the older ones."""
    found: list[_Row] = []
    later: list[_Row] = []
    for row in rows:
        if isinstance(row, DiffRow) and row.kind not in ("same", "moved"):
            found += [_Half("removed", row.before)] if row.before is not None else []
            later += [_Half("added", row.after)] if row.after is not None else []
            continue
        found += later
        later = []
        found.append(_Half(row.kind, row.after or row.before or "") if isinstance(row, DiffRow) else row)
    return [*found, *later]


def _apart(row: DiffRow, width: int) -> tuple[str | None, str | None]:
    """Both sides; of long lines what is near the place where they begin to differ."""
    before, after = row.before, row.after
    if row.kind != "changed" or before is None or after is None or max(map(cell_len, (before, after))) <= width:
        return before, after
    same = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        same += 1
    pad = len(after) - len(after.lstrip())
    name = after.find(": ") + 2 if ": " in after[: width // 2] else pad
    if same <= max(name, width // 2):
        return before, after
    start = same - _LEAD
    return f"{before[:name]}…{before[start:]}", f"{after[:name]}…{after[start:]}"


def diff_rows(before: Json, after: Json, differences: Sequence[Difference]) -> list[DiffRow]:
    """All lines of two values; `differences` as `trace.diff.diff` gives them for the same two."""
    rows: list[DiffRow] = []
    for row in _Beside(differences).rows(before, after):
        rows.append(row)
        if len(rows) == _ROWS_MOST:
            rows.append(DiffRow("same", "…", "…"))
            break
    return rows


def folded(rows: Sequence[DiffRow]) -> list[DiffRow | Fold]:
    """The rows without what is the same, but for a few lines around each difference."""
    shown = bytearray(len(rows))
    for place, row in enumerate(rows):
        if row.kind != "same":
            begin = max(0, place - _AROUND)
            end = min(len(rows), place + _AROUND + 1)
            shown[begin:end] = b"\1" * (end - begin)
    found: list[DiffRow | Fold] = []
    hidden = 0
    for place, row in enumerate(rows):
        if not shown[place]:
            hidden += 1
            continue
        if hidden:
            found.append(Fold(hidden))
            hidden = 0
        found.append(row)
    return [*found, *([Fold(hidden)] if hidden else [])]


class _Beside:
    """Walks through two values at once."""

    def __init__(self, differences: Sequence[Difference]) -> None:
        self._whole = {one.path for one in differences if one.kind in ("changed", "type")}
        self._added = {one.path for one in differences if one.kind == "added"}
        self._removed = {one.was for one in differences if one.kind == "removed"}
        self._moved = {one.path: one.was for one in differences if one.kind == "moved"}
        self._touched = {path[:end] for one in differences for path in (one.path, one.was) for end in range(len(path))}

    def rows(self, before: Json, after: Json) -> Iterator[DiffRow]:
        """All rows. Without recursion: values may be nested as deep as messages may be."""
        todo = [self._pair(before, after, (), (), 0, "")]
        while todo:
            item = next(todo[-1], None)
            if item is None:
                todo.pop()
            elif isinstance(item, DiffRow):
                yield item
            else:
                todo.append(item())

    def _pair(self, old: Json, new: Json, was: Path, at: Path, depth: int, name: str) -> Iterator[_Step]:
        pad = "  " * depth
        if at in self._whole:
            yield from _changed(old, new, pad, name)
        elif at not in self._touched and was not in self._touched:
            for left, right in zip_longest(_lines(old, pad, name), _lines(new, pad, name)):
                yield DiffRow("same", left, right)
        elif isinstance(old, dict) and isinstance(new, dict):
            yield DiffRow("same", f"{pad}{name}{{", f"{pad}{name}{{")
            yield from self._members(old, new, was, at, depth + 1)
            yield DiffRow("same", f"{pad}}}", f"{pad}}}")
        elif isinstance(old, list) and isinstance(new, list):
            yield DiffRow("same", f"{pad}{name}[", f"{pad}{name}[")
            yield from self._items(old, new, was, at, depth + 1)
            yield DiffRow("same", f"{pad}]", f"{pad}]")
        elif isinstance(old, str) and isinstance(new, str) and (inner := _inner(old, new)) is not None:
            yield DiffRow("same", f"{pad}{name}text that is JSON:", f"{pad}{name}text that is JSON:")
            yield lambda: self._pair(*inner, was, at, depth + 1, "")
        else:
            yield from _changed(old, new, pad, name)

    def _members(self, old: dict[str, Json], new: dict[str, Json], was: Path, at: Path, depth: int) -> Iterator[_Step]:
        pad = "  " * depth
        for key, value in old.items():
            name = f"{printable(key, indent=None)}: "
            if key not in new:
                kind: RowKind = "removed" if (*was, key) in self._removed else "same"
                yield from (DiffRow(kind, line, None) for line in _lines(value, pad, name))
            else:
                yield self._later(value, new[key], (*was, key), (*at, key), depth, name)
        for key, value in new.items():
            if key not in old:
                kind = "added" if (*at, key) in self._added else "same"
                name = f"{printable(key, indent=None)}: "
                yield from (DiffRow(kind, None, line) for line in _lines(value, pad, name))

    def _items(self, old: list[Json], new: list[Json], was: Path, at: Path, depth: int) -> Iterator[_Step]:
        pad = "  " * depth
        moved = {place: path[-1] for place in range(len(new)) if (path := self._moved.get((*at, place)))}
        gone = {index for index in range(len(old)) if (*was, index) in self._removed}
        away = set(moved.values())
        rest = iter([index for index in range(len(old)) if index not in gone and index not in away])
        told = 0
        for place, value in enumerate(new):
            if (*at, place) in self._added:
                yield from (DiffRow("added", None, line) for line in _lines(value, pad, ""))
                continue
            if place in moved:
                index = cast("int", moved[place])
                yield DiffRow("moved", f"{pad}(moved from {index} to {place})", f"{pad}(moved from {index} to {place})")
            elif (index := next(rest, None)) is None:
                yield from (DiffRow("same", None, line) for line in _lines(value, pad, ""))
                continue
            else:
                for earlier in range(told, index):
                    if earlier in gone:
                        yield from (DiffRow("removed", line, None) for line in _lines(old[earlier], pad, ""))
                told = max(told, index)
            yield self._later(old[index], value, (*was, index), (*at, place), depth, "")
        for earlier in range(told, len(old)):
            if earlier in gone:
                yield from (DiffRow("removed", line, None) for line in _lines(old[earlier], pad, ""))

    def _later(self, old: Json, new: Json, was: Path, at: Path, depth: int, name: str) -> Callable[[], Iterator[Any]]:
        return lambda: self._pair(old, new, was, at, depth, name)


def _lines(value: Json, pad: str, name: str) -> Iterator[str]:
    """A value as lines; without commas, which would differ where nothing else does."""
    text = printable(value)
    for place, line in enumerate(text.split("\n") if isinstance(value, (dict, list)) else [text]):
        line = line.removesuffix(",")
        yield f"{pad}{name}{line}" if place == 0 else f"{pad}{line}"


def _changed(old: Json, new: Json, pad: str, name: str) -> Iterator[DiffRow]:
    if isinstance(old, str) and isinstance(new, str) and ("\n" in old or "\n" in new):
        yield DiffRow("same", f"{pad}{name}text:", f"{pad}{name}text:")
        yield from _texts(old.split("\n"), new.split("\n"), f"{pad}  ")
        return
    for left, right in zip_longest(_lines(old, pad, name), _lines(new, pad, name)):
        yield DiffRow("removed" if right is None else "added" if left is None else "changed", left, right)


def _texts(old: list[str], new: list[str], pad: str) -> Iterator[DiffRow]:
    """Two texts of several lines."""
    steps = [("replace", 0, len(old), 0, len(new))]
    if len(old) + len(new) <= _TEXT:
        from difflib import SequenceMatcher

        steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for step, i, j, k, n in steps:
        for left, right in zip_longest(old[i:j], new[k:n]):
            kind: RowKind = "removed" if right is None else "added" if left is None else "changed"
            before, after = (None if line is None else pad + line for line in (left, right))
            yield DiffRow("same" if step == "equal" or left == right else kind, before, after)


def _inner(old: str, new: str) -> tuple[Json, Json] | None:
    try:
        return loads(old), loads(new)
    except (JsonProblem, LimitExceeded):
        return None

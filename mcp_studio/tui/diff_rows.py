"""Two JSON values beside each other, line by line, with what differs between them. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, Literal, NamedTuple, cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, printable
from mcp_studio.trace.diff import Difference, Path

RowKind = Literal["same", "removed", "added", "changed", "moved"]
_MOST = 200_000
"""Lines of one comparison."""
_TEXT = 4_000
"""Lines of two texts that are put together; of longer ones the first belongs to the first, and so on."""
_AROUND = 3
"""Lines that are the same and are shown around what differs."""
_Lines = list[str]


class DiffRow(NamedTuple):
    """One line on both sides; None where a side has none. The texts are foreign."""

    kind: RowKind
    before: str | None
    after: str | None


_Step = DiffRow | Callable[[], Iterator[Any]]
"""A row, or what makes further ones."""


class Fold(NamedTuple):
    """Lines that are the same, and are not shown."""

    lines: int


def diff_rows(before: Json, after: Json, differences: Sequence[Difference]) -> list[DiffRow]:
    """All lines of two values; `differences` as `trace.diff.diff` gives them for the same two."""
    rows: list[DiffRow] = []
    for row in _Beside(differences).rows(before, after):
        rows.append(row)
        if len(rows) == _MOST:
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


def _texts(old: _Lines, new: _Lines, pad: str) -> Iterator[DiffRow]:
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

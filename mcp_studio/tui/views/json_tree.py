"""JSON text as rows that open and close: only what has been opened costs anything.

Nothing is parsed: the children of a container are found on the bytes as they came, in slices of time, so that what is
almost JSON is shown too. All visible rows stand in two flat arrays: the byte at which each begins, and its level. Both
are in the order of the text, so a row is found by its byte with a bisection, and its parent, siblings and closing row
with a search in bytes.
"""

from __future__ import annotations

import json
import re
import time
from array import array
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from mcp_studio.tui.views.wrapped import break_rows, make_safe

_CLOSING = 128
"""The level of a closing row is this and the level of its container."""
_LINE = 255
"""The level of a line of an open string."""
_DEEPEST = 120
"""Containers below this level do not open."""
_STRING_MOST = 1 << 18
"""Bytes of a string that are shown in lines."""
_KEY_MOST = 1 << 16
"""Bytes of a key; what is longer counts as a value."""
_SPACE = rb"[ \t\r\n]*+"
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def _container_of(inner: bytes) -> bytes:
    return rb'[\[{](?:[^"\[\]{}]++|' + inner + rb")*+[\]}]"


_SMALL = _container_of(_STRING + b"|" + _container_of(_STRING))
"""Two levels in one match, which is four times as fast as bracket by bracket."""
_TOKENS = re.compile(_STRING + b"|" + _SMALL + rb'|["\[\]{},]', re.DOTALL)
_KEY = re.compile(b"(" + _STRING + b")" + _SPACE + b":" + _SPACE, re.DOTALL)
_BLANK = re.compile(_SPACE)
_UNITS = re.compile(rb'(?:[^"\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*+', re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)


def _blank_end(data: bytes, at: int) -> int:
    """The first byte from `at` on that is no white space."""
    found = _BLANK.match(data, at)
    return found.end() if found else at


class Children:
    """The children of the container that begins at `start`, as far as `advance` has come."""

    def __init__(self, data: bytes, start: int) -> None:
        self.starts = array("Q")
        """Where each child begins: its key in an object, its value in an array."""
        self.position = start + 1
        """How far it has come: behind all children that are known."""
        self.done = False
        self.end = 0
        """Behind the closing bracket, once done."""
        self.unfinished = False
        """The data ended before the container did."""
        self._data = data
        self._tokens = _TOKENS.finditer(data, self.position)
        self._depth = 0

    def __len__(self) -> int:
        return len(self.starts)

    def advance(self, budget: float) -> bool:
        """Go on for `budget` seconds; True when all children are known."""
        stop = time.perf_counter() + budget
        for count, token in enumerate(self._tokens):
            sign = token[0] if token.end() - token.start() == 1 else b""
            if sign == b'"':  # a string without an end
                break
            if sign in (b"[", b"{"):
                self._depth += 1
            elif sign in (b"]", b"}"):
                self._depth -= 1
            if self._depth < 0 or (sign == b"," and not self._depth):
                self._add(token.start())
                self.position = token.end()
            if self._depth < 0:
                self.done, self.end = True, token.end()
                return True
            if not count & 63 and time.perf_counter() > stop:
                return False
        if not self.done:
            self._add(len(self._data))
            self.position = self.end = len(self._data)
            self.done = self.unfinished = True
        return True

    def _add(self, end: int) -> None:
        """A child ends here, if there is one."""
        begin = _blank_end(self._data, self.position)
        if begin < end:
            self.starts.append(begin)


def _key_at(data: bytes, at: int) -> tuple[int, int] | None:
    """Of an object's member at `at`: the end of its key and the begin of its value; None when it is no member."""
    found = _KEY.match(data, at, at + _KEY_MOST)
    return (found.end(1), found.end()) if found else None


class Change(NamedTuple):
    """Rows that went and came at a place."""

    at: int
    removed: int = 0
    added: int = 0

    def moved(self, row: int) -> int:
        """Where a row is after it; one that went is now in the row before them."""
        if row < self.at:
            return row
        return (
            max(self.at - 1, row - self.removed + self.added)
            if row < self.at + self.removed
            else row - self.removed + self.added
        )


class _Lines(NamedTuple):
    """The text of an open string, and where its rows begin."""

    text: str
    starts: list[int]


class JsonTree:
    """All rows of a JSON text. An open container ends with a closing row; an open string has its lines below itself."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.starts, self.levels = array("Q"), bytearray()
        self._children: dict[int, Children] = {}
        """Of open containers, by the bytes at which their rows begin."""
        self._lines: dict[int, _Lines] = {}
        begin = _blank_end(data, 0)
        if begin < len(data):
            self._replace(0, 0, [begin], bytes(1))

    @property
    def rows(self) -> int:
        """How many rows there are now."""
        return len(self.levels)

    def _replace(self, at: int, removed: int, starts: list[int], levels: bytes) -> Change:
        self.starts[at : at + removed] = array("Q", starts)
        self.levels[at : at + removed] = levels
        return Change(at, removed, len(levels))

    # What a row is

    def is_line(self, row: int) -> bool:
        """Whether it is a line of an open string."""
        return self.levels[row] == _LINE

    def is_closing(self, row: int) -> bool:
        """Whether it ends an open container."""
        return _CLOSING <= self.levels[row] < _LINE

    def owner(self, row: int) -> int:
        """The row of the value that a row belongs to: itself, or of a line or closing row the string or container."""
        if self.is_line(row):
            return self.row_of(self.starts[row])
        if self.is_closing(row):
            return self.levels.rfind(self.levels[row] - _CLOSING, 0, row)
        return row

    def row_of(self, start: int) -> int:
        """The row that begins at a byte."""
        return bisect_left(self.starts, start)

    def row_around(self, offset: int) -> int:
        """The last row that begins at a byte or in front of it."""
        return max(0, bisect_right(self.starts, offset) - 1)

    def parent(self, row: int) -> int | None:
        """The row of the container around a value."""
        level = self.levels[row]
        return self.levels.rfind(level - 1, 0, row) if level else None

    def _closing(self, row: int) -> int:
        return self.levels.find(_CLOSING + self.levels[row], row + 1)

    def count(self, row: int) -> int:
        """Children of an open container that are known."""
        return len(self._children[self.starts[row]])

    def is_known(self, row: int) -> bool:
        """Whether all children of an open container are known."""
        return self._children[self.starts[row]].done

    def is_unfinished(self, row: int) -> bool:
        """Whether the text ended before an open container did."""
        return self._children[self.starts[row]].unfinished

    def line(self, row: int) -> str:
        """A line of an open string, safe to draw."""
        text, starts = self._lines[self.starts[row]]
        place = row - self.owner(row) - 1
        end = starts[place + 1] if place + 1 < len(starts) else len(text)
        return text[starts[place] : end].removesuffix("\n")

    def line_of(self, row: int, offset: int) -> int:
        """The row of an open string that shows a byte of it."""
        inside = self.value_start(row) + 1
        before = len(make_safe(decode(self.data[inside : _parted(self.data, inside, offset)])))
        return row + bisect_right(self._lines[self.starts[row]].starts, before)

    # Values

    def value_start(self, row: int) -> int:
        """Where a value begins; of what is no member of an object, where it itself begins."""
        found = _key_at(self.data, self.starts[row])
        return found[1] if found else self.starts[row]

    def key(self, row: int, most: int | None = None) -> bytes | None:
        """The key of a value with its quotes, at most so many bytes of it; None in an array."""
        start = self.starts[row]
        found = _key_at(self.data, start)
        return None if found is None else self.data[start : found[0] if most is None else min(found[0], start + most)]

    def value_end(self, row: int) -> int | None:
        """Behind a value; None while that is not known."""
        start, level = self.value_start(row), self.levels[row]
        behind = len(self.data)
        if level:
            closing = self.levels.find(_CLOSING + level - 1, row + 1)
            sibling = self.levels.find(level, row + 1, closing)
            if sibling < 0 and not self.is_known(self.owner(closing)):
                return None
            behind = self.starts[closing if sibling < 0 else sibling]
        while behind > start and self.data[behind - 1] in b" \t\r\n,":
            behind -= 1
        return behind

    def text(self, row: int) -> str:
        """What a string says, and of everything else the JSON as it came; takes time where its end is not known."""
        start, end = self.value_start(row), self.value_end(row)
        if self.is_string(row):
            return decode(self.data[start + 1 : _parted(self.data, start + 1, len(self.data))])
        if end is None and self.is_container(row):
            rest = Children(self.data, start)
            while not rest.advance(1):
                pass
            end = rest.end
        return self.data[start : start + 200 if end is None else end].decode("utf-8", "backslashreplace")

    def is_container(self, row: int) -> bool:
        """Whether a value is an object or an array with something in it."""
        start = self.value_start(row)
        inside = _blank_end(self.data, start + 1)
        return self.data[start : start + 1] in (b"[", b"{") and self.data[inside : inside + 1] not in (b"", b"]", b"}")

    def is_string(self, row: int) -> bool:
        """Whether a value is a string."""
        start = self.value_start(row)
        return self.data[start : start + 1] == b'"'

    def pointer(self, row: int) -> str:
        """The JSON pointer of a value, empty for the outermost one."""
        parts: list[str] = []
        while (parent := self.parent(row)) is not None:
            key = self.key(row)
            part = str(self.levels.count(self.levels[row], parent + 1, row)) if key is None else decode(key[1:-1])
            parts.append(part.replace("~", "~0").replace("/", "~1"))
            row = parent
        return "".join(f"/{part}" for part in reversed(parts))

    # Opening and closing

    def is_open(self, row: int) -> bool:
        """Whether a value shows what is inside it."""
        level, following = self.levels[row], self.levels[row + 1] if row + 1 < self.rows else 0
        return level < _CLOSING and following in (_LINE, level + 1, _CLOSING + level)

    def open(self, row: int, width: int, children: Children | None = None) -> Change | None:
        """Show what is inside a value; `children` where some are known already. A string wraps at `width`."""
        start, level = self.starts[row], self.levels[row]
        if self.is_container(row) and level < _DEEPEST:
            inner = self._children[start] = children or Children(self.data, self.value_start(row))
            self._replace(
                row + 1, 0, [*inner.starts, _last(inner)], bytes([level + 1] * len(inner) + [_CLOSING + level])
            )
            return Change(row + 1, 0, len(inner) + 1)
        if self.is_string(row):
            lines = self._lines[start] = self._wrap(row, width)
            return self._replace(row + 1, 0, [start] * len(lines.starts), bytes([_LINE] * len(lines.starts)))
        return None

    def _wrap(self, row: int, width: int) -> _Lines:
        inside, end = self.value_start(row) + 1, self.value_end(row)
        shown = _parted(self.data, inside, inside + _STRING_MOST)
        text = make_safe(decode(self.data[inside:shown]))
        if end is None or shown < end - 1:
            text += "…\nThere is more; it can be copied."
        return _Lines(text, break_rows(text, width))

    def close(self, row: int) -> Change:
        """Hide what is inside a value."""
        start = self.starts[row]
        if lines := self._lines.pop(start, None):
            return self._replace(row + 1, len(lines.starts), [], b"")
        closing = self._closing(row)
        for inner in [*self._children, *self._lines]:
            if start <= inner < self.starts[closing]:
                self._children.pop(inner, None)
                self._lines.pop(inner, None)
        return self._replace(row + 1, closing - row, [], b"")

    def learn(self, start: int, budget: float) -> Change | None:
        """Learn more children of the open container at a byte for `budget` seconds; None when nothing is left."""
        children = self._children.get(start)
        if children is None or children.done:
            return None
        before = len(children)
        children.advance(budget)
        row = self.row_of(start)
        closing = self._closing(row)
        new = children.starts[before:]
        self.starts[closing:closing] = new
        self.levels[closing:closing] = bytes([self.levels[row] + 1]) * len(new)
        self.starts[closing + len(new)] = _last(children)
        return Change(closing, 0, len(new))

    @property
    def open_strings(self) -> list[int]:
        """Where the open strings begin."""
        return list(self._lines)


def _last(children: Children) -> int:
    """Where the closing row of a container begins: behind all children that are known."""
    return children.end - (not children.unfinished) if children.done else children.position


def _parted(data: bytes, start: int, stop: int) -> int:
    """The last place up to `stop` where a string from `start` on may be parted: in no escape and in no character."""
    found = _UNITS.match(data, start, stop)
    end = found.end() if found else start
    while start < end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    return end


def decode(raw: bytes) -> str:
    """What the inside of a JSON string says; text that is no such thing stays as it is."""
    text = raw.decode("utf-8", "replace")
    if b"\\" not in raw:
        return text
    try:
        value = _DECODER.decode(f'"{text}"')
    except ValueError:
        return text
    return value if isinstance(value, str) else text

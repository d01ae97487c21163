"""JSON text as rows that open and close: only what has been opened costs anything.

Nothing is parsed: the children of a container are found on the bytes as they came, so that what is almost JSON is
shown too. All visible rows stand in two flat arrays: the byte at which each begins, and its level. Both
are in the order of the text, so a row is found by its byte with a bisection, and its parent, siblings and closing row
with a search in bytes.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left, bisect_right
from itertools import islice
from typing import NamedTuple

from mcp_studio.tui.views.line import break_rows, make_safe

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
_TOKENS_MOST = 2_000_000
"""Strings, brackets and commas of a container that are looked at, for two seconds at most."""
_SPACE = rb"[ \t\r\n]*+"
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def _container(levels: int) -> bytes:
    inner = b"|" + _container(levels - 1) if levels else b""
    return rb'[\[{](?:[^"\[\]{}]++|' + _STRING + inner + rb")*+[\]}]"


# Four levels in one match are many times as fast as bracket by bracket.
_TOKENS = re.compile(_STRING + b"|" + _container(3) + rb'|["\[\]{},]', re.DOTALL)
_KEY = re.compile(b"(" + _STRING + b")" + _SPACE + b":" + _SPACE, re.DOTALL)
_BLANK = re.compile(_SPACE)
_UNITS = re.compile(rb'(?:[^"\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*+', re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)


def _blank_end(data: bytes, at: int) -> int:
    """The first byte from `at` on that is no white space."""
    found = _BLANK.match(data, at)
    return found.end() if found else at


class Children(NamedTuple):
    """Where the children of a container begin (in an object their keys), and its closing bracket."""

    starts: array[int]
    closing: int
    """Behind the data where the end is missing, or too far away."""


def children_of(data: bytes, start: int) -> Children:
    """The children of the container that begins at `start`."""
    starts = array("Q")
    depth, position = 0, start + 1
    for token in islice(_TOKENS.finditer(data, position), _TOKENS_MOST):
        sign = token[0] if token.end() - token.start() == 1 else b""
        if sign == b'"':  # a string without an end
            break
        if sign in (b"[", b"{"):
            depth += 1
        elif sign in (b"]", b"}"):
            depth -= 1
        if depth < 0 or (sign == b"," and not depth):
            if (begin := _blank_end(data, position)) < token.start():
                starts.append(begin)
            position = token.end()
        if depth < 0:
            return Children(starts, token.start())
    if (begin := _blank_end(data, position)) < len(data):
        starts.append(begin)
    return Children(starts, len(data))


def _key_at(data: bytes, at: int) -> tuple[int, int] | None:
    """Of an object's member at `at`: the end of its key and the begin of its value; None when it is no member."""
    found = _KEY.match(data, at, at + _KEY_MOST)
    return (found.end(1), found.end()) if found else None


class _Lines(NamedTuple):
    """The text of an open string, and where its rows begin."""

    text: str
    starts: array[int]


class JsonTree:
    """All rows of a JSON text. An open container ends with a closing row; an open string has its lines below itself."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.starts, self.levels = array("Q"), bytearray()
        self._lines: dict[int, _Lines] = {}
        """Of open strings, by the bytes at which their rows begin."""
        begin = _blank_end(data, 0)
        if begin < len(data):
            self._replace(0, 0, [begin], bytes(1))

    @property
    def rows(self) -> int:
        """How many rows there are now."""
        return len(self.levels)

    def _replace(self, at: int, removed: int, starts: list[int], levels: bytes) -> None:
        self.starts[at : at + removed] = array("Q", starts)
        self.levels[at : at + removed] = levels

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
        """Children of an open container."""
        return self.levels.count(self.levels[row] + 1, row, self._closing(row))

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

    def value_end(self, row: int) -> int:
        """Behind a value."""
        start, level = self.value_start(row), self.levels[row]
        behind = len(self.data)
        if level:
            closing = self.levels.find(_CLOSING + level - 1, row + 1)
            sibling = self.levels.find(level, row + 1, closing)
            behind = self.starts[closing if sibling < 0 else sibling]
        while behind > start and self.data[behind - 1] in b" \t\r\n,":
            behind -= 1
        return behind

    def text(self, row: int) -> str:
        """What a string says, and of everything else the JSON as it came."""
        start = self.value_start(row)
        if self.is_string(row):
            return decode(self.data[start + 1 : _parted(self.data, start + 1, len(self.data))])
        return self.data[start : self.value_end(row)].decode("utf-8", "backslashreplace")

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

    def open(self, row: int, width: int, children: Children | None = None) -> bool:
        """Show what is inside a value, if it can be; `children` where they are known. A string wraps at `width`."""
        start, level = self.starts[row], self.levels[row]
        if self.is_container(row) and level < _DEEPEST:
            inner, closing = children or children_of(self.data, self.value_start(row))
            self._replace(row + 1, 0, [*inner, closing], bytes([level + 1]) * len(inner) + bytes([_CLOSING + level]))
        elif self.is_string(row):
            lines = self._lines[start] = self._wrap(row, width)
            self._replace(row + 1, 0, [start] * len(lines.starts), bytes([_LINE]) * len(lines.starts))
        return self.is_open(row)

    def _wrap(self, row: int, width: int) -> _Lines:
        inside, end = self.value_start(row) + 1, self.value_end(row)
        shown = _parted(self.data, inside, inside + _STRING_MOST)
        text = make_safe(decode(self.data[inside:shown]))
        if shown < end - 1:
            text += "…\nThere is more; it can be copied."
        return _Lines(text, break_rows(text, width))

    def close(self, row: int) -> None:
        """Hide what is inside a value."""
        start = self.starts[row]
        if lines := self._lines.pop(start, None):
            self._replace(row + 1, len(lines.starts), [], b"")
            return
        closing = self._closing(row)
        for inner in self.open_strings:
            if start <= inner < self.starts[closing]:
                del self._lines[inner]
        self._replace(row + 1, closing - row, [], b"")

    @property
    def open_strings(self) -> list[int]:
        """Where the open strings begin."""
        return list(self._lines)


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

"""Where the parts of a large JSON object stand, found while it is still coming in and without making values of it.

Only the outer levels are known afterwards: enough to tell a message's id, and where its large parts begin and end.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

LARGE = 2 * 1024 * 1024
"""Bytes of a frame from which on its outer structure is wanted."""
BEGIN = LARGE // 4
"""Bytes that have come of a frame when looking at it begins, so that there is never much to catch up with."""
LEVELS = 5
"""Containers inside each other whose children are known."""
CHILDREN = 1_000
"""Children that are known of one container; one with more is a single thing."""
_WINDOW = 1 << 16
_QUOTE, _COMMA = 0x22, 0x2C


class _Patterns(NamedTuple):
    rest: re.Pattern[bytes]
    """The rest of a string, up to its closing quote."""
    run: re.Pattern[bytes]
    """Up to the next bracket or comma that is in no string."""
    deep: re.Pattern[bytes]
    """Over commas and small containers too."""
    blank: re.Pattern[bytes]


@cache
def _patterns() -> _Patterns:
    """Compiled for the first large message, not at every start."""
    string = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
    other = rb'[^"\[\]{}]*+'

    def nested(inner: bytes) -> bytes:
        return rb"[\[{]" + other + rb"(?:" + inner + other + rb")*+[\]}]"

    small = nested(b"(?:" + string + b"|" + nested(b"(?:" + string + b"|" + nested(string) + b")") + b")")
    return _Patterns(
        re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL),
        re.compile(rb'[^"\[\]{},]*+(?:' + string + rb'[^"\[\]{},]*+)*+', re.DOTALL),
        re.compile(rb'(?:[^"\[\]{}]++|' + string + b"|" + small + b")*+", re.DOTALL),
        re.compile(rb"[ \t\r\n]*+"),
    )


class Node:
    """A container: `starts` are behind its opening bracket and behind each of its commas."""

    __slots__ = ("end", "inner", "is_object", "opaque", "start", "starts")

    def __init__(self, start: int, is_object: bool) -> None:
        self.start = start
        self.end = 0
        """Behind its closing bracket."""
        self.is_object = is_object
        self.starts = [start + 1]
        self.inner: dict[int, Node] = {}
        """Those of its children that are containers."""
        self.opaque = False
        """It has so many children that none of them is known."""


class Skim:
    """Goes along with the bytes of one object as they come; `advance` takes all that there are."""

    def __init__(self, depth: int = 512) -> None:
        self.root: Node | None = None
        """The whole, once its end has come."""
        self.failed = False
        """It is no object, or nested too deep: nothing is known of it."""
        self._patterns = _patterns()
        self._depth = depth
        self._at = 0
        self._stack: list[Node] = []
        self._deep = 0
        self._in_string = False

    def known(self, size: int) -> Node | None:
        """The whole of a frame of so many bytes, where it is large and all of it has been understood."""
        return self.root if size >= LARGE and not self.failed else None

    def advance(self, data: bytes | memoryview) -> None:
        """Read on to the end of what has come; `data` begins with the same bytes each time."""
        size = len(data)
        while self._at < size and not self.failed:
            before = self._at, self._in_string
            self._step(data, size)
            if before == (self._at, self._in_string):
                return  # a backslash at the very end waits for what it escapes

    def _step(self, data: bytes | memoryview, size: int) -> None:
        stop = min(self._at + _WINDOW, size)
        if self._in_string:
            found = self._patterns.rest.match(data, self._at, stop)
            self._at = found.end() if found else stop
            if self._at < size and data[self._at] == _QUOTE:
                self._at += 1
                self._in_string = False
            return
        if not self._stack:
            self._outside(data, size)
            return
        hidden = self._deep or self._stack[-1].opaque
        found = (self._patterns.deep if hidden else self._patterns.run).match(data, self._at, stop)
        at = self._at = found.end() if found else stop
        if at < size and at < stop:
            self._at = at + 1
            self._turn(data[at], at)

    def _outside(self, data: bytes | memoryview, size: int) -> None:
        found = self._patterns.blank.match(data, self._at)
        self._at = found.end() if found else size
        if self._at < size:
            if self.root is not None or data[self._at] != 0x7B:
                self.failed = True
            else:
                self._stack.append(Node(self._at, True))
                self._at += 1

    def _turn(self, byte: int, at: int) -> None:
        """A quote, bracket or comma."""
        if byte == _QUOTE:
            self._in_string = True
        elif byte == _COMMA:
            top = self._stack[-1]
            top.starts.append(at + 1)
            if len(top.starts) > CHILDREN:
                top.opaque = True
                top.starts, top.inner = [], {}
        elif byte in b"[{":
            self._open(byte, at)
        elif self._deep:
            self._deep -= 1
        else:
            node = self._stack.pop()
            node.end = at + 1
            if not self._stack:
                self.root = node

    def _open(self, byte: int, at: int) -> None:
        top = self._stack[-1]
        if self._deep or top.opaque or len(self._stack) >= LEVELS:
            self._deep += 1
            self.failed = self._deep > self._depth
        else:
            node = top.inner[len(top.starts) - 1] = Node(at, byte == 0x7B)
            self._stack.append(node)


class Skimmed(NamedTuple):
    """A frame whose outer structure is known."""

    data: bytes
    root: Node

"""Where the children of a JSON container begin, found without parsing, in slices of time.

Works on the bytes as they came and takes what is almost JSON too: whoever looks at the wire wants to see what is there.
"""

from __future__ import annotations

import re
import time
from array import array

_WINDOW = 1 << 16
_FLAGS = re.DOTALL
_SPACE = rb"[ \t\r\n]*+"
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_OTHER = rb'[^"\[\]{}]*+'


def _nested(inner: bytes) -> bytes:
    return rb"[\[{]" + _OTHER + rb"(?:" + inner + _OTHER + rb")*+[\]}]"


_FLAT = _nested(_STRING)
# Three levels in one match take nearly every child of nearly every list; what is deeper or longer goes step by step.
_SMALL = _nested(b"(?:" + _STRING + b"|" + _nested(b"(?:" + _STRING + b"|" + _FLAT + b")") + b")")
_VALUE = b"(?:" + _STRING + rb'|[^\s"\[\]{},:]++|' + _SMALL + b")"
_ITEM = re.compile(_SPACE + b"(" + _VALUE + b")" + _SPACE + rb"([,\]])", _FLAGS)
_MEMBER = re.compile(_SPACE + b"(" + _STRING + _SPACE + b":" + _SPACE + _VALUE + b")" + _SPACE + b"([,}])", _FLAGS)

_REST = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', _FLAGS)
_RUN = re.compile(rb'[^"\[\]{},]*+(?:' + _STRING + rb'[^"\[\]{},]*+)*+', _FLAGS)
_DEEP_RUN = re.compile(rb'(?:[^"\[\]{}]++|' + _STRING + b"|" + _SMALL + b")*+", _FLAGS)
_KEY = re.compile(b"(" + _STRING + b")" + _SPACE + b":" + _SPACE, _FLAGS)
_BLANK = re.compile(_SPACE)

_OPEN, _CLOSE = b"[{", b"]}"
_QUOTE, _COMMA = 0x22, 0x2C


def blank_end(data: bytes, at: int) -> int:
    """The first byte from `at` on that is no white space."""
    found = _BLANK.match(data, at)
    return found.end() if found else at


def key_at(data: bytes, at: int) -> tuple[int, int] | None:
    """Of an object's member at `at`: the end of its key and the begin of its value; None when it is no member."""
    found = _KEY.match(data, at, at + _WINDOW)
    return (found.end(1), found.end()) if found else None


class Children:
    """The children of the container that begins at `start`, as far as `advance` has come."""

    def __init__(self, data: bytes, start: int) -> None:
        self.starts = array("Q")
        """Where each child begins: its key in an object, its value in an array."""
        self.is_object = data[start : start + 1] == b"{"
        self.done = False
        self.end = 0
        """Behind the closing bracket, once done."""
        self.unfinished = False
        """The data ended before the container did."""
        self._data = data
        self._at = start + 1
        self._depth = -1
        self._in_string = False

    @property
    def position(self) -> int:
        """How far it has come: behind all children that are known."""
        return self._at

    def __len__(self) -> int:
        return len(self.starts)

    def advance(self, budget: float) -> bool:
        """Go on for `budget` seconds; True when all children are known."""
        stop = time.perf_counter() + budget
        data, add = self._data, self.starts.append
        match = (_MEMBER if self.is_object else _ITEM).match
        turns = 0
        while not self.done:
            if self._depth < 0:
                found = match(data, self._at, self._at + _WINDOW)
                if found:
                    add(found.start(1))
                    self._at = found.end()
                    if found[2] != b",":
                        self._finish(self._at)
                else:
                    self._begin()
            else:
                self._step()
            turns += 1
            if not turns & 7 and time.perf_counter() > stop:
                break
        return self.done

    def _finish(self, end: int, unfinished: bool = False) -> None:
        self.done, self.end, self.unfinished = True, end, unfinished

    def _begin(self) -> None:
        """A child that no single match takes, or the end of the container."""
        at = self._at = blank_end(self._data, self._at)
        if at >= len(self._data):
            self._finish(at, unfinished=True)
        elif self._data[at] in _CLOSE:
            self._finish(at + 1)
        else:
            self.starts.append(at)
            self._depth = 0

    def _step(self) -> None:
        """One window further through such a child."""
        data, size = self._data, len(self._data)
        stop = min(self._at + _WINDOW, size)
        pattern = _REST if self._in_string else _DEEP_RUN if self._depth else _RUN
        found = pattern.match(data, self._at, stop)
        at = found.end() if found else self._at
        if at >= size or (at == self._at and self._in_string and data[at] != _QUOTE):
            self._finish(size, unfinished=True)
        elif at < stop or at == self._at:
            self._turn(at, data[at])
        else:
            self._at = at

    def _turn(self, at: int, byte: int) -> None:
        """What a run ended at: a quote, a bracket, or the comma behind the child."""
        self._at = at + 1
        if self._in_string:
            # A backslash in front of the end of the window waits for the next one.
            self._in_string = byte != _QUOTE
            self._at = at + (byte == _QUOTE)
        elif byte == _QUOTE:
            self._in_string = True
        elif byte in _OPEN:
            self._depth += 1
        elif byte in _CLOSE and self._depth:
            self._depth -= 1
        else:
            self._depth = -1
            if byte != _COMMA:
                self._finish(self._at)

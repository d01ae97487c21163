"""The text of a JSON string, decoded and wrapped in slices of time."""

from __future__ import annotations

import json
import re
import time

from mcp_studio.tui.views.wrapped import WrappedText

_PIECE = 1 << 18
_UNITS = re.compile(rb'(?:[^"\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*+', re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)


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


def unit_end(data: bytes, start: int, stop: int) -> int:
    """The last place up to `stop` where a string from `start` on may be parted: in no escape and in no character."""
    found = _UNITS.match(data, start, stop)
    end = found.end() if found else start
    while end > start and end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    if re.fullmatch(rb"\\u[dD][89abAB][0-9a-fA-F]{2}", data[max(start, end - 6) : end]):
        end -= 6  # the first half of a pair
    return end if end > start else stop


class StringText:
    """The decoded text of the string whose inside begins at `start`; `end` is behind its closing quote."""

    def __init__(self, data: bytes, start: int, end: int, width: int) -> None:
        self.width = width
        self.open = False
        self.inner = 0
        """Rows known so far."""
        self._data = data
        self._start, self._at = start, start
        self._end = max(start, end - (data[end - 1 : end] == b'"'))
        self._pieces: list[bytes] = []
        self._text = WrappedText(b"", width)

    def advance(self, budget: float) -> int:
        """Go on for `budget` seconds; how many rows came to it."""
        stop = time.perf_counter() + budget
        while self._at < self._end:
            end = min(self._at + _PIECE, self._end)
            end = unit_end(self._data, self._at, end) if end < self._end else end
            self._pieces.append(decode(self._data[self._at : end]).encode("utf-8", "backslashreplace"))
            self._at = end
            if time.perf_counter() > stop:
                return 0
        if self._pieces:
            self._text = WrappedText(b"".join(self._pieces), self.width)
            self._pieces = []
        self._text.advance(max(0.0, stop - time.perf_counter()))
        came, self.inner = self._text.rows - self.inner, self._text.rows
        return came

    @property
    def done(self) -> bool:
        """Whether all rows are known."""
        return self._at >= self._end and not self._pieces and self._text.done

    def row(self, number: int) -> str:
        """One row, safe to draw."""
        return self._text.row(number)

    def row_of(self, offset: int) -> int | None:
        """The row with the byte at this offset of the whole JSON text; None when it is not known yet."""
        if not self.done:
            return None
        before = decode(self._data[self._start : unit_end(self._data, self._start, min(offset, self._end))])
        return self._text.row_of(len(before.encode("utf-8", "backslashreplace")))


class Decoding:
    """Decodes the whole of a JSON string that stands in some bytes with its quotes, in slices of time."""

    def __init__(self, data: bytes, begin: int, end: int) -> None:
        self._data = data
        self._start = self._at = begin + 1
        self._end = max(begin + 1, end - (data[end - 1 : end] == b'"'))
        self._text = bytearray()

    def advance(self, budget: float) -> bytes | None:
        """Go on for `budget` seconds; the text once it is whole."""
        stop = time.perf_counter() + budget
        while self._at < self._end:
            end = min(self._at + _PIECE, self._end)
            end = unit_end(self._data, self._at, end) if end < self._end else end
            self._text += decode(self._data[self._at : end]).encode("utf-8", "backslashreplace")
            self._at = end
            if time.perf_counter() > stop:
                return None
        return bytes(self._text)

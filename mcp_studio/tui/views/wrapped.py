"""Text of any size as rows of a given width, known at two numbers per 64 KB.

Nothing is kept per line. A chunk of the text is decoded, made safe and broken into rows only to count them, and again
when one of its rows is on screen.
"""

from __future__ import annotations

import re
import time
from array import array
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache

from rich.cells import cell_len, get_character_cell_size, split_graphemes
from textual.cache import LRUCache

from mcp_studio.safetext import safe

_CHUNK = 1 << 16
_PLAIN = bytes([10, *range(0x20, 0x7F)])
# Characters that take one cell each, so that cells can be counted as characters.
_SINGLE = re.compile("[\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0482\u2010-\u2027\u2500-\u25fc]*")


class WrappedText:
    """Bytes as rows of at most `width` cells, broken at line ends and, where a line is longer, after a space.

    `advance` counts rows in slices of time; what it has not reached yet has no rows.
    """

    def __init__(self, data: bytes, width: int) -> None:
        self.data = data
        self.width = max(4, width)
        self.rows = 0
        """Rows known so far."""
        self._end = 0
        self._starts, self._firsts = array("Q"), array("Q")
        """Of each chunk: where it begins, and its first row."""
        self._chunks: LRUCache[int, tuple[str, list[int]]] = LRUCache(8)

    @property
    def done(self) -> bool:
        """Whether all rows are known."""
        return self._end >= len(self.data)

    def advance(self, budget: float) -> bool:
        """Go on counting for `budget` seconds; True when all rows are known."""
        stop = time.perf_counter() + budget
        while not self.done:
            self._starts.append(self._end)
            self._firsts.append(self.rows)
            self._end = self._chunk_end(self._end)
            self.rows += len(self._chunk(len(self._starts) - 1)[1])
            if time.perf_counter() > stop:
                break
        return self.done

    def row(self, number: int) -> str:
        """One row, safe to draw; it may end with the space that it was broken after."""
        return self._whole_row(number).removesuffix("\n")

    def _whole_row(self, number: int) -> str:
        chunk = bisect_right(self._firsts, number) - 1
        text, starts = self._chunk(chunk)
        place = number - self._firsts[chunk]
        end = starts[place + 1] if place + 1 < len(starts) else len(text)
        return text[starts[place] : end]

    def row_of(self, offset: int) -> int | None:
        """The row that shows the byte at `offset`; None when it is not known yet."""
        if offset >= self._end:
            return self.rows - 1 if self.done and self.rows else None
        chunk = bisect_right(self._starts, offset) - 1
        text, starts = self._chunk(chunk)
        place = len(_decode(self.data[self._starts[chunk] : offset]))
        return self._firsts[chunk] + bisect_right(starts, min(place, len(text) - 1)) - 1

    def offset_of(self, number: int) -> int:
        """About where in the bytes a row begins."""
        if not self.rows:
            return 0
        number = max(0, min(number, self.rows - 1))
        chunk = bisect_right(self._firsts, number) - 1
        text, starts = self._chunk(chunk)
        begin, end = self._bounds(chunk)
        return begin + (end - begin) * starts[number - self._firsts[chunk]] // len(text)

    def between(self, first: tuple[int, int], last: tuple[int, int]) -> str:
        """The safe text from one place to another (row and character in it), with line breaks only where lines end."""
        rows = [self._whole_row(number) for number in range(first[0], min(last[0] + 1, self.rows))]
        if last[0] < self.rows:
            rows[-1] = rows[-1].removesuffix("\n")[: last[1]]
        return "".join(rows)[first[1] :]

    def _bounds(self, chunk: int) -> tuple[int, int]:
        return self._starts[chunk], self._starts[chunk + 1] if chunk + 1 < len(self._starts) else self._end

    def _chunk_end(self, start: int) -> int:
        """Behind a line, or where there is none so long behind a space, else in no character."""
        data, end = self.data, start + max(self.width, _CHUNK // self.width * self.width)
        if end >= len(data):
            return len(data)
        parted = data.rfind(b"\n", start, end) + 1 or data.rfind(b" ", end - self.width // 2, end) + 1
        if parted:
            return parted
        end = next((place for place in range(end, end - 4, -1) if data[place] & 0xC0 != 0x80), end)
        return end + (data[end - 1 : end + 1] == b"\r\n")

    def _chunk(self, chunk: int) -> tuple[str, list[int]]:
        found = self._chunks.get(chunk)
        if found is None:
            begin, end = self._bounds(chunk)
            text = _decode(self.data[begin:end])
            found = self._chunks[chunk] = text, break_rows(text, self.width)
        return found


def _decode(data: bytes) -> str:
    if not data.translate(None, _PLAIN):
        return data.decode("ascii")  # there is nothing to make safe, which would take ten times as long
    return make_safe(data.decode("utf-8", "backslashreplace"))


def make_safe(text: str) -> str:
    """The whole of a text as it may be drawn, with its line ends."""
    return safe(text, len(text), lines=True)


def break_rows(text: str, width: int) -> list[int]:
    """Where the rows of a text begin when it is broken at line ends and so that none takes more than `width` cells.

    The space that a row is broken after belongs to that row and may stand in the cell behind it.
    """
    rows = _row_of(width)
    if text.isascii():
        return [row.start() for row in rows.finditer(text)]
    starts: list[int] = []
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if (end - at) * 2 <= width:
            starts.append(at)
        elif _SINGLE.fullmatch(text, at, end):
            starts += [row.start() for row in rows.finditer(text, at, end)] or [at]
        else:
            _break_cells(text, at, end, width, starts)
        at = end + 1
    return starts


@cache
def _row_of(width: int) -> re.Pattern[str]:
    """An empty line, the rest of a line, a part up to a space, or as much as there is room for."""
    return re.compile(rf"^(?=\n)|.{{1,{width}}}$|.{{{width // 2},{width}}} |.{{{width}}}", re.MULTILINE)


def _break_cells(text: str, at: int, end: int, width: int, starts: list[int]) -> None:
    starts.append(at)
    line = text[at:end]
    used, begin, space = 0, 0, -1
    for first, cells in _cells(line):
        char = line[first]
        if used + cells > width and char != " ":
            # The part behind the last space goes to the next row with this character.
            begin, used = (space, cell_len(line[space:first])) if space > begin + width // 4 else (first, 0)
            starts.append(at + begin)
        used += cells
        if char == " ":
            space = first + 1


def _cells(line: str) -> Iterable[tuple[int, int]]:
    """Where each character begins, and its cells; what has none of its own goes with the one before."""
    if "\ufe0f" in line:  # makes the character before it wider
        return ((first, cells) for first, _, cells in split_graphemes(line)[0])
    return enumerate(map(get_character_cell_size, line))

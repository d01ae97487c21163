"""One drawn line as pieces of text, each with the name of its look; and long text broken into lines that fit."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from functools import cache

from rich.cells import cell_len, get_character_cell_size, set_cell_size, split_graphemes
from rich.style import Style

from mcp_studio.safetext import safe

Piece = tuple[str, str | Style]
"""Text that is safe to draw, and its look: a component class without its `view--` ("" is plain), or a Rich style."""

Line = Sequence[Piece]
"""Pieces from left to right."""

_SHORT = 12
"""Cells in which two ends of a name tell less than its beginning."""
_MOST = 16_000_000
"""Characters that are made safe, which takes a second; ASCII is shown whole."""
# Characters that take one cell each, so that cells can be counted as characters.
_SINGLE = re.compile("[\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0482\u2010-\u2027\u2500-\u25fc]*")


def width_of(pieces: Iterable[Piece]) -> int:
    """Cells that the pieces take."""
    return sum(cell_len(text) for text, _ in pieces)


def fit(text: str, width: int, *, more: str = "…", right: bool = False) -> str:
    """Text on exactly `width` cells: cut with `more` at its end, or padded (on the left side with `right`)."""
    if width <= 0:
        return ""
    cells = cell_len(text)
    if cells > width:
        return set_cell_size(text, width - 1) + more
    return " " * (width - cells) + text if right else text + " " * (width - cells)


def cut(text: str, width: int, *, more: str = "…") -> str:
    """Text on at most `width` cells, cut with `more`."""
    return text if cell_len(text) <= width else fit(text, width, more=more)


def cut_inside(text: str, width: int, *, more: str = "…") -> str:
    """Text on at most `width` cells, cut with `more` in its middle: names that begin alike differ at their ends."""
    if width < _SHORT or cell_len(text) <= width:
        return cut(text, width, more=more)
    end, room = len(text), width // 2
    while (room := room - cell_len(text[end - 1])) >= 0:
        end -= 1
    return set_cell_size(text, width - 1 - cell_len(text[end:])) + more + text[end:]


def spread(left: Sequence[Piece], right: Sequence[Piece], width: int) -> list[Piece]:
    """Pieces at the left end and at the right end of one line; the left ones give way."""
    room = width - width_of(right)
    if room <= 0:
        return list(left)
    pieces: list[Piece] = []
    for text, look in left:
        cells = cell_len(text)
        if cells >= room:
            return [*pieces, (fit(text, room), look), *right]
        pieces.append((text, look))
        room -= cells
    return [*pieces, (" " * room, ""), *right]


def mark_matches(text: str, words: Sequence[str], look: str | Style = "", found: str | Style = "match") -> list[Piece]:
    """Split text into pieces so that every occurrence of the words (upper or lower case) has the look `found`."""
    wanted = sorted({word for word in words if word}, key=len, reverse=True)
    if not wanted or not text:
        return [(text, look)]
    pieces: list[Piece] = []
    at = 0
    for match in re.finditer("|".join(map(re.escape, wanted)), text, re.IGNORECASE):
        if match.start() > at:
            pieces.append((text[at : match.start()], look))
        pieces.append((match[0], found))
        at = match.end()
    if at < len(text):
        pieces.append((text[at:], look))
    return pieces


def mark_pieces(pieces: Iterable[Piece], words: Sequence[str], found: str | Style = "match") -> list[Piece]:
    """Pieces with every occurrence of the words within one of them in the look `found`."""
    return [part for text, look in pieces for part in mark_matches(text, words, look, found)]


def make_safe(text: str) -> str:
    """A text as it may be drawn, with its line ends; where that takes too long the beginning, and how much follows."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text  # there is nothing to make safe, which would take ten times as long
    return safe(text, _MOST, lines=True)


def break_rows(text: str, width: int) -> array[int]:
    """Where the rows of a text begin when it is broken at line ends and so that none takes more than `width` cells.

    The space that a row is broken after belongs to that row and may stand in the cell behind it.
    """
    rows = _row_of(width)
    if text.isascii():
        return array("Q", (row.start() for row in rows.finditer(text)))
    starts = array("Q")
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if (end - at) * 2 <= width:
            starts.append(at)
        elif _SINGLE.fullmatch(text, at, end):
            starts.extend([row.start() for row in rows.finditer(text, at, end)] or [at])
        else:
            _break_cells(text, at, end, width, starts)
        at = end + 1
    return starts


@cache
def _row_of(width: int) -> re.Pattern[str]:
    """An empty line, the rest of a line, a part up to a space, or as much as there is room for."""
    return re.compile(rf"^(?=\n)|.{{1,{width}}}$|.{{{width // 2},{width}}} |.{{{width}}}", re.MULTILINE)


def _break_cells(text: str, at: int, end: int, width: int, starts: array[int]) -> None:
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

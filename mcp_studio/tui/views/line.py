"""One drawn line as pieces of text, each with the name of its look."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.style import Style

Piece = tuple[str, str | Style]
"""Text that is safe to draw, and its look: a component class without its `view--` ("" is plain), or a Rich style."""

Line = Sequence[Piece]
"""Pieces from left to right."""

_SHORT = 12
"""Cells in which two ends of a name tell less than its beginning."""


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

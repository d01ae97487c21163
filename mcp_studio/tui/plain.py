"""Everything drawn goes through one more filter, where the terminal has no box-drawing characters, or no colours."""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

_LINES = {
    code: "-" for code in (0x2500, 0x2501, 0x2504, 0x2505, 0x2508, 0x2509, 0x254C, 0x254D, 0x2550, 0x2574, 0x2576)
}
_BARS = {code: "|" for code in (0x2502, 0x2503, 0x2506, 0x2507, 0x250A, 0x250B, 0x254E, 0x254F, 0x2551, 0x2575, 0x2577)}
_SIGNS = str.maketrans("·…—–●◐○▸▾▼▲→←✓✗⚑⏎‹›×─│╭╮╰╯", ".~--*~o+-v^><vx?/<>x-|++++")
TABLE = (
    {code: "+" for code in range(0x2500, 0x2580)}
    | _LINES
    | _BARS
    | {code: "#" for code in range(0x2580, 0x25A0)}
    | {ord(" "): " ", 0x2591: ".", 0x2592: ":"}
    | _SIGNS
)
"""Each sign becomes one that takes the same single cell."""


class PlainSigns(LineFilter):
    """Draws lines, corners, bars and signs with ASCII; letters of any script stay as they are."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments with plain signs."""
        if all(text.isascii() for text, _, _ in segments):
            return segments
        return [Segment(text.translate(TABLE), style) for text, style, _ in segments]


class NoColours(LineFilter):
    """With `NO_COLOR` nothing is coloured, greys included: bold, dim, underlined and reversed tell what is what.

    It reads the greys of the theme `mono`, in which the focus is white, a cursor is a light bar, one without the focus
    a dark one, and what matters less is darker.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments without colours."""
        return [Segment(text, style and _colourless(style), control) for text, style, control in segments]


@lru_cache(4096)
def _colourless(style: Style) -> Style:
    text = Color.from_rich_color(style.color).brightness if style.color else _TEXT
    ground = Color.from_rich_color(style.bgcolor).brightness if style.bgcolor else 0
    bar = ground > _BAR
    return style.without_color + Style(
        reverse=True if bar else None,
        underline=True if not bar and ground > _DARK_BAR else None,
        bold=True if not bar and text > _BRIGHT else None,
        dim=True if not bar and text < _QUIET else None,
        meta=style.meta or None,
    )


_TEXT, _BRIGHT, _QUIET, _BAR, _DARK_BAR = 0.8, 0.93, 0.6, 0.5, 0.17
"""How bright text and its background are, from 0 to 1."""

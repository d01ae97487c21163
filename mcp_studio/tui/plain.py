"""For terminals without box-drawing characters (`ascii = true`): everything drawn goes through one more filter."""

from __future__ import annotations

from rich.segment import Segment
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


PLAIN = PlainSigns()

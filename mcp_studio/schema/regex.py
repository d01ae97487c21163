"""Regular expressions as trees, for making texts that match them."""

from __future__ import annotations

from mcp_studio.record import record

TOP = 0x10FFFF

Ranges = tuple[tuple[int, int], ...]
"""Code points from … to, sorted, not touching."""


class Unreadable(ValueError):
    """The pattern is none, is too large, or uses something that is not read here (back references, look behind)."""


@record(frozen=True)
class Chars:
    """One character out of some."""

    ranges: Ranges


@record(frozen=True)
class Row:
    """One after the other."""

    parts: tuple[Node, ...]


@record(frozen=True)
class Either:
    """One of several."""

    parts: tuple[Node, ...]


@record(frozen=True)
class Repeat:
    """The same several times; `most` None is without end."""

    part: Node
    least: int
    most: int | None


@record(frozen=True)
class Edge:
    """A place: `^`, `$`, `b` or `B`."""

    sign: str


@record(frozen=True)
class Look:
    """What follows must match, or must not; it is not used up."""

    part: Node
    wanted: bool


Node = Chars | Row | Either | Repeat | Edge | Look


def ranges(*pairs: tuple[int, int]) -> Ranges:
    """Sorted and joined."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(pairs):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return tuple(joined)


def others(among: Ranges) -> Ranges:
    """All characters that are not among these."""
    found: list[tuple[int, int]] = []
    at = 0
    for low, high in among:
        if at < low:
            found.append((at, low - 1))
        at = high + 1
    return tuple([*found, (at, TOP)] if at <= TOP else found)


def of(text: str) -> Ranges:
    """The characters of a text."""
    return ranges(*((ord(char), ord(char)) for char in text))


WORD = ranges((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
"""Letters, digits and the underscore, of ASCII."""
ANY = others(of("\n\r\u2028\u2029"))
"""All that a point stands for: everything but line ends."""

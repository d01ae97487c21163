"""Regular expressions as trees, and whether they are found in a text, without `re`. Bounded and stdlib only.

A pattern of a server may take `re` for ever. Here a text is followed through all ways at once, as sets of places, so
that no pattern takes longer than its length times the text's, squared; and steps are counted besides.
"""

from __future__ import annotations

from mcp_studio.record import record

TOP = 0x10FFFF
_STEPS = 200_000

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


def matches(node: Node, text: str) -> bool:
    """Whether the pattern is found anywhere in the text, as JSON Schema means it.

    Raises:
        Unreadable: it takes too many steps.
    """
    return bool(_Runner(text).run(node, frozenset(range(len(text) + 1))))


class _Runner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._steps = _STEPS

    def run(self, node: Node, starts: frozenset[int]) -> frozenset[int]:
        """The places behind what matches from any of the starts."""
        self._steps -= 1 + len(starts)
        if self._steps < 0:
            raise Unreadable("it takes too long")
        if not starts:
            return starts
        match node:
            case Chars():
                return frozenset(at + 1 for at in starts if self._has(node, at))
            case Row():
                for part in node.parts:
                    starts = self.run(part, starts)
                return starts
            case Either():
                return frozenset().union(*(self.run(part, starts) for part in node.parts))
            case Repeat():
                return self._repeat(node, starts)
            case Edge():
                return frozenset(at for at in starts if self._edge(node.sign, at))
            case Look():
                return frozenset(at for at in starts if bool(self.run(node.part, frozenset((at,)))) == node.wanted)

    def _has(self, chars: Chars, at: int) -> bool:
        return at < len(self._text) and contains(chars.ranges, ord(self._text[at]))

    def _repeat(self, node: Repeat, starts: frozenset[int]) -> frozenset[int]:
        times, here = 0, starts
        while times < node.least:
            following = self.run(node.part, here)
            times += 1
            if following == here:
                break
            here = following
        found = here
        while here and (node.most is None or times < node.most):
            here = self.run(node.part, here) - found
            found, times = found | here, times + 1
        return found

    def _edge(self, sign: str, at: int) -> bool:
        if sign in "^$":
            return at == (0 if sign == "^" else len(self._text))
        return (self._word(at - 1) != self._word(at)) == (sign == "b")

    def _word(self, at: int) -> bool:
        return 0 <= at < len(self._text) and contains(WORD, ord(self._text[at]))


def contains(among: Ranges, code: int) -> bool:
    """Whether the character is among them."""
    return any(low <= code <= high for low, high in among)

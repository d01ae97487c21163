"""Texts that match a pattern."""

from __future__ import annotations

from random import Random

from mcp_studio.schema import regex
from mcp_studio.schema.keys import matcher
from mcp_studio.schema.regex import Chars, Either, Node, Ranges, Repeat, Row, Unreadable
from mcp_studio.schema.regex_reading import read

MOST = 200
"""Characters of a text that is held against a pattern."""
_TRIES = 24
_NICE: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A))
_PRINTED: Ranges = ((0x20, 0x7E), (0xA1, 0xAC), (0xAE, 0x17F), (0x391, 0x3C9), (0x410, 0x44F), (0x4E00, 0x9FA5))


def matching(pattern: str, least: int, most: int | None, rng: Random) -> str | None:
    """A text that the pattern is found in, of so many characters; None when none was found."""
    try:
        node = read(pattern)
    except Unreadable:
        return None
    top = min(MOST if most is None else most, MOST)
    if least > top:
        return None
    needed = 0
    for attempt in range(_TRIES):
        text = _Writer(rng, attempt, needed).write(node)
        needed = max(0, least - len(text)) if attempt % 3 else needed
        for padded in (text, text.ljust(least, "a"), text.rjust(least, "a")):
            if least <= len(padded) <= top and matcher(pattern)(padded):
                return padded
    return None


class _Writer:
    """One attempt: the first as a person would write it, later ones shorter, longer, and more mixed."""

    def __init__(self, rng: Random, attempt: int, needed: int) -> None:
        self._rng = rng
        self._attempt = attempt
        self._needed = needed
        self._left = MOST + 1

    def write(self, node: Node) -> str:
        """A text along the tree; it may still not match, for what must follow somewhere is not looked at."""
        if self._left <= 0:
            return ""
        match node:
            case Chars():
                self._left -= 1
                return self._char(node.ranges)
            case Row():
                return "".join(self.write(part) for part in node.parts)
            case Either():
                return self.write(self._rng.choice(node.parts))
            case Repeat():
                return "".join(self.write(node.part) for _ in range(self._times(node)))
            case _:
                return ""

    def _times(self, node: Repeat) -> int:
        usual = 3 if isinstance(node.part, Chars) else 1
        times = node.least if self._attempt % 3 == 1 else max(node.least, usual)
        if self._needed and self._attempt % 3 == 2:
            times = node.least + self._needed
        times = times if node.most is None else min(times, node.most)
        return max(0, min(times, self._left))

    def _char(self, of: Ranges) -> str:
        mixed = of == regex.ANY and self._attempt > 2
        if mixed:
            return self._rng.choice("aB3!xY7#")
        for wished in (_NICE, _PRINTED, of):
            shared = overlap(of, wished)
            if shared:
                low, high = self._rng.choice(shared)
                return chr(self._rng.randint(low, high))
        return ""


def overlap(one: Ranges, two: Ranges) -> Ranges:
    """The characters that are among both, without surrogates."""
    found = tuple(
        (max(low, other), min(high, last))
        for low, high in one
        for other, last in two
        if max(low, other) <= min(high, last)
    )
    return tuple(pair for pair in found if not 0xD800 <= pair[0] <= 0xDFFF)

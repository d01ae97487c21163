"""How often over time: a bounded number of buckets that grow wider as time goes on."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

BUCKETS = 120
"""At most; when they are full, two and two become one."""
_RECENT = 16
"""Seconds that are kept one by one."""


class Axis:
    """The time axis that all series of one trace share."""

    __slots__ = ("start", "width")

    def __init__(self) -> None:
        self.start = 0
        """Seconds since the epoch at which the first bucket begins; 0 until there is one."""
        self.width = 1
        """Seconds that one bucket spans."""

    def reach(self, first: int, last: int) -> None:
        """See to it that these seconds are on the axis; what is before its start counts in the first bucket."""
        if not self.start:
            self.start = first
        while (last - self.start) // self.width >= BUCKETS:
            self.width *= 2

    def used(self, until: float) -> int:
        """Buckets from the start to this moment."""
        return max(1, min(BUCKETS, (int(until) - self.start) // self.width + 1)) if self.start else 0


class Series:
    """Counts along an axis, and the newest seconds one by one."""

    __slots__ = ("_counts", "_newest", "_recent", "_width")

    def __init__(self) -> None:
        self._width = 1
        self._counts = array("I")
        self._recent = array("I", bytes(4 * _RECENT))
        self._newest = 0

    def add(self, axis: Axis, seconds: Mapping[int, int]) -> None:
        """Take over how many there were in which second; the axis has been told of them."""
        self._fold(axis)
        counts = self._counts
        for second, count in seconds.items():
            place = max(0, (second - axis.start) // axis.width)
            if place >= len(counts):
                counts.extend([0] * (place + 1 - len(counts)))
            counts[place] += count
        self._note(seconds)

    def shape(self, axis: Axis, until: float, bars: int) -> list[int]:
        """Counts from the start of the axis to a moment, in at most so many bars."""
        self._fold(axis)
        used = axis.used(until)
        return _squeezed([*self._counts[:used], *([0] * (used - len(self._counts)))], bars)

    def recent(self, now: float, seconds: int = 10) -> float:
        """How many a second over the newest whole seconds before a moment."""
        last = int(now) - 1
        seconds = min(seconds, _RECENT - 1)
        found = sum(
            self._recent[second % _RECENT]
            for second in range(last - seconds + 1, last + 1)
            if self._newest - _RECENT < second <= self._newest
        )
        return found / seconds

    def _note(self, seconds: Mapping[int, int]) -> None:
        newest = max(seconds)
        if newest > self._newest:
            for second in range(max(self._newest + 1, newest - _RECENT + 1), newest + 1):
                self._recent[second % _RECENT] = 0
            self._newest = newest
        for second, count in seconds.items():
            if second > self._newest - _RECENT:
                self._recent[second % _RECENT] += count

    def _fold(self, axis: Axis) -> None:
        while self._width < axis.width:
            counts = self._counts
            odd = [*counts[1::2], *([0] if len(counts) % 2 else [])]
            self._counts = array("I", map(int.__add__, counts[::2], odd))
            self._width *= 2


def _squeezed(counts: list[int], bars: int) -> list[int]:
    if len(counts) <= bars:
        return counts
    edges = [place * len(counts) // bars for place in range(bars + 1)]
    return [sum(counts[edges[place] : edges[place + 1]]) for place in range(bars)]


_BARS = "▁▂▃▄▅▆▇█"
_PLAIN = ".:-=+*#%"


def sparkline(counts: Iterable[int], *, ascii: bool = False) -> str:
    """A cell for each count, as high as it is compared to the largest; a space for none."""
    values = list(counts)
    most = max(values, default=0)
    signs = _PLAIN if ascii else _BARS
    return "".join(signs[(value * len(signs) - 1) // most] if value else " " for value in values)

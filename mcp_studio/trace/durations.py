"""How long something took, many times: exact while there are few, within one percent for any number of them."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

EXACT = 2_000
"""Durations that are kept one by one."""
GAMMA = 1.02
"""How much wider each bucket of the sketch is than the one before: the middle of one is off by 1 % at most."""
_SCALE = 1 / math.log(GAMMA)
_LEAST = 0.01
"""Milliseconds; what is shorter counts as this in the sketch."""
_BUCKETS = 1_640
LONGEST = 1e12
"""Milliseconds; durations are shorter."""


class Bar(NamedTuple):
    """One bar of a histogram."""

    begin: float
    """Milliseconds, included."""
    end: float
    """Milliseconds, not included."""
    height: int
    """How many durations."""


class Durations:
    """At most 8 KB, however many there are."""

    __slots__ = ("_exact", "_sketch", "_sorted", "count", "least", "most", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        """Milliseconds of all together."""
        self.least = math.inf
        self.most = 0.0
        self._exact: array[float] | None = array("f")
        self._sketch: array[int] | None = None
        self._sorted = True

    def add(self, values: Sequence[float]) -> None:
        """Take over durations in milliseconds, from 0 to `LONGEST`."""
        if not values:
            return
        self.count += len(values)
        self.total += sum(values)
        self.least = min(self.least, min(values))
        self.most = max(self.most, max(values))
        if self._exact is not None and len(self._exact) + len(values) <= EXACT:
            self._exact.extend(values)
            self._sorted = False
            return
        if self._sketch is None:
            self._sketch = array("I", bytes(4 * _BUCKETS))
        if self._exact is not None:
            self._pour(self._exact)
            self._exact = None
        self._pour(values)

    @property
    def exact(self) -> bool:
        """Whether percentiles are those of the very values."""
        return self._exact is not None

    @property
    def mean(self) -> float | None:
        """Milliseconds; None without any."""
        return self.total / self.count if self.count else None

    def percentile(self, share: float) -> float | None:
        """The duration in milliseconds that this share of them stays under (nearest rank); None without any."""
        return self.percentiles(share)[0]

    def percentiles(self, *shares: float) -> list[float | None]:
        """The same for several shares, in ascending order."""
        if not self.count:
            return [None] * len(shares)
        ranks = [max(0, math.ceil(share * self.count) - 1) for share in shares]
        if self._exact is not None:
            ordered = self._ordered(self._exact)
            return [ordered[rank] for rank in ranks]
        return self._of_sketch(ranks)

    def histogram(self, most: int = 16) -> list[Bar]:
        """Bars of one width on a logarithmic scale, without empty ones at the ends.

        Args:
            most: how many there may be: they are as narrow as that lets them, and a power of ten wide at most.
        """
        if not self.count:
            return []
        low, high = max(self.least, _LEAST), max(self.most, _LEAST)
        step = next((step for step in _STEPS if _place(high, step) - _place(low, step) < most), 1)
        first, last = _place(low, step), _place(high, step)
        counts = [0] * (last - first + 1)
        for value, count in self._weighted():
            counts[min(last, max(first, _place(value, step))) - first] += count
        return [Bar(_edge(first + i, step), _edge(first + i + 1, step), count) for i, count in enumerate(counts)]

    def _weighted(self) -> list[tuple[float, int]]:
        if self._exact is not None:
            return [(max(value, _LEAST), 1) for value in self._exact]
        return [(_middle(place), count) for place, count in enumerate(self._sketch or ()) if count]

    def _ordered(self, exact: array[float]) -> array[float]:
        if not self._sorted:
            self._exact = exact = array("f", sorted(exact))
            self._sorted = True
        return exact

    def _of_sketch(self, ranks: list[int]) -> list[float | None]:
        found: list[float | None] = []
        seen = place = 0
        sketch = self._sketch or array("I")
        for rank in ranks:
            while place < len(sketch) and seen + sketch[place] <= rank:
                seen += sketch[place]
                place += 1
            found.append(min(self.most, max(self.least, _middle(place))))
        return found

    def _pour(self, values: Sequence[float]) -> None:
        log, scale, sketch = math.log, _SCALE, self._sketch or array("I")
        places = Counter([int(log(value * 100) * scale) if value > _LEAST else 0 for value in values])  # 1 / _LEAST
        for place, count in places.items():
            sketch[place] += count


def _middle(place: int) -> float:
    return _LEAST * GAMMA ** (place + 0.5)


_STEPS = (20, 10, 5, 3, 2, 1)
"""Bars of a power of ten."""
_EDGES = {
    20: (1, 1.1, 1.25, 1.4, 1.6, 1.8, 2, 2.25, 2.5, 2.8, 3.2, 3.6, 4, 4.5, 5, 5.6, 6.3, 7, 8, 9),
    10: (1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8), 5: (1, 1.6, 2.5, 4, 6.3), 3: (1, 2, 5), 2: (1, 3), 1: (1,),
}  # fmt: skip
"""Round numbers at which bars begin."""


def _place(value: float, step: int) -> int:
    """The bar that a duration falls into, counted from 1 ms."""
    power = math.floor(math.log10(value))
    return power * step + max(0, bisect_right(_EDGES[step], value / 10.0**power * 1.000_000_1) - 1)


def _edge(place: int, step: int) -> float:
    power, at = divmod(place, step)
    return _EDGES[step][at] * 10.0**power

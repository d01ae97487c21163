"""How long something took, many times: exact while there are few, else by a random sample of them."""

from __future__ import annotations

import math
import random
from array import array
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

EXACT = 4_000
"""Durations that are kept; of more it is a random sample."""
LONGEST = 1e12
"""Milliseconds; durations are shorter."""
_LEAST = 0.01
"""Milliseconds; where a histogram begins."""
_EDGES = {
    20: (1, 1.1, 1.25, 1.4, 1.6, 1.8, 2, 2.25, 2.5, 2.8, 3.2, 3.6, 4, 4.5, 5, 5.6, 6.3, 7, 8, 9),
    10: (1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8), 5: (1, 1.6, 2.5, 4, 6.3), 3: (1, 2, 5), 2: (1, 3), 1: (1,),
}  # fmt: skip
"""How many bars a power of ten has, and the round numbers at which they begin."""


class Bar(NamedTuple):
    """One bar of a histogram."""

    begin: float
    """Milliseconds, included."""
    end: float
    """Milliseconds, not included."""
    height: int
    """How many durations."""


class Durations:
    """At most 16 KB, however many there are."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        """Milliseconds of all together."""
        self.least = math.inf
        self.most = 0.0
        self._sample: array[float] = array("f")
        self._chance = random.Random(0)

    def add(self, values: Iterable[float]) -> None:
        """Take over durations in milliseconds, from 0 to `LONGEST`."""
        for value in values:
            self.count += 1
            self.total += value
            self.least = min(self.least, value)
            self.most = max(self.most, value)
            if self.count <= EXACT:
                self._sample.append(value)
            elif (place := int(self._chance.random() * self.count)) < EXACT:
                self._sample[place] = value

    @property
    def exact(self) -> bool:
        """Whether percentiles are those of all values."""
        return self.count <= EXACT

    @property
    def mean(self) -> float | None:
        """Milliseconds; None without any."""
        return self.total / self.count if self.count else None

    def percentile(self, share: float) -> float | None:
        """The duration in milliseconds that this share of them stays under (nearest rank); None without any."""
        return self.percentiles(share)[0]

    def percentiles(self, *shares: float) -> list[float | None]:
        """The same for several shares."""
        if not self.count:
            return [None] * len(shares)
        ordered = sorted(self._sample)
        return [ordered[max(0, math.ceil(share * len(ordered)) - 1)] for share in shares]

    def histogram(self, most: int = 16) -> list[Bar]:
        """Bars of one width on a logarithmic scale, without empty ones at the ends.

        Args:
            most: how many there may be: they are as narrow as that lets them, and a power of ten wide at most.
        """
        if not self.count:
            return []
        values = [max(value, _LEAST) for value in self._sample]
        low, high = min(values), max(values)
        step = next((step for step in _EDGES if _place(high, step) - _place(low, step) < most), 1)
        first = _place(low, step)
        counts = [0] * (_place(high, step) - first + 1)
        for value in values:
            counts[_place(value, step) - first] += 1
        share = self.count / len(values)
        return [
            Bar(_edge(first + place, step), _edge(first + place + 1, step), round(count * share))
            for place, count in enumerate(counts)
        ]


def _place(value: float, step: int) -> int:
    """The bar that a duration falls into, counted from 1 ms."""
    power = math.floor(math.log10(value))
    return power * step + max(0, bisect_right(_EDGES[step], value / 10.0**power * 1.000_000_1) - 1)


def _edge(place: int, step: int) -> float:
    power, at = divmod(place, step)
    return _EDGES[step][at] * 10.0**power

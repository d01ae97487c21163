"""Finding text in any amount of bytes, in slices of time."""

from __future__ import annotations

import re
import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

_SLICE = 1 << 18
MOST_HITS = 100_000


class ByteSearch:
    """All places of a text in bytes, in order; `advance` goes on for some time.

    Upper and lower case are the same unless the text has an upper-case letter in it. `variants` are other spellings
    that count as well.
    """

    def __init__(
        self, data: bytes, text: str, variants: Sequence[str] = (), begin: int = 0, end: int | None = None
    ) -> None:
        self.hits = array("Q")
        """Byte offsets found so far."""
        self._data = data
        self._at = begin
        self._end = len(data) if end is None else end
        self.done = begin >= self._end or not text
        self._wanted = {text, *variants}
        self._fold = text == text.lower()
        self._overlap = max(len(word.encode("utf-8", "surrogatepass")) for word in self._wanted) + 4

    @property
    def capped(self) -> bool:
        """Whether there are more places than are kept."""
        return len(self.hits) >= MOST_HITS

    def advance(self, budget: float) -> bool:
        """Search on for `budget` seconds; True when all has been searched."""
        stop = time.perf_counter() + budget
        simple = len(self._wanted) == 1 and self._only.isascii()
        while not self.done:
            start = self._at
            end = min(start + _SLICE, self._end)
            window = self._data[start : min(end + self._overlap, self._end)]
            places = self._find(window) if simple else self._match(window)
            # What begins in the overlap is found again at the begin of the next slice.
            self.hits.extend(start + place for place in places if start + place < end)
            self._at = end
            self.done = end >= self._end or self.capped
            if time.perf_counter() > stop:
                break
        return self.done

    def after(self, offset: int) -> int | None:
        """The number of the first hit at `offset` or behind it; None when none is known."""
        place = bisect_left(self.hits, offset)
        return place if place < len(self.hits) else None

    def before(self, offset: int) -> int | None:
        """The number of the last hit at `offset` or in front of it; None when none is known."""
        place = bisect_right(self.hits, offset) - 1
        return place if place >= 0 else None

    @property
    def _only(self) -> str:
        return next(iter(self._wanted))

    def _find(self, window: bytes) -> Iterator[int]:
        word = self._only.encode()
        if self._fold:
            word, window = word.lower(), window.lower()
        at = window.find(word)
        while at >= 0:
            yield at
            at = window.find(word, at + len(word))

    def _match(self, window: bytes) -> Iterator[int]:
        words = "|".join(map(re.escape, sorted(self._wanted, key=len, reverse=True)))
        text = window.decode("utf-8", "surrogateescape")
        at = place = 0
        for match in re.finditer(words, text, re.IGNORECASE if self._fold else 0):
            place += len(text[at : match.start()].encode("utf-8", "surrogateescape"))
            at = match.start()
            yield place

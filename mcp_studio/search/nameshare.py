"""How much of what something is called a question names."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from mcp_studio.search.slots import Flags, Scores


class NameShare:
    """The words of names, one row for each word of each name; rare words weigh more, as names go."""

    def __init__(self, idf: Callable[[int], Scores]) -> None:
        """`idf(n)` is the weight of a word for each number of documents it may be in, 0 to n, among n."""
        self._idf = idf
        self._words: dict[str, int] = {}
        self._word = array("I")
        self._slot = array("I")
        self._deeds = array("B")
        """For each number what its name says that it does, as bits."""
        self._known: tuple[Scores, Scores] | None = None

    def add(self, slot: int, words: Iterable[str], deeds: int = 0) -> None:
        """Take up the words of one name, each once, and what it says that it does."""
        known = self._words
        self._deeds.extend(bytes(max(0, slot + 1 - len(self._deeds))))
        self._deeds[slot] = deeds
        for word in dict.fromkeys(words):
            self._word.append(known.setdefault(word, len(known)))
            self._slot.append(slot)

    def changed(self) -> None:
        """Documents came or went."""
        self._known = None

    def purge(self, alive: Flags) -> None:
        """Leave out the rows of documents that are gone, and the words that no name has any more."""
        words, slots = self._rows(alive)
        left = np.bincount(words, minlength=len(self._words)) > 0
        place = (np.cumsum(left, dtype=np.uint32) - 1)[words]
        self._words = {word: new for new, word in enumerate(compress(self._words, left.tolist()))}
        self._word, self._slot = array("I", place.astype(np.uint32).tobytes()), array("I", slots.tobytes())

    def share(self, asked: Mapping[str, float], alive: Flags, count: int) -> Scores:
        """For each document the share of its name, 0 to 1, that these words cover, each as far as its number says.

        `count` is how many documents there are.
        """
        weights, whole = self._weights(alive, count)
        wanted = np.zeros(len(self._words))
        for word, much in asked.items():
            if (at := self._words.get(word)) is not None:
                wanted[at] = much
        rows = np.flatnonzero((wanted > 0)[np.frombuffer(self._word, np.uint32)])
        words = np.frombuffer(self._word, np.uint32)[rows]
        slots = np.frombuffer(self._slot, np.uint32)[rows]
        covered = np.bincount(slots, (weights * wanted)[words], len(alive))
        return np.divide(covered, whole, out=np.zeros(len(alive)), where=whole > 0)

    def against(self, deeds: int) -> Flags:
        """For each document whether its name says that it does other things, and none of these."""
        does = np.frombuffer(self._deeds, np.uint8)
        return (does != 0) & (does & deeds == 0)

    def _weights(self, alive: Flags, count: int) -> tuple[Scores, Scores]:
        """The weight of each word, and of each name as a whole."""
        if (known := self._known) is None:
            words, slots = self._rows(alive)
            weights = self._idf(count)[np.bincount(words, minlength=len(self._words))]
            known = self._known = weights, np.bincount(slots, weights[words], len(alive)).astype(np.float64)
        return known

    def _rows(self, alive: Flags) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        words, slots = np.frombuffer(self._word, np.uint32), np.frombuffer(self._slot, np.uint32)
        kept = alive[slots]
        return words[kept], slots[kept]

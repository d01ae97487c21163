"""The documents of each word, with how much the word weighs in them. Documents come and go without a rebuild.

What a word is worth is worked out when it is asked for, from the documents that are there at that time: the scores
after any coming and going are exactly those of a new index over the same documents.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop
from itertools import islice, takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcp_studio.catalog.ref import Ref
from mcp_studio.search.method import EVERYWHERE, Scope
from mcp_studio.search.nameshare import NameShare
from mcp_studio.search.slots import Flags, Scores, Slot, Slots

SLICE = 500
"""Words that are tidied up with each change, so that no change is long."""
FEW = 1_000
"""So many documents that are gone do not make anything slower."""
TOGETHER = 50_000
"""Entries of lists that are looked at in one go: each go costs, and takes 40 bytes for each."""
_Part = list[tuple["array[int]", float]]
"""The words for one thing that is asked for: their documents, and what they are worth."""


class Weighed(NamedTuple):
    """A document as it is taken up."""

    ref: Ref
    words: Mapping[str, float]
    """What each of its words adds to the score of a question, at an idf of 1: above 0, kept as 32-bit floats."""
    name: Sequence[str] = ()
    """The words of its name, for `covered`."""
    deeds: int = 0
    """What its name says that it does, for `against`."""


def lucene_idf(frequency: Scores, count: int) -> Scores:
    """What words are worth that stand in so many of `count` documents: always above 0."""
    return np.log1p((count - frequency + 0.5) / (frequency + 0.5))


class Inverted:
    """Documents by their words. Not to be used by two threads at once.

    Args:
        idf: what words are worth, by the numbers of documents that have them and of all documents.
        forgotten: given the words that no document has any more, some time after.
    """

    def __init__(
        self,
        idf: Callable[[Scores, int], Scores] = lucene_idf,
        forgotten: Callable[[Iterable[str]], None] = lambda words: None,
    ) -> None:
        self._formula = idf
        self._forgotten = forgotten
        self._start()

    def _start(self) -> None:
        self._slots = Slots()
        self._names = NameShare(self._idf)
        self._postings: dict[str, array[int]] = {}
        self._sorted: list[str] = []
        self._unsorted: list[str] = []
        self._counts: dict[str, int] = {}
        self._worths: dict[str, float] = {}
        self._worth: tuple[int, Scores] | None = None
        self._sweep: Iterator[None] | None = None

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, ref: object) -> bool:
        return ref in self._slots

    def __iter__(self) -> Iterator[Ref]:
        return iter(self._slots)

    def add(self, documents: Iterable[Weighed]) -> list[str]:
        """Take up documents; one that is there is replaced. Gives the words that were not known before."""
        words: list[str] = []
        weights: list[float] = []
        slots: list[int] = []
        for document in tuple(documents):
            self._slots.remove((document.ref,))
            slot = self._slots.add(document.ref)
            words += document.words
            weights += document.words.values()
            slots += [slot] * len(document.words)
            self._names.add(slot, document.name, document.deeds)
        pairs = np.empty((len(slots), 2), np.int32)
        pairs[:, 0] = slots
        pairs[:, 1] = np.array(weights, np.float32).view(np.int32)
        postings, fresh = self._postings, list[str]()
        for word, pair in zip(words, pairs.view(np.int64).ravel().tolist(), strict=True):
            if (found := postings.get(word)) is None:
                postings[word] = array("q", (pair,))
                fresh.append(word)
            else:
                found.append(pair)
        self._unsorted += fresh
        self._changed()
        return fresh

    def remove(self, refs: Collection[Ref]) -> None:
        """Forget documents; those that are not there do not matter."""
        if self._slots.remove(refs):
            self._changed()

    def frequency(self, word: str) -> int:
        """How many documents have the word."""
        if (count := self._counts.get(word)) is None:
            postings = self._postings.get(word)
            if postings is None:
                return 0
            count = len(postings)
            if self._slots.dead or self._sweep:
                count = int(np.count_nonzero(self._slots.alive[_unpacked(postings)[0]]))
            self._counts[word] = count
        return count

    def idf(self, word: str) -> float:
        """What the word is worth: the rarer, the more."""
        if (worth := self._worths.get(word)) is None:
            worth = float(self._idf(len(self))[self.frequency(word)])
            if word in self._postings:
                self._worths[word] = worth
        return worth

    def beginning(self, prefix: str, most: int) -> list[str]:
        """The words that begin so, those of the most documents first, then by the alphabet; `most` at most."""
        if self._unsorted:
            self._sort()
        start = bisect_left(self._sorted, prefix)
        found = takewhile(lambda word: word.startswith(prefix), islice(self._sorted, start, None))
        # Where documents are gone a word may have fewer of them than its list is long, never more.
        waiting = [(-len(self._postings[word]), word) for word in found]
        heapify(waiting)
        best: list[tuple[int, str]] = []
        while waiting and (len(best) < most or waiting[0] < best[-1]):
            _, word = heappop(waiting)
            if count := self.frequency(word):
                insort(best, (-count, word))
                del best[most:]
        return [word for _, word in best]

    def scores(self, asked: Iterable[Mapping[str, float]], scope: Scope = EVERYWHERE) -> Scores:
        """For each document number the sum over what is asked for; 0 outside of the scope, and without any word.

        Each thing that is asked for is given by words with weights; the one that gives a document the most counts.
        The order in which they are given decides the last bit of a sum: give them in the question's.
        """
        total = np.zeros(self._slots.size)
        best = np.zeros(self._slots.size)
        some: list[_Part] = []
        size = 0
        for words in asked:
            part = [(self._postings[word], words[word] * self.idf(word)) for word in words if self.frequency(word)]
            some.append(part)
            size += sum(len(postings) for postings, _ in part)
            if size > TOGETHER:
                _sum_up(some, total, best)
                some, size = [], 0
        _sum_up(some, total, best)
        total[~self._slots.within(scope)] = 0
        return total

    def covered(self, words: Mapping[str, float]) -> Scores:
        """For each document number the share of its name, 0 to 1, that the words cover, each as far as its number says.

        Rare words of names are a larger share. What is gone or out of a scope may have any number: multiply by or
        add where `scores` is above 0.
        """
        return self._names.share(words, self._slots.alive, len(self))

    def against(self, deeds: int) -> Flags:
        """For each document number whether its name says that it does other things than these; see `search.deeds`."""
        return self._names.against(deeds)

    def best(self, scores: Scores, limit: int) -> tuple[list[tuple[Ref, float]], int]:
        """The documents with the largest scores above 0, equal ones by server, name, kind; and how many there are."""
        return self._slots.best(scores, limit)

    def of(self, scores: Scores, refs: Iterable[Ref]) -> list[float]:
        """The scores of single documents, 0 for those that are not there."""
        return [0.0 if (slot := self._slots.at(ref)) is None else float(scores[slot]) for ref in refs]

    def _idf(self, count: int) -> Scores:
        """What a word is worth by the number of documents that have it, 0 to `count`."""
        if self._worth is None or self._worth[0] != count:
            self._worth = count, self._formula(np.arange(count + 1, dtype=np.float64), count)
        return self._worth[1]

    def _changed(self) -> None:
        if not self._slots:
            self._forgotten(self._postings)
            self._start()
        self._counts.clear()
        self._worths.clear()
        self._names.changed()
        if len(self._unsorted) > 2_000:
            self._sort()
        if self._sweep is None and self._slots.dead > max(FEW, len(self._slots) // 3):
            self._sweep = self._tidy()
        if self._sweep is not None and next(self._sweep, True):
            self._sweep = None

    def _sort(self) -> None:
        self._sorted += self._unsorted
        self._sorted.sort()
        self._unsorted = []

    def _tidy(self) -> Iterator[None]:
        """Drop what is left of documents that are gone, some words at a time; then their numbers are free."""
        dying, left = self._slots.dying(), list[str]()
        for number, word in enumerate(list(self._postings), 1):
            kept = self._slots.alive[_unpacked(self._postings[word])[0]]
            if not kept.all():
                self._postings[word] = array("q", np.frombuffer(self._postings[word], np.int64)[kept].tobytes())
                left.append(word)
            if not number % SLICE:
                yield
        self._names.purge(self._slots.alive)
        yield
        if gone := {word for word in left if not self._postings[word]}:
            self._forgotten(gone)
            for word in gone:
                del self._postings[word]
            self._sort()
            self._sorted = [word for word in self._sorted if word not in gone]
        self._slots.reuse(dying)


def _unpacked(postings: array[int]) -> tuple[Slot, NDArray[np.float32]]:
    """The numbers of the documents, and the weights."""
    pairs = np.frombuffer(postings, np.int32)
    return pairs[0::2].astype(np.intp), pairs[1::2].view(np.float32)


def _sum_up(parts: list[_Part], total: Scores, best: Scores) -> None:
    """Add for each part the best of its words to the total; what is in `best` is 0 before and after."""
    words = [word for part in parts for word in part]
    if not words:
        return
    pairs = np.frombuffer(b"".join(postings for postings, _ in words), np.int32)
    slots = pairs[0::2].astype(np.intp)
    worths = np.repeat([worth for _, worth in words], [len(postings) for postings, _ in words])
    gives = worths * pairs[1::2].view(np.float32)
    end = 0
    for part in parts:
        start, end = end, end + sum(len(postings) for postings, _ in part)
        own = slots[start:end]
        if len(part) == 1:
            total[own] += gives[start:end]
        elif part:
            np.maximum.at(best, own, gives[start:end])
            total[own] += best[own]  # a document that is there twice is set twice, to the same
            best[own] = 0

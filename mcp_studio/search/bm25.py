"""The default way of searching: words, weighted by the field they stand in and by how rare they are."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop
from itertools import compress, islice, takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Cjk
from mcp_studio.search.fields import Fields, fields
from mcp_studio.search.method import EVERYWHERE, LONGEST, Answer, Document, Query, Scope, Scored
from mcp_studio.search.question import Asked, named, read, wanted
from mcp_studio.search.threads import Flags, Scores, Slot, Slots
from mcp_studio.search.tokens import MISSING, Segment, dictionary, stem, words


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
        for weights in asked:
            part = [(self._postings[word], weights[word] * self.idf(word)) for word in weights if self.frequency(word)]
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


NAME_SHARE = 0.3
"""What a name adds that the question covers wholly; the best words alone are 1."""
OTHERWISE = 0.1
"""The share that is lost by a name that says it does something else: deletes, where the question says to list."""
PARTS = 0.5
"""What the best sentence of a question counts beside the whole."""
WHOLE = 4.0
"""A sentence counts whole whose best hit has at least this part of what the whole question's best hit has."""
SATURATION = 0.9
"""How slowly more of the same word adds less."""


class Bm25:
    """A `Method`: fielded BM25 with a bonus for names."""

    def __init__(self, cjk: Cjk = "characters") -> None:
        self._segment = dictionary() if cjk == "jieba" else None
        self._missing = MISSING if cjk == "jieba" and self._segment is None else ""
        self._store = Inverted(forgotten=self._forget)
        self._forms: defaultdict[str, list[str]] = defaultdict(list)
        """The words of a stem, but for the one that is it: most words are their own."""

    def add(self, documents: Sequence[Document]) -> None:
        """Take up documents."""
        for word in self._store.add(self._weighed(document) for document in documents):
            if (form := stem(word)) != word:
                self._forms[form].append(word)

    def remove(self, refs: Collection[Ref]) -> None:
        """Forget documents."""
        self._store.remove(refs)

    def search(self, query: Query) -> Answer:
        """Answer a question; the total counts the documents with any of its words but those of looking."""
        asked = read(query.text, self, query.typing, self._segment)
        store = self._store
        scores = store.scores(self._worth(one for one in asked.whole if one.tells), query.scope)
        found = scores > 0
        if looking := [one for one in asked.whole if not one.tells]:
            scores += store.scores(self._worth(looking), query.scope)
            found = found if found.any() else scores > 0
        best = float(scores.max(initial=0.0, where=found))
        note = self._missing if asked.dense else ""
        if best <= 0:
            return Answer((), 0, note)
        total = scores / best
        if asked.parts:
            total += PARTS * (self._parts(asked.parts, query.scope, best) - total)
        total += NAME_SHARE * store.covered(_named(asked.whole))
        if deeds := wanted(query.text[:LONGEST]):
            total *= 1 - OTHERWISE * store.against(deeds)
        hits, count = store.best(total * found, query.limit)
        return Answer([Scored(ref, score) for ref, score in hits], count, note)

    def _parts(self, parts: Iterable[list[Asked]], scope: Scope, best: float) -> Scores:
        """For each document how well it answers the sentence that it answers best, 0 to 1."""
        found = np.zeros(0)
        for asked in parts:
            scores = self._store.scores(self._worth(asked), scope)
            most = float(scores.max(initial=0.0))
            if most > 0:
                scores *= min(1.0, most / best * WHOLE) / most
            found = np.maximum(found, scores) if len(found) else scores
        return found

    def frequency(self, word: str) -> int:
        """How many documents have a word."""
        return self._store.frequency(word)

    def forms(self, word: str) -> Iterable[str]:
        """The known words of the same stem."""
        form = stem(word)
        own = (form,) if stem(form) == form else ()
        return [one for one in (*own, *self._forms.get(form, ())) if self._store.frequency(one)]

    def beginning(self, prefix: str, most: int) -> list[str]:
        """The known words that begin so."""
        return self._store.beginning(prefix, most)

    def _worth(self, asked: Iterable[Asked]) -> Iterable[dict[str, float]]:
        """What a form or another word for the same is worth is at most what the word itself is worth."""
        idf = self._store.idf
        for one in asked:
            most = max(one.words.values())
            top = min(idf(word) for word, weight in one.words.items() if weight == most)
            yield {word: one.weight * weight * min(1.0, top / idf(word)) for word, weight in one.words.items()}

    def _forget(self, words: Iterable[str]) -> None:
        """Words that no document has any more."""
        for word in words:
            if (form := stem(word)) != word:
                self._forms[form].remove(word)
                if not self._forms[form]:
                    del self._forms[form]

    def _weighed(self, document: Document) -> Weighed:
        texts = fields(document)
        counts = weights(texts, self._segment)
        k = SATURATION
        name = words(texts.name, self._segment)
        worth = {w: tf * (k + 1) / (tf + k) for w, tf in counts.items()}
        return Weighed(document.ref, worth, name, named(name) if document.ref.kind == "tool" else 0)


def _named(asked: Iterable[Asked]) -> dict[str, float]:
    """How far each word covers a name that has it."""
    found: dict[str, float] = {}
    for one in asked:
        for word, much in one.words.items():
            found[word] = max(found.get(word, 0.0), much * min(1.0, one.weight))
    return found


# weight, length of an ordinary one in words, how much the length matters
_FIELDS = (
    (3.0, 4, 0.3),
    (3.0, 2, 0.0),
    (1.0, 8, 0.5),
    (1.5, 14, 0.4),
    (0.6, 35, 0.6),
    (0.7, 8, 0.5),
    (0.5, 60, 0.4),
    (0.15, 8, 0.5),
)


def weights(read: Fields, segment: Segment | None = None) -> dict[str, float]:
    """How much of each word a document has, over all its fields."""
    found: dict[str, float] = {}
    given = read.parameters
    texts = (
        " ".join((read.name, read.title)),
        " ".join((read.server, *read.tags)),
        read.uri,
        read.head,
        read.description[len(read.head) :],
        " ".join(one.name for one in given),
        " ".join(one.description for one in given),
        " ".join(value for one in given for value in one.values),
    )
    for text, (weight, usual, matters) in zip(texts, _FIELDS, strict=True):
        if not text:
            continue
        listed = words(text, segment)
        each = weight / (1 - matters + matters * len(listed) / usual)
        for word in listed:
            found[word] = found.get(word, 0.0) + each
    return found

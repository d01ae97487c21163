"""The default method: words, weighted by their field and by how rare they are (BM25 over fields)."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import islice, takewhile
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Cjk
from mcp_studio.search.fields import Fields, fields
from mcp_studio.search.index_file import Arrays, Redact, packed, unpacked
from mcp_studio.search.method import EVERYWHERE, LONGEST, Answer, Document, Query, Rows, Scope, Scored
from mcp_studio.search.question import Term, deeds_of, deeds_wanted, read
from mcp_studio.search.tokens import JIEBA_MISSING, Segment, dictionary, stem, words

if TYPE_CHECKING:
    from rank_bm25 import BM25Okapi

NAME_SHARE = 0.3
"""The bonus for a name that the query covers completely; the best score by words alone is 1."""
CONTRADICTION = 0.1
"""Penalty for a tool whose name contradicts the query (delete for list)."""
SENTENCE_SHARE = 0.5
"""The weight of the best sentence of a query beside the whole query."""
_WHOLE = 4.0
"""A sentence gets full weight if its best score, times this factor, reaches the best score of the whole query."""
SATURATION = 0.9
"""How slowly further occurrences of the same word lose weight."""


Flags = NDArray[np.bool_]
Scores = NDArray[np.float64]


class Slots:
    """Documents by slot number. Numbers are never reused: the index creates a method anew when most slots are empty."""

    def __init__(self) -> None:
        self._numbers: dict[Ref, int] = {}
        self._refs: list[Ref | None] = []
        self._within: tuple[Scope, Flags] | None = None

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def size(self) -> int:
        """The number of slots; every slot number is below it."""
        return len(self._refs)

    def at(self, ref: Ref) -> int | None:
        """The slot of a document, or None."""
        return self._numbers.get(ref)

    def add(self, ref: Ref) -> int:
        """Add a document in a new slot; the slot of an earlier document with the same name becomes empty."""
        self.remove((ref,))
        slot = self._numbers[ref] = len(self._refs)
        self._refs.append(ref)
        self._within = None
        return slot

    def remove(self, refs: Collection[Ref]) -> None:
        """Remove documents; missing ones do not matter."""
        for ref in refs:
            if (slot := self._numbers.pop(ref, None)) is not None:
                self._refs[slot] = None
        self._within = None

    def within(self, scope: Scope = EVERYWHERE) -> Flags:
        """For each slot, whether its document exists and is in the scope."""
        if self._within is None or self._within[0] != scope:
            inside = [ref is not None and (scope is EVERYWHERE or scope.has(ref)) for ref in self._refs]
            self._within = scope, np.array(inside, np.bool_)
        return self._within[1]

    def best(self, scores: Scores, limit: int) -> tuple[list[tuple[Ref, float]], int]:
        """The documents with the largest scores above 0, equal ones by server, name and kind; and the number of all
        such.

        `scores` has one number for each slot, 0 for empty slots.
        """
        hits = np.flatnonzero(scores > 0)
        total = len(hits)
        limit = max(0, min(limit, total))
        if not limit:
            return [], total
        found = scores[hits]
        least = np.partition(found, total - limit)[total - limit]
        ranked = [
            (-score, ref.server, ref.name, ref.kind)
            for slot, score in zip(hits[found >= least].tolist(), found[found >= least].tolist(), strict=True)
            if (ref := self._refs[slot]) is not None
        ]
        return [(Ref(kind, server, name), -score) for score, server, name, kind in nsmallest(limit, ranked)], total


# Weight, usual number of words, and influence of the length, of these fields: name and title; server and tags; address;
# first sentence; rest of the description; names of parameters; their descriptions; their values
_FIELDS = (
    (3.0, 4, 0.3), (3.0, 2, 0.0), (1.0, 8, 0.5), (1.5, 14, 0.4),
    (0.6, 35, 0.6), (0.7, 8, 0.5), (0.5, 60, 0.4), (0.15, 8, 0.5),
)  # fmt: skip


def idf(frequency: NDArray[np.float64] | float, count: int) -> Scores:
    """The inverse document frequency of words that occur in so many of `count` documents: always above 0."""
    return np.log1p((count - frequency + 0.5) / (frequency + 0.5))


class Weighted(NamedTuple):
    """A document in the form that the inverted index takes."""

    ref: Ref
    words: Mapping[str, float]
    """The score that each word adds to a query at an idf of 1."""
    name: Sequence[str] = ()
    deeds: int = 0
    """The deeds that the name of the document tells, as bits."""


class InvertedIndex:
    """Finds documents by their words."""

    def __init__(self) -> None:
        self.slots = Slots()
        self._postings: dict[str, tuple[array[int], array[float]]] = {}
        self._forms: defaultdict[str, list[str]] = defaultdict(list)
        """The words of each stem, except a word that is its own stem, as most are."""
        self._sorted: list[str] | None = None
        self._frequencies: dict[str, int] = {}
        self._name_ids: dict[str, int] = {}
        self._name_words, self._name_slots = array("I"), array("I")
        """One row for each word of each name."""
        self._name_weights: tuple[Scores, Scores] | None = None
        """The weight of each word of names, and of each slot's whole name; None after a change."""
        self._deeds = array("B")

    def add(self, documents: Iterable[Weighted]) -> None:
        """Add documents; a document with a known name replaces the earlier one."""
        for document in documents:
            slot = self.slots.add(document.ref)
            self._deeds.append(document.deeds)
            for word, weight in document.words.items():
                if word not in self._postings:
                    self._postings[word] = array("I"), array("f")
                    if (form := stem(word)) != word:
                        self._forms[form].append(word)
                slots, weights = self._postings[word]
                slots.append(slot)
                weights.append(weight)
            for word in dict.fromkeys(document.name):
                self._name_words.append(self._name_ids.setdefault(word, len(self._name_ids)))
                self._name_slots.append(slot)
        self._changed()

    def remove(self, refs: Collection[Ref]) -> None:
        """Remove documents; missing ones do not matter."""
        self.slots.remove(refs)
        self._changed()

    def state(self, redact: Redact) -> Arrays:
        """The index without its documents' refs, for a file; requires that no document was removed."""
        words = list(self._postings)
        forms = {word: form for form, own in self._forms.items() for word in own}
        return {
            "words": packed(words, redact),
            "forms": packed((forms.get(word, "") for word in words), redact),
            "ends": np.cumsum([len(slots) for slots, _ in self._postings.values()]),
            "slots": np.frombuffer(b"".join(slots for slots, _ in self._postings.values()), np.uint32),
            "weights": np.frombuffer(b"".join(weights for _, weights in self._postings.values()), np.float32),
            "names": packed(self._name_ids, redact),
            "name_words": np.frombuffer(self._name_words, np.uint32),
            "name_slots": np.frombuffer(self._name_slots, np.uint32),
            "deeds": np.frombuffer(self._deeds, np.uint8),
        }

    def restore(self, refs: Sequence[Ref], arrays: Arrays) -> None:
        """Restore the index from what `state` returned for the same documents."""
        slots, weights, start = arrays["slots"].tobytes(), arrays["weights"].tobytes(), 0
        words, forms = unpacked(arrays["words"]), unpacked(arrays["forms"])
        for word, form, end in zip(words, forms, (4 * arrays["ends"]).tolist(), strict=True):
            self._postings[word] = array("I", slots[start:end]), array("f", weights[start:end])
            if form:
                self._forms[form].append(word)
            start = end
        self._name_ids = {word: number for number, word in enumerate(unpacked(arrays["names"]))}
        self._name_words.frombytes(arrays["name_words"].tobytes())
        self._name_slots.frombytes(arrays["name_slots"].tobytes())
        self._deeds.frombytes(arrays["deeds"].tobytes())
        for ref in refs:
            self.slots.add(ref)

    def _changed(self) -> None:
        self._sorted = self._name_weights = None
        self._frequencies.clear()

    def frequency(self, word: str) -> int:
        """The number of documents with the word."""
        if (count := self._frequencies.get(word)) is None:
            if (postings := self._postings.get(word)) is None:
                return 0
            count = len(postings[0])
            if len(self.slots) < self.slots.size:
                count = int(np.count_nonzero(self.slots.within()[np.frombuffer(postings[0], np.uint32)]))
            self._frequencies[word] = count
        return count

    def idf(self, word: str) -> float:
        """The inverse document frequency of the word: the rarer, the larger."""
        return float(idf(self.frequency(word), len(self.slots)))

    def forms(self, word: str) -> list[str]:
        """The known words with the same stem."""
        form = stem(word)
        own = (form,) if stem(form) == form else ()
        return [one for one in (*own, *self._forms.get(form, ())) if self.frequency(one)]

    def beginning(self, prefix: str, most: int) -> list[str]:
        """The words with this prefix, those of most documents first, then by alphabet."""
        if self._sorted is None:
            self._sorted = sorted(self._postings)
        rest = islice(self._sorted, bisect_left(self._sorted, prefix), None)
        counts = ((-self.frequency(word), word) for word in takewhile(lambda word: word.startswith(prefix), rest))
        return [word for count, word in nsmallest(most, counts) if count]

    def scores(self, terms: Iterable[Mapping[str, float]], scope: Scope = EVERYWHERE) -> Scores:
        """The sum of all terms for each slot; 0 outside the scope.

        A term has several words with weights; the word that scores highest in a document counts.
        """
        total = np.zeros(self.slots.size)
        for term in terms:
            best = np.zeros(self.slots.size)
            for word, weight in term.items():
                if postings := self._postings.get(word):
                    slots = np.frombuffer(postings[0], np.uint32)
                    worth = np.frombuffer(postings[1], np.float32) * (weight * self.idf(word))
                    best[slots] = np.maximum(best[slots], worth)
            total += best
        total[~self.slots.within(scope)] = 0
        return total

    def name_coverage(self, query_words: Mapping[str, float]) -> Scores:
        """For each slot the share of its name that the words cover, from 0 to 1; rare words are a larger share."""
        rows, slots = np.frombuffer(self._name_words, np.uint32), np.frombuffer(self._name_slots, np.uint32)
        size, ids = self.slots.size, len(self._name_ids)
        if self._name_weights is None:
            alive = self.slots.within()[slots]
            weights = idf(np.bincount(rows[alive], minlength=ids).astype(np.float64), len(self.slots))
            self._name_weights = weights, np.bincount(slots, weights[rows], size).astype(np.float64)
        weights, whole = self._name_weights
        weighted = np.zeros(ids)
        for word, much in query_words.items():
            if (at := self._name_ids.get(word)) is not None:
                weighted[at] = much
        covered = np.bincount(slots, (weights * weighted)[rows], size)
        return np.divide(covered, whole, out=np.zeros(size), where=whole > 0)

    def other_deeds(self, deeds: int) -> Flags:
        """For each slot, whether its name tells deeds, but none of these."""
        does = np.frombuffer(self._deeds, np.uint8)
        return (does != 0) & (does & deeds == 0)


class Bm25:
    """A `Method`: BM25 over fields, with a bonus for names that the query covers."""

    def __init__(self, cjk: Cjk = "characters") -> None:
        self._segment = dictionary() if cjk == "jieba" else None
        self._missing = JIEBA_MISSING if cjk == "jieba" and self._segment is None else ""
        self._index = InvertedIndex()
        self.remove, self.state, self.restore = self._index.remove, self._index.state, self._index.restore

    def index(self, documents: Sequence[Document]) -> None:
        self._index.add(map(self._weigh, documents))

    def search(self, query: Query) -> Answer:
        """Answer a query; the total counts documents with any word of the query except verbs of looking."""
        question = read(query.text, self._index, query.typing, self._segment)
        index, scope = self._index, query.scope
        scores = index.scores(self._weights(term for term in question.terms if term.telling), scope)
        found = scores > 0
        if looking := [term for term in question.terms if not term.telling]:
            scores += index.scores(self._weights(looking), scope)
            found = found if found.any() else scores > 0
        best = float(scores.max(initial=0.0, where=found))
        note = self._missing if question.dense else ""
        if best <= 0:
            return Answer((), 0, note)
        total = scores / best
        if question.sentences:
            total += SENTENCE_SHARE * (self._best_sentence(question.sentences, scope, best) - total)
        total += NAME_SHARE * index.name_coverage(_in_names(question.terms))
        if deeds := deeds_wanted(query.text):
            total *= 1 - CONTRADICTION * index.other_deeds(deeds)
        hits, count = index.slots.best(total * found, query.limit)
        return Answer([Scored(ref, score) for ref, score in hits], count, note)

    def sources(self, query: Query) -> dict[str, str]:
        """The words that make a document a hit, each with its text in the query."""
        terms = read(query.text, self._index, query.typing, self._segment).terms
        return {word: term.source for term in reversed(terms) for word in term.words}

    def _best_sentence(self, sentences: Iterable[list[Term]], scope: Scope, best: float) -> Scores:
        """For each slot the score of the sentence that it answers best, from 0 to 1."""
        found = np.zeros(0)
        for terms in sentences:
            scores = self._index.scores(self._weights(terms), scope)
            most = float(scores.max(initial=0.0))
            if most > 0:
                scores *= min(1.0, most / best * _WHOLE) / most
            found = np.maximum(found, scores) if len(found) else scores
        return found

    def _weights(self, terms: Iterable[Term]) -> Iterator[dict[str, float]]:
        """The weights of each term's words: a form or synonym never counts more than the word itself."""
        for term in terms:
            worth = {word: self._index.idf(word) for word in term.words}
            most = max(term.words.values())
            top = min(worth[word] for word, weight in term.words.items() if weight == most)
            yield {word: term.weight * weight * min(1.0, top / worth[word]) for word, weight in term.words.items()}

    def _weigh(self, document: Document) -> Weighted:
        texts = fields(document)
        k = SATURATION
        counts = {word: tf * (k + 1) / (tf + k) for word, tf in word_weights(texts, self._segment).items()}
        deeds = deeds_of(texts.name) if document.ref.kind == "tool" else 0
        return Weighted(document.ref, counts, words(texts.name, self._segment), deeds)


def _in_names(terms: Iterable[Term]) -> dict[str, float]:
    """How much each word covers of a name that contains it."""
    found: dict[str, float] = {}
    for term in terms:
        for word, much in term.words.items():
            found[word] = max(found.get(word, 0.0), much * min(1.0, term.weight))
    return found


def word_weights(texts: Fields, segment: Segment | None = None) -> dict[str, float]:
    """The weight of each word in a document, over all fields."""
    found: dict[str, float] = {}
    by_field = (
        f"{texts.name} {texts.title}",
        " ".join((texts.server, *texts.tags)),
        texts.uri,
        texts.head,
        texts.description[len(texts.head) :],
        " ".join(one.name for one in texts.parameters),
        " ".join(one.description for one in texts.parameters),
        " ".join(value for one in texts.parameters for value in one.values),
    )
    for text, (weight, usual, matters) in zip(by_field, _FIELDS, strict=True):
        if text:
            own = words(text, segment)
            each = weight / (1 - matters + matters * len(own) / usual)
            for word in own:
                found[word] = found.get(word, 0.0) + each
    return found


MOST_WORDS = 40
"""Words of a query that are looked up; each costs a walk over all documents."""
_MOST_BEGINNINGS = 30
LEAST_IDF = 0.01
"""The least weight of a word: rank_bm25 gives 0 or less to a word that half of the documents have."""


class Okapi(Rows[list[str]]):
    """A `Method`: plain Okapi BM25 of the package rank_bm25 over names and descriptions, for comparison.

    It knows neither fields nor stems, and is computed anew when documents have changed.
    """

    def _row(self, document: Document) -> list[str]:
        texts = fields(document)
        return words(f"{texts.name} {texts.description}")

    def search(self, query: Query) -> Answer:
        """The documents that contain any of the words."""
        if not any(self._rows.values()):
            return Answer((), 0)
        okapi, slots = self._derived = self._derived or self._make()
        query_words = words(query.text[:LONGEST])
        known = [word for word in query_words if word in okapi.idf]
        if query.typing and query_words and query_words[-1] not in okapi.idf:
            known += sorted(word for word in okapi.idf if word.startswith(query_words[-1]))[:_MOST_BEGINNINGS]
        cut = len(known) > MOST_WORDS or len(query.text) > LONGEST
        note = "Only the first words of the question were looked at." if cut else ""
        scores = np.array(okapi.get_scores(known[:MOST_WORDS])) * slots.within(query.scope)
        hits, total = slots.best(scores, query.limit)
        return Answer([Scored(ref, score) for ref, score in hits], total, note)

    def _make(self) -> tuple[BM25Okapi, Slots]:
        from rank_bm25 import BM25Okapi

        refs, slots = sorted(self._rows), Slots()  # sorted for an average idf that is always the same
        okapi = BM25Okapi([self._rows[ref] for ref in refs])
        okapi.idf = {word: max(idf, LEAST_IDF) for word, idf in okapi.idf.items()}
        for ref in refs:
            slots.add(ref)
        return okapi, slots

"""Searching by meaning: what is asked and what there is are compared as vectors, no word need be the same."""

from __future__ import annotations

import math
import threading
import time
import weakref
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcp_studio.catalog.listing import Ref
from mcp_studio.search.embedder import Embedder, mean
from mcp_studio.search.fields import LONGEST_NAME, Said, own_letters, questions_of, translated, understood
from mcp_studio.search.method import BY_MEANING, LONGEST, Answer, Document, Query, Scored, SearchProblem
from mcp_studio.search.plugins import order
from mcp_studio.search.question import done, wanted
from mcp_studio.search.threads import Slots
from mcp_studio.search.vectors import Kept, Matrix, Model, Vector, VectorCache
from mcp_studio.signal import Signal

FOREIGN = "the model for meaning was made of English, and knows little of these letters."
_FAR = 0.15
"""What is less near than this has nothing to do with the question."""
_TOKENS = 128
"""Tokens of a question that are looked at."""
_QUESTIONS = 64
"""Questions whose vectors are remembered."""
_TELL = 0.5
"""Seconds between one telling of progress and the next."""
_LOOK = 0.02
"""Seconds between two looks at how far it is."""
_CLOSE = 1.0


class Near(NamedTuple):
    """How near documents are to a question, 1 at most: cosines, where the question has one part."""

    known: dict[Ref, float]
    """Of the documents that were asked for, those whose meaning is known."""
    best: list[tuple[Ref, float]]
    """The nearest of all in scope, equal ones by server, name and kind."""
    total: int
    """How many have anything to do with it."""


class Semantic:
    """A `Method`: by meaning. What was added is looked at in the background; until then it is not found, which is said.

    Args:
        cache: the folder in which vectors are kept; None keeps none.
    """

    def __init__(self, cache: Path | None = None) -> None:
        self.changed: Signal[None] = Signal()
        """More is known; emitted in a thread of its own, at most twice a second."""
        self._slots = Slots()
        self._matrix = Matrix()
        self._turn = threading.Lock()
        self._own: set[Ref] = set()
        """Described in Chinese, or the like."""
        self._vectors: dict[tuple[Said, ...], Vector] = {}
        self._known = 0
        self._told = 0.0
        deliver, tell = weakref.WeakMethod(self._deliver), weakref.WeakMethod(self._tell)
        self._embedder = Embedder(VectorCache(cache), _weakly(deliver), _weakly(tell))
        # Also when the program ends and nobody closed it: a thread inside the model would be in the way.
        self._end = weakref.finalize(self, self._embedder.close, _CLOSE)

    # -------------------------------------------------------------- a method

    def add(self, documents: Sequence[Document]) -> None:
        """Take up documents, soon."""
        with self._turn:
            for document in documents:
                slot = self._slots.at(document.ref)
                if slot is None:
                    slot = self._slots.add(document.ref)
                    self._matrix.grow(self._slots.size)
                self._clear(slot)
                (self._own.add if own_letters(document) else self._own.discard)(document.ref)
        self._embedder.want(documents)

    def remove(self, refs: Collection[Ref]) -> None:
        """Forget documents."""
        self._embedder.forget(refs)
        with self._turn:
            for ref in refs:
                slot = self._slots.at(ref)
                if slot is not None:
                    self._clear(slot)
            self._own.difference_update(refs)
            self._slots.remove(refs)
            self._slots.reuse(self._slots.dying())

    def search(self, query: Query) -> Answer:
        """Answer a question; the first one waits for the model. The total counts what has anything to do with it.

        Raises:
            SearchProblem: it is not installed, or what is installed does not work.
        """
        near = self.near(query, self._embedder.model(), query.limit)
        hits = [Scored(ref, score, BY_MEANING) for ref, score in near.best]
        known = understood(query.text) or translated(query.text)
        note = self.note() if known else f"{FOREIGN[0].upper()}{FOREIGN[1:]} {self.note()}".rstrip()
        return Answer(hits, near.total, note)

    # -------------------------------------------------------------- for the hybrid

    def near(self, query: Query, model: Model, most: int, of: Iterable[Ref] = ()) -> Near:
        """How near the nearest are to a question, `most` of them, and how near these documents are.

        Raises:
            SearchProblem: what is installed does not work.
        """
        self._embedder.asking(1)
        try:
            vectors = np.stack([self._vector(part, model) for part in questions_of(query.text[:LONGEST])])
            with self._turn:
                return self._near(vectors, query, most, of)
        finally:
            self._embedder.asking(-1)

    def _near(self, vectors: NDArray[np.float32], query: Query, most: int, of: Iterable[Ref]) -> Near:
        slots, size = self._slots, self._slots.size
        cosines = self._matrix.near(vectors, size)
        known = self._matrix.known[:size]
        inside = known & slots.within(query.scope)
        if len(vectors) > 1:
            # What is nearest to one part of the question is half as far from the front as that part is.
            tops = np.max(cosines, axis=1, where=inside, initial=0.0)
            cosines += ((tops.max() - tops) / 2)[:, None]
        scores = cosines.max(axis=0)
        found = {ref: float(scores[at]) for ref in of if (at := slots.at(ref)) is not None and known[at]}
        return Near(found, *slots.best(np.where(inside & (scores > _FAR), scores, 0).astype(np.float64), most))

    def strange(self, near: Near) -> Near:
        """Without what is described in Chinese: of a Chinese question its own words say more than those looked up."""
        with self._turn:
            best = [(ref, cosine) for ref, cosine in near.best if ref not in self._own]
            return near._replace(known={k: v for k, v in near.known.items() if k not in self._own}, best=best)

    def ready(self) -> Model | None:
        """The model if it is loaded; otherwise loading it begins, and `changed` tells of its end."""
        return self._embedder.ready()

    def recall(self, seconds: float) -> None:
        """Load the model here and now, then wait until all is looked up that was kept, bounded; computes nothing."""
        end = time.monotonic() + seconds
        with suppress(SearchProblem):  # it is told to who asks
            self._embedder.model()
        while sum((self.progress[0], self._embedder.unknown)) < self.progress[1] and time.monotonic() < end:
            if self._embedder.wait(_LOOK):
                return

    def note(self) -> str:
        """What a person should know about an answer of now; empty where there is nothing."""
        done, everything = self.progress
        if self._embedder.problem is not None:
            return str(self._embedder.problem)
        if done == everything:
            return ""
        return f"The meaning of {everything - done:,} of {everything:,} entries is not known yet."

    # -------------------------------------------------------------- how far it is

    @property
    def progress(self) -> tuple[int, int]:
        """Of how many documents the meaning is known, and how many there are."""
        with self._turn:
            return self._known, len(self._slots)

    def wait(self, seconds: float) -> bool:
        """Wait until all meanings are known, or will not be; False when that takes longer."""
        return self._embedder.wait(seconds)

    def close(self) -> None:
        """End the thread, bounded, and let the model go. What is known can no longer be asked."""
        self._end()

    # -------------------------------------------------------------- inside

    def _vector(self, said: tuple[Said, ...], model: Model) -> Vector:
        with self._turn:
            vector = self._vectors.get(said)
        if vector is None:
            vector = mean(model, said, _TOKENS)
            with self._turn:
                while len(self._vectors) >= _QUESTIONS:
                    del self._vectors[next(iter(self._vectors))]
                self._vectors[said] = vector
        return vector

    def _clear(self, slot: int) -> None:
        self._known -= int(self._matrix.known[slot])
        self._matrix.clear(slot)

    def _deliver(self, document: Document, vector: Kept) -> None:
        with self._turn:
            slot = self._slots.at(document.ref)
            if slot is not None:
                self._known += int(not self._matrix.known[slot])
                self._matrix.put(slot, *vector)

    def _tell(self, whole: bool) -> None:
        now = time.monotonic()
        if whole or now - self._told >= _TELL:
            self._told = now
            self.changed.emit(None)


def _weakly(method: weakref.WeakMethod[Any]) -> Callable[..., None]:
    """A method that does not keep its object."""

    def call(*given: object) -> None:
        found = method()
        if found is not None:
            found(*given)

    return call


MEANING = 0.435
"""What the meaning counts of 1."""
LEAD = 0.13
"""What being the first by words counts of 1; being the second half of that, the third a third of it."""
OTHERWISE = 0.25
"""The share that is lost by a tool whose name says that it does something else than is asked for."""
STEEP = 0.25
"""What is less near than the nearest by so much counts a third of it."""
POOL = 200
"""So many of the best by words, and of the nearest, are looked at."""


class Hybrid:
    """A `Method`: words, and what is near in meaning. Both are methods themselves, and have what there is by that.

    Args:
        words: finds by words.
        meaning: finds by meaning.
    """

    def __init__(self, words: Callable[[Query], Answer], meaning: Semantic) -> None:
        self._words = words
        self._meaning = meaning

    def add(self, documents: Sequence[Document]) -> None:
        """Both have them."""

    def remove(self, refs: Collection[Ref]) -> None:
        """Both will be told."""

    def search(self, query: Query) -> Answer:
        """Answer a question, by words alone where the model is not loaded yet or cannot be; the note says so.

        Raises:
            SearchProblem: it cannot be asked by words.
        """
        return self.mixed(query, self._words(query._replace(limit=max(POOL, query.limit))))

    def mixed(self, query: Query, found: Answer) -> Answer:
        """An answer by words with the meaning mixed in."""
        meaning = self._meaning
        if not translated(query.text) and not understood(query.text):
            return _by_words(query, found, f"Searched by words alone: {FOREIGN}")
        try:
            model = meaning.ready()
            near = model and meaning.near(query, model, POOL, [hit.ref for hit in found.hits])
        except SearchProblem:
            near = None  # its sentence is the note
        if near is None:
            return _by_words(query, found, meaning.note() or "Searched by words alone: the model is being loaded.")
        hits = mix(found.hits, meaning.strange(near) if translated(query.text) else near, query.text)
        total = max(found.total, len(hits))
        return Answer(hits[: query.limit], total, _notes(found.note, meaning.note()))


def mix(words: Sequence[Scored], near: Near, asked: str = "") -> list[Scored]:
    """Both orders as one.

    By words, what is best counts 1 and the rest in proportion, and the first places something more; by meaning, what is
    nearest counts 1 and the rest less the farther it is. What has no vector is taken to be as near as its words are
    good: it is ranked by them alone.
    """
    reasons = {hit.ref: hit.reasons for hit in words}
    best = max((hit.score for hit in words), default=0.0)
    by_words = {hit.ref: hit.score / best if best > 0 else 0.0 for hit in words}
    places = sorted(-word for word in by_words.values())
    cosines = {**near.known, **dict(near.best)}
    top = max(cosines.values(), default=0.0)
    deeds = wanted(asked[:LONGEST])
    found: list[Scored] = []
    for ref in {*by_words, *cosines}:
        word = by_words.get(ref, 0.0)
        meant = math.exp((cosines[ref] - top) / STEEP) if ref in cosines else word
        lead = 1 / (1 + bisect_left(places, -word)) if word else 0.0
        score = (1 - MEANING - LEAD) * word + LEAD * lead + MEANING * meant
        if deeds and ref.kind == "tool" and (does := done(ref.name[:LONGEST_NAME])) and not does & deeds:
            score *= 1 - OTHERWISE
        found.append(Scored(ref, score, reasons.get(ref, BY_MEANING)))
    return sorted(found, key=order)


def _by_words(query: Query, found: Answer, note: str) -> Answer:
    return Answer(found.hits[: query.limit], found.total, _notes(found.note, note))


def _notes(*notes: str) -> str:
    return " ".join(note for note in notes if note)

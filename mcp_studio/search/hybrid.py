"""Words and meaning together. Words alone where there is no meaning yet: nothing is ever waited for."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence

from mcp_studio.catalog.ref import Ref
from mcp_studio.search.deeds import done, wanted
from mcp_studio.search.document import Document
from mcp_studio.search.fields import LONGEST_NAME
from mcp_studio.search.method import BY_MEANING, LONGEST, Answer, Query, Scored, SearchProblem
from mcp_studio.search.plugins import order
from mcp_studio.search.semantic import FOREIGN, Near, Semantic
from mcp_studio.search.texts import translated, understood

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

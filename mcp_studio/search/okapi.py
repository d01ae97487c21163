"""Plain Okapi BM25 over names and descriptions in one bag, by the package rank_bm25; to compare with.

It knows neither fields nor stems, and is made anew when documents changed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from rank_bm25 import BM25Okapi

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Cjk
from mcp_studio.search.fields import fields
from mcp_studio.search.method import LONGEST, Answer, Document, Query, Scored
from mcp_studio.search.slots import Slots
from mcp_studio.search.tokens import JIEBA_MISSING, dictionary, is_dense, words

MOST_WORDS = 40
"""Words of a question that are looked up; each costs a walk over all documents."""
_MOST_BEGINNINGS = 30
LEAST_IDF = 0.01
"""What a word is worth at least: rank_bm25 gives 0 or less for one that half of the documents have."""


class Okapi:
    """A `Method`."""

    def __init__(self, cjk: Cjk = "characters") -> None:
        self._segment = dictionary() if cjk == "jieba" else None
        self._missing = JIEBA_MISSING if cjk == "jieba" and self._segment is None else ""
        self._texts: dict[Ref, list[str]] = {}
        self._made: tuple[BM25Okapi, Slots] | None = None

    def add(self, documents: Sequence[Document]) -> None:
        """Take documents; one that is there is replaced."""
        for document in documents:
            texts = fields(document)
            self._texts[document.ref] = words(f"{texts.name} {texts.description}", self._segment)
        self._made = None

    def remove(self, refs: Collection[Ref]) -> None:
        """Forget documents; those that are not there do not matter."""
        for ref in refs:
            self._texts.pop(ref, None)
        self._made = None

    def search(self, query: Query) -> Answer:
        """The documents that have any of the words."""
        if not any(self._texts.values()):
            return Answer((), 0)
        okapi, slots = self._made = self._made or self._make()
        asked = words(query.text[:LONGEST], self._segment)
        known = [word for word in asked if word in okapi.idf]
        if query.typing and asked and asked[-1] not in okapi.idf:
            known += sorted(word for word in okapi.idf if word.startswith(asked[-1]))[:_MOST_BEGINNINGS]
        cut = len(known) > MOST_WORDS or len(query.text) > LONGEST
        note = "Only the first words of the question were looked at." if cut else ""
        missing = self._missing if any(is_dense(word[0]) for word in asked) else ""
        scores = np.array(okapi.get_scores(known[:MOST_WORDS])) * slots.within(query.scope)
        hits, total = slots.best(scores, query.limit)
        return Answer([Scored(ref, score) for ref, score in hits], total, f"{note} {missing}".strip())

    def _make(self) -> tuple[BM25Okapi, Slots]:
        refs, slots = sorted(self._texts), Slots()  # sorted: the average idf has the same last bit every time
        okapi = BM25Okapi([self._texts[ref] for ref in refs])
        okapi.idf = {word: max(idf, LEAST_IDF) for word, idf in okapi.idf.items()}
        for ref in refs:
            slots.add(ref)
        return okapi, slots

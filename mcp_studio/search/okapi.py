"""Plain Okapi BM25 over names and descriptions in one bag, by the package rank_bm25: the textbook's answer.

It knows neither fields nor stems, weighs every document for each question, and is made anew when documents changed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import nsmallest

from rank_bm25 import BM25Okapi

from mcp_studio.catalog.ref import Ref
from mcp_studio.search.document import Document
from mcp_studio.search.fields import fields
from mcp_studio.search.method import LONGEST, Answer, Query, Scored
from mcp_studio.search.tokens import words

MOST_WORDS = 40
"""Words of a question that are looked up; each costs a walk over the documents found."""
MOST_ENDINGS = 30
"""Words that the beginning of one may stand for while it is typed."""
LEAST_IDF = 0.01
"""What a word is worth at least. rank_bm25 gives 0 or less for one that half of the documents have, so that those
which have more of what is asked for would come last."""


class Okapi:
    """A `search.method.Method`."""

    def __init__(self) -> None:
        self._words: dict[Ref, list[str]] = {}
        self._made: tuple[BM25Okapi, list[Ref]] | None = None

    def add(self, documents: Sequence[Document]) -> None:
        """Take up documents; one that is there is replaced."""
        for document in documents:
            found = fields(document)
            self._words[document.ref] = words(found.name) + words(found.description)
        self._made = None

    def remove(self, refs: Collection[Ref]) -> None:
        """Forget documents; those that are not there do not matter."""
        for ref in refs:
            self._words.pop(ref, None)
        self._made = None

    def search(self, query: Query) -> Answer:
        """The documents that have any of the words."""
        if not any(self._words.values()):
            return Answer((), 0)
        index, refs = self._made = self._made or self._make()
        asked, note = self._asked(query, index)
        known = frozenset(asked)
        found = [
            at
            for at, (ref, frequencies) in enumerate(zip(refs, index.doc_freqs, strict=True))
            if not known.isdisjoint(frequencies) and query.scope.has(ref)
        ]
        scores = index.get_batch_scores(asked, found) if found else []
        hits = [Scored(refs[at], float(score)) for at, score in zip(found, scores, strict=True)]
        best = nsmallest(query.limit, hits, lambda hit: (-hit.score, hit.ref.server, hit.ref.name, hit.ref.kind))
        return Answer(best, len(hits), note)

    def _make(self) -> tuple[BM25Okapi, list[Ref]]:
        refs = sorted(self._words)  # so that the average idf has the same last bit whatever came first
        index = BM25Okapi([self._words[ref] for ref in refs])
        index.idf = {word: max(idf, LEAST_IDF) for word, idf in index.idf.items()}
        return index, refs

    def _asked(self, query: Query, index: BM25Okapi) -> tuple[list[str], str]:
        """The question's words that are known, and what a person should know about that."""
        given = words(query.text[:LONGEST])
        known = [word for word in given if word in index.idf]
        if query.typing and given and given[-1] not in index.idf:
            endings = sorted(word for word in index.idf if word.startswith(given[-1]))
            known += endings[:MOST_ENDINGS]
        cut = len(known) > MOST_WORDS or len(query.text) > LONGEST
        return known[:MOST_WORDS], "Only the first words of the question were looked at." if cut else ""

"""Plain Okapi BM25 over names and descriptions in one bag, by the package rank_bm25: the textbook's answer.

It knows neither fields nor stems, and is made anew when documents changed.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import cast

import numpy as np
from rank_bm25 import BM25Okapi

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Cjk
from mcp_studio.search.fields import fields
from mcp_studio.search.method import LONGEST, Answer, Document, Query, Scored
from mcp_studio.search.threads import Scores, Slots
from mcp_studio.search.tokens import MISSING, dictionary, is_dense, words

MOST_WORDS = 40
"""Words of a question that are looked up; each costs a walk over the documents that have it."""
MOST_ENDINGS = 30
"""Words that the beginning of one may stand for while it is typed."""
LEAST_IDF = 0.01
"""What a word is worth at least. rank_bm25 gives 0 or less for one that half of the documents have, so that those
which have more of what is asked for would come last."""


class Okapi:
    """A `search.method.Method`."""

    def __init__(self, cjk: Cjk = "characters") -> None:
        self._segment = dictionary() if cjk == "jieba" else None
        self._missing = MISSING if cjk == "jieba" and self._segment is None else ""
        self._words: dict[Ref, list[str]] = {}
        self._made: _Made | None = None

    def add(self, documents: Sequence[Document]) -> None:
        """Take up documents; one that is there is replaced."""
        for document in documents:
            found = fields(document)
            self._words[document.ref] = words(f"{found.name} {found.description}", self._segment)
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
        made = self._made = self._made or _Made(self._words)
        asked, note = self._asked(query, made.index)
        hits, total = made.slots.best(made.scores(asked) * made.slots.within(query.scope), query.limit)
        return Answer([Scored(ref, score) for ref, score in hits], total, note)

    def _asked(self, query: Query, index: BM25Okapi) -> tuple[list[str], str]:
        """The question's words that are known, and what a person should know about that."""
        given = words(query.text[:LONGEST], self._segment)
        known = [word for word in given if word in index.idf]
        if query.typing and given and given[-1] not in index.idf:
            endings = sorted(word for word in index.idf if word.startswith(given[-1]))
            known += endings[:MOST_ENDINGS]
        cut = len(known) > MOST_WORDS or len(query.text) > LONGEST
        missing = self._missing if any(is_dense(word[0]) for word in given) else ""
        note = "Only the first words of the question were looked at." if cut else ""
        return known[:MOST_WORDS], f"{note} {missing}".strip()


class _Made:
    """What is made anew when documents changed."""

    def __init__(self, texts: Mapping[Ref, list[str]]) -> None:
        refs = sorted(texts)  # so that the average idf has the same last bit whatever came first
        self.index = BM25Okapi([texts[ref] for ref in refs])
        self.index.idf = {word: max(idf, LEAST_IDF) for word, idf in self.index.idf.items()}
        self.index.doc_len = cast("list[int]", np.array(self.index.doc_len))  # or each word costs a conversion
        self.slots = Slots()
        self._having: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
        for ref, frequencies in zip(refs, self.index.doc_freqs, strict=True):
            slot = self.slots.add(ref)
            for word in frequencies:
                self._having[word].append(slot)

    def scores(self, asked: Iterable[str]) -> Scores:
        """By number of the document: above 0 where it has any of the words."""
        scores = np.zeros(self.slots.size)
        for word, times in Counter(asked).items():
            having = self._having[word]
            scores[having] += times * np.array(self.index.get_batch_scores([word], having))
        return scores

"""The default way of searching: words, weighted by the field they stand in and by how rare they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from mcp_studio.catalog.ref import Ref
from mcp_studio.config.model import Cjk
from mcp_studio.search.cjk import MISSING, Segment, dictionary
from mcp_studio.search.deeds import named, wanted
from mcp_studio.search.document import Document
from mcp_studio.search.fields import Fields, fields
from mcp_studio.search.inverted import Inverted, Weighed
from mcp_studio.search.method import LONGEST, Answer, Query, Scope, Scored
from mcp_studio.search.question import Asked, read
from mcp_studio.search.slots import Scores
from mcp_studio.search.stems import stem
from mcp_studio.search.tokens import words

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

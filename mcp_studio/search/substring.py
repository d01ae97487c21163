"""Finding by what is typed, letter by letter: every word must stand somewhere, and names count before the rest."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcp_studio.catalog.ref import KINDS, Ref
from mcp_studio.search.document import Document
from mcp_studio.search.fuzzy import Similar
from mcp_studio.search.grades import (
    BEGINS,
    ELSEWHERE,
    FLAT,
    MOST_WORDS,
    TITLED,
    WHOLE,
    Word,
    addresses,
    grades_of,
    orders,
    word_of,
    words_of,
)
from mcp_studio.search.method import BY_LETTERS, LONGEST, SIMILAR, Answer, Query, Scope, Scored
from mcp_studio.search.names import END, LAST, TITLE, text_of
from mcp_studio.search.packed import Part, Rows, Some, Strings
from mcp_studio.search.plugins import order
from mcp_studio.search.slots import Flags, Slot, Slots

ENOUGH = 5
"""Where fewer are found as they are written, names that are only similar are shown as well."""
FEW = 1_000
"""So many documents that are gone do not make anything slower."""
Grades = NDArray[np.int64]
Worths = NDArray[np.uint8]


class _Rows(NamedTuple):
    """Rows that are looked through; not to be kept over a change."""

    rows: Slot
    part: Part
    heads: Strings | Some
    others: Strings | Some


class Substring:
    """The method `substring`; see `Method`."""

    def __init__(self) -> None:
        self._slots = Slots()
        self._rows = Rows()
        """A row for each slot: the name is its head."""
        self._lengths = array("H")
        """Of the names."""
        self._changed()

    def add(self, documents: Sequence[Document]) -> None:
        """Take up documents."""
        self._slots.remove([document.ref for document in documents])
        for document in documents:
            text = text_of(document)
            at = text.index(LAST) + 1
            title, _, rest = text[at:].rpartition(TITLE)
            words = [*(TITLE + word for word in _words(title)), *_words(rest)]
            self._slots.add(document.ref)
            self._rows.add(text[:at], words)
            self._lengths.append(text.index(END))
        self._changed()

    def remove(self, refs: Collection[Ref]) -> None:
        """Forget documents."""
        self._slots.remove(refs)
        if self._slots.dead > max(FEW, len(self._slots) // 2):
            self._tidy()
        self._changed()

    def _tidy(self) -> None:
        """Leave out the rows of what is gone; the others get other numbers."""
        left = np.flatnonzero(self._slots.alive)
        self._rows.keep(left)
        self._lengths = array("H", np.frombuffer(self._lengths, np.uint16)[left].tobytes())
        before, self._slots = self._slots, Slots()
        for ref in before:  # in the order of their slots: none of those is given twice
            self._slots.add(ref)

    def _changed(self) -> None:
        self._names: tuple[Scope, Slot, Similar] | None = None
        self._few: tuple[Scope, _Rows] | None = None

    def search(self, query: Query) -> Answer:
        """All that have every word, the best first; similar names where that is too few."""
        text = query.text[:LONGEST]
        if exact := self._addressed(text.strip(), query.scope):
            return self._answer(np.array(exact), np.full(len(exact), WHOLE), query, [])
        words = words_of(text)
        note = f"Only the first {MOST_WORDS} words count." if len(words) > MOST_WORDS else ""
        words = words[:MOST_WORDS]
        inside = self._inside(query.scope)
        rows = inside.rows
        found, grades = self._graded(words, inside)
        answer = self._answer(found, grades, query, words)._replace(note=note)
        if answer.total >= min(ENOUGH, len(rows)):
            return answer
        return self._with_similar(answer, np.setdiff1d(rows, found, assume_unique=True), query, words)

    def _with_similar(self, strict: Answer, others: Slot, query: Query, words: list[str]) -> Answer:
        if self._names is None or self._names[0] != query.scope:
            every = np.unique(self._rows.heads_of(np.flatnonzero(self._slots.within(query.scope))))
            heads = self._rows.heads.all
            self._names = query.scope, every, Similar([heads[number] for number in every.tolist()])
        _, every, similar = self._names
        found = {int(every[place]): (score, terms) for place, (score, terms) in similar.find(words).items()}
        heads = self._rows.heads_of(others)
        at = np.isin(heads, np.fromiter(found, np.intp, len(found)))
        like: list[Scored] = []
        for row, head in zip(others[at].tolist(), heads[at].tolist(), strict=True):
            score, terms = found[head]
            like.append(Scored(self._slots.ref(row), score, (BY_LETTERS[0]._replace(words=terms, text=SIMILAR),)))
        like.sort(key=order)
        note = strict.note
        if like and not strict.total:
            note = f"Nothing has what was typed; these names are similar. {note}".rstrip()
        room = max(query.limit - len(strict.hits), 0)
        return Answer([*strict.hits, *like[:room]], strict.total + len(like), note)

    def _inside(self, scope: Scope) -> _Rows:
        """The rows of a scope; few of them are kept for the next key."""
        if self._few is not None and self._few[0] == scope:
            return self._few[1]
        rows = np.flatnonzero(self._slots.within(scope))
        part = self._rows.part(rows)
        inside = _Rows(rows, part, *self._rows.strings(part))
        if part.only is None:
            self._few = scope, inside
        return inside

    def _graded(self, words: Sequence[str], inside: _Rows) -> tuple[Slot, Grades]:
        """Those of the rows that have every word, and how well."""
        rows, part, heads, others = inside
        bits = [np.zeros(len(self._rows.heads), np.uint16), np.zeros(len(self._rows.words), np.uint16)]
        asked = [word_of(word) for word in words]
        for number, word in enumerate(asked):
            for way in word.ways:
                bits[0][heads.having(way)] |= 1 << number
            bits[1][others.having(word.plain)] |= 1 << number
        has = part.over(np.bitwise_or, *bits)
        left, begun = np.ones(len(rows), np.bool_), set[int]()
        for number, word in enumerate(words):
            named = self._beginning(word, rows, left, heads)
            if named.any():
                begun.add(number)
            left &= named if number in begun else (has >> number & 1).astype(np.bool_)
        rows = rows[left]
        part, own = self._rows.part(rows), self._rows.heads_of(rows)
        grades, there = np.zeros(len(rows), np.int64), np.zeros(len(bits[0]), np.bool_)
        there[own] = True
        for number, word in enumerate(asked):
            likely = there & (bits[0] >> number & 1).astype(np.bool_)
            grades += BEGINS if number in begun else part.over(np.maximum, *self._worths(word, likely, others))
        more = np.zeros(len(bits[0]), np.int64)
        for piece, worth in orders(words):
            more[heads.having(piece)] += worth
        return rows, grades + more[own]

    def _worths(self, word: Word, likely: Flags, others: Strings | Some) -> tuple[Worths, Worths]:
        """What a word is worth that stands in one of those heads, and in each word of the rest."""
        worths = np.zeros(len(likely), np.uint8), np.zeros(len(self._rows.words), np.uint8)
        numbers, every = np.flatnonzero(likely), self._rows.heads.all
        worths[0][numbers] = grades_of([every[number] for number in numbers.tolist()], word)
        titles, found = np.zeros(len(worths[1]), np.bool_), others.having(word.plain)
        titles[others.having(TITLE)] = True
        worths[1][found] = np.where(titles[found], TITLED, ELSEWHERE)
        return worths

    def _beginning(self, word: str, rows: Slot, left: Flags, heads: Strings | Some) -> Flags:
        """Which of the rows that are left have an address that begins with a word."""
        found = np.zeros(len(rows), np.bool_)
        for server, begins in addresses(word):
            if named := frozenset(name for name in self._slots.servers if name.lower() == server):
                likely = np.flatnonzero(left & self._slots.within(Scope(named))[rows])
                found[likely] |= np.isin(self._rows.heads_of(rows[likely]), heads.having(begins))
        return found

    def _addressed(self, text: str, scope: Scope) -> list[int]:
        """What is called so in full: `server.tool` or `mcp__server__tool`."""
        divider, rest = ("__", text[len(FLAT) :]) if text.startswith(FLAT) else (".", text)
        found: list[int] = []
        at = rest.find(divider)
        while at >= 0:
            refs = (Ref(kind, rest[:at], rest[at + len(divider) :]) for kind in KINDS)
            found += [slot for ref in refs if (slot := self._slots.at(ref)) is not None and scope.has(ref)]
            at = rest.find(divider, at + 1)
        return found

    def _answer(self, rows: Slot, grades: Grades, query: Query, words: list[str]) -> Answer:
        """The best of some rows: by grade, then the shorter names, then by server, name and kind."""
        scores = np.zeros(self._slots.size)
        scores[rows] = np.where(grades > 0, grades + 1 / (1 + np.frombuffer(self._lengths, np.uint16)[rows]), 1)
        best, total = self._slots.best(scores, query.limit)
        return Answer([Scored(ref, score if score > 1 else 0.0, BY_LETTERS) for ref, score in best], total)


def _words(text: str) -> list[str]:
    return [word for word in text.replace("\n", " ").split(" ") if word]

"""Finding by what is typed, letter by letter: every word must stand somewhere, and names count before the rest."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcp_studio.catalog.listing import KINDS, Ref
from mcp_studio.search.grades import (
    BEGINS,
    ELSEWHERE,
    END,
    FLAT,
    LAST,
    MOST_WORDS,
    TITLE,
    TITLED,
    WHOLE,
    Similar,
    Word,
    addresses,
    grades_of,
    orders,
    text_of,
    word_of,
    words_of,
)
from mcp_studio.search.method import BY_LETTERS, LONGEST, SIMILAR, Answer, Document, Query, Scope, Scored
from mcp_studio.search.plugins import order
from mcp_studio.search.threads import Flags, Slot, Slots

_BREAK = "\n"
_BLOCK = 4_096
"""Rows that are looked at in one go: what that takes for a moment fits into the caches of a processor."""
_KEPT = 16
_FEW = 5_000
"""So few strings are looked through without the others."""
_MANY = 0.25
"""Where more of all rows are looked at, it is quicker to look at all."""


class Strings:
    """Distinct strings by number, and which of them have something in them. None of them has a line break."""

    def __init__(self, strings: Sequence[str] = ()) -> None:
        self._numbers = {text: number for number, text in enumerate(strings)}
        self._read = _read(())
        self._known: dict[str, Slot] = {}
        """Pieces that were asked for, and who has them: most of them are the same with the next key."""

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, text: str) -> int:
        """The number of a string."""
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def all(self) -> list[str]:
        """All of them, in the order of their numbers."""
        if len(self._read.every) != len(self._numbers):
            self._read, self._known = _read(self._numbers), {}
        return self._read.every

    def having(self, piece: str) -> Slot:
        """The numbers of those in which a piece stands."""
        if not self.all:
            return np.zeros(0, np.intp)
        found = self._known.pop(piece, None)
        self._known[piece] = self._having(piece) if found is None else found
        if len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]
        return self._known[piece]

    def _having(self, piece: str) -> Slot:
        _, letters, often, breaks = self._read
        wanted = np.frombuffer(piece.encode("latin-1"), np.uint8)
        rarest, *others = np.argsort(often[wanted]).tolist()
        at = np.flatnonzero(letters == wanted[rarest]) - rarest
        for place in others:
            at = at[letters.take(at + place, mode="clip") == wanted[place]]
        found = np.searchsorted(breaks, at) - 1
        return found[np.diff(found, prepend=-1) > 0]

    def kept(self, used: Flags) -> tuple[Strings, Slot]:
        """Only those that are used, and the new number of each."""
        return Strings(list(compress(self._numbers, used.tolist()))), np.cumsum(used) - 1


class Some:
    """A few of many strings, looked through by themselves."""

    def __init__(self, every: Sequence[str], numbers: Slot) -> None:
        self._numbers = numbers
        places: list[int] = numbers.tolist()
        self._text = _BREAK.join(("", *(every[place] for place in places), ""))
        self._breaks = np.flatnonzero(np.frombuffer(self._text.encode("latin-1"), np.uint8) == ord(_BREAK))

    def having(self, piece: str) -> Slot:
        """The numbers of those in which a piece stands."""
        find, found = self._text.find, list[int]()
        at = find(piece)
        while at >= 0:
            found.append(at)
            at = find(piece, find(_BREAK, at))
        return self._numbers[np.searchsorted(self._breaks, found) - 1]


class _Read(NamedTuple):
    """Strings as they are looked through."""

    every: list[str]
    letters: NDArray[np.uint8]
    """Of all of them, with a break before and behind each."""
    often: Slot
    """How often there is each letter: it is quick to look for a rare one."""
    breaks: Slot


def _read(strings: Iterable[str]) -> _Read:
    every = list(strings)
    letters = np.frombuffer(_BREAK.join(("", *every, "")).encode("latin-1"), np.uint8)
    return _Read(every, letters, np.bincount(letters, minlength=256), np.flatnonzero(letters == ord(_BREAK)))


class Part(NamedTuple):
    """Rows to look at: the number of the head of each, and those of its words, one row behind the other."""

    heads: Slot
    words: NDArray[np.uint32]
    begins: Slot
    """Where each row begins among the words."""
    only: Slot | None = None
    """The rows that are meant, where there are others between."""

    def over(self, join: np.ufunc, heads: NDArray[Any], words: NDArray[Any]) -> NDArray[Any]:
        """What each row has, given what each head and word says, joined by `np.maximum` or the like."""
        found = heads[self.heads]
        ends = np.append(self.begins, len(self.words))
        for row in range(0, len(found), _BLOCK):
            begins, end = self.begins[row : row + _BLOCK], ends[row : row + _BLOCK + 1][-1]
            said = words.take(self.words[begins[0] : end])
            join(found[row : row + _BLOCK], join.reduceat(said, begins - begins[0]), out=found[row : row + _BLOCK])
        return found if self.only is None else found[self.only]


class Rows:
    """Rows, each of one head and at least one word; they are numbered as they come."""

    def __init__(self) -> None:
        self.heads, self.words = Strings(), Strings()
        self._head, self._word, self._begin = array("I"), array("I"), array("I")

    def add(self, head: str, words: Sequence[str]) -> None:
        """The next row."""
        number = self.words.number
        self._head.append(self.heads.number(head))
        self._begin.append(len(self._word))
        self._word.extend([number(word) for word in dict.fromkeys(words or ("",))])

    def heads_of(self, rows: Slot) -> Slot:
        """The numbers of the heads of some rows."""
        return np.frombuffer(self._head, np.uint32)[rows].astype(np.intp)

    def part(self, rows: Slot) -> Part:
        """Some rows, in their order; not to be kept over a change."""
        if len(rows) > _MANY * len(self._begin):
            words, begins = np.frombuffer(self._word, np.uint32), np.frombuffer(self._begin, np.uint32)
            return Part(np.frombuffer(self._head, np.uint32).astype(np.intp), words, begins.astype(np.intp), rows)
        return self._taken(rows)

    def _taken(self, rows: Slot) -> Part:
        """These rows alone, taken out of the others."""
        words, begins = np.frombuffer(self._word, np.uint32), np.frombuffer(self._begin, np.uint32).astype(np.intp)
        counts = np.diff(begins, append=len(words))[rows]
        ends = np.cumsum(counts)
        places = np.arange(counts.sum()) + np.repeat(begins[rows] - ends + counts, counts)
        return Part(self.heads_of(rows), words[places], ends - counts)

    def strings(self, part: Part) -> tuple[Strings | Some, Strings | Some]:
        """The heads and the words of a part, to be looked through; all of them where it has many."""
        if part.only is not None:
            return self.heads, self.words
        return _some(self.heads, part.heads), _some(self.words, part.words)

    def keep(self, rows: Slot) -> None:
        """Leave out all others; those that are kept are numbered anew."""
        heads, words, begins, _ = self._taken(rows)
        self.heads, head = self.heads.kept(np.bincount(heads, minlength=len(self.heads)) > 0)
        self.words, word = self.words.kept(np.bincount(words, minlength=len(self.words)) > 0)
        for own, now in ((self._head, head[heads]), (self._word, word[words]), (self._begin, begins)):
            del own[:]
            own.frombytes(now.astype(np.uint32).tobytes())


def _some(strings: Strings, used: NDArray[Any]) -> Strings | Some:
    numbers = np.flatnonzero(np.bincount(used))
    return strings if len(numbers) > _FEW else Some(strings.all, numbers)


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

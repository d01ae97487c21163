"""Many short texts in little memory: each distinct piece is kept once, and a row is the numbers of its pieces."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcp_studio.search.slots import Flags, Slot

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

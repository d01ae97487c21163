"""Narrowing a list that is shown, letter by letter: at once, on the loop, whatever an index knows by then.

It reads as `substring` does, over all rows of the list: those that have no name, and duplicates, are rows as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mcp_studio.catalog.listing import Entry
from mcp_studio.search import grades
from mcp_studio.search.grades import (
    ELSEWHERE,
    END,
    INSIDE,
    LETTERS,
    LONGEST_NAME,
    MOST_WORDS,
    PART,
    TITLE,
    TITLED,
    Graded,
    Pool,
    encoded,
    everything,
    fold,
    graded,
    in_order,
    of_name,
    parts,
    parts_of,
)
from mcp_studio.search.method import LONGEST
from mcp_studio.search.tokens import stem
from mcp_studio.search.why import in_name

_LONGEST_TEXT = 500
"""Characters of a description that are looked at."""
_SERVER = 8
_FORM = 14
"""What another form of a word is worth that is a part of a name: little less than a part that begins with it."""


class Narrowed(NamedTuple):
    """What is left of a list."""

    places: Sequence[int]
    """The best first: names that are it, begin with it, have it; then titles, then the rest as it was listed."""
    named: bool
    """There is a name that has all of it, be it with the title or the name of the server."""


class _Found(NamedTuple):
    """Rows with the grades of all words added up, and with the least of them."""

    graded: Graded
    least: Sequence[int]


class Letters:
    """Finds rows of a list by what is typed.

    Args:
        entries: the rows, in their order.
        before: what it has read is not read again.
    """

    def __init__(self, entries: Sequence[Entry], before: Letters | None = None) -> None:
        known = before._read if before is not None else {}
        self._entries = entries
        self._read = {id(entry): known[id(entry)] for entry in entries if id(entry) in known}
        self._unread = [entry for entry in entries if id(entry) not in known]
        self._pool: Pool | None = None
        self._heads: list[str] = []
        """The names' part of texts."""
        self._servers: dict[str, str] = {}
        self._before: tuple[list[str], _Found] | None = None
        """All words but the last of what was asked, and what has them; then that word, and what has it too."""
        self._last: tuple[str, Sequence[int]] | None = None

    def read(self, most: int) -> bool:
        """Read so many rows ahead of the first question, which reads the rest; whether there are more."""
        now, self._unread = self._unread[:most], self._unread[most:]
        self._read.update((id(entry), (entry, _text(entry))) for entry in now)
        return bool(self._unread)

    @property
    def pool(self) -> Pool:
        """All rows as they are compared."""
        if self._pool is None:
            self.read(len(self._unread))
            texts = [self._read[id(entry)][1] for entry in self._entries]
            self._pool = Pool(texts, [entry.ref.server for entry in self._entries])
            self._heads = [text[: text.index(LETTERS)] for text in texts]
            self._servers = {server: encoded(fold(server)) for server in set(self._pool.servers)}
        return self._pool

    def find(self, text: str) -> Narrowed:
        """The rows in which every word stands, or in whose name another form of it does."""
        words = words_of(text)
        if not words:
            return Narrowed(range(len(self.pool.texts)), True)
        if self._before is None or self._before[0] != words[:-1]:
            self._before = words[:-1], self._having(words[:-1])
            self._last = None
        before = self._before[1]
        found = self._with(before, words[-1], self._within(before, words[-1]))
        self._last = words[-1], found.graded.places
        ordered = in_order(self.pool, found.graded, words)
        return Narrowed(self._sorted(ordered), max(found.least, default=0) >= TITLED)

    def _within(self, before: _Found, word: str) -> Sequence[int]:
        """Where a word can stand by its letters: only where the one before stood, if that has grown by letters."""
        plain = (
            word.isascii() and word.isalnum() and word == word.lower()
        )  # others fall into parts, any of which may do
        if plain and self._last is not None and word.startswith(self._last[0]):
            return self._last[1]
        return before.graded.places

    def _having(self, words: Sequence[str]) -> _Found:
        found = _Found(everything(self.pool), ())
        for word in words:
            found = self._with(found, word, found.graded.places)
        return found

    def _with(self, found: _Found, word: str, within: Sequence[int]) -> _Found:
        """Those that have a word too; those `within` are looked through for its letters."""
        places = found.graded.places
        now = self._graded(places, within, word)
        if not found.least:
            return _Found(now, now.grades)
        before = dict(zip(places, zip(found.graded.grades, found.least, strict=True), strict=True))
        sums = [before[place][0] + grade for place, grade in zip(now.places, now.grades, strict=True)]
        least = [min(before[place][1], grade) for place, grade in zip(now.places, now.grades, strict=True)]
        return _Found(Graded(now.places, sums), least)

    def _graded(self, places: Sequence[int], within: Sequence[int], word: str) -> Graded:
        """How well each has a word; those that have it in no form are left out."""
        found = graded(self.pool, Graded(within, [0] * len(within)), [word])
        form, plain = form_of(word), encoded(fold(word))
        servers = {server for server, text in self._servers.items() if plain in text}
        if not form and not servers and "." not in word:
            return found
        grades = dict(zip(found.places, found.grades, strict=True))
        if "." in word:  # of a name's beginning behind its server only names were found
            grades = {place: ELSEWHERE for place in places if plain in self.pool.texts[place]} | grades
            grades = self._of_server(places, word) | grades
        for place, grade in grades.items() if servers else ():
            if grade < _SERVER and self.pool.servers[place] in servers:
                grades[place] = _SERVER
        for place in self._with_form(places, form) if form else ():
            grades[place] = max(grades.get(place, 0), _FORM)
        ordered = sorted(grades)
        return Graded(ordered, [grades[place] for place in ordered])

    def _with_form(self, places: Sequence[int], form: str) -> list[int]:
        begins, heads = PART + form.rstrip("i"), self._heads
        likely = [place for place in places if begins in heads[place]]
        return [place for place in likely if any(stem(part) == form for part in parts_of(self.pool.texts[place]))]

    def _of_server(self, among: Sequence[int], word: str) -> dict[int, int]:
        """`server.word`: the rows of a server that have a word."""
        server, _, rest = word.partition(".")
        places = [place for place in among if self.pool.servers[place].lower() == server.lower()]
        if not server or not rest:
            return {}
        found = graded(self.pool, Graded(places, [0] * len(places)), [rest])
        return dict(zip(found.places, found.grades, strict=True))

    def _sorted(self, found: Graded) -> list[int]:
        groups: dict[int, list[int]] = {}
        for place, grade in zip(found.places, found.grades, strict=True):
            groups.setdefault(grade, []).append(place)
        texts = self.pool.texts
        ordered: list[int] = []
        for grade in sorted(groups, reverse=True):
            group = groups[grade]
            ordered += sorted(group, key=lambda place: texts[place].index(END)) if grade >= INSIDE else group
        return ordered


def words_of(text: str) -> list[str]:
    """The words of a text that are looked for."""
    return grades.words_of(text[:LONGEST])[:MOST_WORDS]


def form_of(word: str) -> str:
    """What all forms of a word have in common; nothing where it is the word itself."""
    folded = fold(word)
    form = stem(folded)
    return "" if form == folded else form


def name_of(entry: Entry) -> str:
    """What an entry is called in a list; foreign, unsanitized."""
    if entry.ref.kind in ("tool", "prompt"):
        return entry.ref.name
    return entry.view.title or entry.view.name or entry.ref.name


def pieces_of(name: str, words: Iterable[str]) -> tuple[str, ...]:
    """The pieces of a name that words stand for, as they stand there."""
    return tuple(dict.fromkeys(piece for word in words for piece in _pieces(name[:LONGEST_NAME], word)))


def _pieces(name: str, word: str) -> tuple[str, ...]:
    if found := in_name(name, word, fold(word)):
        return found
    form = form_of(word)
    return tuple(part for part in parts(name) if form and stem(part) == form)


def _text(entry: Entry) -> str:
    ref, view = entry.ref, entry.view
    server, name = ref.server, ref.name
    own = "" if view.name == name else view.name[:LONGEST_NAME]
    rest = f"{server[:LONGEST_NAME]}.{name[:LONGEST_NAME]} {own} {view.description[:_LONGEST_TEXT]}"
    # Folding is what takes most of the time, of which there is little: ten thousand rows at the first letter.
    rest = rest.lower() if rest.isascii() and rest.isprintable() else encoded(fold(rest))
    title = view.title
    title = encoded(fold(title[:LONGEST_NAME])) if title else ""
    return f"{of_name(name_of(entry))}{title}{TITLE}{rest}"

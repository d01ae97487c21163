"""Matching of typed text, letter by letter: every word must stand somewhere, and names count before the rest."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from mcp_studio.catalog.listing import KINDS, Entry, Ref
from mcp_studio.search.fields import fields
from mcp_studio.search.index_file import Arrays, Redact, packed, unpacked
from mcp_studio.search.method import BY_LETTERS, BY_LIKENESS, LONGEST, Answer, Document, Query, Scope, Scored
from mcp_studio.search.tokens import stem

LONGEST_NAME = 200
"""Characters of a name that are compared."""
LONGEST_TEXT = 480
"""Characters of everything else: title, server, address, tags, names of arguments, the description's beginning."""
_LONGEST_ARGUMENTS = 120
MOST_WORDS = 12
"""Words of a question that count."""
ENOUGH = 5
"""Where fewer are found as they are written, names that are only similar are shown as well."""
_FLAT = "mcp__"
_MOST_DIVIDERS = 4
_MOST_INITIALS = 5
# What a word is worth where it stands.
WHOLE, _BEGINS_BY_PART, _BEGINS, _PART, _FORM, _PART_BEGINS, _INITIALS, _INITIALS_BEGIN, INSIDE = (
    24, 22, 20, 17, 10, 15, 13, 12, 9,
)  # fmt: skip
_SERVER, TITLED, _ELSEWHERE = 8, 6, 3

_NAME, _END, _DIVIDER, _LETTERS, _LAST = "\x1f", "\x1e", "\x1d", "\x1c", "\x1b"
"""Divide a row's head; no folded text has them."""
_CONTROL = re.compile("[\x00-\x1f\x7f]+")
_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FOREIGN_PART = re.compile(r"[^\W\d_]+|\d+")


def fold(text: str) -> str:
    """A text without case and control characters, words one space apart; wide letters are plain ones."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_CONTROL.sub(" ", text).lower().split())


def name_parts(name: str) -> list[str]:
    """The parts of an identifier, folded: `getFile_contents` has three."""
    if name.isascii():
        return [part.lower() for part in _NAME_PART.findall(name)]
    return [fold(part) for part in _FOREIGN_PART.findall(unicodedata.normalize("NFKC", name))]


def words_of(text: str) -> list[str]:
    """The words of a question that are looked for."""
    return [word for word in dict.fromkeys(text[:LONGEST].split()) if fold(word)][:MOST_WORDS]


def addresses(text: str) -> Iterator[tuple[str, str]]:
    """The servers and beginnings of names that an address may mean: `server.name` or `mcp__server__name`."""
    divider, rest = ("__", text[len(_FLAT) :]) if text.startswith(_FLAT) else (".", text)
    at = -1
    for _ in range(_MOST_DIVIDERS):
        if (at := rest.find(divider, at + 1)) < 0:
            return
        if at:
            yield rest[:at], rest[at + len(divider) :]


class Row(NamedTuple):
    """What is compared of one thing, folded."""

    head: str
    """`NAME name END DIVIDER part … LETTERS INITIALS LAST`."""
    title: str
    rest: str
    server: str

    @property
    def parts(self) -> list[str]:
        """The parts of the name."""
        return self.head[self.head.index(_END) + 2 : self.head.index(_LETTERS)].split(_DIVIDER)

    @property
    def length(self) -> int:
        """Of the name."""
        return self.head.index(_END) - 1


def row(ref: Ref, name: str, title: str, *rest: str) -> Row:
    """A row to be matched.

    Args:
        rest: other texts in which words may stand, besides the server and the address.
    """
    name = name[:LONGEST_NAME]
    parts = name_parts(name)
    initials = "".join(part[0] for part in parts if part.isascii()).upper()
    head = f"{_NAME}{fold(name)}{_END}{_DIVIDER}{_DIVIDER.join(parts)}{_LETTERS}{initials}{_LAST}"
    others = fold(" ".join((f"{ref.server[:LONGEST_NAME]}.{ref.name[:LONGEST_NAME]}", *rest)))[:LONGEST_TEXT]
    return Row(head, fold(title[:LONGEST_NAME]), others, fold(ref.server[:LONGEST_NAME]))


class _Word:
    """One word of a question, in all the ways in which it may stand in a row."""

    def __init__(self, text: str) -> None:
        self.plain = fold(text)
        own = name_parts(text)
        self.parts = "".join(_DIVIDER + part for part in own) if len(own) > 1 else ""
        """Its own parts: `list_b` is found in `listBooks`."""
        short = 1 < len(text) <= _MOST_INITIALS and text.isascii() and text.isalpha()
        self.initials = _LETTERS + text.upper() if short else ""
        form = stem(self.plain)
        self.form = "" if form == self.plain else form

    @property
    def pieces(self) -> list[str]:
        """A row in which the word stands has one of these."""
        form = _DIVIDER + self.form.rstrip("i") if self.form else ""
        return [piece for piece in (self.plain, self.parts, self.initials, form) if piece]

    def grade(self, row: Row) -> int:
        """How well it stands in a row; 0 where it does not."""
        head, plain = row.head, self.plain
        if plain in head:
            return self._grade_in_name(head, plain)
        if self.parts and self.parts in head:
            return _BEGINS if _END + self.parts in head else _PART_BEGINS
        if self.initials and self.initials in head:
            return _INITIALS if self.initials + _LAST in head else _INITIALS_BEGIN
        if self.form and any(stem(part) == self.form for part in row.parts):
            return _FORM
        if plain in row.server:
            return _SERVER
        if plain in row.title:
            return TITLED
        return _ELSEWHERE if plain in row.rest else 0

    def _grade_in_name(self, head: str, plain: str) -> int:
        ends_part = any(_DIVIDER + plain + end in head for end in (_DIVIDER, _LETTERS))
        if _NAME + plain in head:
            return WHOLE if _NAME + plain + _END in head else _BEGINS_BY_PART if ends_part else _BEGINS
        if _DIVIDER + plain in head:
            return _PART if ends_part else _PART_BEGINS
        return _INITIALS_BEGIN if self.initials and self.initials in head else INSIDE


class Matches(NamedTuple):
    """Which rows have what was typed."""

    places: Sequence[int]
    """The best first: names that are it, begin with it, have it; then titles, then the rest as it was listed."""
    grades: Sequence[int]
    named: bool
    """There is a row that has all of it in its name, title or server."""


class Matcher:
    """Finds rows by what is typed."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self._texts = ["\n".join((own.head, own.title, own.rest)) for own in rows]

    def find(self, text: str) -> Matches:
        """The rows in which every word stands, be it in another form."""
        words = words_of(text)
        if not words:
            return Matches(range(len(self.rows)), [0] * len(self.rows), True)
        totals = dict.fromkeys(range(len(self.rows)), 0)
        least = dict.fromkeys(totals, WHOLE)
        for word in words:
            grades = self._with(totals, word)
            totals = {place: totals[place] + grade for place, grade in grades.items()}
            least = {place: min(least[place], grade) for place, grade in grades.items()}
        places = sorted(totals, key=lambda place: self._order(place, totals[place]))
        return Matches(places, [totals[place] for place in places], max(least.values(), default=0) >= TITLED)

    def _with(self, places: Iterable[int], text: str) -> dict[int, int]:
        """The grades of those rows that have a word."""
        rows, texts, word = self.rows, self._texts, _Word(text)
        likely = {place for piece in word.pieces for place in places if piece in texts[place]}
        found = {place: grade for place in likely if (grade := word.grade(rows[place]))}
        for server, name in addresses(text):
            inside = [place for place in places if rows[place].server == fold(server)]
            behind = _Word(name)
            for place in inside:
                grade = behind.grade(rows[place]) if behind.plain else _SERVER
                if grade > found.get(place, 0):
                    found[place] = grade
        return found

    def _order(self, place: int, grade: int) -> tuple[int, int, int]:
        return -grade, self.rows[place].length if grade >= INSIDE else 0, place


class NameFilter:
    """Narrows a list that is shown, at once, whatever an index knows by then; duplicates are rows as well.

    Args:
        entries: the rows, in their order.
        before: what it has read is not read again.
    """

    def __init__(self, entries: Sequence[Entry], before: NameFilter | None = None) -> None:
        known = before._read if before is not None else {}
        self._entries = entries
        self._read = {id(entry): known[id(entry)] for entry in entries if id(entry) in known}
        self._unread = [entry for entry in entries if id(entry) not in known]
        self._matcher: Matcher | None = None

    def read(self, most: int) -> bool:
        """Read so many rows ahead of the first question, which reads the rest; whether there are more."""
        now, self._unread = self._unread[:most], self._unread[most:]
        for entry in now:
            view = entry.view
            own = row(entry.ref, name_of(entry), view.title, view.name, view.description[:LONGEST_TEXT])
            self._read[id(entry)] = entry, own
        return bool(self._unread)

    def find(self, text: str) -> Matches:
        """The rows that have what is typed."""
        if self._matcher is None:
            self.read(len(self._unread))
            self._matcher = Matcher([self._read[id(entry)][1] for entry in self._entries])
        return self._matcher.find(text)


def name_of(entry: Entry) -> str:
    """What an entry is called in a list; foreign, unsanitized."""
    if entry.ref.kind in ("tool", "prompt"):
        return entry.ref.name
    return entry.view.title or entry.view.name or entry.ref.name


class Substring:
    """A `Method`: what is typed stands in names, addresses and texts; names that are similar where that is too few."""

    def __init__(self) -> None:
        self._rows: dict[Ref, Row] = {}
        self._made: tuple[Scope, list[Ref], Matcher] | None = None
        """For the last scope, until something changes."""

    def add(self, documents: Sequence[Document]) -> None:
        """Take documents."""
        for document in documents:
            texts = fields(document)
            arguments = " ".join(one.name for one in texts.parameters)[:_LONGEST_ARGUMENTS]
            about = texts.description[:LONGEST_TEXT]
            self._rows[document.ref] = row(document.ref, texts.name, texts.title, *texts.tags, arguments, about)
        self._made = None

    def remove(self, refs: Collection[Ref]) -> None:
        """Forget documents."""
        for ref in refs:
            self._rows.pop(ref, None)
        self._made = None

    def state(self, redact: Redact) -> Arrays:
        """All of it but the addresses of its documents."""
        return {"rows": packed((text for own in self._rows.values() for text in own), redact)}

    def restore(self, refs: Sequence[Ref], arrays: Arrays) -> None:
        """Take what `state` gave of just these documents."""
        texts = iter(unpacked(arrays["rows"]))
        self._rows = dict(zip(refs, map(Row._make, zip(texts, texts, texts, texts, strict=True)), strict=True))

    def search(self, query: Query) -> Answer:
        """All that have every word, the best first; an address in full finds exactly that."""
        if exact := self._addressed(query.text.strip(), query.scope):
            return Answer([Scored(ref, float(WHOLE), BY_LETTERS) for ref in exact[: query.limit]], len(exact))
        if self._made is None or self._made[0] != query.scope:
            refs = sorted((ref for ref in self._rows if query.scope.has(ref)), key=lambda ref: (*ref[1:], ref.kind))
            self._made = query.scope, refs, Matcher([self._rows[ref] for ref in refs])
        _, refs, matcher = self._made
        found = matcher.find(query.text)
        hits = [
            Scored(refs[place], grade + (1 / (1 + matcher.rows[place].length) if grade >= INSIDE else 0), BY_LETTERS)
            for place, grade in zip(found.places[: query.limit], found.grades, strict=False)
        ]
        total = len(found.places)
        note = f"Only the first {MOST_WORDS} words count." if len(query.text.split()) > MOST_WORDS else ""
        if total < min(ENOUGH, len(refs)):
            like = similar(words_of(query.text), matcher.rows)
            places = sorted(like.keys() - set(found.places), key=lambda place: (-like[place], place))
            hits += [Scored(refs[place], like[place], BY_LIKENESS) for place in places[: query.limit - total]]
            if places and not total:
                note = f"Nothing has what was typed; these names are similar. {note}".rstrip()
            total += len(places)
        return Answer(hits, total, note)

    def _addressed(self, text: str, scope: Scope) -> list[Ref]:
        """What is called so in full."""
        refs = [Ref(kind, server, name) for server, name in addresses(text) for kind in KINDS]
        return sorted((ref for ref in refs if ref in self._rows and scope.has(ref)), key=lambda ref: (*ref[1:], ref[0]))


_SHORTEST, _LONGEST = 3, 40
"""Letters of what was typed that similar names are looked for with."""
_MOST_SIMILAR = 200
_LIKE = 75.0
"""Of 100: a letter or two may be wrong, swapped or missing."""


def similar(words: Iterable[str], rows: Sequence[Row]) -> dict[int, float]:
    """The places of names that are nearly what was typed, or a part of which is; how like they are, below 1."""
    from rapidfuzz import fuzz, process

    whole = "".join(part for word in words for part in name_parts(word))
    if not _SHORTEST <= len(whole) <= _LONGEST:
        return {}
    names = ["".join(own.parts) for own in rows]
    like = process.extract(whole, names, scorer=fuzz.ratio, score_cutoff=_LIKE, limit=_MOST_SIMILAR)
    inside = process.extract(whole, names, scorer=fuzz.partial_ratio, score_cutoff=_LIKE, limit=_MOST_SIMILAR)
    found = {place: 0.5 * score / 100 for name, score, place in inside if len(name) > len(whole)}
    return found | {place: 0.9 * score / 100 for _, score, place in like}

"""Matching of typed text, letter by letter: every word must occur, and names count more than other texts.

One `Matcher` serves every place where a person types to find something: the filter of the catalog, the palette and
other lists, and the search method `Substring`.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain
from typing import NamedTuple

from mcp_studio.catalog.listing import KINDS, Ref
from mcp_studio.search.fields import fields
from mcp_studio.search.index_file import Arrays, Redact, packed, unpacked
from mcp_studio.search.method import BY_LETTERS, BY_LIKENESS, LONGEST, Answer, Document, Query, Rows, Scored
from mcp_studio.search.tokens import stem

LONGEST_NAME = 200
"""Characters of a name that are compared."""
LONGEST_TEXT = 480
"""Characters of all other texts: title, server, address, tags, argument names, beginning of the description."""
MOST_WORDS = 12
"""Words of a query that count."""
_FLAT = "mcp__"
_MOST_DIVIDERS = 4
_MOST_INITIALS = 5
_SHORTEST = 3
"""Fewer letters occur inside nearly every name."""
# The scores of a word by the place where it occurs.
WHOLE, _BEGINS_BY_PART, _BEGINS, _PART, _FORM, _PART_BEGINS, _INITIALS, _INITIALS_BEGIN, _INSIDE = (
    24, 22, 20, 17, 10, 15, 13, 12, 10,
)  # fmt: skip
_SHORT_INSIDE, _SERVER, _TITLED, _ELSEWHERE = 9, 8, 6, 3

_NAME, _END, _DIVIDER, _LETTERS, _LAST = "\x1f", "\x1e", "\x1d", "\x1c", "\x1b"
"""Dividers in a row's head, which no folded text contains."""
Span = tuple[int, int]
_CONTROL = re.compile("[\x00-\x1f\x7f]+")
_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FOREIGN_PART = re.compile(r"[^\W\d_]+|\d+")


def fold(text: str) -> str:
    """A text without case and control characters, words one space apart; wide letters become plain ones."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_CONTROL.sub(" ", text).lower().split())


def name_parts(name: str) -> list[str]:
    """The parts of an identifier, folded: `getFile_contents` has three."""
    if name.isascii():
        return [part.lower() for part in _NAME_PART.findall(name)]
    return [fold(part) for part in _FOREIGN_PART.findall(unicodedata.normalize("NFKC", name))]


def words_of(text: str) -> list[str]:
    """The words of a query that are searched."""
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
    """The texts of one entry that are compared, folded."""

    head: str
    """`NAME name END DIVIDER part … LETTERS INITIALS LAST`."""
    title: str = ""
    rest: str = ""
    server: str = ""

    @property
    def parts(self) -> list[str]:
        return self.head[self.head.index(_END) + 2 : self.head.index(_LETTERS)].split(_DIVIDER)

    @property
    def length(self) -> int:
        """The length of the name."""
        return self.head.index(_END) - 1


def row(name: str, rest: str = "", *, title: str = "", server: str = "") -> Row:
    """The row of an entry; `rest` holds further texts in which words may occur."""
    name = name[:LONGEST_NAME]
    parts = name_parts(name)
    initials = "".join(part[0] for part in parts if part.isascii()).upper()
    head = f"{_NAME}{fold(name)}{_END}{_DIVIDER}{_DIVIDER.join(parts)}{_LETTERS}{initials}{_LAST}"
    return Row(head, fold(title[:LONGEST_NAME]), fold(rest)[:LONGEST_TEXT], fold(server[:LONGEST_NAME]))


class _Word:
    """One word of a query, with all the forms in which a row may contain it."""

    def __init__(self, text: str, addressed: bool = True) -> None:
        self.plain = fold(text)
        own = name_parts(text)
        self.parts = "".join(_DIVIDER + part for part in own) if len(own) > 1 else ""
        """The word's own parts, so that `list_b` is found in `listBooks`."""
        short = 1 < len(text) <= _MOST_INITIALS and text.isascii() and text.isalpha()
        self.initials = _LETTERS + text.upper() if short else ""
        form = stem(self.plain)
        self.form = "" if form == self.plain else form
        self.form_begins = _DIVIDER + self.form.rstrip("i")
        self.addresses = [(fold(server), _Word(name, False)) for server, name in addresses(text) if addressed]

    @property
    def needles(self) -> list[str]:
        """Texts of which a row contains one if its name or server contains the word."""
        own = filter(None, (self.plain, self.parts, self.initials, self.form and self.form_begins))
        inside = (name.needles if name.plain else [server] for server, name in self.addresses)
        return [*own, *chain.from_iterable(inside)]

    def grade(self, row: Row) -> int:
        """The score of the word in a row; 0 where the row does not contain it."""
        grade = self._grade(row)
        for server, name in self.addresses:
            if row.server == server:
                grade = max(grade, name.grade(row) if name.plain else _SERVER)
        return grade

    def _grade(self, row: Row) -> int:
        head, plain = row.head, self.plain
        if plain in head:
            return self._grade_in_name(head, plain)
        if self.parts and self.parts in head:
            return _BEGINS if _END + self.parts in head else _PART_BEGINS
        if self.initials and self.initials in head:
            return _INITIALS if self.initials + _LAST in head else _INITIALS_BEGIN
        if self.form and self.form_begins in head and any(stem(part) == self.form for part in row.parts):
            return _FORM
        if plain in row.server:
            return _SERVER
        if plain in row.title:
            return _TITLED
        return _ELSEWHERE if plain in row.rest else 0

    def _grade_in_name(self, head: str, plain: str) -> int:
        ends_part = (part := _DIVIDER + plain) + _DIVIDER in head or part + _LETTERS in head
        if _NAME + plain in head:
            return WHOLE if _NAME + plain + _END in head else _BEGINS_BY_PART if ends_part else _BEGINS
        if part in head:
            return _PART if ends_part else _PART_BEGINS
        if self.initials and self.initials in head:
            return _INITIALS_BEGIN
        return _SHORT_INSIDE if len(plain) < _SHORTEST and plain.isascii() else _INSIDE

    def spans(self, name: str) -> list[Span]:
        """The spans of the word in a name: the word itself, its parts, parts by their initials, or another form."""
        if place := spot(name, self.plain):
            return [place]
        if len(self.parts) > 1 and all(places := [spot(name, part) for part in self.parts[1:].split(_DIVIDER)]):
            return [place for place in places if place]
        parts = name_parts(name)
        named = [part for part in parts if part.isascii()]
        if len(self.plain) > 1 and "".join(part[0] for part in named).startswith(self.plain):
            found = named[: len(self.plain)]
        else:
            found = [part for part in parts if self.form and stem(part) == self.form]
        return [place for part in found if (place := spot(name, part))]


def _in_order(part: str) -> re.Pattern[str]:
    """Finds a part of a name that begins with the first of these letters and has the others in this order."""
    # Each letter is the next one of its kind, because a pattern that may try others could take forever.
    later = (f"[^{letter}{_DIVIDER}{_LETTERS}]*{letter}" for letter in part[1:])
    return re.compile(f"{_DIVIDER}{part[0]}{''.join(later)}")


class Joined:
    """The texts of many rows as one text, which takes a tenth of the time to search."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.text = "\n".join(texts)
        self._starts = [*accumulate((len(text) + 1 for text in texts), initial=0)]

    def rows(self, find: Callable[[int], int]) -> Iterator[int]:
        """The rows with a match; `find` returns the first match from a position on, or a number below 0."""
        row, end = 0, len(self._starts) - 1
        while row < end and (place := find(self._starts[row])) >= 0:
            row = bisect_right(self._starts, place)
            yield row - 1


class Matches(NamedTuple):
    """The rows that match a query."""

    places: Sequence[int]
    """Best first: equal names, names that begin with the text or contain it; then titles, then the rest as listed."""
    scores: Sequence[float]


class Matcher:
    """A typed text to search in rows; a text without words matches all rows."""

    def __init__(self, text: str) -> None:
        self.words = words_of(text)
        self._words = sorted(map(_Word, self.words), key=lambda word: -len(word.plain))
        """The longest word first, because it leaves the fewest rows for the others."""
        self._parts = name_parts(text[:LONGEST_NAME])
        self._joined = "".join(self._parts)

    def match(self, row: Row) -> float | None:
        """The score of a row, above 1 where name and server contain all words; None where the row lacks a word."""
        grades: list[int] = []
        for word in self._words:
            if not (grade := word.grade(row)):
                return None
            grades.append(grade)
        share = sum(grades) / len(grades) / WHOLE
        if len(self._parts) > 1 and (whole := "".join(row.parts)).startswith(self._joined):
            share = 1.0 if whole == self._joined else max(share, _BEGINS_BY_PART / WHOLE)
        in_name = max(grades) >= _INSIDE and {_SHORT_INSIDE, _TITLED, _ELSEWHERE}.isdisjoint(grades)
        return 1 + share if in_name else share

    def ranked(self, rows: Sequence[Row], joined: Joined | None = None) -> Matches:
        """The matching rows, best first; equal names by length, then by their order.

        Args:
            joined: the names and servers of the rows, where only these count.
        """
        if not self._words:
            return Matches(range(len(rows)), [0.0] * len(rows))
        places: Iterable[int] = range(len(rows))
        if joined is not None:
            finds = [partial(joined.text.find, needle) for needle in self._words[0].needles]
            places = {place for find in finds for place in joined.rows(find)}
        found = {place: score for place in places if (score := self.match(rows[place]))}
        # A key of several parts would be an object per row, and so many objects start the garbage collector.
        places = sorted(sorted(found), key=lambda place: rows[place].length if found[place] > 1 else 0)
        places.sort(key=lambda place: -found[place])
        return Matches(places, [found[place] for place in places])

    def nearest(self, rows: Sequence[Row]) -> Matches:
        """The matching rows; if there are none, those whose parts have the letters in order, else similar names."""
        if (found := self.ranked(rows)).places or not self._parts:
            return found
        patterns = [*map(_in_order, self._parts)]
        near: dict[int, float] = {}
        for place, row in enumerate(rows):
            if all(hits := [pattern.search(row.head) for pattern in patterns]):
                near[place] = 0.1 + 0.05 / sum(len(hit[0]) for hit in hits if hit)
        if not near and len(self._joined) > _SHORTEST:
            near = similar(self.words, rows)
        places = sorted(near, key=lambda place: -near[place])
        return Matches(places, [near[place] for place in places])

    def pieces(self, name: str) -> tuple[str, ...]:
        """The pieces of a name that match, for highlighting."""
        return tuple(
            dict.fromkeys(name[start:end] for word in map(_Word, self.words) for start, end in word.spans(name))
        )


def spot(text: str, folded: str) -> Span | None:
    """The span of a folded word's first occurrence in a text; None also where folding changes lengths."""
    lowered = text.lower()
    at = lowered.find(folded) if folded and len(lowered) == len(text) else -1
    return (at, at + len(folded)) if at >= 0 else None


_LONGEST_ARGUMENTS = 120
ENOUGH = 5
"""If fewer rows match literally, similar names are added."""


class Substring(Rows[Row]):
    """The method `substring`; see the module."""

    def _row(self, document: Document) -> Row:
        texts, ref = fields(document), document.ref
        address = f"{ref.server[:LONGEST_NAME]}.{ref.name[:LONGEST_NAME]}"
        arguments = " ".join(one.name for one in texts.parameters)[:_LONGEST_ARGUMENTS]
        rest = (address, *texts.tags, arguments, texts.description[:LONGEST_TEXT])
        return row(texts.name, " ".join(rest), title=texts.title, server=ref.server)

    def state(self, redact: Redact) -> Arrays:
        """The rows without their documents' refs, for a file."""
        return {"rows": packed((text for own in self._rows.values() for text in own), redact)}

    def restore(self, refs: Sequence[Ref], arrays: Arrays) -> None:
        """Restore the rows from what `state` returned for the same documents."""
        texts = iter(unpacked(arrays["rows"]))
        self._rows = dict(zip(refs, map(Row._make, zip(texts, texts, texts, texts, strict=True)), strict=True))

    def search(self, query: Query) -> Answer:
        """All documents with every word, best first; a complete address finds exactly its entry."""
        if exact := self._exact_refs(query):
            return Answer([Scored(ref, 2.0, BY_LETTERS) for ref in exact[: query.limit]], len(exact))
        if self._derived is None or self._derived[0] != query.scope:
            refs = sorted((ref for ref in self._rows if query.scope.has(ref)), key=lambda ref: (*ref[1:], ref.kind))
            rows = [self._rows[ref] for ref in refs]
            self._derived = query.scope, refs, rows, Joined([f"{row.head}\n{row.server}" for row in rows])
        _, refs, rows, joined = self._derived
        matcher = Matcher(query.text)
        found = matcher.ranked(rows, joined if query.named else None)
        # Among names that match equally well, the shorter comes first.
        hits = [
            Scored(refs[place], score + (0.01 / (1 + rows[place].length) if score > 1 else 0), BY_LETTERS)
            for place, score in zip(found.places[: query.limit], found.scores, strict=False)
        ]
        total = len(found.places)
        note = f"Only the first {MOST_WORDS} words count." if len(query.text.split()) > MOST_WORDS else ""
        if not query.named and total < min(ENOUGH, len(refs)):
            like = similar(matcher.words, rows)
            places = sorted(like.keys() - set(found.places), key=lambda place: (-like[place], place))
            hits += [Scored(refs[place], like[place], BY_LIKENESS) for place in places[: query.limit - total]]
            if places and not total:
                note = f"Nothing has what was typed; these names are similar. {note}".rstrip()
            total += len(places)
        return Answer(hits, total, note)

    def _exact_refs(self, query: Query) -> list[Ref]:
        """The entries whose complete address the query is."""
        refs = [Ref(kind, server, name) for server, name in addresses(query.text.strip()) for kind in KINDS]
        known = (ref for ref in refs if ref in self._rows and query.scope.has(ref))
        return sorted(known, key=lambda ref: (*ref[1:], ref[0]))


_LONGEST = 40
"""The most letters of a text for which similar names are searched; `_SHORTEST` is the least."""
_MOST_SIMILAR = 200
_LIKE = 75.0
"""Out of 100: a letter or two may be wrong, swapped or missing."""


def similar(words: Iterable[str], rows: Sequence[Row]) -> dict[int, float]:
    """The places of names that resemble the text, or contain a part that does; they score less than literal matches."""
    from rapidfuzz import fuzz, process

    whole = "".join(part for word in words for part in name_parts(word))
    if not _SHORTEST <= len(whole) <= _LONGEST:
        return {}
    parts = [own.parts for own in rows]
    names, phrases = [*map("".join, parts)], [*map(" ".join, parts)]
    like = process.extract(whole, names, scorer=fuzz.ratio, score_cutoff=_LIKE, limit=_MOST_SIMILAR)
    inside = process.extract(whole, phrases, scorer=fuzz.partial_ratio, score_cutoff=_LIKE, limit=_MOST_SIMILAR)
    found = {place: 0.05 * score / 100 for name, score, place in inside if len(name) > len(whole)}
    return found | {place: 0.09 * score / 100 for _, score, place in like}

"""How well a typed word stands in a text: the innermost loops of names and of lists that are narrowed at every key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mcp_studio.search.names import END, LAST, LETTERS, NAME, PART, TITLE, encoded, fold, parts

MOST_WORDS = 12
"""Words of a question that count."""
FLAT = "mcp__"
_NEVER = "\x00"
_MOST_DIVIDERS = 4
_MOST_INITIALS = 5
# What a word is worth where it stands.
WHOLE, _BEGINS_WHOLE, BEGINS, _PART_WHOLE, _PART, _INITIALS, _INITIALS_BEGIN, INSIDE, TITLED, ELSEWHERE = (
    24, 22, 20, 17, 15, 13, 12, 9, 6, 3,
)  # fmt: skip
_IN_ORDER = 2


class Pool(NamedTuple):
    """The rows in which something is looked for: their texts, as `names.text_of` has them, and servers."""

    texts: list[str]
    servers: list[str]


class Graded(NamedTuple):
    """Places of rows in a pool, in its order, and how well each has what was typed. No tuple for each: those cost."""

    places: Sequence[int]
    grades: Sequence[int]


class Word(NamedTuple):
    """One word of a question, in all the ways in which it may stand in a row's text; empty where there is none."""

    plain: str
    begins: str
    part: str
    initials: str
    parts: str
    """Its own parts, where it has several: `list_b` is found in `listBooks`."""

    @property
    def ways(self) -> tuple[str, ...]:
        """What a text must have one of. Each test costs, so that only those are made that can hold."""
        other = self.parts if self.parts != _NEVER else self.initials
        return (self.plain,) if other == _NEVER else (self.plain, other)


def words_of(text: str) -> list[str]:
    """The words of a text that are looked for."""
    return [word for word in dict.fromkeys(text.split()) if fold(word)]


def everything(pool: Pool) -> Graded:
    """All rows, before the first word."""
    return Graded(range(len(pool.texts)), [0] * len(pool.texts))


def graded(pool: Pool, found: Graded, words: Sequence[str]) -> Graded:
    """Those of the rows in which every word stands too."""
    for word in words:
        addressed = _by_address(pool, found, word)
        found = addressed if addressed.places else _with(pool.texts, found, word_of(word))
    return found


def in_order(pool: Pool, found: Graded, words: Sequence[str]) -> Graded:
    """The same rows, better where the words stand in the name as they were typed."""
    ways = orders(words)
    if not ways:
        return found
    order, grades = ways[0][0], list(found.grades)
    for at, place in enumerate(found.places):
        text = pool.texts[place]
        if order in text:
            grades[at] += sum(more for piece, more in ways if piece in text)
    return Graded(found.places, grades)


def orders(words: Sequence[str]) -> list[tuple[str, int]]:
    """What a name has in which the words stand as they were typed, and what it is worth more for each of that."""
    all_parts = [part for word in words for part in parts(word)]
    if len(words) < 2 or not all_parts:
        return []
    order = encoded("".join(PART + part for part in all_parts))
    return [(order, _IN_ORDER), (END + order, _IN_ORDER), (END + order + LETTERS, WHOLE)]


def addresses(text: str) -> Iterator[tuple[str, str]]:
    """The servers, in lower case, and what names begin with, of which a text may be the beginning of the address:
    `server.` or `mcp__server__`, then the beginning of a name."""
    flat = text.startswith(FLAT)
    if not flat and "." not in text[1:]:
        return
    divider, rest = ("__", text[len(FLAT) :]) if flat else (".", text)
    at = -1
    for _ in range(_MOST_DIVIDERS):
        at = rest.find(divider, at + 1)
        if at < 0:
            return
        yield rest[:at].lower(), NAME + encoded(fold(rest[at + len(divider) :]))


def _by_address(pool: Pool, found: Graded, text: str) -> Graded:
    """Those whose address begins with the text."""
    kept: dict[int, int] = {}
    for server, begins in addresses(text):
        for place, grade in zip(found.places, found.grades, strict=True):
            if begins in pool.texts[place] and pool.servers[place].lower() == server:
                kept[place] = grade + BEGINS
    places = sorted(kept)
    return Graded(places, [kept[place] for place in places])


def word_of(text: str) -> Word:
    """Read a word."""
    plain = encoded(fold(text)) or _NEVER
    own = parts(text)
    short = 1 < len(text) <= _MOST_INITIALS and text.isascii() and text.isalpha()
    return Word(
        plain,
        NAME + plain,
        PART + plain,
        LETTERS + text.upper() if short else _NEVER,
        encoded("".join(PART + part for part in own)) if len(own) > 1 else _NEVER,
    )


def _with(texts: list[str], found: Graded, word: Word) -> Graded:
    plain, *other = word.ways
    if other:
        places = [place for place in found.places if plain in texts[place] or other[0] in texts[place]]
    else:
        places = [place for place in found.places if plain in texts[place]]
    grades = grades_of([texts[place] for place in places], word)
    if any(found.grades):
        before = dict(zip(found.places, found.grades, strict=True))
        grades = [grade + before[place] for place, grade in zip(places, grades, strict=True)]
    return Graded(places, grades)


def grades_of(texts: Sequence[str], word: Word) -> list[int]:
    """How well texts have a word that each of them has in some way."""
    plain, begins, part, initials, own = word
    grades: list[int] = []
    for text in texts:
        at, last = text.find(plain), text.find(LAST)
        if 0 <= at < last:
            if begins in text:
                grade = WHOLE if begins + END in text else _BEGINS_WHOLE if _ends_part(text, part) else BEGINS
            elif part in text:
                grade = _PART_WHOLE if _ends_part(text, part) else _PART
            else:
                grade = _INITIALS_BEGIN if initials in text else INSIDE
        elif own != _NEVER and own in text:
            grade = BEGINS if END + own in text else _PART
        elif initials != _NEVER and initials in text:
            grade = _INITIALS if initials + LAST in text else _INITIALS_BEGIN
        else:
            grade = TITLED if at < text.find(TITLE, last) else ELSEWHERE
        grades.append(grade)
    return grades


def _ends_part(text: str, part: str) -> bool:
    return part + PART in text or part + LETTERS in text

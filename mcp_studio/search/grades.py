"""How well a typed word stands in a row: the innermost loops of `substring`, over ten thousand rows at every key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mcp_studio.search.names import END, LAST, LETTERS, NAME, PART, TITLE, Row, encoded, fold, parts


class Pool(NamedTuple):
    """The rows in which something is looked for, in order; their texts beside each other, which is quicker to read."""

    rows: list[Row]
    texts: list[str]


class Graded(NamedTuple):
    """Places of rows in a pool, in its order, and how well each has what was typed. No tuple for each: those cost."""

    places: Sequence[int]
    grades: Sequence[int]


FLAT = "mcp__"
_NEVER = "\x00"
_MOST_DIVIDERS = 4
_MOST_INITIALS = 5
_MANY = 500
# What a word is worth where it stands.
WHOLE, _BEGINS_WHOLE, _BEGINS, _PART_WHOLE, _PART, _INITIALS, _INITIALS_BEGIN, INSIDE, _TITLE, _ELSEWHERE = (
    24, 22, 20, 17, 15, 13, 12, 9, 6, 3,
)  # fmt: skip
_IN_ORDER = 2


class _Word(NamedTuple):
    """One word of a question, in all the ways in which it may stand in a row's text."""

    plain: str
    begins: str
    part: str
    initials: str
    parts: str
    """Its own parts, where it has several: `list_b` is found in `listBooks`."""


def everything(pool: Pool) -> Graded:
    """All rows, before the first word."""
    return Graded(range(len(pool.rows)), [0] * len(pool.rows))


def graded(pool: Pool, found: Graded, words: Sequence[str]) -> Graded:
    """Those of the rows in which every word stands too."""
    for word in words:
        addressed = _by_address(pool, found, word)
        found = addressed if addressed.places else _with(pool.texts, found, _word(word))
    return found


def best_of_many(pool: Pool, text: str, limit: int) -> tuple[Graded, int]:
    """The same for a single word, and how many there are.

    Where very many have it and enough names begin with it, only those are given: all others would come after them.
    """
    found = everything(pool)
    if text.startswith(FLAT) or "." in text:
        found = graded(pool, found, [text])
        return found, len(found.places)
    word = _word(text)
    likely = _likely(pool.texts, found.places, word)
    if len(likely) > _MANY and word.parts == _NEVER:
        begins = [place for place in likely if word.begins in pool.texts[place]]
        if len(begins) >= limit:
            return Graded(begins, _grades(pool.texts, begins, word)), len(likely)
    return Graded(likely, _grades(pool.texts, likely, word)), len(likely)


def in_order(pool: Pool, found: Graded, words: Sequence[str]) -> Graded:
    """The same rows, better where the words stand in the name as they were typed."""
    all_parts = [part for word in words for part in parts(word)]
    if len(words) < 2 or not all_parts:
        return found
    order = encoded("".join(PART + part for part in all_parts))
    head, whole = END + order, END + order + LETTERS
    grades = list(found.grades)
    for at, place in enumerate(found.places):
        text = pool.texts[place]
        if order in text:
            grades[at] += _IN_ORDER + (head in text) * _IN_ORDER + (whole in text) * WHOLE
    return Graded(found.places, grades)


def _by_address(pool: Pool, found: Graded, text: str) -> Graded:
    """Those whose address begins with the text: `server.` or `mcp__server__`, then the beginning of a name."""
    flat = text.startswith(FLAT)
    if not flat and "." not in text[1:]:
        return Graded((), ())
    divider, rest = ("__", text[len(FLAT) :]) if flat else (".", text)
    kept: dict[int, int] = {}
    at = -1
    for _ in range(_MOST_DIVIDERS):
        at = rest.find(divider, at + 1)
        if at < 0:
            break
        server, begins = rest[:at].lower(), NAME + encoded(fold(rest[at + len(divider) :]))
        for place, grade in zip(found.places, found.grades, strict=True):
            if begins in pool.texts[place] and pool.rows[place].server.lower() == server:
                kept[place] = grade + _BEGINS
    places = sorted(kept)
    return Graded(places, [kept[place] for place in places])


def _word(text: str) -> _Word:
    plain = encoded(fold(text)) or _NEVER
    own = parts(text)
    short = 1 < len(text) <= _MOST_INITIALS and text.isascii() and text.isalpha()
    return _Word(
        plain,
        NAME + plain,
        PART + plain,
        LETTERS + text.upper() if short else _NEVER,
        encoded("".join(PART + part for part in own)) if len(own) > 1 else _NEVER,
    )


def _likely(texts: list[str], places: Sequence[int], word: _Word) -> list[int]:
    """Those that have it in some way; each test costs, so that only those are made that can hold."""
    plain, initials, own = word.plain, word.initials, word.parts
    if own != _NEVER:
        return [place for place in places if plain in texts[place] or own in texts[place]]
    if initials != _NEVER:
        return [place for place in places if plain in texts[place] or initials in texts[place]]
    return [place for place in places if plain in texts[place]]


def _with(texts: list[str], found: Graded, word: _Word) -> Graded:
    places = _likely(texts, found.places, word)
    grades = _grades(texts, places, word)
    if any(found.grades):
        before = dict(zip(found.places, found.grades, strict=True))
        grades = [grade + before[place] for place, grade in zip(places, grades, strict=True)]
    return Graded(places, grades)


def _grades(texts: list[str], places: Sequence[int], word: _Word) -> list[int]:
    """How well texts have a word that each of them has in some way."""
    plain, begins, part, initials, own = word
    grades: list[int] = []
    for place in places:
        text = texts[place]
        at, last = text.find(plain), text.find(LAST)
        if 0 <= at < last:
            if begins in text:
                grade = WHOLE if begins + END in text else _BEGINS_WHOLE if _ends_part(text, part) else _BEGINS
            elif part in text:
                grade = _PART_WHOLE if _ends_part(text, part) else _PART
            else:
                grade = _INITIALS_BEGIN if initials in text else INSIDE
        elif own != _NEVER and own in text:
            grade = _BEGINS if END + own in text else _PART
        elif initials != _NEVER and initials in text:
            grade = _INITIALS if initials + LAST in text else _INITIALS_BEGIN
        else:
            grade = _TITLE if at < text.find(TITLE, last) else _ELSEWHERE
        grades.append(grade)
    return grades


def _ends_part(text: str, part: str) -> bool:
    return part + PART in text or part + LETTERS in text

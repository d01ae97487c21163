"""How well a typed word stands in a text: the innermost loops of names and of lists that are narrowed at every key."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from mcp_studio.search.fields import fields
from mcp_studio.search.method import Document

LONGEST_NAME = 200
"""Characters of a name that are compared; its whole is found when it is written in full."""
LONGEST_TEXT = 480
"""Bytes of everything else: title, server, address, tags, names of arguments, then the description's beginning."""
_LONGEST_TITLE, _LONGEST_ADDRESS, _LONGEST_ARGUMENTS = 120, 160, 120

NAME, END, PART, LETTERS, LAST, TITLE = "\x1f", "\x1e", "\x1d", "\x1c", "\x1b", "\x1a"
"""What a row's text is divided by: before and behind the name, before each part of it, before and behind its initials,
behind the title. No folded text has them."""

_CONTROL = re.compile("[\x00-\x1f\x7f]+")
_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FOREIGN_PART = re.compile(r"[^\W\d_]+|\d+")


def fold(text: str) -> str:
    """A text without its cases and control characters, words one space apart; wide letters are plain ones."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_CONTROL.sub(" ", text).lower().split())


def parts(name: str) -> list[str]:
    """The parts of an identifier, folded: `getFile_contents` has three."""
    if name.isascii():
        return [part.lower() for part in _NAME_PART.findall(name)]
    return [fold(part) for part in _FOREIGN_PART.findall(unicodedata.normalize("NFKC", name))]


def text_of(document: Document) -> str:
    """A document as it is compared: its name as `of_name` has it, `title TITLE rest`; folded and `encoded`."""
    found = fields(document)
    arguments = " ".join(one.name for one in found.parameters[:20])[:_LONGEST_ARGUMENTS]
    rest = (found.server, found.uri[:_LONGEST_ADDRESS], *found.tags, arguments, found.description[:LONGEST_TEXT])
    title = fold(found.title[:_LONGEST_TITLE]) + TITLE
    return of_name(found.name) + encoded("\n".join((title, *(fold(one) for one in rest if one))))[:LONGEST_TEXT]


def of_name(name: str) -> str:
    """What a row's text begins with: `NAME name END PART part …, LETTERS INITIALS LAST`, `encoded`."""
    name = name[:LONGEST_NAME]
    its_parts = parts(name)
    own = its_parts if name.isascii() else [part for part in its_parts if part.isascii()]
    initials = "".join([part[0] for part in own]).upper()
    divided = PART.join(["", *its_parts])
    return encoded(f"{NAME}{fold(name)}{END}{divided}{LETTERS}{initials}{LAST}")


def parts_of(text: str) -> list[str]:
    """The parts of the name that a text begins with, `encoded`."""
    return text[text.index(END) + 2 : text.index(LETTERS)].split(PART)


def encoded(text: str) -> str:
    """A folded text as rows have it: a character for each byte of its UTF-8, so that no text takes up more."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("latin-1")


def decoded(text: str) -> str:
    """What `encoded` was given; what is no character any more is marked."""
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "replace")


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


SHORTEST, LONGEST = 3, 40
"""Letters of what was typed that such names are looked for with."""
_MOST_TOKENS = 6
_MOST_TERMS = 6
"""Spellings that are tried for one part of what was typed."""
_MOST = 200
"""Names of each kind of likeness; there is nobody who would look at more."""
_LEAST_SHARE = 0.3
"""Of a name's letters must have been typed where some are left out."""

Like = tuple[float, tuple[str, ...]]
"""How like a name is, below 1; the parts of it that are meant, none where it is all of it."""


class Similar:
    """Looks for such names.

    Args:
        heads: the names, as `names.of_name` has them.
    """

    def __init__(self, heads: Sequence[str]) -> None:
        self._heads = heads

    def find(self, words: Sequence[str]) -> dict[int, Like]:
        """The places of names that are like the words."""
        tokens = [token for word in words for token in parts(word)]
        whole = "".join(tokens)
        if not SHORTEST <= len(whole) <= LONGEST or len(tokens) > _MOST_TOKENS:
            return {}
        found = self._misspelled(tokens)
        for place, score in chain(self._mistyped(whole), self._shortened(whole)):
            found.setdefault(place, (score, ()))
        return found

    def _misspelled(self, tokens: Sequence[str]) -> dict[int, Like]:
        """Names with a part that is like each of the tokens; nothing where all are spelled as in some name."""
        forms = [(token, self._spellings(token)) for token in tokens]
        if all(some == [(token, 1.0)] for token, some in forms):
            return {}
        heads = self._heads
        left: dict[int, Like] = dict.fromkeys(range(len(heads)), (0.0, ()))
        for _, some in sorted(forms, key=lambda form: (form[1] == [(form[0], 1.0)], -len(form[0]))):
            kept: dict[int, Like] = {}
            for term, likeness in some:
                needle = PART + encoded(term)
                for place in [place for place in left if needle in heads[place]]:
                    kept.setdefault(place, (left[place][0] + likeness, (*left[place][1], term)))
            left = kept
        return {place: (_score(total, heads[place], terms), terms) for place, (total, terms) in left.items()}

    def _spellings(self, token: str) -> list[tuple[str, float]]:
        """Parts of names that a token may stand for, the likeliest first: itself, where it begins one."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        terms = self._terms
        at = bisect_left(terms, token)
        if at < len(terms) and terms[at].startswith(token):
            return [(token, 1.0)]
        off = 0 if len(token) < SHORTEST else 1 if len(token) < 7 else 2
        near = process.extract(token, terms, scorer=OSA.distance, score_cutoff=off, limit=_MOST_TERMS) if off else []
        return [(term, 1 - distance / len(token)) for term, distance, _ in near]

    def _mistyped(self, whole: str) -> list[tuple[int, float]]:
        """Names that all of it is like, signs left out."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        off = 1 if len(whole) < 7 else 2
        near = process.extract(whole, self._joined, scorer=OSA.distance, score_cutoff=off, limit=_MOST)
        return [(place, 0.75 - 0.1 * distance) for _, distance, place in near]

    def _shortened(self, whole: str) -> list[tuple[int, float]]:
        """Names that have all its letters, in this order, the first one at the beginning of a part."""
        from rapidfuzz import process
        from rapidfuzz.distance import LCSseq

        near = process.extract(whole, self._joined, scorer=LCSseq.similarity, score_cutoff=len(whole), limit=None)
        first = PART + encoded(whole[0])
        likely = [
            (len(whole) / len(name), place)
            for name, _, place in near
            if len(whole) >= _LEAST_SHARE * len(name) and first in self._heads[place]
        ]
        return [(place, 0.5 * share) for share, place in sorted(likely, key=lambda one: (-one[0], one[1]))[:_MOST]]

    @cached_property
    def _terms(self) -> list[str]:
        return sorted({decoded(part) for head in self._heads for part in parts_of(head)})

    @cached_property
    def _joined(self) -> list[str]:
        return [decoded("".join(parts_of(head))) for head in self._heads]


def _score(likeness: float, head: str, terms: Sequence[str]) -> float:
    letters = sum(map(len, terms))
    return 0.5 + 0.3 * likeness / len(terms) + 0.19 * letters / max(letters, head.index(END))

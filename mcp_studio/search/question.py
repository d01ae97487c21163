"""Reading a query: its words, with their weights and the words that may replace them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mcp_studio.search.method import LONGEST
from mcp_studio.search.tokens import CHUNK, Segment, chunk_words, grams, is_dense, vocabulary, words

if TYPE_CHECKING:
    from mcp_studio.search.bm25 import InvertedIndex

STOP = frozenset(vocabulary()["stop"].split())
LOOKING = frozenset(vocabulary()["looking"].split())
CIRCUMSTANCE = frozenset(vocabulary()["circumstance"].split())


def _synonyms() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for group in vocabulary()["same"]:
        for word in group.split():
            found.setdefault(word, {}).update((other, None) for other in group.split() if other != word)
    return {word: tuple(others) for word, others in found.items()}


SYNONYMS = _synonyms()
_NEXT_SENTENCE = re.compile(
    r"(?<=[.!?;])\s+|[。！？；\n]"
    r"|\b(?:and then|then|and also|finally|next|additionally|besides|after that|also)\b"
    r"|另外|同时|此外|还想|还需要|并且",
    re.IGNORECASE,
)
_FRAME = re.compile("|".join(vocabulary()["frame"].split()))
ASIDE = re.compile(
    r"""https?://\S+|www\.\S+|(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.]+|<[^<>\n]{1,60}>"""
    r"""|"[^"\n]{1,300}"|“[^”\n]{1,300}”|「[^」\n]{1,300}」|`[^`\n]{1,300}`|(?<!\w)'[^'\n]{1,300}'(?!\w)|‘[^’\n]{1,300}’(?!\w)"""
    r"""|(?:[A-Za-z]:|~|\.{1,2})?(?:[/\\][\w.\-]+)+[/\\]?|\b[\w-]+\.(?:[a-z]{2,4}|mp[34])\b"""
    r"""|\b(?=\w*[0-9])(?=\w*[A-Za-z])[\w-]{8,}\b|(?<![\w.])[#$€£]?[0-9][0-9.,:%/\-]*(?![A-Za-z_])"""
)
"""Quoted text, paths, addresses, numbers: mostly objects of the request, seldom the request itself."""
# Weights of words, measured on the public sets that docs/search.md names.
IN_ASIDE = 0.3
FILE_ENDING = 0.7
"""The ending of a file's name, which tells the kind of file."""
LOOK = 0.45
LATER = 0.7
"""Words after a word of circumstance."""
FORM = 0.6
SYNONYM = 0.5
JOINED = 0.3
"""Two neighbours that occur elsewhere as one word."""
HALF = 0.5
"""A half of a word that hardly any document has."""
TRANSLATED = 0.5
SINGLE = 0.8
"""A single character of a script without spaces."""
BEGINNING = 0.6
"""A word that begins with the last word of the query."""
_RARE = _COMMON = 3
"""A word in at most so many documents is split in two if each half occurs in at least so many."""
_LONGEST_SPLIT = 40
MOST_TERMS = 64
_MOST_BEGINNINGS = 12
MOST_SENTENCES = 8


class Term(NamedTuple):
    """One thing that a query asks for."""

    weight: float
    words: dict[str, float]
    """The words that may express it, with their weights."""
    telling: bool
    """Whether a document that has only this term answers the query; false for verbs of looking."""
    source: str
    """The text of the term in the query."""


class Question(NamedTuple):
    """The terms of a query."""

    terms: list[Term]
    sentences: list[list[Term]]
    """The terms of each sentence, where there are several: each sentence may ask for a different thing."""
    dense: bool
    """Whether parts of the query are written without spaces."""


class _Word(NamedTuple):
    sentence: int
    weight: float
    word: str
    source: str
    english: tuple[str, ...] = ()
    """The English translations of a Chinese word."""


@cache
def _glossary() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in Path(__file__).with_name("glossary.txt").read_text("utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            chinese, _, english = line.partition("=")
            for word in chinese.split():
                found.setdefault(word, tuple(english.split()))
    return found


@cache
def _glossary_pattern() -> re.Pattern[str]:
    return re.compile("|".join(sorted(_glossary(), key=lambda word: (-len(word), word))))


def translations(run: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The Chinese words of a text that the glossary has, each with English ones, the likeliest first.

    English words that belong together are joined by `_`.
    """
    for match in _glossary_pattern().finditer(run):
        yield match[0], _glossary()[match[0]]


def read(text: str, index: InvertedIndex, typing: bool = False, segment: Segment | None = None) -> Question:
    """Read the terms of a query and of its sentences; of a long query only the beginning.

    Args:
        typing: the last word may be incomplete.
        segment: splits scripts without spaces into words.
    """
    own = list(_words(text[:LONGEST], segment))
    telling = [word for word in own if word.word not in STOP]
    reader = _Reader(index)
    if own and text[-1:].isalnum() and len(text) <= LONGEST:
        reader.complete(own[-1].word, typing)
        if typing and own[-1].word in STOP:
            telling.append(own[-1])
    own = telling or own
    sentences: dict[int, list[_Word]] = {}
    for word in own:
        sentences.setdefault(word.sentence, []).append(word)
    several = list(sentences.values())[:MOST_SENTENCES] if len(sentences) > 1 else []
    dense = any(is_dense(word.word[0]) for word in own)
    return Question(reader.terms(own), [reader.terms(sentence) for sentence in several], dense)


def _words(text: str, segment: Segment | None) -> Iterator[_Word]:
    """The words of a query in order, weighted by their place."""
    asides = [match.span() for match in ASIDE.finditer(text)]
    starts = [start for start, _ in asides]

    def aside(place: int) -> bool:
        at = bisect_right(starts, place) - 1
        return at >= 0 and place < asides[at][1]

    turns = [match.end() for match in _NEXT_SENTENCE.finditer(text) if not aside(match.start())]
    sentence, has_subject, weight = 0, False, 1.0
    for match in re.finditer(CHUNK, text):
        chunk, here = match[0], bisect_right(turns, match.start())
        if here != sentence:
            sentence, has_subject, weight = here, False, 1.0
        inside = aside(match.start())
        if is_dense(chunk[0]):
            yield from _dense_words(chunk, sentence, inside, segment)
            continue
        ending = inside and text[match.start() - 1 : match.start()] == "." and chunk in SYNONYMS
        for word in chunk_words(chunk):
            if word in CIRCUMSTANCE and has_subject:
                weight = LATER
            has_subject = has_subject or (word not in STOP and word not in LOOKING)
            by_place = FILE_ENDING if ending else IN_ASIDE if inside else weight
            yield _Word(sentence, min(by_place, LOOK) if word in LOOKING and not inside else by_place, word, word)


def _dense_words(chunk: str, sentence: int, inside: bool, segment: Segment | None) -> Iterator[_Word]:
    for chinese, english in translations(chunk):
        yield _Word(sentence, IN_ASIDE if inside else TRANSLATED, " ".join(english), chinese, english)
    for run in _FRAME.split(chunk):
        for word in grams(run, segment):
            weight = IN_ASIDE if inside else LOOK if word in LOOKING else 1.0
            yield _Word(sentence, weight * SINGLE if len(word) == 1 else weight, word, word)


class _Reader:
    """Looks up the words of one query, each once."""

    def __init__(self, index: InvertedIndex) -> None:
        self._index = index
        self._alternatives: dict[str, dict[str, float]] = {}

    def terms(self, own: list[_Word]) -> list[Term]:
        found: dict[str, Term] = {}

        def put(word: str, weight: float, stands: dict[str, float], source: str) -> None:
            if stands and (word not in found or found[word].weight < weight):
                found[word] = Term(weight, stands, word not in LOOKING, source)

        spaced = [one for one in own if not one.english and not is_dense(one.word[0])]
        for one in own:
            put(one.word, one.weight, self._stand_for(one), one.source)
        for one in spaced:
            for half in self._halves(one.word) if one.weight > IN_ASIDE else ():
                put(half, min(HALF, one.weight), self._look_up(half), one.source)
        for one, other in pairwise(spaced):
            joined = one.word + other.word
            if self._index.frequency(joined):
                put(joined, JOINED, {joined: 1.0}, joined)
        return list(found.values())[:MOST_TERMS]

    def complete(self, word: str, typing: bool) -> None:
        """Let the last word also mean words that begin with it, while it is typed or if no document has it."""
        known = self._look_up(word)
        if word and not is_dense(word[0]) and (typing or not known):
            for whole in self._index.beginning(word, _MOST_BEGINNINGS):
                known.setdefault(whole, BEGINNING)

    def _look_up(self, word: str) -> dict[str, float]:
        """The words that may express a word: itself, its forms, its synonyms."""
        known = self._alternatives.get(word)
        if known is None:
            known = {word: 1.0} if self._index.frequency(word) else {}
            for form in self._index.forms(word):
                known.setdefault(form, FORM)
            for other in SYNONYMS.get(word, ()):
                if self._index.frequency(other):
                    known.setdefault(other, SYNONYM)
            self._alternatives[word] = known
        return known

    def _stand_for(self, one: _Word) -> dict[str, float]:
        if not one.english:
            if is_dense(one.word[0]):
                return {one.word: 1.0} if self._index.frequency(one.word) else {}
            return self._look_up(one.word)
        found: dict[str, float] = {}
        for word in (word for phrase in one.english for word in phrase.split("_") if word not in LOOKING):
            for other, weight in self._look_up(word).items():
                found[other] = max(found.get(other, 0.0), weight)
        return found

    def _halves(self, word: str) -> tuple[str, ...]:
        frequency = self._index.frequency
        if not 6 <= len(word) <= _LONGEST_SPLIT or frequency(word) > _RARE:
            return ()
        most, at = max((min(frequency(word[:at]), frequency(word[at:])), -at) for at in range(2, len(word) - 1))
        return (word[:-at], word[-at:]) if most >= _COMMON else ()


_IN_NAMES = {word: 1 << bit for bit, group in enumerate(vocabulary()["deeds"]) for word in group.split()}
_IN_QUESTIONS = _IN_NAMES | {
    word: 1 << bit for bit, group in enumerate(vocabulary()["deeds_in_questions"]) for word in group.split()
}


def deeds_wanted(text: str) -> int:
    """The kinds of deeds that a query asks for, as bits; 0 where it does not tell."""
    return _bits(_IN_QUESTIONS, words(text[:LONGEST]))


@lru_cache(maxsize=4_000)
def deeds_of(name: str) -> int:
    """The kinds of deeds that the name of a tool tells, as the same bits; 0 where it does not tell."""
    return _bits(_IN_NAMES, words(name))


def _bits(known: dict[str, int], own: Iterable[str]) -> int:
    return sum({known.get(word, 0) for word in own})

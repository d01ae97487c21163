"""What a question asks for: its words, each with how much it counts and with what else may stand for it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from mcp_studio.search import cjk, glossary
from mcp_studio.search.method import LONGEST
from mcp_studio.search.tokens import CHUNK, chunk_words
from mcp_studio.search.wordlists import ASIDE, CIRCUMSTANCE, FRAME, LOOKING, SAME, STOP, THEN

BESIDE = 0.3
"""What quoted text, paths, addresses and numbers count."""
ENDING = 0.7
"""What the ending of a file's name counts, which tells what kind of file it is."""
LOOK = 0.45
"""What a verb of looking counts."""
LATER = 0.7
"""What words count that tell the circumstances."""
FORM = 0.6
"""What another form of a word counts."""
OTHER = 0.5
"""What another word for the same counts."""
JOINED = 0.3
"""What two neighbours count that are one word elsewhere."""
SPLIT = 0.5
"""What the halves of a word count that hardly any document has."""
RARE = 3
"""In so many documents at most is a word that is taken for two."""
COMMON = 3
"""In so many documents at least is each of the two."""
MEANT = 0.5
"""What an English word counts that a Chinese one may mean."""
SINGLE = 0.8
"""What a single character of a script without spaces counts."""
BEGINNING = 0.6
"""What a word counts that begins with what is being typed."""
MOST_ASKED = 64
MOST_BEGINNINGS = 12
MOST_PARTS = 8
LONGEST_SPLIT = 40


class Vocabulary(Protocol):
    """The words that documents have."""

    def frequency(self, word: str) -> int:
        """How many documents have it."""
        ...

    def forms(self, word: str) -> Iterable[str]:
        """Words of the same stem."""
        ...

    def beginning(self, prefix: str, most: int) -> Sequence[str]:
        """Words that begin so, those of the most documents first."""
        ...


class Asked(NamedTuple):
    """One thing that is asked for."""

    weight: float
    words: dict[str, float]
    """What may stand for it, and how well."""
    tells: bool = True
    """Whether an entry answers at all that has nothing else: not where it is a verb of looking."""


class Question(NamedTuple):
    """What a question asks for."""

    whole: list[Asked]
    parts: list[list[Asked]]
    """The same for each of its sentences, where there are several: they may ask for one thing each."""
    dense: bool = False
    """Whether some of it is written without spaces."""


class _Term(NamedTuple):
    part: int
    weight: float
    word: str
    english: tuple[str, ...] = ()
    """What a Chinese word may be in English."""


def analyse(text: str, vocabulary: Vocabulary, typing: bool = False) -> list[Asked]:
    """What a question asks for, in its order, each thing once."""
    return read(text, vocabulary, typing).whole


def read(text: str, vocabulary: Vocabulary, typing: bool = False, segment: cjk.Segment | None = None) -> Question:
    """What a question and its sentences ask for.

    Args:
        text: the question; what comes after `LONGEST` characters is left out.
        vocabulary: which words there are at all.
        typing: the last word may be the beginning of one.
        segment: finds words in scripts without spaces.
    """
    terms = list(_terms(text[:LONGEST], segment))
    telling = [term for term in terms if term.word not in STOP]
    reader = _Reader(vocabulary)
    if terms and text[-1:].isalnum() and len(text) <= LONGEST:
        reader.beginning(terms[-1].word, typing)
        if typing and terms[-1].word in STOP:
            telling.append(terms[-1])
    terms = telling or terms
    parts: dict[int, list[_Term]] = {}
    for term in terms:
        parts.setdefault(term.part, []).append(term)
    return Question(
        reader.asked(terms),
        [reader.asked(part) for part in list(parts.values())[:MOST_PARTS]] if len(parts) > 1 else [],
        any(cjk.is_dense(term.word[0]) for term in terms),
    )


def _terms(text: str, segment: cjk.Segment | None) -> Iterator[_Term]:
    """The words of a question in their order, with what they count by where they stand."""
    aside = [match.span() for match in ASIDE.finditer(text)]
    starts = [start for start, _ in aside]

    def beside(place: int) -> bool:
        at = bisect_right(starts, place) - 1
        return at >= 0 and place < aside[at][1]

    turns = [match.end() for match in THEN.finditer(text) if not beside(match.start())]
    part, told, weight = 0, False, 1.0
    for match in CHUNK.finditer(text):
        chunk, here = match[0], bisect_right(turns, match.start())
        if here != part:
            part, told, weight = here, False, 1.0
        inside = beside(match.start())
        if cjk.is_dense(chunk[0]):
            yield from _dense(chunk, part, inside, segment)
            continue
        ending = inside and text[match.start() - 1 : match.start()] == "." and chunk in SAME
        for word in chunk_words(chunk):
            if word in CIRCUMSTANCE:
                weight = LATER if told else weight
            told = told or (word not in STOP and word not in LOOKING)
            yield _Term(
                part, ENDING if ending else BESIDE if inside else min(weight, LOOK) if word in LOOKING else weight, word
            )


def _dense(chunk: str, part: int, inside: bool, segment: cjk.Segment | None) -> Iterator[_Term]:
    for english in glossary.english(chunk):
        yield _Term(part, BESIDE if inside else MEANT, " ".join(english), english)
    for run in FRAME.split(chunk):
        for word in cjk.grams(run, segment):
            weight = BESIDE if inside else LOOK if word in LOOKING else 1.0
            yield _Term(part, weight * SINGLE if len(word) == 1 else weight, word)


class _Reader:
    """Looks the words of one question up, each once."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._known: dict[str, dict[str, float]] = {}

    def asked(self, terms: list[_Term]) -> list[Asked]:
        """What these words ask for."""
        found: dict[str, Asked] = {}
        ordinary = [term for term in terms if not term.english and not cjk.is_dense(term.word[0])]
        for term in terms:
            if term.word not in found or found[term.word].weight < term.weight:
                _put(found, term.word, term.weight, self._alike(term), term.word not in LOOKING)
        for term in ordinary:
            if term.weight > BESIDE:
                for half in self._halves(term.word):
                    _put(found, half, min(SPLIT, term.weight), self.alike(half))
        for one, other in pairwise(ordinary):
            joined = one.word + other.word
            if self._vocabulary.frequency(joined):
                _put(found, joined, JOINED, {joined: 1.0})
        return list(found.values())[:MOST_ASKED]

    def alike(self, word: str) -> dict[str, float]:
        """What stands for a word: itself, its forms, other words for it."""
        known = self._known.get(word)
        if known is None:
            known = {word: 1.0} if self._vocabulary.frequency(word) else {}
            for form in self._vocabulary.forms(word):
                known.setdefault(form, FORM)
            for other in SAME.get(word, ()):
                if self._vocabulary.frequency(other):
                    known.setdefault(other, OTHER)
            self._known[word] = known
        return known

    def beginning(self, word: str, typing: bool) -> None:
        """Let the last word stand for those that begin with it: while it is typed, and where there is no such word."""
        known = self.alike(word)
        if word and not cjk.is_dense(word[0]) and (typing or not known):
            for whole in self._vocabulary.beginning(word, MOST_BEGINNINGS):
                known.setdefault(whole, BEGINNING)

    def _alike(self, term: _Term) -> dict[str, float]:
        if not term.english:
            if cjk.is_dense(term.word[0]):
                return {term.word: 1.0} if self._vocabulary.frequency(term.word) else {}
            return self.alike(term.word)
        found: dict[str, float] = {}
        for phrase in term.english:
            for word in phrase.split("_"):
                if word not in LOOKING:
                    for alike, much in self.alike(word).items():
                        found[alike] = max(found.get(alike, 0.0), much)
        return found

    def _halves(self, word: str) -> tuple[str, ...]:
        """The two words that a word is made of which hardly any document has."""
        frequency = self._vocabulary.frequency
        if not 6 <= len(word) <= LONGEST_SPLIT or frequency(word) > RARE:
            return ()
        most, at = max((min(frequency(word[:at]), frequency(word[at:])), -at) for at in range(2, len(word) - 1))
        return (word[:-at], word[-at:]) if most >= COMMON else ()


def _put(found: dict[str, Asked], word: str, weight: float, words: dict[str, float], tells: bool = True) -> None:
    if words and (word not in found or found[word].weight < weight):
        found[word] = Asked(weight, words, tells)

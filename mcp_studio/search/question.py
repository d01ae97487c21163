"""What a question asks for: its words, each with how much it counts and with what else may stand for it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple, Protocol

from mcp_studio.search import cjk
from mcp_studio.search.method import LONGEST
from mcp_studio.search.tokens import CHUNK, dense_words

ASIDE = 0.3
"""What quoted text, paths, addresses and numbers count: they are what to do it with, seldom what to do."""
GENERIC = 0.45
"""What verbs count that every server's tools have."""
FORM = 0.6
"""What another form of a word counts."""
SAME = 0.3
"""What another word for the same counts."""
JOINED = 0.7
SPLIT = 0.8
SPELT_OUT = 0.7
SINGLE = 0.3
"""What a single character of a script without spaces counts."""
MOST_GROUPS = 64
MOST_BEGINNINGS = 12

_ASIDE = re.compile(
    r"""https?://\S+|www\.\S+|[\w.+-]+@[\w-]+\.[\w.]+|<[^<>\n]{1,60}>|"[^"\n]{1,300}"|“[^”\n]{1,300}”|「[^」\n]{1,300}」"""
    r"""|`[^`\n]{1,300}`|(?<!\w)'[^'\n]{1,300}'(?!\w)|‘[^’\n]{1,300}’(?!\w)|(?:[A-Za-z]:|~|\.{1,2})?(?:[/\\][\w.\-]+)+[/\\]?"""
    r"""|\b[\w-]+\.(?:[a-z]{2,4}|mp[34])\b|\b(?=\w*[0-9])(?=\w*[A-Za-z])[\w-]{8,}\b|(?<![\w.])[#$€£]?[0-9][0-9.,:%/\-]*(?![A-Za-z_])"""
)
_STOP = frozenset(
    "a an the this that these those my our your his her its their me us you him them i we he she it they am is are was"
    " were be been being do does did doing have has had having will would shall should can could may might must of in"
    " on at to for from by with about into onto over under as and or but if then than so such both each every all any"
    " some no not only own same too very just also please help want need like let s t d ll re ve m don there here what"
    " which who whom whose when where why how hi hello thanks thank kindly could would lets what's next after finally"
    " first firstly secondly lastly second third additionally besides furthermore moreover once via per out up down"
    " given using use named called specific certain new".split()
)
_GENERIC = frozenset(
    "show get list find fetch retrieve give tell display view see look check make create add new set update read"
    " provide return information info details detail data".split()
)
_SAME: dict[str, tuple[str, ...]] = {}
_GROUPS = (
    "delete remove",
    "create add new",
    "get retrieve fetch",
    "list show",
    "update modify edit change",
    "search find lookup",
    "send post",
    "run execute",
)
for _group in _GROUPS:
    for _word in _group.split():
        _SAME[_word] = tuple(other for other in _group.split() if other != _word)
_SHORT = {
    "pr": "pull request",
    "prs": "pull request",
    "repo": "repository",
    "repos": "repository",
    "org": "organization",
    "k8s": "kubernetes",
    "db": "database",
}


class Vocabulary(Protocol):
    """The words that documents have."""

    def frequency(self, word: str) -> int:
        """How many documents have it."""
        ...

    def forms(self, word: str) -> Iterable[str]:
        """Words of the same stem."""
        ...

    def beginning(self, prefix: str, most: int) -> list[str]:
        """Words that begin so, those of the most documents first."""
        ...


class Asked(NamedTuple):
    """One thing that is asked for."""

    weight: float
    words: dict[str, float]
    """What may stand for it, and how well."""


def analyse(text: str, vocabulary: Vocabulary, typing: bool = False) -> list[Asked]:
    """What a question asks for, in its order, each thing once."""
    found: dict[str, Asked] = {}
    ordinary: list[str] = []
    for word, weight in _weighed(text[:LONGEST]):
        if word in _STOP:
            continue
        if cjk.is_dense(word[0]):
            _put(found, word, weight * (SINGLE if len(word) == 1 else 1), {word: 1.0})
            continue
        if word in _GENERIC:
            weight = min(weight, GENERIC)
        _put(found, word, weight, _alike(word, vocabulary))
        ordinary.append(word)
    for one, other in pairwise(ordinary):
        joined = one + other
        if vocabulary.frequency(joined):
            _put(found, joined, JOINED, {joined: 1.0})
    return list(found.values())[:MOST_GROUPS]


def _put(found: dict[str, Asked], word: str, weight: float, words: dict[str, float]) -> None:
    if words and (word not in found or found[word].weight < weight):
        found[word] = Asked(weight, words)


def _alike(word: str, vocabulary: Vocabulary) -> dict[str, float]:
    words = {word: 1.0} if vocabulary.frequency(word) else {}
    for form in vocabulary.forms(word):
        words.setdefault(form, FORM)
    for other in _SAME.get(word, ()):
        words.setdefault(other, SAME)
    return words


def _weighed(text: str) -> list[tuple[str, float]]:
    aside = [match.span() for match in _ASIDE.finditer(text)]
    found: list[tuple[str, float]] = []
    for match in CHUNK.finditer(text):
        inside = any(start <= match.start() < end for start, end in aside)
        for word in dense_words(match[0]):
            found.append((word, ASIDE if inside else 1.0))
    return found

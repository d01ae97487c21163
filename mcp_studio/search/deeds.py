"""What a tool does to something: reads, makes, changes or deletes it. A question for one of these wants no other."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from mcp_studio.search.tokens import words

_DEEDS = (
    "get list show find fetch retrieve search query describe display view read lookup check count browse inspect",
    "create add insert register",
    "update modify edit change set rename patch alter replace",
    "delete remove drop destroy purge erase uninstall",
)
_ASKED = ("give tell look see which what who how where when", "make new", "", "")
"""Said in questions; in names they say other things."""
_NAMED = {word: 1 << at for at, said in enumerate(_DEEDS) for word in said.split()}
_WANTED = _NAMED | {word: 1 << at for at, said in enumerate(_ASKED) for word in said.split()}


def wanted(text: str) -> int:
    """What a question may want done, one bit for each deed; 0 where it does not say."""
    return _all(_WANTED, words(text))


def named(said: Iterable[str]) -> int:
    """What the words of a name say that it does, in the same bits; 0 where they do not say."""
    return _all(_NAMED, said)


@lru_cache(maxsize=4_000)
def done(name: str) -> int:
    """The same for a name as it is."""
    return named(words(name))


def _all(known: dict[str, int], said: Iterable[str]) -> int:
    found = 0
    for word in said:
        found |= known.get(word, 0)
    return found

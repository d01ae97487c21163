"""Names that are only similar to what was typed: letters left out, swapped or mistaken."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import chain

from mcp_studio.search.names import END, PART, decoded, encoded, parts, parts_of

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

"""Names that are only similar to what was typed: letters left out, swapped or mistaken."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import chain

from mcp_studio.search.grades import Pool
from mcp_studio.search.names import END, PART, Row, decoded, encoded, parts, parts_of

SHORTEST, LONGEST = 3, 40
"""Letters of what was typed that such names are looked for with."""
_MOST_TOKENS = 6
_MOST_TERMS = 6
"""Spellings that are tried for one part of what was typed."""
_MOST = 200
"""Names of each kind of likeness; there is nobody who would look at more."""
_LEAST_SHARE = 0.3
"""Of a name's letters must have been typed where some are left out."""

Like = tuple[float, Row, tuple[str, ...]]
"""How like it is, below 1; the row; the parts of its name that are meant, none where it is all of it."""


class Similar:
    """Looks for such names. What it knows of the rows is made when it is asked for first, and again after changes."""

    def __init__(self) -> None:
        self._terms: tuple[Pool, list[str]] | None = None
        self._words: tuple[Pool, list[str]] | None = None

    def forget(self) -> None:
        """The rows have changed."""
        self._terms = self._words = None

    def find(self, pool: Pool, words: Sequence[str]) -> list[Like]:
        """Names that are like the words, the best first."""
        tokens = [token for word in words for token in parts(word)]
        whole = "".join(tokens)
        if not SHORTEST <= len(whole) <= LONGEST or len(tokens) > _MOST_TOKENS:
            return []
        found = self._misspelled(pool, tokens)
        for place, score in chain(self._mistyped(pool, whole), self._shortened(pool, whole)):
            if id(row := pool.rows[place]) not in found:
                found[id(row)] = score, row, ()
        return sorted(found.values(), key=_order)

    def _misspelled(self, pool: Pool, tokens: Sequence[str]) -> dict[int, Like]:
        """Names with a part that is like each of the tokens; nothing where all are spelled as in some name."""
        forms = [(token, self._spellings(pool, token)) for token in tokens]
        if all(some == [(token, 1.0)] for token, some in forms):
            return {}
        left: dict[int, tuple[float, tuple[str, ...]]] = dict.fromkeys(range(len(pool.rows)), (0.0, ()))
        for _, some in sorted(forms, key=lambda form: (form[1] == [(form[0], 1.0)], -len(form[0]))):
            kept: dict[int, tuple[float, tuple[str, ...]]] = {}
            for term, likeness in some:
                needle = PART + encoded(term)
                for place in [place for place in left if needle in pool.texts[place]]:
                    kept.setdefault(place, (left[place][0] + likeness, (*left[place][1], term)))
            left = kept
        rows = pool.rows
        return {
            id(rows[place]): (_score(total, rows[place], terms), rows[place], terms)
            for place, (total, terms) in left.items()
        }

    def _spellings(self, pool: Pool, token: str) -> list[tuple[str, float]]:
        """Parts of names that a token may stand for, the likeliest first: itself, where it begins one."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        terms = self._all_terms(pool)
        at = bisect_left(terms, token)
        if at < len(terms) and terms[at].startswith(token):
            return [(token, 1.0)]
        off = 0 if len(token) < SHORTEST else 1 if len(token) < 7 else 2
        near = process.extract(token, terms, scorer=OSA.distance, score_cutoff=off, limit=_MOST_TERMS) if off else []
        return [(term, 1 - distance / len(token)) for term, distance, _ in near]

    def _mistyped(self, pool: Pool, whole: str) -> list[tuple[int, float]]:
        """Names that all of it is like, signs left out."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        off = 1 if len(whole) < 7 else 2
        near = process.extract(whole, self._joined(pool), scorer=OSA.distance, score_cutoff=off, limit=_MOST)
        return [(place, 0.75 - 0.1 * distance) for _, distance, place in near]

    def _shortened(self, pool: Pool, whole: str) -> list[tuple[int, float]]:
        """Names that have all its letters, in this order, the first one at the beginning of a part."""
        from rapidfuzz import process
        from rapidfuzz.distance import LCSseq

        names = self._joined(pool)
        near = process.extract(whole, names, scorer=LCSseq.similarity, score_cutoff=len(whole), limit=None)
        first = PART + encoded(whole[0])
        likely = [
            (len(whole) / len(name), place)
            for name, _, place in near
            if len(whole) >= _LEAST_SHARE * len(name) and first in pool.texts[place]
        ]
        return [(place, 0.5 * share) for share, place in sorted(likely, key=lambda one: (-one[0], one[1]))[:_MOST]]

    def _all_terms(self, pool: Pool) -> list[str]:
        if self._terms is None or self._terms[0] is not pool:
            self._terms = pool, sorted({decoded(part) for row in pool.rows for part in parts_of(row)})
        return self._terms[1]

    def _joined(self, pool: Pool) -> list[str]:
        if self._words is None or self._words[0] is not pool:
            self._words = pool, [decoded("".join(parts_of(row))) for row in pool.rows]
        return self._words[1]


def _score(likeness: float, row: Row, terms: Sequence[str]) -> float:
    letters = sum(map(len, terms))
    return 0.5 + 0.3 * likeness / len(terms) + 0.19 * letters / max(letters, row.text.index(END))


def _order(found: Like) -> tuple[float, str, str, str]:
    score, row, _ = found
    return (-score, row.server, row.name, row.kind)

"""Filtering as you type: every word must occur, names count before descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def words_of(query: str) -> tuple[str, ...]:
    """The words of a query as they are compared."""
    return tuple(query.casefold().split())


class Matcher:
    """A list of names with further text, searched again at every key.

    A query that begins with the one before looks only at its hits, so that each key costs less than the last.
    """

    def __init__(self, entries: Iterable[tuple[str, str]]) -> None:
        """`entries` are pairs of name and everything else that should be found."""
        pairs = [(name.casefold(), f"{name}\n{text}".casefold()) for name, text in entries]
        self._names = [name for name, _ in pairs]
        self._texts = [text for _, text in pairs]
        self._query = ""
        self._hits: Sequence[int] = range(len(pairs))

    def __len__(self) -> int:
        return len(self._names)

    def find(self, query: str) -> Sequence[int]:
        """Places of the entries in which every word of the query occurs, the best first.

        Best are names that hold more of the words, then names that begin with the first one; otherwise the order of the
        entries stays. A query without words finds all.
        """
        words = words_of(query)
        query = " ".join(words)
        if not words:
            self._query, self._hits = "", range(len(self._names))
            return self._hits
        pool = self._hits if self._query and query.startswith(self._query) else range(len(self._names))
        texts = self._texts
        for word in words:
            pool = [place for place in pool if word in texts[place]]
        self._query, self._hits = query, pool
        return self._ranked(pool, words)

    def _ranked(self, hits: Sequence[int], words: tuple[str, ...]) -> list[int]:
        names, first = self._names, words[0]
        missing: list[list[int]] = [[] for _ in range(2 * len(words) + 1)]
        for place in hits:
            name = names[place]
            found = sum(word in name for word in words)
            missing[2 * (len(words) - found) + (found > 0 and not name.startswith(first))].append(place)
        return [place for group in missing for place in group]

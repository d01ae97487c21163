"""Finding by what is typed, letter by letter: every word must stand somewhere, and names count before the rest."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter

from mcp_studio.catalog.ref import KINDS, Ref
from mcp_studio.search.document import Document
from mcp_studio.search.fuzzy import Similar
from mcp_studio.search.grades import FLAT, WHOLE, Graded, Pool, best_of_many, everything, graded, in_order
from mcp_studio.search.literal import literal_reasons, name_reasons
from mcp_studio.search.method import EVERYWHERE, LONGEST, Answer, Query, Scope, Scored
from mcp_studio.search.names import END, Row, fold, row_of

MOST_WORDS = 12
"""Words of a question that count."""
ENOUGH = 5
"""Where fewer are found as they are written, names that are only similar are shown as well."""

_FEW = 100
TOLD = 60
"""The best so many hits say why they are there; saying it takes longer than finding them."""


class Substring:
    """The method `substring`; see `Method`."""

    def __init__(self) -> None:
        self._rows: dict[Ref, Row] = {}
        self._sorted = Pool([], [])
        self._touched: set[Ref] = set()
        """What came or went since the rows were brought in order."""
        self._scoped: tuple[Scope, Pool] | None = None
        self._similar = Similar()
        self._before: tuple[Scope, list[str], Graded] = EVERYWHERE, [], Graded((), ())

    def add(self, documents: Sequence[Document]) -> None:
        """Take up documents."""
        self._rows.update((document.ref, row_of(document)) for document in documents)
        self._changed(document.ref for document in documents)

    def remove(self, refs: Collection[Ref]) -> None:
        """Forget documents."""
        for ref in refs:
            self._rows.pop(ref, None)
        self._changed(refs)

    def search(self, query: Query) -> Answer:
        """All that have every word, the best first; similar names where that is too few."""
        text = query.text[:LONGEST]
        pool = self._pool(query.scope)
        if exact := self._addressed(text.strip(), query.scope):
            return _answer(Pool(exact, []), Graded(range(len(exact)), [WHOLE] * len(exact)), len(exact), query, [])
        words = [word for word in dict.fromkeys(text.split()) if fold(word)]
        note = f"Only the first {MOST_WORDS} words count." if len(words) > MOST_WORDS else ""
        words = words[:MOST_WORDS]
        if not words:
            return _answer(pool, everything(pool), len(pool.rows), query, [])
        found, total = self._graded(pool, words, query)
        if total >= min(ENOUGH, len(pool.rows)):
            return _answer(pool, found, total, query, words, note)
        return self._with_similar(found, pool, query, words, note)

    def _with_similar(self, found: Graded, pool: Pool, query: Query, words: list[str], note: str) -> Answer:
        known = {id(pool.rows[place]) for place in found.places}
        like = [one for one in self._similar.find(pool, words) if id(one[1]) not in known]
        if like and not known:
            note = f"Nothing has what was typed; these names are similar. {note}".rstrip()
        strict = _answer(pool, found, len(known), query, words)
        room = max(query.limit - len(strict.hits), 0)
        more = [Scored(row.document.ref, score, name_reasons(row, terms)) for score, row, terms in like[:room]]
        return Answer([*strict.hits, *more], len(known) + len(like), note)

    def _graded(self, pool: Pool, words: list[str], query: Query) -> tuple[Graded, int]:
        """Those that have every word, and how many; what the words before the last left is kept for the next key."""
        head = words[:-1]
        if not head:
            return best_of_many(pool, words[0], query.limit)
        if self._before[:2] != (query.scope, head):
            self._before = query.scope, head, graded(pool, everything(pool), head)
        found = in_order(pool, graded(pool, self._before[2], words[-1:]), words)
        return found, len(found.places)

    def _changed(self, refs: Iterable[Ref]) -> None:
        self._touched.update(refs)
        self._scoped = None
        self._similar.forget()
        self._before = EVERYWHERE, [], Graded((), ())

    def _pool(self, scope: Scope) -> Pool:
        if self._touched:
            self._arrange()
        if scope == EVERYWHERE:
            return self._sorted
        if self._scoped is None or self._scoped[0] != scope:
            rows = [row for row in self._sorted.rows if scope.has(row.document.ref)]
            self._scoped = scope, Pool(rows, [row.text for row in rows])
        return self._scoped[1]

    def _arrange(self) -> None:
        """Bring the rows in order; a few at their places, many by sorting all."""
        rows, texts = self._sorted
        if len(self._touched) > max(_FEW, len(rows) // 50):
            rows = sorted(self._rows.values())
            self._sorted = Pool(rows, [row.text for row in rows])
        else:
            for kind, server, name in self._touched:
                place = bisect_left(rows, (server, name, kind))
                if place < len(rows) and rows[place][:3] == (server, name, kind):
                    del rows[place], texts[place]
                if row := self._rows.get(Ref(kind, server, name)):
                    rows.insert(place, row)
                    texts.insert(place, row.text)
        self._touched.clear()

    def _addressed(self, text: str, scope: Scope) -> list[Row]:
        """What is called so in full: `server.tool` or `mcp__server__tool`."""
        divider, rest = ("__", text[len(FLAT) :]) if text.startswith(FLAT) else (".", text)
        found: list[Row] = []
        at = rest.find(divider)
        while at >= 0:
            server, name = rest[:at], rest[at + len(divider) :]
            rows = (self._rows.get(Ref(kind, server, name)) for kind in KINDS)
            found.extend(row for row in rows if row is not None and scope.has(row.document.ref))
            at = rest.find(divider, at + 1)
        return sorted(found, key=itemgetter(0, 1, 2))


def _answer(pool: Pool, found: Graded, total: int, query: Query, words: list[str], note: str = "") -> Answer:
    """The best of them: by grade, then the shorter names, then the order of the rows."""
    rows, groups = pool.rows, dict[int, list[int]]()
    for place, grade in zip(found.places, found.grades, strict=True):
        groups.setdefault(grade, []).append(place)
    hits: list[Scored] = []
    for grade in sorted(groups, reverse=True):
        room = query.limit - len(hits)
        if room <= 0:
            break
        best = [rows[place] for place in groups[grade]]
        best = sorted(best, key=_length) if grade else best
        for row in best[:room]:
            why = literal_reasons(row, words) if len(hits) < TOLD else ()
            hits.append(Scored(row.document.ref, grade + 1 / (1 + _length(row)) if grade else 0.0, why))
    return Answer(hits, total, note)


def _length(row: Row) -> int:
    return row.text.index(END)

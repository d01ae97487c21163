"""From a question to what is shown: methods are asked, answers checked, hits told why they are there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice

from mcp_studio.catalog.ref import Ref
from mcp_studio.search import auto
from mcp_studio.search.found import Found, Hit, Used
from mcp_studio.search.intake import Intake
from mcp_studio.search.known import Known
from mcp_studio.search.method import Answer, Query, Scored, SearchProblem
from mcp_studio.search.plugins import checked
from mcp_studio.search.usage import Usage, Uses

RECENT = 8
"""For an empty question: so many of what was used last come before what was used most."""


class Answering:
    """Answers questions over what is known; blocks, so it is for a thread.

    Args:
        servers: their order where nothing else orders entries.
    """

    def __init__(self, known: Known, usage: Usage, servers: Callable[[], Iterable[str]]) -> None:
        self._known = known
        self._usage = usage
        self._servers = servers

    def answer(self, query: Query, method: str, intakes: Sequence[Intake], pending: int) -> Found:
        """Ask these methods.

        Raises:
            SearchProblem: it cannot be asked so, or nothing serves.
        """
        began = time.perf_counter()
        of, uses = self._known.count(query.scope), self._usage.all()
        if not query.text.strip():
            hits = self._used(query, uses)
            return Found(query, hits, of, of, _ms(began), "used", pending=pending)
        pending += max(intake.pending for intake in intakes)
        if method == auto.NAME:
            served = self._auto(query, intakes, uses)
        else:
            served = auto.Served(self._ask(intakes[0], query), method)
        answer = served.answer
        hits = tuple(self._hit(hit, uses) for hit in answer.hits)
        return Found(query, hits, answer.total, of, _ms(began), served.method, answer.note, pending)

    def _auto(self, query: Query, intakes: Sequence[Intake], uses: Mapping[Ref, Uses]) -> auto.Served:
        by_name = {intake.offer.name: intake for intake in intakes if intake.problem is None}
        if not by_name:
            raise intakes[-1].problem or SearchProblem("No search method serves.")
        now = time.time()

        def ask(name: str, asked: Query) -> Answer:
            return self._ask(by_name[name], asked) if name in by_name else Answer((), 0)

        def strength(ref: Ref) -> float:
            return uses[ref].strength(now) if ref in uses else 0.0

        return auto.search(query, ask, meaning="hybrid" in by_name, strength=strength)

    def _ask(self, intake: Intake, query: Query) -> Answer:
        return checked(intake.offer, intake.ask(query), query, lambda ref: self._known.get(ref) is not None)

    def _hit(self, scored: Scored, uses: Mapping[Ref, Uses]) -> Hit:
        taken = self._known.get(scored.ref)
        entry = taken.entry if taken is not None else None
        return Hit(scored.ref, scored.score, scored.reasons, entry, _used(uses.get(scored.ref)))

    def _used(self, query: Query, uses: Mapping[Ref, Uses]) -> tuple[Hit, ...]:
        """What was used last, then what was used most, then everything else in the order of the catalogue."""
        here = [ref for ref in uses if query.scope.has(ref) and self._known.get(ref) is not None]
        last = sorted(here, key=lambda ref: (-uses[ref].last, ref))[:RECENT]
        now = time.time()
        most = sorted(here, key=lambda ref: (-uses[ref].strength(now), ref))
        rest = (ref for ref, _ in self._known.ordered(query.scope, self._servers()))
        refs = islice(dict.fromkeys(chain(last, most, islice(rest, query.limit + len(here)))), query.limit)
        return tuple(self._hit(Scored(ref, 0.0), uses) for ref in refs)


def _used(uses: Uses | None) -> Used | None:
    return None if uses is None else Used(uses.runs + uses.opened, uses.last)


def _ms(began: float) -> float:
    return (time.perf_counter() - began) * 1000

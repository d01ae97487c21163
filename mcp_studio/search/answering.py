"""From a question to what is shown: methods are asked, answers checked, hits told why they are there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice

from mcp_studio.catalog.ref import Ref
from mcp_studio.search import auto, cjk, why
from mcp_studio.search.found import Found, Hit, Used
from mcp_studio.search.intake import Intake
from mcp_studio.search.known import Difference, Known
from mcp_studio.search.literal import literal_reasons
from mcp_studio.search.meaning import Meaning
from mcp_studio.search.method import BY_LETTERS, Answer, Query, Scored, SearchProblem
from mcp_studio.search.plugins import checked
from mcp_studio.search.reading import Readings
from mcp_studio.search.usage import Usage, Uses

RECENT = 8
"""For an empty question: so many of what was used last come before what was used most."""
_FEW = 3
"""Who does not type, and found fewer, is told what is missing; who found more was served."""
_TOLD = 60
"""The best so many hits say why they are there; to say it takes longer than to find them."""


class Answering:
    """Answers questions over what is known; blocks, so it is for a thread.

    Args:
        made: gives a method that was made.
        servers: their order where nothing else orders entries.
    """

    def __init__(
        self,
        known: Known,
        made: Callable[[str], Intake | None],
        meaning: Meaning,
        usage: Usage,
        servers: Callable[[], Iterable[str]],
    ) -> None:
        self._known = known
        self._made = made
        self._meaning = meaning
        self._usage = usage
        self._servers = servers
        self._said = False
        self._readings = Readings()

    def forget(self, difference: Difference) -> None:
        """Let go of what is there no more, or is another now."""
        self._readings.forget((*difference.removed, *difference.changed))

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
        shown = (self._hit(one, uses, query if at < _TOLD else None) for at, one in enumerate(answer.hits))
        hits = tuple(sorted((hit for hit in shown if hit is not None), key=_first))
        return Found(query, hits, answer.total, of, _ms(began), served.method, self._once(answer.note), pending)

    def _once(self, note: str) -> str:
        """A note without what was said before and is no news: which extra is missing."""
        if cjk.MISSING not in note:
            return note
        said, self._said = self._said, True
        return note.replace(cjk.MISSING, "").strip() if said else note

    def _auto(self, query: Query, intakes: Sequence[Intake], uses: Mapping[Ref, Uses]) -> auto.Served:
        if all(intake.problem is not None for intake in intakes):
            raise intakes[-1].problem or SearchProblem("No search method serves.")
        now, meaning = time.time(), self._meaning
        wanted = False

        def ask(name: str, asked: Query) -> Answer:
            intake = self._made(name)
            if intake is None or intake.problem is not None:
                return Answer((), 0)
            answer = self._ask(intake, asked)
            # How far meaning is known is told elsewhere, and not on every key.
            told = cjk.MISSING if cjk.MISSING in answer.note else ""
            return answer._replace(note=told) if name == "hybrid" else answer

        def meant() -> bool:
            nonlocal wanted
            wanted = True
            return meaning.serves()

        def strength(ref: Ref) -> float:
            return uses[ref].strength(now) if ref in uses else 0.0

        served = auto.search(query, ask, meaning=meant, strength=strength)
        answer = served.answer
        lacks = meaning.note() if wanted and (query.typing or answer.total < _FEW) else ""
        return served._replace(answer=answer._replace(note=f"{lacks} {answer.note}".strip()))

    def _ask(self, intake: Intake, query: Query) -> Answer:
        answer = intake.ask(query)
        if intake.offer.package:
            return checked(intake.offer, answer, query, self._known.has)
        return answer._replace(hits=[hit for hit in answer.hits if self._known.has(hit.ref)])

    def _hit(self, scored: Scored, uses: Mapping[Ref, Uses], query: Query | None = None) -> Hit | None:
        """What is shown of something found; None where it has gone meanwhile."""
        taken = self._known.get(scored.ref)
        if taken is None:
            return None
        (document, entry), reasons = taken, scored.reasons
        if reasons and reasons[0].field == BY_LETTERS[0].field:
            reasons = literal_reasons(document, query, reasons[0]) if query is not None else ()
        if query is not None and all(reason.field == "meaning" for reason in reasons):
            reasons = why.reasons(document, query, reasons, self._readings.of)
        return Hit(scored.ref, scored.score, reasons, entry, _used(uses.get(scored.ref)))

    def _used(self, query: Query, uses: Mapping[Ref, Uses]) -> tuple[Hit, ...]:
        """What was used last, then what was used most, then everything else in the order of the catalogue."""
        here = [ref for ref in uses if query.scope.has(ref) and self._known.has(ref)]
        last = sorted(here, key=lambda ref: (-uses[ref].last, ref))[:RECENT]
        now = time.time()
        most = sorted(here, key=lambda ref: (-uses[ref].strength(now), ref))
        rest = self._known.ordered(query.scope, self._servers())
        refs = islice(dict.fromkeys(chain(last, most, islice(rest, query.limit + len(here)))), query.limit)
        return tuple(hit for ref in refs if (hit := self._hit(Scored(ref, 0.0), uses)))


def _first(hit: Hit) -> tuple[float, bool]:
    """Among equal ones what can be run comes before what is only remembered."""
    return -hit.score, hit.entry is not None and hit.entry.remembered


def _used(uses: Uses | None) -> Used | None:
    return None if uses is None else Used(uses.runs + uses.opened, uses.last)


def _ms(began: float) -> float:
    return (time.perf_counter() - began) * 1000

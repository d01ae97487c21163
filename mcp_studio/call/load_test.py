"""Load tests: the same call many times, some at once, and statistics of the outcomes."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable

from mcp_studio.call.call import ANSWERED, OUTCOMES, Call, CallOutcome, Cancelled, Denied, Lost, Succeeded, said_of
from mcp_studio.call.history import Past
from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.safetext import safe
from mcp_studio.trace.statistics import Durations, pattern_of

MOST = 1_000_000
"""The most calls of one run."""
MOST_AT_ONCE = 1_000
_LOST = 100
"""Calls in a row without an answer that end a run."""
_TEXTS = 50
"""The most different error texts that are kept."""
_LEAVING = 2.0
"""Seconds that cancelled calls have for telling the server."""


class Load:
    """One run; results are not kept, so its length does not matter.

    Args:
        begin: starts one call. The caller has obtained consent before, see `Caller.consent`.
        total: the number of calls, from 1 to `MOST`.
        at_once: the number of parallel calls, from 1 to `MOST_AT_ONCE`.
    """

    def __init__(self, begin: Callable[[], Call], total: int, at_once: int) -> None:
        self._begin = begin
        self.total = min(max(1, total), MOST)
        self.at_once = min(max(1, at_once), MOST_AT_ONCE, self.total)
        self.sent = 0
        """The number of started calls."""
        self.done = 0
        """The number of calls with an outcome."""
        self.outcomes: Counter[str] = Counter()
        """The number of calls by outcome, in the words of `call.OUTCOMES`."""
        self.said: dict[str, tuple[int, str]] = {}
        """Error texts: number and newest text, by the text without its changing parts."""
        self.durations = Durations()
        """The durations of calls with any answer."""
        self.bytes = 0
        """Bytes of all answers."""
        self.problems: tuple[str, ...] = ()
        """The problems of the first answer; only that one is checked."""
        self.why = ""
        """The reason of an early end; empty without one."""
        self._calls: set[Call] = set()
        self._lost = 0
        self._began = self._ended = 0.0

    @property
    def seconds(self) -> float:
        """Seconds that the run has taken so far, or took."""
        return (self._ended or time.perf_counter()) - self._began if self._began else 0.0

    @property
    def rate(self) -> float:
        """Outcomes per second."""
        return self.done / self.seconds if self.seconds else 0.0

    @property
    def running(self) -> bool:
        """Whether the run has begun and not ended."""
        return bool(self._began) and not self._ended

    @property
    def wrong(self) -> int:
        """Calls that were neither successful nor cancelled."""
        return self.done - self.outcomes["ok"] - self.outcomes["cancelled"] - self.outcomes["task"]

    def stop(self, why: str = "cancelled") -> None:
        """Start no more calls, and cancel those that run."""
        self.why = self.why or why
        for call in tuple(self._calls):
            call.cancel()

    async def run(self) -> None:
        """Run the load test, once. Cancelling stops running calls, and waits until their servers know."""
        self._began = time.perf_counter()
        workers = [asyncio.ensure_future(self._work()) for _ in range(self.at_once)]
        try:
            await asyncio.wait(workers)
        finally:
            if any(not worker.done() for worker in workers):
                self.stop()
                await asyncio.wait(workers, timeout=_LEAVING)
            self._ended = time.perf_counter()
            for worker in workers:
                worker.cancel()
        for worker in workers:
            worker.result()

    async def _work(self) -> None:
        while self.sent < self.total and not self.why:
            try:
                call = self._begin()
            except StudioError as error:
                return self.stop(error.message)
            call.unchecked = self.sent > 0
            self.sent += 1
            self._calls.add(call)
            try:
                self._note(await call.wait())
            finally:
                self._calls.discard(call)

    def _note(self, outcome: CallOutcome) -> None:
        self.done += 1
        self.outcomes[OUTCOMES.get(type(outcome), "unknown")] += 1
        self.bytes += outcome.size
        if isinstance(outcome, ANSWERED):
            self.durations.add(outcome.ms)
            self._lost = 0
        if self.done == 1:
            self.problems = outcome.problems
        if not isinstance(outcome, (Succeeded, Cancelled)):
            self._hear(said_of(outcome))
        if isinstance(outcome, Denied):
            self.why = self.why or f"it must not be run: {outcome.rule}"
        elif isinstance(outcome, Lost):
            self._lost += 1
            if self._lost >= _LOST and self.sent < self.total:
                self.why = self.why or f"{self._lost:,} calls in a row had no answer"

    def _hear(self, text: str) -> None:
        text = safe(text, 300) or "it gives no reason"
        key = pattern_of(text)
        if key not in self.said and len(self.said) >= _TEXTS:
            key, text = "", "others"
        self.said[key] = (self.said[key][0] + 1 if key in self.said else 1, text)

    @property
    def errors(self) -> list[tuple[int, str]]:
        """The error texts with their numbers, most frequent first."""
        return sorted(self.said.values(), key=lambda one: -one[0])

    def figures(self) -> dict[str, Json]:
        """All figures as JSON; times in milliseconds."""
        all = self.durations
        p50, p95, p99 = map(all.percentile, (0.5, 0.95, 0.99))
        mean, least, most = (all.total / all.count, all.least, all.most) if all.count else (None, None, None)
        times = {"p50": p50, "p95": p95, "p99": p99, "mean": mean, "min": least, "max": most}
        return {
            "calls": self.total, "concurrency": self.at_once, "done": self.done, "outcomes": dict(self.outcomes),
            "seconds": round(self.seconds, 3), "rate": round(self.rate, 1), "bytes": self.bytes,
            "ms": {name: None if value is None else round(value, 3) for name, value in times.items()},
            "histogram": [
                {"from": round(bar.begin, 3), "to": round(bar.end, 3), "count": bar.height}
                for bar in self.durations.histogram()
            ],
            "errors": [{"count": count, "text": text} for count, text in self.errors],
            **({"ended": self.why} if self.why else {}),
        }  # fmt: skip

    def line(self) -> str:
        """The progress or result in one line."""
        p50, p95 = self.durations.percentile(0.5), self.durations.percentile(0.95)
        times = f" · p50 {p50:,.1f} ms · p95 {p95:,.1f} ms" if p50 is not None and p95 is not None else ""
        wrong = f" · {self.wrong:,} failed" if self.wrong else ""
        return f"{self.done:,} of {self.total:,} calls · {self.rate:,.0f}/s{times}{wrong}"


def past_of_load(load: Load, ref: Ref, arguments: Json, began: float, origin: str) -> Past:
    """The history's single entry for a whole run; its duration is that of the run."""
    wrong = [(count, kind) for kind, count in load.outcomes.items() if kind not in ("ok", "cancelled", "task")]
    kind = max(wrong)[1] if wrong else "cancelled" if load.why else "ok"
    said = f"{load.done:,} calls, {load.at_once:,} at once" + (f", {load.wrong:,} failed" if load.wrong else "")
    return Past(
        ref, arguments, began, origin, kind, round(load.seconds * 1000, 1), load.bytes, said, id=os.urandom(6).hex()
    )

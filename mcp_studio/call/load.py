"""The same call many times, some of them at once, and how that went."""

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
"""Calls of one run."""
MOST_AT_ONCE = 1_000
_LOST = 100
"""Calls in a row that were lost or not sent, after which nothing more is sent."""
_TEXTS = 50
"""Different error texts that are kept."""
_LEAVING = 2.0
"""Seconds that calls which are stopped have for telling the server."""


class Load:
    """One run; nothing of the results is kept, so that its length does not matter.

    Args:
        begin: starts one call. Whoever gives it has asked about destructive tools before, see `Caller.consent`.
        total: how many calls, from 1 to `MOST`.
        at_once: how many of them at once, from 1 to `MOST_AT_ONCE`.
    """

    def __init__(self, begin: Callable[[], Call], total: int, at_once: int) -> None:
        self._begin = begin
        self.total = min(max(1, total), MOST)
        self.at_once = min(max(1, at_once), MOST_AT_ONCE, self.total)
        self.sent = 0
        """Calls that were started."""
        self.done = 0
        """Calls that have an outcome."""
        self.outcomes: Counter[str] = Counter()
        """How many ended how, in the words of `past.OUTCOMES`."""
        self.said: dict[str, tuple[int, str]] = {}
        """What errors said: how many, and the newest text, by what does not change in it."""
        self.durations = Durations()
        """Of calls with an answer, whatever it says."""
        self.bytes = 0
        """Of the answers."""
        self.problems: tuple[str, ...] = ()
        """What is wrong with the first answer; the others are not examined that closely."""
        self.why = ""
        """Why it ended before its time; empty where it did not."""
        self._calls: set[Call] = set()
        self._lost = 0
        self._began = self._ended = 0.0

    @property
    def seconds(self) -> float:
        """How long it runs, or ran."""
        return (self._ended or time.perf_counter()) - self._began if self._began else 0.0

    @property
    def rate(self) -> float:
        """Outcomes a second."""
        return self.done / self.seconds if self.seconds else 0.0

    @property
    def running(self) -> bool:
        """Whether it has begun and not ended."""
        return bool(self._began) and not self._ended

    @property
    def wrong(self) -> int:
        """Calls that were no success, but for those that were stopped."""
        return self.done - self.outcomes["ok"] - self.outcomes["stopped"] - self.outcomes["task"]

    def stop(self, why: str = "stopped") -> None:
        """Start no more calls, and stop those that run."""
        self.why = self.why or why
        for call in tuple(self._calls):
            call.cancel()

    async def run(self) -> None:
        """Make the calls; once. Cancelled, it stops those that run, and they are told of before this ends."""
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
        """What errors said, the most frequent first."""
        return sorted(self.said.values(), key=lambda one: -one[0])

    def figures(self) -> dict[str, Json]:
        """All of it as JSON; times in milliseconds."""
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
        """How far it is, or how it went, on a line."""
        p50, p95 = self.durations.percentile(0.5), self.durations.percentile(0.95)
        times = f" · p50 {p50:,.1f} ms · p95 {p95:,.1f} ms" if p50 is not None and p95 is not None else ""
        wrong = f" · {self.wrong:,} failed" if self.wrong else ""
        return f"{self.done:,} of {self.total:,} calls · {self.rate:,.0f}/s{times}{wrong}"


def past_of_load(load: Load, ref: Ref, arguments: Json, began: float, origin: str) -> Past:
    """The one entry of the history for a whole run; it lasted as long as all of it."""
    wrong = [(count, kind) for kind, count in load.outcomes.items() if kind not in ("ok", "stopped", "task")]
    kind = max(wrong)[1] if wrong else "stopped" if load.why else "ok"
    said = f"{load.done:,} calls, {load.at_once:,} at once" + (f", {load.wrong:,} failed" if load.wrong else "")
    return Past(
        ref, arguments, began, origin, kind, round(load.seconds * 1000, 1), load.bytes, said, id=os.urandom(6).hex()
    )

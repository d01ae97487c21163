"""The figures of one server, method, or tool."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Sequence
from functools import cached_property

from mcp_studio.trace.numbers.durations import Durations
from mcp_studio.trace.numbers.series import Axis, Series

_ERRORS = 200
"""Numbers of the newest errors that are known one by one."""


class Heap:
    """What one look has found of one kind of message, before it goes into the tallies that it belongs to."""

    __slots__ = (
        "__dict__", "apart", "bytes_in", "bytes_out", "cancelled", "failed", "lost", "notices", "questions", "refused",
        "times", "values", "wrong",
    )  # fmt: skip

    def __init__(self) -> None:
        self.times: list[float] = []
        """When they came to their end."""
        self.values: list[float] = []
        """Milliseconds."""
        self.apart: list[float] = []
        """The same, where a person's time is in them."""
        self.wrong: list[int] = []
        """Numbers of the entries that tell of errors."""
        self.bytes_in = self.bytes_out = 0
        self.refused = self.failed = self.lost = self.cancelled = self.notices = self.questions = 0

    def merge(self, other: Heap) -> None:
        """Take over everything of another one."""
        self.times += other.times
        self.values += other.values
        self.apart += other.apart
        self.wrong += other.wrong
        self.refused += other.refused
        self.failed += other.failed
        self.lost += other.lost
        self.cancelled += other.cancelled
        self.weigh(other)

    def end_well(self) -> None:
        """What was lost ended as it should."""
        self.cancelled += self.lost
        self.lost, self.wrong = 0, []

    def weigh(self, other: Heap) -> None:
        """Take over its bytes alone."""
        self.bytes_in += other.bytes_in
        self.bytes_out += other.bytes_out

    @cached_property
    def seconds(self) -> Counter[int]:
        """How many came to their end in which second."""
        try:
            return Counter(map(int, self.times))
        except (ValueError, OverflowError):  # no time at all, in a file that somebody gave us
            return Counter(int(time) for time in self.times if math.isfinite(time))


class Tally:
    """What is counted. A request counts once it is answered or given up, a notification at once."""

    __slots__ = (
        "_shares", "_stamp", "apart", "bytes_in", "bytes_out", "cancelled", "count", "durations", "failed", "last",
        "lost", "notices", "questions", "refused", "series", "wrong",
    )  # fmt: skip

    def __init__(self) -> None:
        self.count = 0
        self.refused = 0
        """JSON-RPC errors."""
        self.failed = 0
        """Tools that ran and say that they failed (`isError`)."""
        self.lost = 0
        """Requests whose answer will never come: the connection ended."""
        self.cancelled = 0
        """Requests that were given up; these are no errors."""
        self.notices = 0
        """Of a server: notifications, in both directions."""
        self.questions = 0
        """Of a server: requests of its own."""
        self.bytes_in = 0
        self.bytes_out = 0
        self.last = 0.0
        """When the newest came to its end, in whole seconds since the epoch; 0 for never."""
        self.durations = Durations()
        self.apart: Durations | None = None
        """Where the server asked something meanwhile: a person's time may be in these, they are not in `durations`."""
        self.series = Series()
        self.wrong: deque[int] = deque(maxlen=_ERRORS)
        """Numbers of the newest entries that tell of errors; of a request without an answer its own."""
        self._stamp = -1
        self._shares: Sequence[float | None] = ()

    @property
    def errors(self) -> int:
        """Refused, failed and lost ones."""
        return self.refused + self.failed + self.lost

    @property
    def error_rate(self) -> float:
        """From 0 to 1; those that were cancelled count neither as good nor as bad."""
        settled = self.count - self.cancelled
        return self.errors / settled if settled > 0 else 0.0

    @property
    def p50(self) -> float | None:
        """Milliseconds that half of them stayed under; None without any."""
        return self._percentiles()[0]

    @property
    def p95(self) -> float | None:
        """The same for 95 of 100."""
        return self._percentiles()[1]

    @property
    def p99(self) -> float | None:
        """The same for 99 of 100."""
        return self._percentiles()[2]

    @property
    def most(self) -> float | None:
        """The longest, in milliseconds."""
        return self.durations.most if self.durations.count else None

    @property
    def bytes(self) -> int:
        """Of requests and answers together."""
        return self.bytes_in + self.bytes_out

    def rate(self, axis: Axis, now: float | None) -> float:
        """How many a second: over the newest 10 seconds before `now`, or without it over the time of the whole trace.

        Args:
            axis: that of the numbers that it is part of.
        """
        if now is not None:
            return self.series.recent(now)
        return self.count / max(1.0, self.last - axis.start) if axis.start else 0.0

    def add(self, heap: Heap, axis: Axis) -> None:
        """Take over what was found; the axis has been told of its times."""
        self.count += len(heap.times)
        self.refused += heap.refused
        self.failed += heap.failed
        self.lost += heap.lost
        self.cancelled += heap.cancelled
        self.notices += heap.notices
        self.questions += heap.questions
        self.bytes_in += heap.bytes_in
        self.bytes_out += heap.bytes_out
        if heap.wrong:
            self.wrong.extend(sorted(heap.wrong))
        if heap.seconds:
            self.last = max(self.last, max(heap.seconds))
            self.series.add(axis, heap.seconds)
        if heap.values:
            self.durations.add(heap.values)
        if heap.apart:
            self.apart = self.apart or Durations()
            self.apart.add(heap.apart)

    def _percentiles(self) -> Sequence[float | None]:
        if self._stamp != self.durations.count:
            self._stamp = self.durations.count
            self._shares = self.durations.percentiles(0.5, 0.95, 0.99)
        return self._shares

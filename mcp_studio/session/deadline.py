"""The deadline of one request: starts anew on progress, stands still while a person is asked, ends for good."""

from __future__ import annotations

import asyncio


class Deadline:
    """An idle limit that `extend` renews, within a total limit; both pause together.

    Args:
        idle: seconds without a sign of life.
        total: seconds in all, pauses not counted.
        longest: seconds in all, pauses counted; None is without end.
    """

    def __init__(self, idle: float, total: float, longest: float | None = None) -> None:
        loop = asyncio.get_running_loop()
        self._now = loop.time
        self._idle = idle
        self._end = loop.time() + total
        self._last = None if longest is None else loop.time() + max(longest, total)
        self._longest = longest
        self._paused_at: float | None = None
        self._pauses = 0
        self.total = total
        self.scope = asyncio.timeout_at(min(loop.time() + idle, self._end))

    def extend(self) -> None:
        """Something came: the idle limit starts anew."""
        if self._paused_at is None and not self.scope.expired():
            when = min(self._now() + self._idle, self._end)
            self.scope.reschedule(when if self._last is None else min(when, self._last))

    def pause(self) -> None:
        """A person is being asked; pauses nest."""
        self._pauses += 1
        if self._pauses == 1 and not self.scope.expired():
            self._paused_at = self._now()
            self.scope.reschedule(self._last)

    def resume(self) -> None:
        """The person has answered; without a pause of its own nothing happens."""
        if self._pauses == 0:
            return
        self._pauses -= 1
        if self._pauses == 0 and self._paused_at is not None:
            self._end += self._now() - self._paused_at
            self._paused_at = None
            self.extend()

    @property
    def paused(self) -> bool:
        """A person is being asked."""
        return self._pauses > 0

    @property
    def limit(self) -> str:
        """Which limit passed, in words."""
        if self.paused:
            return f"{self._longest:g} s with all that a person was asked (limits.call_longest)"
        if self._now() >= self._end:
            return f"{self.total:g} s in all (timeouts.total)"
        return f"{self._idle:g} s without a sign of life (timeouts.idle)"

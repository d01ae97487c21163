"""The deadline of one request: starts anew on progress, stands still while a person is asked, ends for good."""

from __future__ import annotations

import asyncio
from typing import Literal, NamedTuple

from mcp_studio.config.model import Timeouts


class Limit(NamedTuple):
    """So many seconds, and the option or key that says so."""

    seconds: float
    name: str

    def __str__(self) -> str:
        return f"{self.seconds:g} s ({self.name})"


def limit_of(key: Literal["connect", "idle", "total"], default: float, name: str, *timeouts: Timeouts) -> Limit:
    """What the first of these says, else the default, which the key `name` sets."""
    for one in timeouts:
        if (seconds := getattr(one, key)) is not None:
            return Limit(seconds, one.option or f"timeouts.{key}")
    return Limit(default, name)


class Deadline:
    """An idle limit that `extend` renews, within a total limit; both pause together.

    Args:
        idle: without a sign of life.
        total: in all, pauses not counted.
        longest: seconds in all, pauses counted; None is without end.
    """

    def __init__(self, idle: Limit | float, total: Limit | float, longest: float | None = None) -> None:
        self._now = asyncio.get_running_loop().time
        self._idle = idle if isinstance(idle, Limit) else Limit(idle, "timeouts.idle")
        self._total = total if isinstance(total, Limit) else Limit(total, "timeouts.total")
        self._end = self._now() + self._total.seconds
        self._last = None if longest is None else self._now() + max(longest, self._total.seconds)
        self._longest = longest
        self._paused_at: float | None = None
        self._pauses = 0
        self.begin()

    def begin(self) -> asyncio.Timeout:
        """The scope of what it is for, or of the next of several requests that share the total limit."""
        if self._paused_at is not None:  # whoever would end the pause knows only of the request before
            self._end += self._now() - self._paused_at
            self._paused_at, self._pauses = None, 0
        self.scope = asyncio.timeout_at(min(self._now() + self._idle.seconds, self._end, self._last or self._end))
        return self.scope

    def extend(self) -> None:
        """Something came: the idle limit starts anew."""
        if self._paused_at is None and not self.scope.expired():
            when = min(self._now() + self._idle.seconds, self._end)
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
            return f"{self._total.seconds:g} s in all ({self._total.name})"
        return f"{self._idle.seconds:g} s without a sign of life ({self._idle.name})"

"""The bindery: work that takes long, and whose state depends on nothing but the time and what was answered."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

TTL = 600.0
"""Seconds for which finished work is kept."""
POLL = 0.5
"""Seconds between two questions that the bindery wishes."""
COLOURS = ("red", "green", "blue")
QUESTION = "Which colour should the cover have?"
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"colour": {"type": "string", "title": "Colour", "enum": list(COLOURS)}},
    "required": ["colour"],
}
_MOST = 200


@dataclass(eq=False, slots=True)
class Binding:
    """Some copies being bound, one after the other; half of the way in the colour may have to be asked."""

    copies: int
    pace: float
    """Seconds a copy."""
    asks: bool
    id: str = field(default_factory=lambda: os.urandom(12).hex())
    created: float = field(default_factory=time.time)
    colour: str = ""
    answered: float = 0.0
    cancelled: bool = False

    @property
    def _worked(self) -> float:
        """Seconds of work so far: the time that it waited for an answer does not count."""
        half = self.copies * self.pace / 2
        if not self.asks:
            return time.time() - self.created
        if self.colour:
            return half + time.time() - self.answered
        return min(half, time.time() - self.created)

    @property
    def bound(self) -> int:
        """Copies that are done."""
        return self.copies if not self.pace else min(self.copies, int(self._worked / self.pace))

    @property
    def status(self) -> str:
        """One of the five states of a task."""
        if self.cancelled:
            return "cancelled"
        if self.asks and not self.colour and self._worked >= self.copies * self.pace / 2:
            return "input_required"
        return "completed" if self.bound >= self.copies and (self.colour or not self.asks) else "working"

    @property
    def message(self) -> str:
        """What it says of itself."""
        if self.status == "input_required":
            return QUESTION
        return f"{self.bound} of {self.copies} copies bound"

    @property
    def left(self) -> float:
        """Seconds until it is done, if nothing is asked."""
        return max(0.0, self.copies * self.pace - self._worked)

    def answer(self, colour: str) -> None:
        """Take the colour; work goes on."""
        if not self.colour:
            self.colour, self.answered = colour if colour in COLOURS else "plain", time.time()

    def words(self) -> str:
        """What came of it."""
        cover = f" in {self.colour}" if self.colour else ""
        return f"{self.copies} copies are bound{cover}."

    def shape(self, *, modern: bool) -> dict[str, Any]:
        """It as a task on the wire."""
        ttl, poll = ("ttlMs", "pollIntervalMs") if modern else ("ttl", "pollInterval")
        return {
            "taskId": self.id, "status": self.status, "statusMessage": self.message,
            "createdAt": _iso(self.created), "lastUpdatedAt": _iso(time.time()),
            ttl: round(TTL * 1000), poll: round(POLL * 1000),
        }  # fmt: skip


class Bindery:
    """All work, of all clients: who knows the id of a task may ask for it."""

    def __init__(self) -> None:
        self._work: dict[str, Binding] = {}

    def begin(self, copies: int, pace: float, asks: bool) -> Binding:
        """Start binding."""
        now = time.time()
        self._work = {key: work for key, work in self._work.items() if now < work.created + TTL}
        while len(self._work) >= _MOST:
            del self._work[next(iter(self._work))]
        work = Binding(copies, pace, asks)
        self._work[work.id] = work
        return work

    def find(self, identity: object) -> Binding | None:
        """The work of that id, as long as it is kept."""
        work = self._work.get(identity) if isinstance(identity, str) else None
        return work if work is not None and time.time() < work.created + TTL else None

    def all(self) -> list[Binding]:
        """All work that is kept."""
        return [work for work in self._work.values() if self.find(work.id)]


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

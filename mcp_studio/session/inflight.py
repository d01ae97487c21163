"""The requests of ours that wait for an answer at this moment, of all servers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import field

from mcp_studio.protocol.outgoing import RequestId
from mcp_studio.record import record


@record(eq=False)
class Running:
    """One request that has left and has no answer yet."""

    server: str
    method: str
    target: str
    """What is called, read or got; empty for everything else."""
    id: RequestId
    cancel: Callable[[], None]
    """Stop waiting and tell the server."""
    call: bool = False
    """It belongs to a `Call`, which shows it."""
    started: float = field(default_factory=time.monotonic)
    """Monotonic."""
    done: float = 0.0
    total: float | None = None
    message: str = ""
    progressed: float = 0.0
    """Monotonic time of the newest progress; 0 when there was none."""
    paused: bool = False
    """A person is being asked: its deadline stands still."""


class InFlight:
    """All running requests, oldest first; readers poll it on a timer of theirs."""

    def __init__(self) -> None:
        self._running: dict[int, Running] = {}

    @property
    def running(self) -> tuple[Running, ...]:
        """The running requests, oldest first."""
        return tuple(self._running.values())

    def add(self, one: Running) -> None:
        """A request leaves."""
        self._running[id(one)] = one

    def remove(self, one: Running) -> None:
        """It is answered, or nobody waits any more."""
        self._running.pop(id(one), None)

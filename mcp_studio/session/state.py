"""What state a connection is in, as a frozen value, and which requests are running."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import field
from typing import Any, Literal, NamedTuple

from mcp_studio.catalog.listing import EntryKind
from mcp_studio.config.model import Kind
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.protocol.events import RequestId
from mcp_studio.protocol.versions import Hint
from mcp_studio.record import record

ConnectionState = Literal["disabled", "idle", "connecting", "ready", "retrying", "needs_auth", "failed", "stopping"]
"""`disabled`: not started by itself; `idle`: waiting for its turn; `retrying`: ended by itself and starts again."""
Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
"""Starts a task that ends with whoever gives this."""


class Step(NamedTuple):
    """One phase of connecting, for `doctor`."""

    name: str
    """`resolved`, `started`, `negotiated`, `listed`."""
    ms: float
    detail: str = ""


class Status(NamedTuple):
    """Everything a front end shows about one connection."""

    server: str
    state: ConnectionState = "idle"
    error: StudioError | None = None
    """Why it failed or is retrying, in words."""
    attempt: int = 0
    retry_at: float = 0.0
    """Monotonic time of the next attempt, while retrying."""
    spoken: Kind | Literal[""] = ""
    """The transport that the server turned out to speak; empty until that is known."""
    version: str = ""
    """The negotiated protocol version."""
    offered: str = ""
    """The version that we had offered."""
    declared: Json = None
    """The client capabilities that we have declared."""
    client_info: Json = None
    """Who we have said that we are."""
    modern: bool = False
    hint: Hint | None = None
    """For how long the server calls what it said of itself fresh (2026-07-28)."""
    capabilities: Json = None
    """What the server declared."""
    server_info: Json = None
    instructions: str = ""
    pid: int = 0
    steps: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = ()
    """What the server does wrong, in plain words: prints to stdout, answers twice, wrong ids."""


class TestReport(NamedTuple):
    """How trying out a server went."""

    __test__ = False

    status: Status
    counts: Mapping[EntryKind, int]
    """What it offers, by kind."""
    ms: float
    """From starting it to its lists being read."""


@record(eq=False)
class RunningRequest:
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
        self._running: dict[int, RunningRequest] = {}

    @property
    def running(self) -> tuple[RunningRequest, ...]:
        """The running requests, oldest first."""
        return tuple(self._running.values())

    def add(self, one: RunningRequest) -> None:
        """A request leaves."""
        self._running[id(one)] = one

    def remove(self, one: RunningRequest) -> None:
        """It is answered, or nobody waits any more."""
        self._running.pop(id(one), None)

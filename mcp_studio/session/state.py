"""What state a connection is in, as a frozen value."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from mcp_studio.catalog.listing import EntryKind
from mcp_studio.config.model import Kind, ServerConfig
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Outgoing, RequestId
from mcp_studio.protocol.versions import Hint
from mcp_studio.record import record
from mcp_studio.session.inbox import Inbox
from mcp_studio.session.rules import AnswerRules
from mcp_studio.session.signer import Clock
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.transport.base import Transport

if TYPE_CHECKING:
    from mcp_studio.session.connection import Connection

ConnectionState = Literal["disabled", "idle", "connecting", "ready", "retrying", "needs_auth", "failed", "stopping"]
"""`disabled`: not started by itself; `idle`: waiting for its turn; `retrying`: ended by itself and starts again."""


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

    def having(self, **changes: object) -> Status:
        """A copy with some fields changed."""
        return self._replace(**changes)


class TestReport(NamedTuple):
    """How trying out a server went."""

    __test__ = False

    status: Status
    counts: Mapping[EntryKind, int]
    """What it offers, by kind."""
    ms: float
    """From starting it to its lists being read."""


class Seat(Protocol):
    """The place of one server: its configuration, its tap, its live connection."""

    config: ServerConfig
    tap: ServerTap
    status: Status

    @property
    def connection(self) -> Connection | None:
        """The ready connection, or None."""
        ...

    def warn(self, text: str) -> None:
        """Note what the server does wrong; starts with a verb."""
        ...

    def dropped(self, out: Outgoing, error: StudioError) -> None:
        """A request got no answer on the transport's level, while the connection goes on."""
        ...


class Owner(Protocol):
    """What one server's supervisor needs from whoever runs them all."""

    limits: Limits
    inbox: Inbox
    can_ask: bool
    client_info: Json
    traced: bool
    """Requests say which trace they belong to."""
    rules: AnswerRules
    inflight: InFlight

    def transport(self, config: ServerConfig, tap: ServerTap, clock: Clock | None = None) -> Transport:
        """Make the transport of a server; the clock stands still while its credentials are fetched."""
        ...

    def tap(self, config: ServerConfig) -> ServerTap:
        """Make the tap of a server."""
        ...

    def learn(self, secret: str) -> None:
        """Have a secret taken out of everything that is recorded from now on."""
        ...

    def slots(self, config: ServerConfig) -> asyncio.Semaphore:
        """The bound on how many may be connecting at a time."""
        ...

    def era_of(self, config: ServerConfig) -> str:
        """The era that worked last time, or an empty string."""
        ...

    def on_ready(self, seat: Seat) -> None:
        """A connection is ready; `serve` begins shortly."""
        ...

    def on_discovered(self, seat: Seat) -> None:
        """A server speaks the modern era, but said so too late for this connection."""
        ...

    async def serve(self, seat: Seat) -> None:
        """Runs beside a ready connection: lists what the server offers, listens for changes."""
        ...

    def on_notification(self, seat: Seat, method: str, params: dict[str, Json]) -> None:
        """A notification came."""
        ...

    def on_status(self, name: str) -> None:
        """A status changed."""
        ...


Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
"""Starts a task that ends with whoever gives this."""


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

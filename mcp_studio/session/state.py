"""The state of a connection as a frozen value, and waiting for states."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Literal, NamedTuple, TypeVar

from mcp_studio.catalog.listing import EntryKind
from mcp_studio.config.model import Kind
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.protocol.versions import Hint
from mcp_studio.signal import Signal

T = TypeVar("T")
ConnectionState = Literal["disabled", "idle", "connecting", "ready", "retrying", "needs_auth", "failed", "stopping"]
"""`disabled`: does not start by itself; `idle`: waits for its turn; `retrying`: ended by itself and starts again."""
Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
"""Starts a task that ends with the object that provides the function."""


class ConnectPhase(NamedTuple):
    """A phase of connecting, for `doctor`."""

    name: str
    """`resolved`, `started`, `negotiated`, `listed`."""
    ms: float
    detail: str = ""


class Status(NamedTuple):
    """Everything that a front end shows of a connection."""

    server: str
    state: ConnectionState = "idle"
    error: StudioError | None = None
    """The reason of a failure or retry."""
    attempt: int = 0
    retry_at: float = 0.0
    """Monotonic time of the next attempt, while retrying."""
    spoken: Kind | Literal[""] = ""
    """The transport that the server turned out to speak; empty until that is known."""
    version: str = ""
    """The negotiated protocol version."""
    offered: str = ""
    """The version that we offered."""
    declared: Json = None
    """The client capabilities that we declared."""
    client_info: Json = None
    """The `Implementation` object that we sent."""
    modern: bool = False
    hint: Hint | None = None
    """How long the server calls its answer to `server/discover` fresh (2026-07-28)."""
    capabilities: Json = None
    """The server's capabilities."""
    server_info: Json = None
    instructions: str = ""
    pid: int = 0
    steps: tuple[ConnectPhase, ...] = ()
    warnings: tuple[str, ...] = ()
    """Sentences on faults of the server: prints to stdout, answers twice, wrong ids."""


class TestReport(NamedTuple):
    """The result of trying out a server."""

    __test__ = False

    status: Status
    counts: Mapping[EntryKind, int]
    """The number of offered entries by kind."""
    ms: float
    """Milliseconds from the start until the lists were read."""
    printed: tuple[str, ...]
    """The lines that the server printed on stdout besides the protocol."""


class Progress(NamedTuple):
    """The newest progress of a request."""

    done: float
    total: float | None
    message: str
    at: float
    """Monotonic time of arrival."""


async def at_most(seconds: float | None, waiting: Awaitable[Any]) -> None:
    """Wait for something, but at most some seconds; then cancel it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await waiting


async def until(true: Callable[[], T | None], *signals: Signal[Any]) -> T:
    """Wait until a condition is true, testing it again after every signal; returns its value."""
    news = asyncio.Event()
    ends = [signal.connect(lambda _: news.set()) for signal in signals]
    try:
        while not (found := true()):
            news.clear()
            await news.wait()
        return found
    finally:
        for end in ends:
            end()

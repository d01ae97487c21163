"""What state a connection is in, as a frozen value, and waiting for states."""

from __future__ import annotations

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
    printed: tuple[str, ...]
    """What it printed on stdout besides the protocol."""


class Progress(NamedTuple):
    """The newest progress of a request."""

    done: float
    total: float | None
    message: str
    at: float
    """Monotonic time when it came."""


async def at_most(seconds: float | None, waiting: Awaitable[Any]) -> None:
    """Wait for something, but not longer than that; what is still under way is cancelled."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await waiting


async def until(true: Callable[[], T | None], *signals: Signal[Any]) -> T:
    """Wait until something is true, which is looked at again with every signal; gives what it is."""
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

"""One request from sending to its answer: what it waits with, and how it can end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypeVar

from mcp_studio.errors import StudioError
from mcp_studio.protocol.events import Answered, Ready, Refused
from mcp_studio.protocol.outgoing import RequestId
from mcp_studio.record import record
from mcp_studio.session.deadline import Deadline
from mcp_studio.session.inflight import Running
from mcp_studio.transport.base import Opened

T = TypeVar("T")
OnProgress = Callable[[float, float | None, str], None]
"""Told progress, total and message of a request."""
Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
"""Starts a task that ends with whoever gives this."""


class Opening(NamedTuple):
    """A connection that is ready, and how long its phases took in milliseconds."""

    opened: Opened
    ready: Ready
    started_ms: float
    negotiated_ms: float


class DeadlinePassed(StudioError):
    """A request got no answer in time; `limit` says which limit, and how far it had got, in words."""

    def __init__(self, method: str, limit: str, standing: str = "") -> None:
        self.limit = "; ".join(filter(None, (limit, standing)))
        super().__init__(f"No answer to {method} within {self.limit}.")


class Reply(NamedTuple):
    """How a request was answered, and how large the frame was."""

    event: Answered | Refused
    size: int
    request_id: RequestId


@record()
class Waiter:
    """Who waits for one answer."""

    answer: asyncio.Future[Reply]
    deadline: Deadline
    on_progress: OnProgress | None
    shown: Running
    """As it stands among all running requests."""


async def wait(future: asyncio.Future[T], seconds: float) -> None:
    """Wait so long at most for a future, which stays as it is."""
    await asyncio.wait((future,), timeout=seconds)


def fail(future: asyncio.Future[T], error: StudioError) -> None:
    """Settle a future that perhaps nobody waits for any more: its error is never complained about by the loop."""
    if not future.done():
        future.set_exception(error)
        future.exception()

"""Calls whose connection ended under them, and how that ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable

from mcp_studio.call.call import Call, Lost
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.trace.postmortem import Mortem

_TOGETHER = 10.0
"""Seconds between the end of a call and that of its connection, at most."""


def mortem_of(call: Call, known: Iterable[Mortem]) -> Mortem | None:
    """The ending that a call was lost to; None where it was not lost, or nothing is known of one.

    Args:
        known: the endings of its server, the newest first.
    """
    outcome = call.outcome
    if not isinstance(outcome, Lost) or not outcome.sent:
        return None
    begun = time.time() - (time.monotonic() - call.started)
    for one in known:
        if begun - 1 <= one.time <= begun + outcome.ms / 1000 + _TOGETHER and any(
            flight.id == outcome.request_id and flight.method == call.method for flight in one.flights
        ):
            return one
    return None


async def learned(manager: ConnectionManager, call: Call, limit: float = 4.0) -> Mortem | None:
    """The same, waited for: a call ends before all is known of how its server did."""
    name = call.ref.server
    supervisor = manager.supervisor(name)
    changed = asyncio.Event()
    disconnect = manager.changed.connect(lambda _: changed.set())
    try:
        async with asyncio.timeout(limit):
            while (found := mortem_of(call, reversed(supervisor.mortems))) is None:
                if supervisor.connection is not None and not supervisor.connection.ended.done():
                    return None  # it goes on: only this one answer was of no use
                changed.clear()
                await changed.wait()
            return found
    except TimeoutError:
        return None
    finally:
        disconnect()

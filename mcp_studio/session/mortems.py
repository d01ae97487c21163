"""How the connections of one server ended, as it is kept while the studio runs."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from mcp_studio.errors import StudioError, Unreachable
from mcp_studio.protocol.events import Outgoing
from mcp_studio.trace.message import UNTIMED, Recording
from mcp_studio.trace.postmortem import ENDED_NOTE, Ending, Mortem, examine, of_failure, read

if TYPE_CHECKING:
    from mcp_studio.trace.server_tap import ServerTap

KEPT = 10
"""Endings of one server that are kept."""
_TOGETHER = 2.0
"""Seconds within which requests that drop are one ending."""
_MANY = 20
"""Dropped requests that are told in one ending."""
_RECENT = 2_000
"""Entries of the trace that are looked at for a dropped request."""
_FINAL = (2, 3)
"""Exit codes of errors that are no ending: configuration, sign-in."""


def ended(known: list[Mortem], tap: ServerTap, error: StudioError | None, *, first: int, ready: bool) -> bool:
    """A connection is over: keep what is known of that in `known`; True where that is something.

    Args:
        error: why; None where somebody wanted it, which is kept only if something was in flight.
        first: the number of its first entry in the trace.
        ready: it had been connected.
    """
    trace = cast("Recording", tap.store)
    if trace.total < first or (error is not None and error.exit_code in _FINAL):
        return False
    ending = _ending(tap, error)
    when = 0.0 if ending.gone else time.time()  # a process of ours has a note of its end, with its time
    found = examine(trace, tap.server, ending, first=first, ready=ready, message=_why(error), time=when)
    if (error is None and not found.flights) or not (found.frames or found.stderr or found.began):
        return False
    if error is not None and not found.ending.gone and ready:
        tap.note(f"{tap.server} {ENDED_NOTE}{error.message}")
    _keep(known, found)
    return True


def dropped(known: list[Mortem], tap: ServerTap, out: Outgoing, error: StudioError, *, first: int) -> bool:
    """A request over HTTP got no answer, though the connection goes on; True where that is an ending."""
    status = int(getattr(error, "status", 0))
    if out.method in UNTIMED or not (isinstance(error, Unreachable) or status >= 500):
        return False
    now, before = time.time(), known[-1] if known else None
    together = before is not None and not before.ending.gone and now - before.time < _TOGETHER
    if together and before is not None and len(before.flights) >= _MANY:
        return False
    trace = cast("Recording", tap.store)
    why = of_failure(error)
    found = examine(trace, tap.server, why, first=first, message=error.message, time=now, reach=_RECENT)
    mine = tuple(flight for flight in found.flights if flight.id == out.id)[-1:]
    if together and before is not None:
        known.pop()
        mine = (*before.flights, *mine)
    _keep(known, replace(found, flights=mine))
    return True


def _keep(known: list[Mortem], found: Mortem) -> None:
    known.append(found)
    del known[:-KEPT]


def _ending(tap: ServerTap, error: StudioError | None) -> Ending:
    if error is None:
        return Ending("closed")
    return read(tap.server, error.message) or of_failure(error)


def _why(error: StudioError | None) -> str:
    return "" if error is None else error.message

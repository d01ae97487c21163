"""A gate as small files, so that a studio sees what a tap in another process holds, and decides about it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.paths import read_object, write_object
from mcp_studio.tap.gate import ACTIONS, Decision, Gate, Waiting

_POLL = 0.15
"""Seconds between two looks for an order."""
_OLD = 86_400.0
"""Seconds after which files go that a killed process has left."""


async def serve(gate: Gate, folder: Path, session: Callable[[], str]) -> None:
    """Write what is held, and take orders, until it is cancelled.

    Args:
        session: the name of the session that is recorded; empty as long as it has none.
    """
    name, shown = "", dict[str, Json]()
    try:
        while True:
            name = name or session()
            held: Json = [list(one) for one in gate.waiting]
            state: dict[str, Json] = {"breakpoints": [*gate.breakpoints], "held": held}
            with suppress(OSError):  # a disk that refuses leaves it to the timeout
                if name and state != shown:
                    write_object(folder / f"{name}.json", state)
                    shown = state
                for order in _orders(folder, name) if name else ():
                    _obey(gate, order)
            await asyncio.sleep(_POLL)
    finally:
        with suppress(OSError):
            (folder / f"{name}.json").unlink()


def _orders(folder: Path, session: str) -> list[dict[str, Json]]:
    """The orders to a process, the oldest first; and what killed processes have left goes."""
    found: list[dict[str, Json]] = []
    for file in sorted(folder.iterdir()):
        if file.name.startswith(f"{session}.") and file.suffix == ".order":
            found.append(read_object(file))
            file.unlink()
        elif time.time() - file.stat().st_mtime > _OLD:
            file.unlink()
    return found


def _obey(gate: Gate, order: dict[str, Json]) -> None:
    number, delay = order.get("number"), order.get("delay")
    action = order.get("action")
    if "breakpoints" in order:
        with suppress(UsageError):
            gate.set(map(str, items_of(order["breakpoints"])))
    elif isinstance(number, int) and action in ACTIONS and isinstance(delay, (int, float)):
        gate.decide(number, Decision(action, str(order.get("frame") or "").encode(), delay))


class RemoteGate:
    """That of another process, by the session that it records."""

    def __init__(self, folder: Path, session: str) -> None:
        self._folder, self._session = folder, session

    @property
    def breakpoints(self) -> tuple[str, ...]:
        """See `Gate.breakpoints`."""
        return tuple(map(str, items_of(self._state().get("breakpoints"))))

    @property
    def waiting(self) -> list[Waiting]:
        """See `Gate.waiting`."""
        rows = [items_of(row) for row in items_of(self._state().get("held"))]
        found = [Waiting(*row) for row in rows if len(row) == len(Waiting._fields)]
        return [one for one in found if one.until > time.time()]  # its process may have been killed

    def set(self, breakpoints: Iterable[str]) -> None:
        """See `Gate.set`; it is done soon."""
        self._order({"breakpoints": [*breakpoints]})

    def decide(self, number: int, decision: Decision) -> bool:
        """See `Gate.decide`; it is done soon."""
        text = decision.frame.decode("utf-8", "replace")
        self._order({"number": number, "action": decision.action, "frame": text, "delay": decision.delay})
        return True

    def _state(self) -> dict[str, Json]:
        return mapping(read_object(self._folder / f"{self._session}.json"))

    def _order(self, order: dict[str, Json]) -> None:
        name = f"{self._session}.{time.time_ns():020}-{os.getpid()}.order"
        write_object(self._folder / name, order)

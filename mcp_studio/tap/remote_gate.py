"""Remote control of a gate through small files: a studio sees and decides what a tap in another process holds."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import cast

from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, items_of
from mcp_studio.paths import read_object, write_object
from mcp_studio.tap.gate import Action, Decision, Gate, HeldMessage

_POLL = 0.15
"""Seconds between two checks for orders."""
_OLD = 86_400.0
"""Seconds after which files of killed processes are deleted."""


async def serve(gate: Gate, folder: Path, session: Callable[[], str]) -> None:
    """Publish the held messages and take orders, until cancelled.

    Args:
        session: returns the name of the session that is recorded; empty until it has one.
    """
    name, last = "", dict[str, Json]()
    try:
        while True:
            await asyncio.sleep(_POLL)
            if not (name := name or session()):
                continue
            state: dict[str, Json] = {"breakpoints": [*gate.breakpoints], "held": [list(one) for one in gate.waiting]}
            with suppress(OSError):  # if the disk refuses, held messages go on at their timeout
                if state != last:
                    write_object(folder / f"{name}.json", state)
                    last = state
                _take_orders(gate, folder, name)
    finally:
        with suppress(OSError):
            (folder / f"{name}.json").unlink()


def _take_orders(gate: Gate, folder: Path, session: str) -> None:
    """Take the orders for a session, oldest first, and delete old files of killed processes."""
    for file in sorted(folder.iterdir()):
        if not file.name.startswith(f"{session}.") or file.suffix != ".order":
            if time.time() - file.stat().st_mtime > _OLD:
                file.unlink()
            continue
        order = read_object(file)
        file.unlink()
        match order:
            case {"breakpoints": breakpoints}:
                with suppress(UsageError):
                    gate.set(map(str, items_of(breakpoints)))
            case {"number": int(number), "action": str(action), "frame": str(frame), "delay": float() | int() as delay}:
                gate.decide(number, Decision(cast("Action", action), frame.encode(), delay))
            case _:
                pass


class RemoteGate:
    """The gate of another process, found by the session that it records."""

    def __init__(self, folder: Path, session: str) -> None:
        self._folder, self._session = folder, session

    @property
    def breakpoints(self) -> tuple[str, ...]:
        """See `Gate.breakpoints`."""
        return tuple(map(str, self._rows("breakpoints")))

    @property
    def waiting(self) -> list[HeldMessage]:
        """See `Gate.waiting`."""
        rows = [HeldMessage(*items_of(row)) for row in self._rows("held")]
        return [one for one in rows if one.until > time.time()]  # a killed process leaves its file

    def set(self, breakpoints: Iterable[str]) -> None:
        """See `Gate.set`; the other process obeys soon."""
        self._order({"breakpoints": [*breakpoints]})

    def decide(self, number: int, decision: Decision) -> bool:
        """See `Gate.decide`; the other process obeys soon."""
        text = decision.frame.decode("utf-8", "replace")
        self._order({"number": number, "action": decision.action, "frame": text, "delay": decision.delay})
        return True

    def _rows(self, key: str) -> list[Json]:
        return items_of(read_object(self._folder / f"{self._session}.json").get(key))

    def _order(self, order: dict[str, Json]) -> None:
        write_object(self._folder / f"{self._session}.{time.time_ns():020}-{os.getpid()}.order", order)

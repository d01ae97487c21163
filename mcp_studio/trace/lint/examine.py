"""Checking messages typed, in a thread, when somebody looks at them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from mcp_studio.trace import late
from mcp_studio.trace.lint.catalogue import found
from mcp_studio.trace.lint.finding import Finding, Spot
from mcp_studio.trace.lint.ledger import Ledger
from mcp_studio.trace.lint.notes import attach
from mcp_studio.trace.message import WireMessage

SIZE = 256 * 1024
"""Bytes of a message that is checked; larger ones would take too long."""
_REMEMBERED = 10_000
_LOOKED_AT = 4_000
_OF_A_KIND = 2
_TOGETHER = 100
_PRECISE = 3


class Examiner:
    """Adds what typed checks find to messages and ledgers.

    Args:
        ledger: the ledger of a server.
        changed: told of each message that something was added to.
    """

    def __init__(self, ledger: Callable[[str], Ledger], changed: Callable[[WireMessage], None]) -> None:
        self._ledger = ledger
        self._changed = changed
        self._done: dict[int, None] = {}
        self._turn = asyncio.Lock()

    async def look(self, entries: Iterable[WireMessage]) -> None:
        """Check these messages, unless that was done before; what is found is on them afterwards."""
        async with self._turn:
            wanted = [entry for entry in entries if self._wanted(entry)][:_TOGETHER]
            if not wanted:
                return
            jobs = [(entry, self._ledger(entry.server).version_at(entry.number)) for entry in wanted]
            for entry in wanted:
                self._done[entry.number] = None
            while len(self._done) > _REMEMBERED:
                del self._done[next(iter(self._done))]
            for entry, spots in zip(wanted, await asyncio.to_thread(late.check_typed, jobs), strict=True):
                self._add(entry, spots)

    def _wanted(self, entry: WireMessage) -> bool:
        kinds = ("request", "notification", "result")
        if entry.kind not in kinds or entry.size > SIZE or entry.number in self._done:
            return False
        return len(entry.body) > 0

    def _add(self, entry: WireMessage, spots: Sequence[Spot]) -> None:
        ledger = self._ledger(entry.server)
        modern = ledger.version_at(entry.number) >= "2026"
        new = [found(spot, entry.number, modern) for spot in spots if not _said(spot.pointer, entry.findings)]
        if attach(entry, ledger, new):
            self._changed(entry)


def typical(newest_first: Iterable[WireMessage], server: str) -> list[WireMessage]:
    """The newest messages of a server, some of each kind: what is worth checking to judge it."""
    chosen: list[WireMessage] = []
    counts: dict[tuple[str, str, str, str], int] = {}
    for seen, entry in enumerate(newest_first):
        if seen >= _LOOKED_AT or len(chosen) >= _TOGETHER:
            break
        if entry.server != server:
            continue
        key = (entry.direction, entry.kind, entry.method, entry.target)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= _OF_A_KIND:
            chosen.append(entry)
    return chosen


def _said(pointer: str, findings: Sequence[Finding]) -> bool:
    """Whether a rule has said something about this place, about what it is a part of, or about a part of it."""
    return any(finding.pointer == pointer or _within(finding.pointer, pointer) for finding in findings)


def _within(one: str, other: str) -> bool:
    """Whether one of two places is inside the other, which is no mere top level of a message."""
    outer, inner = sorted((one, other), key=len)
    return inner.startswith(f"{outer}/") and outer.count("/") >= _PRECISE

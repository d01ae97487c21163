"""Recordings made by hand: columns alone, for what asks nothing else of one."""

from __future__ import annotations

from typing import Any, cast

from mcp_studio.trace.message import DIRECTIONS, KINDS, OUTCOMES, Columns, Recording


class Made:
    """Columns that are filled one entry at a time; each call gives the number of its entry."""

    def __init__(self) -> None:
        self.columns = Columns()

    @property
    def recording(self) -> Recording:
        """It, for those who want a whole recording."""
        return cast("Recording", self)

    def add(self, kind: str, direction: str, method: str = "", target: str = "", **known: Any) -> int:
        """An entry; known are `server`, `exchange`, `under`, `follows`, `time`, `flags`, `size`."""
        columns = self.columns
        number = columns.first + len(columns)
        columns.time.append(known.get("time", 1_000.0 + number / 1000))
        columns.size.append(known.get("size", 10))
        columns.server.append(columns.servers[known.get("server", "files")])
        columns.method.append(columns.methods[method])
        columns.target.append(columns.targets[target])
        columns.kind.append(KINDS.index(kind) | DIRECTIONS.index(direction) << 4)
        columns.flags.append(known.get("flags", 0))
        columns.outcome.append(1 if kind == "request" else 0)
        columns.link.append(0)
        columns.exchange.append(known.get("exchange", 0))
        if "under" in known:
            columns.parents[number] = known["under"]
        if "follows" in known:
            columns.follows[number] = known["follows"]
        return number

    def request(self, method: str, target: str = "", *, direction: str = "out", **known: Any) -> int:
        """A request of ours, or of the server."""
        return self.add("request", direction, method, target, **known)

    def answer(self, request: int, kind: str = "result", outcome: str = "ok", **known: Any) -> int:
        """What answers a request."""
        columns, row = self.columns, request - self.columns.first
        direction = "in" if columns.direction_of(row) == "out" else "out"
        method, target = columns.methods.texts[columns.method[row]], columns.targets.texts[columns.target[row]]
        number = self.add(kind, direction, method, target, exchange=columns.exchange[row], **known)
        columns.link[row], columns.link[number - columns.first] = number, request
        columns.outcome[row] = columns.outcome[number - columns.first] = OUTCOMES.index(outcome) + 1
        return number

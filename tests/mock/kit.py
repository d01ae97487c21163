"""Recordings of conversations that are written down as messages, and peers that play them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp_studio.protocol.message import parse
from mcp_studio.servers.mock.server import Peer
from mcp_studio.servers.mock.tape import Greeting, Tape
from mcp_studio.trace.export.bundle import made_of
from mcp_studio.trace.export.item import Item
from mcp_studio.trace.message import Columns, Direction

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
Said = tuple[Direction, dict[str, Any]]


def ask(identity: int, method: str, /, **params: Any) -> Said:
    """A request of ours."""
    return "out", {"id": identity, "method": method, "params": params}


def answer(identity: int | str, result: Any, direction: Direction = "in") -> Said:
    """A result."""
    return direction, {"id": identity, "result": result}


def tell(method: str, /, **params: Any) -> Said:
    """A notification of the server."""
    return "in", {"method": method, "params": params}


def recorded(*said: Said, step: float = 1.0) -> tuple[Columns, dict[int, bytes]]:
    """Columns and bodies; messages are `step` seconds apart, links are found by ids."""
    items, bodies = list[Item](), dict[int, bytes]()
    asked: dict[tuple[str, Any], int] = {}
    methods: dict[int, tuple[str, str]] = {}
    answers: dict[int, int] = {}
    for number, (direction, message) in enumerate(said, 1):
        if "method" not in message:
            answers[asked["in" if direction == "out" else "out", message["id"]]] = number
        elif "id" in message:
            asked[direction, message["id"]] = number
    for number, (direction, message) in enumerate(said, 1):
        kind = "notification" if "id" not in message else "request" if "method" in message else "result"
        kind = "error" if "error" in message else kind
        link = answers.get(number, 0) or next((one for one, other in answers.items() if other == number), 0)
        params = message.get("params", {})
        target = str(params.get("name") or params.get("uri") or params.get("taskId") or "")
        methods[number] = message.get("method", ""), target
        method, target = methods[number] if "method" in message else methods[link]
        bodies[number] = json.dumps({"jsonrpc": "2.0", **message}).encode()
        under = max((one for one in answers if one < number < answers[one]), default=0)
        items.append(
            Item(
                number,
                server="s",
                kind=kind,
                direction=direction,
                body=bodies[number],
                size=len(bodies[number]),
                time=1_000 + number * step,
                method=method,
                target=target,
                link=link,
                outcome="ok" if link else "",
                under=under if direction == "in" and kind == "request" else 0,
            )
        )  # type: ignore[arg-type]
    return made_of(items).columns, bodies


def tape(*said: Said, step: float = 1.0) -> Tape:
    """The tape of the server that said it."""
    columns, bodies = recorded(*said, step=step)
    return Tape(columns, lambda number: bodies[number], "s")


class Client:
    """A client of a peer, without any transport."""

    def __init__(self, played: Tape, delay: float | None = 0.0) -> None:
        self.notes: list[str] = []
        self.came: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.peer = Peer(played, Greeting(played, "s"), delay, self.notes.append)
        self.peer.aside = self._put

    async def _put(self, message: dict[str, Any]) -> None:
        self.came.put_nowait(message)

    def send(self, message: dict[str, Any]) -> asyncio.Task[None] | None:
        """Send a message."""
        (one,) = parse(json.dumps({"jsonrpc": "2.0", **message}).encode()).messages
        return self.peer.take(one, self._put)

    async def next(self) -> dict[str, Any]:
        """The next message that comes."""
        async with asyncio.timeout(60):
            return await self.came.get()

    async def ask(self, method: str, /, identity: Any = 900, **params: Any) -> dict[str, Any]:
        """Send a request and wait for what comes next."""
        self.send({"id": identity, "method": method, "params": params})
        return await self.next()

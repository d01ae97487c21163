"""Raw JSON lines with a demo server process: what no client hides."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from tests.support import ROOT
from tests.support_servers import demo_stdio

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}


class Wire:
    """One process and its frames."""

    def __init__(self, process: Process, modern: bool) -> None:
        self.process = process
        self.modern = modern
        self.seen: list[dict[str, Any]] = []
        """Every frame that came, in order."""
        self._number = 0

    async def send(self, frame: dict[str, Any]) -> None:
        """Write one frame."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")
        await self.process.stdin.drain()

    async def request(self, method: str, **params: Any) -> int:
        """Send a request, with the envelope of its era, and return its id."""
        self._number += 1
        if self.modern:
            params["_meta"] = {**ENVELOPE, **params.get("_meta", {})}
        await self.send({"id": self._number, "method": method, "params": params})
        return self._number

    async def until(self, **wanted: Any) -> dict[str, Any]:
        """Read frames up to the first whose members are as wanted."""
        assert self.process.stdout is not None
        while True:
            line = await self.process.stdout.readline()
            assert line, f"the server left; it had said {self.seen}"
            frame = json.loads(line)
            self.seen.append(frame)
            if all(frame.get(name) == value for name, value in wanted.items()):
                return frame

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its whole response."""
        return await self.until(id=await self.request(method, **params))

    async def stderr_until(self, words: str) -> str:
        """Read stderr up to the first line with these words."""
        assert self.process.stderr is not None
        while True:
            line = (await self.process.stderr.readline()).decode()
            assert line, f"stderr ended without {words!r}"
            if words in line:
                return line


@asynccontextmanager
async def opened(modern: bool) -> AsyncGenerator[Wire]:
    """A demo server process, past its handshake; it is gone afterwards."""
    process = await create_subprocess_exec(*demo_stdio(), stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=ROOT, limit=2**24)
    wire = Wire(process, modern)
    try:
        if not modern:
            info = {"name": "test", "version": "1"}
            await wire.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
            await wire.send({"method": "notifications/initialized"})
        yield wire
    finally:
        if process.returncode is None:
            process.kill()
        assert process.stdin is not None
        process.stdin.close()
        await asyncio.wait_for(process.wait(), 20)

"""Helpers of the tests of the HTTP transport: a recording tap and sink, messages, and servers as child processes."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import StudioError
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.message import Parsed, parse
from mcp_studio.transport.base import HttpRequest, HttpResponse, Tap, Transport
from mcp_studio.transport.http import HttpTransport
from tests.support import python_server, wait_until

MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}


@dataclass
class Recorder:
    """A tap that records."""

    out: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    came: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    requests: list[HttpRequest] = field(default_factory=list[HttpRequest])
    responses: list[HttpResponse] = field(default_factory=list[HttpResponse])
    notes: list[str] = field(default_factory=list[str])

    def sent(self, frame: bytes, exchange: int = 0) -> None:
        self.out.append((exchange, frame))

    def received(self, frame: bytes, exchange: int = 0) -> None:
        self.came.append((exchange, frame))

    def stray(self, line: bytes) -> None:
        raise AssertionError("HTTP has no stray lines")

    def stderr(self, line: bytes) -> None:
        raise AssertionError("HTTP has no standard error")

    def http_request(self, request: HttpRequest) -> None:
        self.requests.append(request)

    def http_response(self, response: HttpResponse) -> None:
        self.responses.append(response)

    def note(self, text: str, method: str = "", target: str = "") -> None:
        self.notes.append(text)


@dataclass
class Box:
    """A sink that records."""

    frames: list[bytes] = field(default_factory=list[bytes])
    failures: list[tuple[Outgoing, StudioError]] = field(default_factory=list[tuple[Outgoing, StudioError]])
    ends: list[StudioError | None] = field(default_factory=list[StudioError | None])

    def frame(self, data: bytes) -> Parsed:
        self.frames.append(data)
        return parse(data)

    def undelivered(self, out: Outgoing, error: StudioError) -> None:
        self.failures.append((out, error))

    def closed(self, error: StudioError | None) -> None:
        self.ends.append(error)

    def messages(self) -> list[Any]:
        """All frames that are JSON."""
        found: list[Any] = []
        for frame in self.frames:
            with suppress(ValueError):
                found.append(json.loads(frame))
        return found

    def answer(self, request_id: int | str) -> Any:
        """The response to a request, or None."""
        for message in self.messages():
            if isinstance(message, dict) and message.get("id") == request_id and "method" not in message:
                return message
        return None


def request(request_id: int | str, method: str = "tools/list", params: Any = None, **about: Any) -> Outgoing:
    """A request of the handshake era."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}
    if params is not None:
        message["params"] = params
    return Outgoing(json.dumps(message).encode(), "request", request_id, method, **about)


def modern(request_id: int | str, method: str, params: Any = None, target: str = "", **about: Any) -> Outgoing:
    """A request of the stateless era."""
    about = {"version": MODERN, "modern": True, "target": target, **about}
    return request(request_id, method, {**(params or {}), "_meta": META}, **about)


def notification(method: str, **about: Any) -> Outgoing:
    """A notification."""
    return Outgoing(json.dumps({"jsonrpc": "2.0", "method": method}).encode(), "notification", None, method, **about)


@dataclass
class Line:
    """An open transport, with its recorded frames and messages."""

    transport: Any
    """`HttpTransport`, or another with the same methods."""
    box: Box
    tap: Recorder

    async def ask(self, out: Outgoing, timeout: float = 60) -> Any:
        """Send a request and wait for its answer, or for the error with which it ended."""
        assert out.id is not None
        before = len(self.box.failures)
        await self.transport.send(out)
        await wait_until(
            lambda: self.box.answer(out.id or 0) or len(self.box.failures) > before, timeout, f"an end of {out.method}"
        )
        return self.box.answer(out.id) or self.box.failures[-1][1]

    async def shake_hands(self, version: str = "2025-11-25") -> Any:
        """Do the handshake."""
        answer = await self.ask(request("init", "initialize", {**INITIALIZE, "protocolVersion": version}))
        assert isinstance(answer, dict), answer
        self.transport.negotiated(version)
        await self.transport.send(notification("notifications/initialized"))
        return answer


@asynccontextmanager
async def opened(
    url: str,
    limits: Limits | None = None,
    kind: Callable[[ServerConfig, Limits, Tap], Transport] = HttpTransport,
    **about: Any,
) -> AsyncGenerator[Line, None]:
    """Open a transport to a URL, close it afterwards, and check that no task of it is left."""
    before = asyncio.all_tasks()
    config = replace(ServerConfig("peer", url=url), **about)
    line = Line(kind(config, limits or Limits(), tap := Recorder()), Box(), tap)
    try:
        await line.transport.open(line.box)
        yield line
    finally:
        await line.transport.close()
    mine = [task for task in asyncio.all_tasks() - before if "mcp_studio" in str(task.get_coro())]
    assert not mine, mine


@contextmanager
def child(*words: str, port: int = 0) -> Generator[tuple[subprocess.Popen[str], int], None, None]:
    """Run http_sdk.py as a process; yields it and its port."""
    argv = python_server("http_sdk", f"port={port}", *words)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, int(process.stdout.readline())
        finally:
            process.kill()

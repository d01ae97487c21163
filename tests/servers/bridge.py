"""Bridges a stdio server to HTTP+SSE or a WebSocket: its lines become events or frames, unchanged."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.http_sse import SseServer
from tests.servers.ws_raw import CLOSE, TEXT, Socket, WsServer, frame

LINE = 64 << 20


@asynccontextmanager
async def bridged(argv: list[str], kind: str) -> AsyncGenerator[str, None]:
    """The URL of a program's bridge; each connection starts the program again."""
    handler = _Events(argv) if kind == "sse" else WsServer(begin=_Frames(argv))
    async with RawServer(handler) as raw:
        yield raw.url if kind == "sse" else raw.url.replace("http", "ws", 1)


class _Child:
    """A child process. Ending it never waits, because the event loop may already be closing."""

    def __init__(self, argv: list[str]) -> None:
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    async def run(self, say: Callable[[bytes], Awaitable[None]], hang_up: Callable[[], Any]) -> None:
        """Pass the program's lines on until it ends, and hang up then, also if this is cancelled."""
        reader = asyncio.StreamReader(LINE)
        loop = asyncio.get_running_loop()
        pipe, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), self._process.stdout)
        try:
            while line := await reader.readline():
                await say(line.rstrip(b"\r\n"))
        finally:
            hang_up()
            pipe.close()

    def end(self) -> None:
        """Kill the program."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def write(self, data: bytes) -> None:
        """Write a line to its input."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(data + b"\n")


class _Events(SseServer):
    def __init__(self, argv: list[str]) -> None:
        super().__init__(on_get=self._begin)
        self._argv = argv

    async def __call__(self, got: Request, reply: Reply) -> None:
        """Answer one HTTP request."""
        if got.method == "GET":
            await self.get(reply)
        else:
            self._child.write(got.body)
            await reply.accepted()

    async def _begin(self, reply: Reply) -> None:
        self._child = _Child(self._argv)
        await reply.stream()

        async def say(line: bytes) -> None:
            await reply.raw(b"event: message\ndata: " + line + b"\n\n")

        running = asyncio.create_task(self._child.run(say, reply.close))
        try:
            await reply.raw(b"event: endpoint\ndata: /message\n\n")
            await reply.reader.read()
        finally:
            running.cancel()
            self._child.end()


class _Frames:
    def __init__(self, argv: list[str]) -> None:
        self._argv = argv

    async def __call__(self, socket: Socket) -> None:
        """Serve one connection to its end."""
        child = _Child(self._argv)
        task = asyncio.create_task(child.run(lambda line: socket.raw(frame(line)), socket.close))
        try:
            while True:
                opcode, payload = await socket.receive()
                if opcode == TEXT:
                    child.write(payload)
                elif opcode == CLOSE:
                    await socket.raw(frame(payload[:2], CLOSE))
                    raise ConnectionError
        finally:
            task.cancel()
            child.end()

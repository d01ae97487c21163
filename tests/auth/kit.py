"""A small HTTP server on loopback that answers as a test says, and a tap that remembers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from mcp_studio.config.model import Auth, ServerConfig
from mcp_studio.transport.base import HttpRequest, HttpResponse

HeaderList = list[tuple[str, str]]


class Ask(NamedTuple):
    """A request as the server got it."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return urlsplit(self.target).path

    @property
    def form(self) -> dict[str, str]:
        """The body as a form."""
        return {name: values[0] for name, values in parse_qs(self.body.decode()).items()}

    @property
    def query(self) -> dict[str, str]:
        """The query."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.target).query).items()}


Reply = tuple[int, HeaderList, bytes]
Answer = Callable[[Ask], "Reply | bytes | Awaitable[Reply | bytes]"]


class Web:
    """`async with Web(answer) as web`: `web.url`, and in `web.asked` all that was asked."""

    def __init__(self, answer: Answer, raw: Callable[[asyncio.StreamWriter], Awaitable[None]] | None = None) -> None:
        self.answer = answer
        self._raw = raw
        self.asked: list[Ask] = []
        self.url = ""
        self.connections = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Web:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._one(reader, writer):
                pass
        writer.transport.abort() if writer.transport.is_closing() else writer.close()
        with suppress(ConnectionError, asyncio.CancelledError):
            await writer.wait_closed()
        self._tasks.discard(task)

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        ask = Ask(method, target, headers, body)
        self.asked.append(ask)
        if self._raw is not None:
            await self._raw(writer)
            return False
        answer = self.answer(ask)
        reply = await answer if isinstance(answer, Awaitable) else answer
        if isinstance(reply, bytes):
            writer.write(reply)
            await writer.drain()
            return False
        status, lines, content = reply
        if not any(name.lower() == "content-length" for name, _ in lines):
            lines = [*lines, ("Content-Length", str(len(content)))]
        text = "".join(f"{name}: {value}\r\n" for name, value in lines)
        writer.write(f"HTTP/1.1 {status} X\r\n{text}\r\n".encode("latin-1") + content)
        await writer.drain()
        return True


class FakeTap:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.requests: list[HttpRequest] = []
        self.responses: list[HttpResponse] = []
        self.notes: list[str] = []

    def sent(self, frame: bytes, exchange: int = 0) -> None:
        """Not used by signing in."""

    def received(self, frame: bytes, exchange: int = 0) -> None:
        """Not used by signing in."""

    def stray(self, line: bytes) -> None:
        """Not used by signing in."""

    def stderr(self, line: bytes) -> None:
        """Not used by signing in."""

    def http_request(self, request: HttpRequest) -> None:
        """Remembers it."""
        self.requests.append(request)

    def http_response(self, response: HttpResponse) -> None:
        """Remembers it."""
        self.responses.append(response)

    def note(self, text: str, method: str = "", target: str = "") -> None:
        """Remembers it."""
        self.notes.append(text)


def config(url: str, **auth: object) -> ServerConfig:
    """A server with the name `one`."""
    return ServerConfig("one", url=url, auth=Auth(**auth))  # type: ignore[arg-type]

"""Signing in for tests: a browser that goes where it is sent, and a studio whose servers are signed in to."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mcp_studio.auth.signin import SignIn
from mcp_studio.config.model import Config, ServerConfig, Settings
from mcp_studio.paths import Paths
from mcp_studio.session.state import Status
from mcp_studio.studio import Studio

MEMORY = Settings(secrets="memory")


async def get(url: str) -> tuple[int, dict[str, str], bytes]:
    """One request, nothing followed."""
    at = urlsplit(url)
    tls = ssl._create_unverified_context() if at.scheme == "https" else None
    reader, writer = await asyncio.open_connection(at.hostname, at.port or 80, limit=1 << 20, ssl=tls)
    try:
        target = f"{at.path or '/'}?{at.query}" if at.query else at.path or "/"
        writer.write(f"GET {target} HTTP/1.1\r\nHost: {at.netloc}\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
        headers = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in lines}
        body = await reader.readexactly(int(headers["content-length"])) if "content-length" in headers else b""
        return int(first.split()[1]), headers, body
    finally:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


def listened_at() -> set[int]:
    """The TCP ports at which this process listens (on Linux; nothing is known elsewhere)."""
    if not Path("/proc/net/tcp").exists():
        return set()
    mine: set[str] = set()
    for fd in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            mine.add(os.readlink(fd).removeprefix("socket:[").removesuffix("]"))
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A" and row[9] in mine}


class Visitor:
    """A browser: remembers what it opened, and follows redirects, if they lead to this machine."""

    def __init__(self, *, follows: bool = True, change: Callable[[str], str] | None = None) -> None:
        self.opened: list[str] = []
        self.ended_at: list[tuple[str, int, bytes]] = []
        """Where it came to rest, with status and page."""
        self._follows = follows
        self._change = change
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, url: str) -> bool:
        self.opened.append(url)
        if self._follows:
            self._tasks.add(task := asyncio.create_task(self._go(url)))
            task.add_done_callback(self._tasks.discard)
        return True

    async def _go(self, url: str) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            for _ in range(5):
                status, headers, body = await get(url)
                if "location" not in headers:
                    break
                url = self._change(headers["location"]) if self._change else headers["location"]
            self.ended_at.append((url, status, body))


async def until(sign_in: SignIn, *states: str, timeout: float = 60) -> SignIn:
    """Wait until a sign-in is in one of these states, or over."""
    changed = asyncio.Event()
    disconnect = sign_in.changed.connect(lambda _: changed.set())
    try:
        async with asyncio.timeout(timeout):
            while not sign_in.over and sign_in.state not in states:
                changed.clear()
                await changed.wait()
    finally:
        disconnect()
    return sign_in


@asynccontextmanager
async def signing(
    *servers: ServerConfig,
    settings: Settings = MEMORY,
    visitor: Visitor | None = None,
    can_ask: bool = True,
    **limits: Any,
) -> AsyncGenerator[tuple[Studio, Visitor], None]:
    """A studio with these servers, all settled, and its browser."""
    settings = replace(settings, limits=replace(settings.limits, **limits))
    browser = visitor or Visitor()
    config = Config(settings, {server.name: server for server in servers})
    async with Studio.open(config, Paths.default(), can_ask=can_ask) as studio:
        studio.sign_ins.accounts.browser = browser
        for server in servers:
            await studio.manager.settle(server.name)
        yield studio, browser


async def signed_in(studio: Studio, name: str = "s") -> SignIn:
    """Sign in, and wait until the server is connected and listed."""
    sign_in = await until(studio.sign_ins.sign_in(name))
    assert sign_in.state == "done", sign_in.error and (sign_in.error.message, sign_in.error.hint)
    status = await connected(studio, name)
    assert status.state == "ready", status
    await studio.manager.listed(name)
    return sign_in


async def connected(studio: Studio, name: str = "s") -> Status:
    """The server's status once it has been connected anew: the studio hears in the same moment that it may be."""
    changed = asyncio.Event()
    disconnect = studio.manager.changed.connect(lambda _: changed.set())
    try:
        async with asyncio.timeout(20):
            while studio.manager.status(name).state == "needs_auth":
                await changed.wait()
                changed.clear()
    finally:
        disconnect()
    return await studio.manager.settle(name)

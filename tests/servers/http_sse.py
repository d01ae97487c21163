"""A small server of HTTP+SSE (2024-11-05); tests decide what it does wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from tests.servers.http_raw import Reply, Request

Answerer = Callable[["SseServer", Request, Reply], Awaitable[None]]
OFFER = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "sse", "version": "1"}}


class SseServer:
    """A handler for `RawServer`: GET opens the stream, POST to `/message` is answered there.

    Args:
        endpoint: the data of the `endpoint` event; None for no such event.
        call: handles each POST after the handshake; None answers each request with an empty result.
        on_get: replaces the whole stream.
    """

    def __init__(
        self,
        endpoint: str | None = "/message?session=1",
        call: Answerer | None = None,
        on_get: Callable[[Reply], Awaitable[None]] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.call = call
        self.on_get = on_get
        self.streams: list[Reply] = []
        self.ended = asyncio.Event()

    @property
    def stream(self) -> Reply:
        """The newest stream."""
        return self.streams[-1]

    async def __call__(self, got: Request, reply: Reply) -> None:
        """Answer one HTTP request."""
        if got.method == "GET":
            await self.get(reply)
        elif not got.path.startswith("/message"):
            await reply.body("405 Method Not Allowed", b"Method Not Allowed", kind="text/plain")
        elif self.call is not None and _method(got) not in ("initialize", "notifications/initialized"):
            await self.call(self, got, reply)
        else:
            await self.answer(got, reply)

    async def get(self, reply: Reply) -> None:
        """The stream, until the client leaves."""
        if self.on_get is not None:
            await self.on_get(reply)
            return
        self.streams.append(reply)
        await reply.stream()
        await reply.raw(b": keep-alive\n\n")
        if self.endpoint is not None:
            await reply.raw(f"event: endpoint\ndata: {self.endpoint}\n\n".encode())
        try:
            await reply.closed_by_peer()
        finally:
            self.ended.set()

    async def answer(self, got: Request, reply: Reply, **result: Any) -> None:
        """Answer 202, and send the result on the stream."""
        await reply.body("202 Accepted", b"Accepted", kind="text/plain")
        message = got.json
        if "id" in message and "method" in message:
            method = message["method"]
            known = OFFER if method == "initialize" else {"tools": []} if method == "tools/list" else {}
            await self.say({"jsonrpc": "2.0", "id": message["id"], "result": {**known, **result}})

    async def say(self, message: Any) -> None:
        """Send an event `message` on the newest stream."""
        await self.stream.event(message, "event: message")


def _method(got: Request) -> str:
    try:
        value = json.loads(got.body)
    except ValueError:
        return ""
    return value.get("method", "") if isinstance(value, dict) else ""

"""Helpers of tests of hostile HTTP servers: a server that answers badly once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from mcp_studio.errors import StudioError
from mcp_studio.limits import KB, MB, Limits
from tests.servers.http_kit import Line, modern, opened
from tests.servers.http_raw import RawServer, Reply, Request
from tests.support import run

Bad = Callable[[Reply], Awaitable[None]]
SMALL = Limits(message=MB, headers=8 * KB, connect=20, close=1, retry_max=2)


def meet(bad: Bad, limits: Limits = SMALL, *, settled: bool = True) -> tuple[StudioError, Line]:
    """Ask a server that answers the first request badly, and check that the second one is still answered."""

    async def main() -> tuple[StudioError, Line]:
        async def handler(got: Request, reply: Reply) -> None:
            if got.json["id"] == 1:
                await bad(reply)
            else:
                await reply.result()

        async with RawServer(handler) as server, opened(server.url, limits) as line:
            if settled:
                line.transport.negotiated("2026-07-28")
            error = await line.ask(modern(1, "tools/call", target="t"))
            assert isinstance(error, StudioError), error
            assert len(line.box.failures) == 1 and not line.box.ends
            assert await line.ask(modern(2, "tools/list")) == {"jsonrpc": "2.0", "id": 2, "result": {}}
            return error, line

    return run(main())


def body(text: str, status: str = "200 OK", kind: str = "application/json", *lines: str) -> Bad:
    """A response with this body."""
    return lambda reply: reply.body(status, text.encode(), *lines, kind=kind)


def raw(data: bytes, *, close: bool = True) -> Bad:
    """Bytes as they are."""

    async def bad(reply: Reply) -> None:
        await reply.raw(data)
        if close:
            reply.close()

    return bad


def body_of(error: StudioError) -> str:
    """The beginning of the body that an error contains."""
    assert error.http is not None
    return error.http.body

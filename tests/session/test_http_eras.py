"""Finding the era over HTTP: whatever answers the probe, and also when the server is another one by now."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcp_studio.config.model import Timeouts
from tests.servers.http_raw import RawServer, Reply, Request
from tests.studio_support import http, opened

OFFER = {"capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
HTML = b"<html><title>Nothing here</title></html>"


class Server:
    """Speaks one era; counts as initialized only some time after it was told."""

    def __init__(self, *, modern: bool = False, probe: Any = None) -> None:
        self.modern = modern
        self.probe = probe
        self.ready = False
        self.early: list[str] = []

    async def __call__(self, got: Request, reply: Reply) -> None:
        """Answer one request."""
        if got.method != "POST":
            await reply.body("405 Method Not Allowed", b"")
            return
        method = got.json["method"]
        if method == "server/discover":
            await self.discover(reply)
        elif method == "initialize":
            await self.initialize(reply)
        elif method == "notifications/initialized":
            await asyncio.sleep(0.2)
            self.ready = True
            await reply.accepted()
        else:
            if not (self.ready or self.modern):
                self.early.append(method)
            await reply.result({"tools": [], "resultType": "complete"})

    async def discover(self, reply: Reply) -> None:
        """The probe."""
        if self.modern:
            await reply.result({"supportedVersions": ["2026-07-28"], **OFFER})
        elif self.probe is None:
            await refusal(reply, "404 Not Found", -32601)
        else:
            await self.probe(reply)

    async def initialize(self, reply: Reply) -> None:
        """The handshake."""
        if self.modern:
            await refusal(reply, "404 Not Found", -32601)
        else:
            await reply.result({"protocolVersion": "2025-11-25", **OFFER})


async def refusal(reply: Reply, status: str, code: int) -> None:
    """A JSON-RPC error with an HTTP status."""
    error = {"jsonrpc": "2.0", "id": reply.request.json["id"], "error": {"code": code, "message": "no"}}
    await reply.body(status, json.dumps(error).encode())


def page(status: str, body: bytes = HTML, kind: str = "text/html") -> Any:
    """An answer that is no JSON."""
    return lambda reply: reply.body(status, body, kind=kind)


async def _hang_up(reply: Reply) -> None:
    reply.close()


PROBES = {
    "method not found": None,
    "404 page": page("404 Not Found"),
    "405": page("405 Method Not Allowed", b"", "text/plain"),
    "400 text": page("400 Bad Request", b"Bad Request: No valid session ID provided", "text/plain"),
    "200 page": page("200 OK"),
    "406": page("406 Not Acceptable", b"", "text/plain"),
    "500": page("500 Internal Server Error", b"oops", "text/plain"),
    "hangs up": _hang_up,
}


@pytest.mark.parametrize("probe", list(PROBES.values()), ids=list(PROBES))
async def test_whatever_answers_the_probe_the_handshake_follows_and_nothing_overtakes_it(probe: Any) -> None:
    handler = Server(probe=probe)
    async with RawServer(handler) as server, opened(http(server.url)) as studio:
        status = studio.manager.status("s")
        assert (status.state, status.version) == ("ready", "2025-11-25"), status.error
        assert handler.ready and not handler.early


async def test_an_era_that_no_longer_holds_is_found_anew() -> None:
    handler = Server()
    async with RawServer(handler) as server:
        for modern in (False, True, True, False):
            handler.modern, handler.ready = modern, False
            async with opened(http(server.url)) as studio:
                status = studio.manager.status("s")
                assert (status.state, status.modern) == ("ready", modern), status.error


async def test_an_address_that_is_no_server_at_all_says_what_it_answered() -> None:
    async def handler(got: Request, reply: Reply) -> None:
        await reply.body("404 Not Found", HTML, kind="text/html")

    async with RawServer(handler) as server, opened(http(server.url)) as studio:
        status = studio.manager.status("s")
        assert status.state == "failed" and "404" in str(status.error) and "Nothing here" in str(status.error)


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
async def test_a_server_that_is_busy_is_not_asked_again_in_the_other_era(status: str) -> None:
    async def handler(got: Request, reply: Reply) -> None:
        await reply.body(status, b"", "Retry-After: 600")

    async with RawServer(handler) as server, opened(http(server.url)) as studio:
        error = studio.manager.status("s").error
        assert error is not None and error.retry_after == 600 and len(server.requests) == 1


async def test_an_answer_that_stalls_while_connecting_is_no_fault_of_its_head() -> None:
    async def handler(got: Request, reply: Reply) -> None:
        await reply.head("200 OK", "Content-Type: application/json", "Content-Length: 99")
        await reply.closed_by_peer()

    async with RawServer(handler) as server:
        async with opened(http(server.url, timeouts=Timeouts(connect=1))) as studio:
            assert "No connection within 1 s" in str(studio.manager.status("s").error)
            assert not studio.trace.ledger("s").groups()

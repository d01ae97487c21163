"""The bounded edge: redirects, credentials, addresses, the pool, and when its library is loaded."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time

import pytest

from mcp_studio.config.model import ServerConfig, Timeouts
from mcp_studio.errors import ConfigError
from mcp_studio.limits import Limits
from mcp_studio.transport import http_client
from mcp_studio.transport.http import HttpTransport
from mcp_studio.transport.http_errors import HttpUnreachable
from tests.servers.http_kit import Box, Recorder, opened, request
from tests.servers.http_raw import RawServer, Reply, Request
from tests.support import run, wait_until

SECRET = "Bearer for-one-origin-only"


async def fine(got: Request, reply: Reply) -> None:
    await reply.result()


# ---------------------------------------------------------------------------------------------------- redirects


@pytest.mark.parametrize("status", ["307 Temporary Redirect", "308 Permanent Redirect"])
async def test_a_redirect_within_the_origin_is_followed_with_its_message(status: str) -> None:
    async def handler(got: Request, reply: Reply) -> None:
        if got.path == "/mcp":
            await reply.head(status, "Location: /mcp/?a=1", "Content-Length: 0")
        else:
            await reply.result()

    async with RawServer(handler) as server:
        async with opened(server.url, headers={"Authorization": SECRET}) as line:
            assert "result" in await line.ask(request(1))
            assert [got.path for got in server.requests] == ["/mcp", "/mcp/?a=1"]
            assert server.requests[1].headers["authorization"] == SECRET
            assert server.requests[1].body == server.requests[0].body
            assert [reply.status for reply in line.tap.responses] == [int(status[:3]), 200]
            assert len(line.tap.out) == 1 and line.tap.came[0][0] == 2


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_another_origin_is_not_followed_and_nothing_is_sent_there(status: int) -> None:
    async with RawServer(fine) as other:

        async def handler(got: Request, reply: Reply) -> None:
            await reply.head(f"{status} Elsewhere", f"Location: {other.url}", "Content-Length: 0")

        async with RawServer(handler) as server:
            async with opened(server.url, headers={"Authorization": SECRET}) as line:
                error = await line.ask(request(1))
                assert isinstance(error, HttpUnreachable) and error.code == status
                assert other.url in error.message and "another origin" in error.message and error.hint
        assert other.connections == 0


@pytest.mark.parametrize(
    ("status", "location", "words"),
    [
        (302, "/other", "drops the message"),
        (307, "https://127.0.0.1:{port}/mcp", "another origin"),
        (307, "http://user:pw@127.0.0.2:{port}/mcp", "another origin"),
        (307, "//evil.invalid/", "another origin"),
        (307, "http://[::1", "no address"),
        (307, "http://127.0.0.1:x/", "no address"),
        (307, "javascript:alert(1)", "not followed"),
        (307, "//evil.invalid/" + "a" * 9_000, "another origin"),
        (307, "/mcp", "more than 5 times"),
    ],
)
async def test_odd_redirects_are_refused_in_words(status: int, location: str, words: str) -> None:
    async def handler(got: Request, reply: Reply) -> None:
        await reply.head(f"{status} R", f"Location: {location.format(port=server.port)}", "Content-Length: 0")

    async with RawServer(handler) as server, opened(server.url) as line:
        error = await line.ask(request(1))
        assert isinstance(error, HttpUnreachable) and words in error.message, error
        assert "pw" not in error.message and "script:" not in error.hint and len(error.message) < 600
        assert len(server.requests) <= 6


# ---------------------------------------------------------------------------------------------------- addresses


async def test_credentials_in_the_url_are_sent_as_a_header_and_shown_nowhere() -> None:
    async with RawServer(fine) as server:
        url = server.url.replace("http://", "http://me:s%C3%A9cret@") + "#part"
        config = ServerConfig("peer", url=url)
        transport = HttpTransport(config, Limits(), tap := Recorder())
        about = await transport.open(box := Box())
        assert about.target == server.url
        await transport.send(request(1))
        await wait_until(lambda: box.frames)
        await transport.close()
        assert server.requests[0].headers["authorization"] == "Basic bWU6c8OpY3JldA=="
        assert server.requests[0].path == "/mcp" and tap.requests[0].url == server.url


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1/x", "http://", "127.0.0.1:8000", "http://[::1", "http://a:b:c/", "/mcp"]
)
async def test_an_unusable_url_is_a_configuration_error(url: str) -> None:
    transport = HttpTransport(ServerConfig("peer", url=url), Limits(), Recorder())
    with pytest.raises(ConfigError) as caught:
        await transport.open(Box())
    assert caught.value.key == "servers.peer.url" and "peer" in caught.value.message
    await transport.close()


async def test_a_host_name_that_cannot_be_one_is_unreachable() -> None:
    async with opened("http://" + "a" * 64 + ".invalid/mcp") as line:
        error = await line.ask(request(1))
        assert isinstance(error, HttpUnreachable) and "resolve" in error.message


def test_a_name_that_takes_for_ever_to_look_up_holds_up_neither_the_request_nor_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_named: gate.wait(20))

    async def main() -> None:
        async with opened("http://slow.invalid/mcp", timeouts=Timeouts(connect=0.2)) as line:
            error = await line.ask(request(1))
            assert isinstance(error, HttpUnreachable) and "slow.invalid did not resolve" in error.message

    began = time.monotonic()
    run(main())
    assert time.monotonic() - began < 15
    gate.set()


# ---------------------------------------------------------------------------------------------------- the pool


async def test_calls_one_after_the_other_share_a_connection() -> None:
    async with RawServer(fine) as server, opened(server.url) as line:
        for number in range(20):
            await line.ask(request(number + 1))
        assert server.connections == 1


async def test_a_connection_that_the_server_closed_is_replaced() -> None:
    async def handler(got: Request, reply: Reply) -> None:
        await reply.result()
        reply.close()

    async with RawServer(handler) as server, opened(server.url) as line:
        for number in range(5):
            assert "result" in await line.ask(request(number + 1))
        assert server.connections == 5


async def test_more_requests_than_connections_wait_and_then_fail_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "CONNECTIONS", 2)

    gate = asyncio.Event()

    async def handler(got: Request, reply: Reply) -> None:
        await gate.wait()
        await reply.result()

    async with RawServer(handler) as server:
        async with opened(server.url, timeouts=Timeouts(connect=1)) as line:
            line.transport.negotiated("2026-07-28")
            for number in (1, 2, 3):
                await line.transport.send(request(number))
            await wait_until(lambda: line.box.failures)
            out, error = line.box.failures[0]
            assert out.id == 3 and "No connection" in error.message
            gate.set()
            await wait_until(lambda: line.box.answer(1) and line.box.answer(2))
            assert "result" in await line.ask(request(4))


async def test_abandoning_while_connecting_leaves_the_pool_usable() -> None:
    async with RawServer(fine) as server, opened(server.url) as line:
        for number in range(50):
            await line.transport.send(request(number))
            if number % 3:
                await asyncio.sleep(0)
            line.transport.abandon(number)
        assert "result" in await line.ask(request("last"))
        assert not line.box.failures


async def test_a_large_message_arrives_whole() -> None:
    async with RawServer(fine) as server, opened(server.url) as line:
        out = request(1, "tools/call", {"text": "ü" * 3_000_000})
        assert "result" in await line.ask(out)
        assert server.requests[0].body == out.frame


def test_httpx2_is_loaded_when_a_transport_is_opened_and_not_before() -> None:
    code = "import sys, mcp_studio.transport.http; print([m for m in ('httpx2', 'anyio', 'mcp') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"

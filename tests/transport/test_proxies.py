"""Proxies of the environment: which one, how it is spoken to, and whose failure it is when it does not work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mcp_studio.config.model import Tls
from mcp_studio.errors import ConfigError
from mcp_studio.session.sign_in import make_transport
from mcp_studio.transport.http_client import route_to
from mcp_studio.transport.http_errors import HttpUnreachable
from tests.servers.certificates import Authority
from tests.servers.http_kit import opened, request
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.ws_raw import WsServer

USER = "Basic bWU6c8OpY3JldCE="
"""`me:sécret!`, as a header says it."""


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def fine(got: Request, reply: Reply) -> None:
    await reply.result()


def tunnel(port: int) -> Callable[[Request, Reply], Awaitable[None]]:
    """A proxy whose every CONNECT leads to one port here."""

    async def pump(reader: asyncio.StreamReader, put: Callable[[bytes], Awaitable[None]]) -> None:
        while data := await reader.read(65536):
            await put(data)

    async def handler(got: Request, reply: Reply) -> None:
        assert got.method == "CONNECT" and "authorization" not in got.headers
        if "proxy-authorization" in got.headers:
            assert got.headers["proxy-authorization"] == USER
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await reply.head("200 Connection Established")

        async def send(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        back = asyncio.create_task(pump(reader, reply.raw))
        try:
            await pump(reply.reader, send)
        finally:
            back.cancel()
            writer.close()

    return handler


def with_user(url: str) -> str:
    return url.replace("://", "://me:s%C3%A9cret!@")


async def test_tls_is_spoken_with_the_server_through_the_proxy_also_by_websockets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ca = Authority(tmp_path)

    table = Tls(ca=str(ca.file))
    async with RawServer(fine, ca.server("mcp.invalid")) as server, RawServer(tunnel(server.port)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", with_user(proxy.url))
        async with opened("https://mcp.invalid/mcp", tls=table, headers={"Authorization": "Bearer one"}) as line:
            assert "result" in await line.ask(request(1))
            assert server.requests[0].headers["authorization"] == "Bearer one"
            assert "proxy-authorization" not in server.requests[0].headers
            assert [got.path for got in proxy.requests] == ["mcp.invalid:443"]
            assert "cret" not in repr(line.tap.requests) + repr(line.tap.notes)
    async with RawServer(WsServer(), ca.server("mcp.invalid")) as ws, RawServer(tunnel(ws.port)) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        async with opened("wss://mcp.invalid/mcp", kind=make_transport, tls=table) as line:
            await line.shake_hands()


async def test_a_proxy_that_is_spoken_to_over_tls_is_verified_and_shown_no_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ca = Authority(tmp_path)

    async with RawServer(fine, ca.server()) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        async with opened("http://mcp.invalid/mcp", tls=Tls(ca=str(ca.file))) as line:
            assert "result" in await line.ask(request(1))
        # What is not verified of the server is verified of the proxy.
        async with opened("http://mcp.invalid/mcp", tls=Tls(insecure=True)) as line:
            error = await line.ask(request(1))
            assert isinstance(error, HttpUnreachable) and f"certificate of 127.0.0.1:{proxy.port}" in error.message


async def test_whose_certificate_is_not_accepted_behind_a_proxy_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ca = Authority(tmp_path)

    async with RawServer(fine, ca.server("mcp.invalid")) as server, RawServer(tunnel(server.port)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        async with opened("https://mcp.invalid/mcp") as line:
            error = await line.ask(request(1))
            assert isinstance(error, HttpUnreachable) and "certificate of mcp.invalid:443" in error.message


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_wants_credentials_says_where_they_go(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    async def handler(got: Request, reply: Reply) -> None:
        await reply.body("407 Proxy Authentication Required", b"", 'Proxy-Authenticate: Basic realm="x"')

    async with RawServer(handler) as proxy:
        monkeypatch.setenv(f"{scheme.upper()}_PROXY", proxy.url)
        async with opened(f"{scheme}://mcp.invalid/mcp") as line:
            error = await line.ask(request(1))
            assert "407" in error.message and "proxy" in error.message and "USER:PASSWORD@" in error.hint


async def test_a_proxy_that_does_not_lead_there_says_so_with_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    async def handler(got: Request, reply: Reply) -> None:
        await reply.body("502 Bad Gateway", b"")

    async with RawServer(handler) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        async with opened("https://mcp.invalid/mcp") as line:
            error = await line.ask(request(1))
            assert isinstance(error, HttpUnreachable) and "ALL_PROXY" in error.message
            assert "does not lead to mcp.invalid:443: 502 Bad Gateway" in error.message


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_is_not_there_is_named_and_not_the_server(
    monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    async with RawServer(fine) as proxy:
        url = proxy.url
    monkeypatch.setenv(f"{scheme.upper()}_PROXY", with_user(url))
    async with opened(f"{scheme}://mcp.invalid/mcp") as line:
        error = await line.ask(request(1))
        assert isinstance(error, HttpUnreachable) and f"the proxy 127.0.0.1:{proxy.port}" in error.message
        assert f"{scheme.upper()}_PROXY" in error.message and "cret" not in error.message + error.hint
    monkeypatch.setenv(f"{scheme.upper()}_PROXY", "http://no-such-proxy.invalid:3128")
    async with opened(f"{scheme}://mcp.invalid/mcp") as line:
        error = await line.ask(request(1))
        assert "no-such-proxy.invalid, which" in error.message and "mcp.invalid:443" not in error.message


@pytest.mark.parametrize(
    ("proxy", "url", "words"),
    [
        ("socks5://me:s3cret@127.0.0.1:1080", "https://mcp.invalid/", "SOCKS is not supported"),
        ("socks5h://127.0.0.1:1080", "http://mcp.invalid/", "SOCKS is not supported"),
        ("gopher://me:s3cret@127.0.0.1:1", "https://mcp.invalid/", "has to be http://HOST:PORT"),
        ("http://", "https://mcp.invalid/", "has to be http://HOST:PORT"),
        ("http://me:s3cret@[::1", "https://mcp.invalid/", "has to be http://HOST:PORT"),
        ("http://me:s3cret@host:99999", "https://mcp.invalid/", "has to be http://HOST:PORT"),
        ("http://127.0.0.1:3128", "ws://mcp.invalid/", "only wss:// works"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_refused_without_being_quoted(
    monkeypatch: pytest.MonkeyPatch, proxy: str, url: str, words: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(ConfigError, match="ALL_PROXY") as caught:
        route_to(url)
    assert words in caught.value.message and "NO_PROXY" in caught.value.hint
    assert "s3cret" not in caught.value.message + caught.value.hint


def test_which_addresses_go_through_which_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "plain.invalid:1")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:pw@[::1]:2/")
    monkeypatch.setenv("NO_PROXY", "near.invalid,.inside.invalid,10.1.2.3:80")
    found = {
        url: (route.place if (route := route_to(url)) else "")
        for url in (
            "http://a.invalid/", "https://a.invalid/", "wss://a.invalid/", "https://near.invalid/x",
            "https://a.inside.invalid/", "http://10.1.2.3:80/", "http://localhost:1/", "http://127.9.9.9/", "http://[::1]/",
        )
    }  # fmt: skip
    assert list(found.values()) == ["plain.invalid:1", "[::1]:2", "[::1]:2", "", "", "", "", "", ""]
    monkeypatch.setenv("NO_PROXY", "*")
    assert route_to("https://a.invalid/") is None

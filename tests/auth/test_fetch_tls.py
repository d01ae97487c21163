"""Whom signing in trusts and what it shows of itself: less to others than to the server itself; and proxies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_studio.auth.fetch import Fetcher
from mcp_studio.config.model import ServerConfig, Tls
from mcp_studio.errors import StudioError
from mcp_studio.limits import Limits
from mcp_studio.redact import Redactor
from mcp_studio.transport.http_errors import HttpFailure
from tests.auth.kit import FakeTap
from tests.servers.certificates import Authority
from tests.servers.http_raw import RawServer, Reply, Request
from tests.transport.test_proxies import tunnel


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def fine(got: Request, reply: Reply) -> None:
    await reply.body("200 OK", b"{}")


async def fetched(server: str, url: str, tls: Tls) -> int:
    config = replace(ServerConfig("one", url=server), tls=tls)
    fetcher = Fetcher(config, Limits(sign_in_request=5), FakeTap(), Redactor())
    return (await fetcher.send("metadata", "GET", url)).status


async def test_a_further_authority_counts_for_authorization_servers_too(tmp_path: Path) -> None:
    ca = Authority(tmp_path)

    async with RawServer(fine, ca.server("localhost")) as other:
        url = f"https://localhost:{other.port}/x"
        assert await fetched("https://127.0.0.1:1/mcp", url, Tls(ca=str(ca.file))) == 200
        with pytest.raises(HttpFailure, match="certificate of localhost"):
            await fetched("https://127.0.0.1:1/mcp", url, Tls())


async def test_what_is_not_checked_of_the_server_is_checked_of_others(tmp_path: Path) -> None:
    ca = Authority(tmp_path)

    async with RawServer(fine, ca.server()) as own, RawServer(fine, ca.server("localhost")) as other:
        insecure = Tls(insecure=True)
        assert await fetched(own.url, own.url, insecure) == 200
        with pytest.raises(HttpFailure, match="certificate of localhost"):
            await fetched(own.url, f"https://localhost:{other.port}/x", insecure)
        assert not other.requests


async def test_a_client_certificate_is_shown_to_the_server_alone(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    mine = ca.issue("me")
    shown = Tls(ca=str(ca.file), cert=str(mine.cert), key=str(mine.key))

    async with RawServer(fine, ca.server(clients=True)) as own:
        async with RawServer(fine, ca.server("localhost", clients=True)) as other:
            assert await fetched(own.url, own.url, shown) == 200
            with pytest.raises(StudioError):
                await fetched(own.url, f"https://localhost:{other.port}/x", shown)
            assert not other.requests


async def test_a_proxy_of_the_environment_leads_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ca = Authority(tmp_path)

    async with RawServer(fine, ca.server("as.invalid")) as server, RawServer(tunnel(server.port)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("://", "://me:s%C3%A9cret!@"))
        table = Tls(ca=str(ca.file))
        assert await fetched("https://mcp.invalid/mcp", "https://as.invalid/x", table) == 200
        assert [got.path for got in proxy.requests] == ["as.invalid:443"]
        # A bare address is looked at all the same.
        with pytest.raises(StudioError, match="private network"):
            await fetched("https://mcp.invalid/mcp", "https://10.0.0.1/x", table)
        assert len(proxy.requests) == 1

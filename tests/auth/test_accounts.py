"""Which servers we sign in to, under what, and what becomes of sign-ins that other processes change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_studio.auth.discovery import resource_of, resource_or_none, tidy
from mcp_studio.config.model import Auth, ServerConfig
from mcp_studio.errors import SignInNeeded
from mcp_studio.vault.base import MemoryVault
from tests.auth.signing import Desk, server
from tests.auth.test_access import Caller
from tests.servers.auth_server import AuthServer


def test_oauth_stays_out_where_something_else_is_configured() -> None:
    plain = ServerConfig("one", url="https://mcp.example/mcp")
    assert plain.signs_in and replace(plain, url="https://mcp.example?as=ada@home").signs_in
    assert not ServerConfig("one", command="x").signs_in
    assert not replace(plain, auth=Auth(kind="none")).signs_in
    signed = replace(plain, headers={"authorization": "Bearer x"})
    assert not signed.signs_in and replace(signed, auth=Auth(kind="code")).signs_in
    named = replace(plain, url="HTTPS://ada:pw@mcp.example/mcp")
    assert not named.signs_in and replace(named, auth=Auth(kind="code")).signs_in
    assert replace(plain, headers={"X-Api-Key": "k"}).signs_in


@pytest.mark.parametrize(
    ("url", "resource"),
    [
        ("https://MCP.example/Mcp?a=b", "https://mcp.example/Mcp"),
        ("https://mcp.example/", "https://mcp.example"),
        ("https://ada:pw@mcp.example/mcp#x", "https://mcp.example/mcp"),
        ("https://bücher.example/mcp", "https://xn--bcher-kva.example/mcp"),
        ("wss://mcp.example/ws", "https://mcp.example/ws"),
    ],
)
def test_under_what_a_sign_in_is_kept(url: str, resource: str) -> None:
    config = ServerConfig("one", url=url)
    assert resource_or_none(config) == resource_of(config) == resource and "@" not in tidy(config).url


@pytest.mark.parametrize("url", ["", "http://[", "nonsense", "https://"])
def test_an_address_that_is_none_is_left_to_whoever_connects(tmp_path: Path, url: str) -> None:
    desk, config = Desk(tmp_path), ServerConfig("one", url=url, transport="http")
    assert not resource_or_none(config) and desk.accounts.access(config, desk.tap, None) is None


async def test_who_signs_out_elsewhere_is_signed_out_here(tmp_path: Path) -> None:
    """And what was taken back does not come back into the vault."""

    vault = MemoryVault()
    async with AuthServer() as world:
        config = server(world.url)
        one, two = Desk(tmp_path, vault), Desk(tmp_path, vault)
        assert (await one.done(config)).state == "done"
        caller = Caller(one, config, agrees=None)
        assert await caller.call() == 200
        await two.accounts.sign_out(config, two.tap)
        with pytest.raises(SignInNeeded):
            await caller.call()
        assert await one.accounts.accounts() == [] and not [name for name in vault.secrets if "grant" in name]
        assert (await two.done(config)).state == "done"
        assert await caller.call() == 200  # And who signs in there, is signed in here.
        await caller.edge.close(1)


async def test_two_accounts_at_one_server(tmp_path: Path) -> None:
    async with AuthServer() as world:
        desk = Desk(tmp_path)
        work, home = server(world.url, account="work"), server(world.url, account="home")
        assert (await desk.done(work)).state == (await desk.done(home)).state == "done"
        assert await desk.accounts.token(work) != await desk.accounts.token(home)
        assert {one.account for one in await desk.accounts.accounts()} == {"work", "home"}
        await desk.accounts.forget(work, client=True)
        assert [one.account for one in await desk.accounts.accounts()] == ["home"]

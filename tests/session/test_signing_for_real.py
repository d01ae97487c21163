"""Signing in as the studio runs it, on the real thing: an authorization server, and what keeps tokens."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Generator

import pytest

from mcp_studio.call.call import Succeeded
from mcp_studio.config.model import Auth, Settings, Timeouts
from mcp_studio.vault import keyring
from mcp_studio.vault.file import FileVault
from tests.servers.auth_server import AuthServer
from tests.sign_in_kit import signed_in, signing
from tests.studio_support import call, http
from tests.support import wait_until

FILE = Settings(secrets="file")


@pytest.fixture(autouse=True)
def passphrase() -> Generator[None]:
    """What the encrypted file is opened with."""
    keyring.ask_with(lambda new: "a passphrase of a test")
    yield
    keyring.ask_with(None)


async def test_what_another_studio_has_signed_in_to_is_used_when_it_is_tried_again() -> None:
    async with (
        AuthServer() as world,
        signing(http(world.url), settings=FILE) as (waiting, visitor),
        signing(http(world.url), settings=FILE) as (other, _),
    ):
        assert waiting.manager.status("s").state == "needs_auth"
        await signed_in(other)
        waiting.manager.start("s")
        assert (await waiting.manager.settle("s")).state == "ready"
        assert isinstance(await call(waiting, "whoami"), Succeeded)
        await other.sign_ins.sign_out("s")
        waiting.manager.restart("s")
        assert (await waiting.manager.settle("s")).state == "needs_auth"
        assert visitor.opened == []


async def test_a_token_that_never_comes_is_said() -> None:
    auth = Auth(kind="client_credentials", client_id="machine", client_secret="machine-secret-1")
    async with AuthServer("token-silent") as world:
        config = http(world.url, auth=auth, timeouts=Timeouts(connect=30))
        async with signing(config, sign_in_request=1.2) as (studio, _):
            status = studio.manager.status("s")
            assert status.error is not None
            assert "did not answer within 1.2 seconds" in status.error.message, status.error.message
            entries = [entry for entry in studio.trace if entry.kind == "http" and entry.target]
            assert entries[-1].method.startswith("failed: ") and entries[-1].target


async def test_a_token_that_is_being_renewed_when_the_studio_ends_is_kept() -> None:
    """The refresh token before it is used up: whoever comes next would have to sign in again."""

    async with AuthServer() as world:
        async with signing(http(world.url), settings=FILE) as (studio, _):
            await signed_in(studio)
            world.options.wait = 0.9
            renewing = asyncio.create_task(studio.sign_ins.refresh("s"))
            await wait_until(lambda: len(world.seen("/token")) == 2)
            renewing.cancel()
        before, newest = world.issuer.grants.tokens
        async with signing(http(world.url), settings=FILE) as (studio, _):
            assert await studio.sign_ins.accounts.token(studio.sign_ins.config("s")) == newest != before


async def test_a_sign_in_that_is_being_kept_when_the_studio_ends_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    keeping, save = threading.Event(), FileVault.set

    def slowly(vault: FileVault, name: str, value: str) -> None:
        if name.startswith("grant"):
            keeping.set()
            time.sleep(0.9)
        save(vault, name, value)

    monkeypatch.setattr(FileVault, "set", slowly)

    async with AuthServer() as world:
        async with signing(http(world.url), settings=FILE) as (studio, _):
            sign_in = studio.sign_ins.sign_in("s")
            await wait_until(keeping.is_set)
        assert sign_in.state == "done"
        async with signing(http(world.url), settings=FILE) as (studio, _):
            assert studio.manager.status("s").state == "ready"

"""Renewing goes on as it should when it fails, when others wait for it, and when somebody leaves meanwhile."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from mcp_studio.auth.model import AuthFailed
from mcp_studio.vault.base import MemoryVault
from tests.auth.signing import Desk, server
from tests.auth.test_access import Caller, signed_in
from tests.servers.auth_server import AuthServer, World
from tests.support import wait_until


def renewals(world: World) -> int:
    return sum(one.form.get("grant_type") == "refresh_token" for one in world.seen("/token"))


async def test_what_fails_fails_once_for_all_who_wait(tmp_path: Path) -> None:
    """Or whoever comes last waits for as many failures as there are others."""

    async with signed_in(tmp_path, "refresh-500") as (world, _desk, caller):
        world.expire()
        world.options.wait = 0.1
        failed = await asyncio.gather(*(caller.call() for _ in range(8)), return_exceptions=True)
        assert all(isinstance(one, AuthFailed) for one in failed)
        assert renewals(world) == 1
        with pytest.raises(AuthFailed):
            await caller.call()  # Who comes later tries anew.
        assert renewals(world) == 2


async def test_a_grant_without_a_person_that_fails_is_asked_for_once_by_all_who_wait(tmp_path: Path) -> None:
    async with AuthServer("token-500", wait=0.1) as world:
        desk = Desk(tmp_path)
        secret = world.issuer.clients
        secret["me"] = {"client_id": "me", "client_secret": "planted", "redirect_uris": []}
        config = server(world.url, kind="client_credentials", client_id="me", client_secret="planted")
        caller = Caller(desk, config)
        failed = await asyncio.gather(*(caller.call() for _ in range(6)), return_exceptions=True)
        assert all(isinstance(one, AuthFailed) for one in failed), failed
        assert len(world.seen("/token")) == 1
        await caller.edge.close(1)


async def test_a_token_that_ends_and_cannot_be_renewed_is_no_reason_to_ask_the_vault_each_time(tmp_path: Path) -> None:
    class Counting(MemoryVault):
        def get(self, name: str) -> str | None:
            asked.extend([name] * name.startswith("grant"))
            return super().get(name)

    asked: list[str] = []

    vault = Counting()
    async with AuthServer("no-refresh") as world:
        first, config = Desk(tmp_path, vault), server(world.url)
        assert (await first.done(config)).state == "done"
        await first.age(config)
        desks = [Desk(tmp_path, vault), Desk(tmp_path, vault)]
        callers = [Caller(desk, config, agrees=None) for desk in desks]
        assert [await caller.call() for caller in callers * 3] == [200] * 6
        assert len(asked) == 3  # By `age`, and once by each.
        await desks[1].done(config)  # Somebody signs in anew: the other one hears of it when it needs it.
        world.end()
        await desks[1].done(config)
        assert await callers[0].call() == 200
        for caller in callers:
            await caller.edge.close(1)


async def test_signing_out_takes_back_what_came_while_it_waited(tmp_path: Path) -> None:
    async with signed_in(tmp_path) as (world, desk, _caller):
        config = server(world.url)
        world.options.wait = 0.2
        renewing = asyncio.create_task(desk.accounts.refresh(config, desk.tap))
        await wait_until(lambda: renewals(world) == 1)
        leaving = asyncio.create_task(desk.accounts.sign_out(config, desk.tap))
        await asyncio.gather(renewing, leaving)
        grants = [one.form["token"] for one in world.seen("/revoke") if one.form["token_type_hint"] == "access_token"]
        assert grants == [list(world.issuer.grants.tokens)[-1]]


async def test_a_clock_that_was_put_back_does_not_hide_what_another_studio_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a refresh token that is used up would be sent, which ends the sign-in of both."""

    vault = MemoryVault()
    async with AuthServer() as world:
        one, other, config = Desk(tmp_path, vault), Desk(tmp_path, vault), server(world.url)
        with monkeypatch.context() as later:
            clock = time.time
            later.setattr(time, "time", lambda: clock() + 7200)
            assert (await one.done(config)).state == "done"
        assert await one.accounts.account(config) and await other.accounts.account(config)
        await other.accounts.refresh(config, other.tap)
        world.expire()
        caller = Caller(one, config, agrees=None)
        assert await caller.call() == 200
        await caller.edge.close(1)

"""A sign-in that breaks or is cancelled anywhere ends, says why, leaves nothing behind, and can be made anew."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mcp_studio.auth.discovery import resource_of
from mcp_studio.auth.fetch import Fetched, Fetcher
from mcp_studio.auth.model import Pending
from mcp_studio.auth.signin import SignIn
from mcp_studio.errors import UsageError, VaultRefused
from mcp_studio.transport.http_errors import HttpLost
from mcp_studio.vault.base import MemoryVault
from tests.auth.signing import Desk, server, until, visit
from tests.servers.auth_server import AuthServer


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_any_exchange_can_be_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool) -> None:
    """Lost before the request reached the other side, or after: it may have done what it was asked for."""
    real, left = Fetcher.send, [0]

    async def losing(self: Fetcher, *about: Any, **more: Any) -> Fetched:
        left[0] -= 1
        if left[0] == 0 and not after:
            raise HttpLost("cut off")
        found = await real(self, *about, **more)
        if left[0] == 0:
            raise HttpLost("cut off")
        return found

    monkeypatch.setattr(Fetcher, "send", losing)

    async with AuthServer() as world:
        for number in range(1, 9):
            desk = Desk(tmp_path / str(number))
            left[0] = number
            sign_in = await desk.done(server(world.url))
            if left[0] > 0:
                assert sign_in.state == "done" and number > 5
                return
            # The first request only asks whether there is a challenge: discovery does without.
            assert sign_in.state == "failed" or number == 1, number
            if sign_in.state == "failed":
                assert sign_in.error and sign_in.error.message == "cut off"
                assert await desk.accounts.accounts() == []
            left[0] = 0
            assert (await desk.done(server(world.url))).state == "done"


async def test_it_can_be_cancelled_whenever_something_changes(tmp_path: Path) -> None:
    async with AuthServer() as world:
        for number in range(1, 200):
            desk, seen = Desk(tmp_path / str(number)), [0]
            sign_in = desk.accounts.sign_in(server(world.url), desk.tap)

            def count(one: SignIn, at: int = number, seen: list[int] = seen) -> None:
                seen[0] += 1
                if seen[0] == at:
                    one.cancel()

            sign_in.changed.connect(count)
            await sign_in.run()
            if sign_in.state == "done":
                assert number > 20
                break
            assert sign_in.state == "cancelled" and sign_in.error
            assert await desk.accounts.accounts() == []
        else:
            pytest.fail("it never came through")
        others = [task for task in asyncio.all_tasks() if task.get_name().startswith("sign in to")]
        assert others == []


async def test_a_vault_that_refuses_to_keep_it_says_so(tmp_path: Path) -> None:
    class Full(MemoryVault):
        def set(self, name: str, value: str) -> None:
            if name.startswith("grant"):
                raise VaultRefused("The keyring is full.", hint="Make room.")
            super().set(name, value)

    async with AuthServer() as world:
        desk = Desk(tmp_path, Full())
        desk.accounts.stays = False
        sign_in = await desk.done(server(world.url))
        assert sign_in.state == "failed" and sign_in.steps[5].detail.endswith(
            "lost, as it cannot be stored: The keyring is full."
        )
        assert await desk.accounts.account(server(world.url)) is None

        # Where it is used in this process it is not thrown away.
        desk.accounts.stays = True
        sign_in = await desk.done(server(world.url))
        assert sign_in.state == "done" and sign_in.account
        assert sign_in.steps[5].detail == "Not stored, it holds until the studio ends: The keyring is full. Make room."
        assert sign_in.account.place == "memory, until the studio ends"
        token = await desk.accounts.token(server(world.url))
        assert await desk.accounts.refresh(server(world.url), desk.tap)
        assert await desk.accounts.token(server(world.url)) != token
        assert await desk.accounts.accounts() == []
        assert ["could not be stored: The keyring is full." in one for one in desk.accounts.unsaved] == [True]
        assert "revoked" in await desk.accounts.sign_out(server(world.url), desk.tap)
        assert await desk.accounts.account(server(world.url)) is None


async def test_a_mistake_of_ours_leaves_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("mcp_studio.auth.authorize.chance", broken)

    async with AuthServer() as world:
        desk = Desk(tmp_path)
        sign_in = desk.accounts.sign_in(server(world.url), desk.tap)
        with pytest.raises(ZeroDivisionError):
            await sign_in.run()
        assert sign_in.state == "failed" and sign_in.error


async def test_whoever_cancels_hears_nothing_of_a_vault_that_refuses_to_forget(tmp_path: Path) -> None:
    """What was known of the client is forgotten where nobody came back: its page may not know it any more."""

    class Stuck(MemoryVault):
        def delete(self, name: str) -> bool:
            raise VaultRefused("The keyring is locked.")

    async with AuthServer() as world:
        desk, config = Desk(tmp_path, Stuck()), server(world.url)
        assert (await desk.done(config)).state == "done"
        desk.accounts.browser = _nobody
        sign_in = desk.accounts.sign_in(config, desk.tap)
        running = asyncio.create_task(sign_in.run())
        await until(sign_in, lambda one: one.state == "browser")
        sign_in.cancel()
        await running
        assert sign_in.state == "cancelled"


async def test_a_browser_that_the_system_does_not_start_is_none(tmp_path: Path) -> None:
    async def broken(url: str) -> bool:
        raise OSError("no application is associated")

    async with AuthServer() as world:
        desk = Desk(tmp_path)
        desk.accounts.browser = broken
        sign_in = desk.accounts.sign_in(server(world.url), desk.tap)
        running = asyncio.create_task(sign_in.run())
        await until(sign_in, lambda one: one.state == "browser")
        assert await sign_in.open_page() is False
        sign_in.cancel()
        await running


async def test_what_came_back_while_it_was_set_aside_is_gone_on_with(tmp_path: Path) -> None:
    async with AuthServer() as world:
        desk, config = Desk(tmp_path), server(world.url)
        desk.accounts.browser = _nobody
        sign_in = desk.accounts.sign_in(config, desk.tap)
        running = asyncio.create_task(sign_in.run())
        await until(sign_in, lambda one: one.state == "browser")
        store = desk.accounts.store(config)
        save = store.save_pending

        async def late(pending: Pending) -> None:
            await save(pending)
            sign_in.paste(await visit(sign_in.authorization_url))
            await until(sign_in, lambda one: one.state != "browser")

        store.save_pending = late
        with pytest.raises(UsageError, match="come back"):
            await sign_in.set_aside()
        await running
        assert sign_in.state == "done" and await store.pending(resource_of(config), "") is None


async def _nobody(url: str) -> bool:
    return False

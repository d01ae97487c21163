"""Credentials on requests: sent to one origin, renewed in time and once, asked for where a person can help."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_studio.auth.access import SignInRequest
from mcp_studio.auth.model import AuthFailed
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import SignInNeeded, StudioError
from mcp_studio.limits import Limits
from mcp_studio.transport.edge import Edge
from mcp_studio.vault.base import MemoryVault
from tests.auth.signing import LIMITS, Desk, server
from tests.servers.auth_options import Manner
from tests.servers.auth_server import AuthServer, World
from tests.servers.http_raw import Reply, Request
from tests.support import wait_until


class Caller:
    """One connection's edge with its credentials; `asked` are the questions that were put to the person."""

    def __init__(self, desk: Desk, config: ServerConfig, *, agrees: bool | None = True) -> None:
        self.asked: list[SignInRequest] = []
        self._desk = desk
        self._agrees = agrees
        self._opening, self._opened = asyncio.Lock(), False
        self.access = desk.accounts.access(config, desk.tap, None if agrees is None else self._ask)
        self.edge = Edge(config, desk.limits, desk.tap, self.access)

    async def _ask(self, request: SignInRequest) -> bool:
        self.asked.append(request)
        if not self._agrees:
            return False
        sign_in = request.sign_in()
        await sign_in.run()
        return sign_in.state == "done"

    async def call(self, tool: str = "echo", **arguments: Any) -> int:
        """The status of a call; the server is a stateless one."""
        params = {
            "name": tool,
            "arguments": arguments or {"text": "hello"},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        }
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", tool),
        ]
        async with self._opening:
            if not self._opened:
                await self.edge.open()
                self._opened = True
        async with self.edge.exchange("POST", headers, body, head=10) as answer:
            await answer.read(1 << 20)
            return answer.status


@asynccontextmanager
async def signed_in(
    state: Path, manner: str = "", *, agrees: bool | None = True, limits: Limits = LIMITS, **options: Any
) -> AsyncGenerator[tuple[World, Desk, Caller]]:
    """A server, somebody who has signed in to it, and a connection."""
    async with AuthServer(manner, **options) as world:
        desk, config = Desk(state, limits=limits), server(world.url)
        sign_in = await desk.done(config)
        assert sign_in.state == "done", sign_in.error
        caller = Caller(desk, config, agrees=agrees)
        try:
            yield world, desk, caller
        finally:
            await caller.edge.close(1)


async def test_a_call_carries_the_token_and_nothing_else_is_asked(tmp_path: Path) -> None:
    async with signed_in(tmp_path) as (world, _desk, caller):
        assert caller.access and caller.access.present
        assert await caller.call() == 200
        assert len(world.issuer.authorizations) == 1 and not caller.asked
        assert await caller.access.lines("GET", "https://elsewhere.example/mcp") == []
        assert await caller.access.lines("GET", world.elsewhere + "/mcp") == []
        assert await caller.access.lines("POST", f"{world.url}?session={'s' * 9_000}")  # An endpoint of HTTP+SSE.


async def test_after_a_restart_an_expired_token_is_renewed_without_a_browser(tmp_path: Path) -> None:
    """The metadata and the expiry are kept: nothing is guessed, and nobody is asked."""

    vault = MemoryVault()
    async with AuthServer() as world:
        first = Desk(tmp_path, vault)
        assert (await first.done(server(world.url))).state == "done"
        await first.age(server(world.url))
        world.expire()
        before = len(world.requests)
        again = Desk(tmp_path, vault)
        caller = Caller(again, server(world.url))
        assert await caller.call() == 200
        await caller.edge.close(1)
        assert [one.path for one in world.requests[before:]] == ["/token", "/mcp"]
        assert world.requests[before].form["grant_type"] == "refresh_token"
        assert len(world.issuer.authorizations) == 1 and again.pages == [] and not caller.asked


async def test_a_token_that_ended_is_renewed_once_for_all_who_wait(tmp_path: Path) -> None:
    async with signed_in(tmp_path) as (world, _desk, caller):
        world.expire()
        assert await asyncio.gather(*(caller.call() for _ in range(12))) == [200] * 12
        renewed = [one for one in world.seen("/token") if one.form.get("grant_type") == "refresh_token"]
        assert len(renewed) == 1 and not caller.asked


async def test_two_studios_do_not_use_up_each_others_refresh_token(tmp_path: Path) -> None:
    """A used refresh token ends the whole family at this server."""

    vault = MemoryVault()
    async with AuthServer() as world:
        desks = [Desk(tmp_path, vault) for _ in range(3)]
        assert (await desks[0].done(server(world.url))).state == "done"
        callers = [Caller(desk, server(world.url)) for desk in desks]
        for caller in callers:
            assert await caller.call() == 200
        for _ in range(2):
            world.expire()
            assert await asyncio.gather(*(one.call() for one in callers * 3)) == [200] * 9
        renewed = [one for one in world.seen("/token") if one.form.get("grant_type") == "refresh_token"]
        assert len(renewed) == 2 and not any(caller.asked for caller in callers)
        for caller in callers:
            await caller.edge.close(1)


async def test_whoever_leaves_while_it_is_renewed_does_not_lose_the_new_token(tmp_path: Path) -> None:
    async with signed_in(tmp_path) as (world, _desk, caller):
        assert await caller.call() == 200
        world.expire()
        world.options.wait = 0.2
        task = asyncio.create_task(caller.call())
        await wait_until(lambda: len(world.seen("/token")) == 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await caller.call() == 200
        renewed = [one for one in world.seen("/token") if one.form.get("grant_type") == "refresh_token"]
        assert len(renewed) == 1


@pytest.mark.parametrize("manner", ["refresh-refused", "refresh-client-forgotten", "no-refresh"])
async def test_what_cannot_be_renewed_is_asked_for(tmp_path: Path, manner: str) -> None:
    async with signed_in(tmp_path, manner) as (world, _desk, caller):
        world.expire()
        assert await caller.call() == 200
        (asked,) = caller.asked
        assert "mcp:tools" in asked.scopes
        assert len(world.issuer.authorizations) == 2


async def test_a_server_that_fails_is_no_reason_to_sign_in_again(tmp_path: Path) -> None:
    async with signed_in(tmp_path, "refresh-500") as (world, desk, caller):
        world.expire()
        with pytest.raises(AuthFailed, match="500"):
            await caller.call()
        account = await desk.accounts.account(server(world.url))
        assert account and account.refreshable and not caller.asked


@pytest.mark.parametrize("agrees", [None, False])
async def test_where_nobody_signs_in_the_call_says_how(tmp_path: Path, agrees: bool | None) -> None:
    async with signed_in(tmp_path, agrees=agrees) as (world, desk, caller):
        world.end()
        with pytest.raises(SignInNeeded) as caught:
            await caller.call()
        assert "mcp-studio auth login one" in caught.value.hint and caught.value.exit_code == 3
        assert getattr(caught.value, "challenge", "").startswith("Bearer")
        account = await desk.accounts.account(server(world.url))
        assert account and not account.refreshable  # It is of no use any more, and not tried again.


async def test_nobody_is_asked_for_a_server_that_nobody_signed_in_to(tmp_path: Path) -> None:
    async with AuthServer() as world:
        desk = Desk(tmp_path)

        def refuse() -> MemoryVault:
            raise AssertionError("the vault was opened")

        desk.open = refuse
        caller = Caller(desk, server(world.url), agrees=None)
        assert caller.access and not caller.access.present
        with pytest.raises(SignInNeeded, match="requires you to sign in"):
            await caller.call()
        await caller.edge.close(1)


async def test_a_token_that_is_never_accepted_does_not_lead_round_and_round(tmp_path: Path) -> None:
    async with signed_in(tmp_path, "401-for-ever") as (world, _desk, caller):
        with pytest.raises(SignInNeeded, match="does not accept the token"):
            await caller.call()
        assert len(caller.asked) == 1 and len(world.issuer.authorizations) == 2


async def test_further_scopes_are_asked_for_with_those_that_are_there(tmp_path: Path) -> None:
    async with signed_in(tmp_path) as (_world, _desk, caller):
        assert await caller.call("read_notes") == 200
        (asked,) = caller.asked
        assert set(asked.scopes) == {"mcp:tools", "notes:read"} and "notes:read" in asked.reason
        assert await caller.call("purge") == 200
        assert set(caller.asked[1].scopes) == {"mcp:tools", "notes:read", "admin"}
        assert await caller.call() == 200 and len(caller.asked) == 2


@pytest.mark.parametrize(("options", "most"), [({"withheld": ("admin",)}, 1), ({}, 3)])
async def test_scopes_are_not_asked_for_without_end(tmp_path: Path, options: dict[str, Any], most: int) -> None:
    manner = "" if options else "403-for-ever"
    async with signed_in(tmp_path, manner, **options) as (_world, _desk, caller):
        with pytest.raises(StudioError):
            assert await caller.call("purge") == 200
        assert len(caller.asked) <= most


@pytest.mark.parametrize("nonces", [False, True])
async def test_bound_tokens_and_their_proofs(tmp_path: Path, nonces: bool) -> None:
    async with signed_in(tmp_path, dpop="required", nonces=nonces) as (world, desk, caller):
        account = await desk.accounts.account(server(world.url))
        assert account and account.token_type == "DPoP"
        for _ in range(3):
            assert await caller.call() == 200
        proofs = [one.headers["dpop"] for one in world.seen("/mcp") if "dpop" in one.headers]
        assert len(set(proofs)) == len(proofs) >= 3
        world.expire()
        assert await caller.call() == 200 and not caller.asked


async def test_the_resource_moves_to_another_authorization_server(tmp_path: Path) -> None:
    async with AuthServer(issuers=2, refresh=False) as world:
        world.current = 0
        desk, config = Desk(tmp_path), server(world.url)
        assert (await desk.done(config)).state == "done"
        caller = Caller(desk, config)
        assert await caller.call() == 200
        world.migrate()
        assert await caller.call() == 200
        account = await desk.accounts.account(config)
        assert account and account.issuer == world.issuers[1].url
        assert len(world.issuers[1].clients) == 1
        await caller.edge.close(1)


async def test_a_grant_without_a_person_is_had_silently_and_kept_nowhere(tmp_path: Path) -> None:
    async with AuthServer() as world:
        mine = {"client_id": "robot", "client_secret": "robots-secret-1", "redirect_uris": []}
        world.issuer.clients["robot"] = {**mine, "token_endpoint_auth_method": "client_secret_basic"}
        desk = Desk(tmp_path)
        config = server(world.url, kind="client_credentials", client_id="robot", client_secret="robots-secret-1")
        caller = Caller(desk, config, agrees=None)
        assert await asyncio.gather(*(caller.call() for _ in range(4))) == [200] * 4
        assert len(world.seen("/token")) == 1
        world.expire()
        assert await caller.call() == 200
        assert await caller.call("read_notes") == 200
        assert desk.vault.secrets == {}  # type: ignore[attr-defined]
        await caller.edge.close(1)
        wrong = Caller(
            desk, replace(config, auth=replace(config.auth, client_secret="other", account="x")), agrees=None
        )
        with pytest.raises(AuthFailed, match="invalid_client"):
            await wrong.call()
        await wrong.edge.close(1)


async def test_signing_out_takes_the_tokens_back(tmp_path: Path) -> None:
    async with signed_in(tmp_path, agrees=None) as (world, desk, caller):
        assert await caller.call() == 200
        config = server(world.url)
        told = await desk.accounts.sign_out(config, desk.tap)
        assert "revoked the refresh token" in told and "revoked the access token" in told
        assert len(world.seen("/revoke")) == 2
        assert await desk.accounts.account(config) is None and await desk.accounts.accounts() == []
        with pytest.raises(SignInNeeded):
            await caller.call()
        with pytest.raises(SignInNeeded):
            await desk.accounts.sign_out(config, desk.tap)


async def test_what_of_the_tokens_could_not_be_taken_back_is_said(tmp_path: Path) -> None:
    async def picky(world: World, got: Request, reply: Reply) -> bool:
        if b"hint=access_token" not in got.body:
            return False
        await reply.body("400 Bad Request", b'{"error": "unsupported_token_type"}')
        return True

    async with signed_in(tmp_path, agrees=None) as (world, desk, _caller):
        world.manner = Manner("picky", reply={"revoke": picky})
        told = await desk.accounts.sign_out(server(world.url), desk.tap)
        assert "revoked the refresh token. The access token could not be revoked" in told and "400" in told


@pytest.mark.parametrize("manner", ["revoke-500", "revoke-silent", ""])
async def test_signing_out_forgets_in_any_case_and_says_so(tmp_path: Path, manner: str) -> None:
    options = {} if manner else {"revocation": False}
    async with signed_in(tmp_path, manner, limits=Limits(sign_in_request=0.5), **options) as (world, desk, _caller):
        told = await desk.accounts.sign_out(server(world.url), desk.tap)
        assert ("could not be revoked" if manner else "no revocation") in told and "forgotten" in told
        assert await desk.accounts.account(server(world.url)) is None


async def test_the_token_itself_is_given_to_who_asks_and_renewed_when_wanted(tmp_path: Path) -> None:
    async with signed_in(tmp_path) as (world, desk, _caller):
        config = server(world.url)
        first = await desk.accounts.token(config)
        assert first in world.secrets()
        account = await desk.accounts.refresh(config, desk.tap)
        assert await desk.accounts.token(config) != first and account.refreshable
        assert account.claims and account.expires > time.time()
        assert first not in str(account)
        world.end()
        with pytest.raises(AuthFailed):
            await desk.accounts.refresh(config, desk.tap)
        with pytest.raises(SignInNeeded):
            await desk.accounts.token(server(world.url, account="other"))

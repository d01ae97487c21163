"""Signing in to npm's oidc-provider before a server of the TypeScript SDK: login and consent pages, a second scope."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from mcp_studio.auth.model import Account
from mcp_studio.call.call import Lost
from mcp_studio.config.model import Auth
from mcp_studio.studio import Studio
from tests.servers.browser import follow
from tests.sign_in_kit import Visitor, signed_in, signing, until
from tests.studio_support import call, http, text
from tests.support import npm_provider, wait_until
from tests.support_servers import running


class Reader(Visitor):
    """A browser with somebody who logs in and agrees."""

    async def _go(self, url: str) -> None:
        await asyncio.to_thread(follow, url)


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    with running(npm_provider("2"), env={"NODE_NO_WARNINGS": "1"}) as server:
        yield server.url


async def account(studio: Studio) -> Account:
    found = await studio.sign_ins.account("s")
    assert found is not None
    return found


async def test_a_second_scope_is_asked_for_with_a_client_that_may(provider: str) -> None:
    async with signing(http(provider), visitor=Reader()) as (studio, visitor):
        await signed_in(studio)
        assert text(await call(studio, "whoami")) == "ada by Bearer"
        assert (await account(studio)).scopes == ("tools",)
        refused = asyncio.create_task(call(studio, "read_notes"))
        await wait_until(lambda: studio.inbox.pending or refused.done(), what="a question")
        (question,) = studio.inbox.pending
        assert question.sign_in is not None
        stepped = await until(question.sign_in())
        assert stepped.state == "done", stepped.error
        assert text(await refused) == "buy milk"
        assert set((await account(studio)).scopes) == {"tools", "notes"}
        assert len(visitor.opened) == 2
        assert "revoked" in await studio.sign_ins.sign_out("s")


async def test_keys_and_nonces_hold_for_signing_in_renewing_and_signing_out(provider: str) -> None:
    async with signing(http(provider, auth=Auth(dpop=True)), visitor=Reader()) as (studio, visitor):
        await signed_in(studio)
        assert text(await call(studio, "whoami")) == "ada by DPoP"
        first = (await account(studio)).obtained
        await studio.sign_ins.refresh("s")
        assert (await account(studio)).obtained > first
        assert text(await call(studio, "whoami")) == "ada by DPoP"
        assert len(visitor.opened) == 1
        assert "revoked" in await studio.sign_ins.sign_out("s")
        assert isinstance(await call(studio, "whoami"), Lost)

"""Servers that go on refusing: there is an end to refreshing, to proofs, to questions and to scopes."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from mcp_studio.call.call import Succeeded
from mcp_studio.limits import Limits
from tests.servers.auth_server import AuthServer, World
from tests.servers.http_raw import Reply, Request
from tests.sign_in_kit import signed_in, signing, until
from tests.studio_support import call, http
from tests.support import wait_until

Takeover = Callable[[World, Request, Reply], Any]
NUMBERS = itertools.count()


async def expired(world: World, got: Request, reply: Reply) -> bool:
    """401, whatever token comes."""
    line = world.resource.challenge("/mcp", None, "mcp:tools") + ', error="invalid_token"'
    await reply.body("401 Unauthorized", b"{}", f"WWW-Authenticate: {line}")
    return True


async def further(world: World, got: Request, reply: Reply) -> bool:
    """403, for one more scope each time."""
    scope = world.options.scopes[next(NUMBERS) % 4]
    line = world.resource.challenge("/mcp", None, scope) + ', error="insufficient_scope"'
    await reply.body("403 Forbidden", b"{}", f"WWW-Authenticate: {line}")
    return True


async def nonces(world: World, got: Request, reply: Reply) -> bool:
    """Another nonce is wanted each time."""
    lines = ('WWW-Authenticate: DPoP error="use_dpop_nonce"', f"DPoP-Nonce: n{next(NUMBERS)}")
    await reply.body("401 Unauthorized", b"{}", *lines)
    return True


async def bare(world: World, got: Request, reply: Reply) -> bool:
    """401 without a word."""
    await reply.body("401 Unauthorized", b"")
    return True


async def forbidden(world: World, got: Request, reply: Reply) -> bool:
    """403 that has nothing to do with scopes."""
    await reply.body("403 Forbidden", b"You are not on the list.", kind="text/plain")
    return True


async def endless(world: World, got: Request, reply: Reply) -> bool:
    """401 with a body that does not end."""
    line = world.resource.challenge("/mcp", None, "")
    await reply.head("401 Unauthorized", f"WWW-Authenticate: {line}", "Transfer-Encoding: chunked")
    for _ in range(100_000):
        await reply.raw(b"400\r\n" + b"x" * 1024 + b"\r\n")
    return True


REFUSALS: tuple[Takeover, ...] = (expired, further, nonces, bare, forbidden, endless)


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("there", [True, False], ids=["a person signs in each time", "nobody is there"])
async def test_a_refusal_for_ever_ends_the_call(refusal: Takeover, there: bool) -> None:
    dpop = "required" if refusal is nonces else ""
    async with AuthServer(dpop=dpop) as world, signing(http(world.url), can_ask=True) as (studio, visitor):
        await signed_in(studio)
        before = len(world.requests)
        world.manner = world.manner._replace(reply={"mcp": refusal})
        calling = asyncio.create_task(call(studio, "whoami"))
        while not calling.done():
            await wait_until(lambda: studio.inbox.pending or calling.done(), what="a question or an end")
            for question in studio.inbox.pending:
                if there:
                    assert question.sign_in is not None
                    await until(question.sign_in())
                    await wait_until(lambda question=question: question not in studio.inbox.pending)
                else:
                    question.answer("decline")
                    await wait_until(lambda question=question: question not in studio.inbox.pending)
        outcome = await calling
        assert not isinstance(outcome, Succeeded)
        assert len(visitor.opened) <= 1 + Limits().step_ups
        assert len(world.requests) - before < 40, [one.path for one in world.requests[before:]]
        assert not any(secret in repr(outcome) for secret in world.secrets())
        world.manner = world.manner._replace(reply={})
        if studio.manager.status("s").state == "ready":
            assert isinstance(await call(studio, "whoami"), Succeeded), "the server is as good as before"

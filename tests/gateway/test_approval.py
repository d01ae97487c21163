"""Policy and approval come before a call goes on: asked of the client's person, in another terminal, or refused."""

from __future__ import annotations

import asyncio
import json
import subprocess
from typing import Any

import mcp_types as types
import pytest
from mcp.client import ClientRequestContext

from mcp_studio.paths import Paths
from mcp_studio.session.approvals import answer, waiting
from tests.gateway.kit import ERAS, configured, environment, on_stdio, text
from tests.support import python_program, wait_until

SELL = ("mcp__demo__reset_shop", {})


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_the_person_of_the_client_is_asked(era: str, action: Any) -> None:
    asked = list[str]()

    async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action=action, content={} if action == "accept" else None)

    async with on_stdio(configured('mode = "all"'), "--asks", era=era, elicitation_callback=elicit) as client:
        assert not (await client.call_tool("mcp__demo__list_books", {})).is_error
        assert asked == [], "a read-only tool of a trusted server needs no approval"
        result = await client.call_tool(*SELL)
    assert len(asked) == 1 and asked[0].startswith("mcp-studio: run demo.reset_shop?")
    assert bool(result.is_error) == (action == "decline")
    if action == "decline":
        assert "was not run: denied" in text(result)


async def test_another_terminal_can_approve() -> None:
    async with on_stdio(configured('mode = "all"'), "--asks") as client:
        call = asyncio.ensure_future(client.call_tool(*SELL))
        folder = Paths.default().state / "approvals"
        await wait_until(lambda: waiting(folder), what="an approval that waits")
        found = waiting(folder)
        assert found[0].subject == "demo.reset_shop"
        await asyncio.to_thread(answer, folder, found[0].id, approved=True)
        assert not (await call).is_error


async def test_what_a_rule_denies_is_refused_also_with_approval() -> None:
    rule = '[[policy]]\ntools = "demo.sell_*"\nverdict = "deny"'
    async with on_stdio(configured('mode = "all"', rule)) as client:
        refused = await client.call_tool("mcp__demo__sell_book", {"id": "x"})
        assert refused.is_error and "was not run" in text(refused)


async def test_where_nobody_is_to_be_asked_it_is_refused_at_once() -> None:
    async with on_stdio(configured('mode = "search"\napproval = "never"'), "--asks") as client:
        refused = await client.call_tool("call_tool", {"tool_name": "demo.reset_shop"})
        assert refused.is_error and "needs approval, nobody may be asked" in text(refused)


async def test_a_client_asks_so_often_and_not_more() -> None:
    async with on_stdio(configured('mode = "all"\ncalls = 3')) as client:
        await client.list_tools()
        results = [await client.call_tool("mcp__demo__list_books", {}) for _ in range(3)]
        assert [bool(result.is_error) for result in results] == [False, False, True]
        assert "3 requests a minute" in text(results[-1])


async def test_every_call_is_in_a_recorded_session_and_in_the_account() -> None:
    async with on_stdio(configured('mode = "all"')) as client:
        await client.call_tool("mcp__demo__list_books", {})
    for words, expected in ((("trace", "last"), "list_books"), (("audit",), "list_books")):
        done = subprocess.run(
            python_program("-m", "mcp_studio", *words, "--json"), capture_output=True, text=True, env=environment()
        )
        assert done.returncode == 0, done.stderr
        assert expected in json.dumps(json.loads(done.stdout))

"""A call ends with one outcome, however it ends: before it began, while it is asked about, or by an error of ours."""

from __future__ import annotations

import asyncio

import pytest

from mcp_studio.call.call import Cancelled, Lost, Succeeded
from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import UsageError
from tests.studio_support import opened, stdio
from tests.support import python_server, wait_until

RAW = python_server("raw_server")
ECHO, FAIL = Ref("tool", "s", "echo"), Ref("tool", "s", "fail")


async def test_a_call_that_is_cancelled_at_once_is_cancelled_and_says_so() -> None:
    async with opened(stdio(RAW)) as studio:
        handle = studio.call_tool(ECHO, {"text": "x"})
        told: list[object] = []
        handle.changed.connect(lambda call: told.append(call.outcome))
        handle.cancel()
        assert isinstance(await handle.wait(), Cancelled)
        await wait_until(lambda: handle.over.is_set())
        assert isinstance(handle.outcome, Cancelled) and told


async def test_a_call_that_is_cancelled_while_a_person_is_asked_is_cancelled() -> None:
    async with opened(stdio(RAW)) as studio:
        handle = studio.call_tool(FAIL, {})
        await wait_until(lambda: studio.inbox.pending)
        handle.cancel()
        assert isinstance(await handle.wait(), Cancelled)
        assert not studio.inbox.pending and not handle.asking


async def test_approval_is_told_before_the_call_goes_on() -> None:
    async with opened(stdio(RAW)) as studio:
        handle = studio.call_tool(FAIL, {})
        asking: list[bool] = []
        handle.changed.connect(lambda call: asking.append(call.asking) if call.outcome is None else None)
        await wait_until(lambda: studio.inbox.pending)
        studio.inbox.pending[0].answer("accept")
        await handle.wait()
        assert asking == [True, False]


@pytest.mark.parametrize("arguments", [{"text": "x"}, {"text": float("nan")}])
async def test_a_call_that_cannot_be_sent_is_lost_with_the_reason(arguments: dict[str, object]) -> None:
    async with opened(stdio(RAW)) as studio:
        server = "nobody" if arguments["text"] == "x" else "s"
        outcome = await studio.call_tool(Ref("tool", server, "echo"), arguments).wait()
        assert isinstance(outcome, Lost) and outcome.error.message
        assert server == "s" or isinstance(outcome.error, UsageError)
        await asyncio.sleep(0)
        assert isinstance(await studio.call_tool(ECHO, {"text": "on"}).wait(), Succeeded)

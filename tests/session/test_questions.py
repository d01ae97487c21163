"""Questions of a server: deadlines stand still while they are open, and they end with the call that they belong to."""

from __future__ import annotations

import asyncio

from mcp_studio.call.call import Cancelled, Succeeded, TimedOut
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Timeouts
from tests.studio_support import opened, stdio
from tests.support import python_server, wait_until

ASK, WAIT = Ref("tool", "s", "ask"), Ref("tool", "s", "wait")
CALM = stdio(python_server("raw_server"), era="legacy")
SHORT = stdio(python_server("raw_server"), era="legacy", timeouts=Timeouts(idle=0.4, total=10))


async def test_a_call_begun_under_a_question_has_no_deadline_until_it_is_answered() -> None:
    async with opened(SHORT) as studio:
        first = studio.call_tool(ASK, {})
        await wait_until(lambda: studio.inbox.pending)
        second = studio.call_tool(ASK, {})
        await wait_until(lambda: len(studio.inbox.pending) == 2)
        studio.inbox.pending[0].answer("accept", {"name": "Ada"})
        await first.wait()
        await asyncio.sleep(0.6)  # longer than the idle limit
        assert second.outcome is None
        studio.inbox.pending[0].answer("accept", {"name": "Eve"})
        assert isinstance(await second.wait(), Succeeded)
        third = studio.call_tool(ASK, {})
        await wait_until(lambda: studio.inbox.pending)
        await asyncio.sleep(0.6)
        assert third.outcome is None
        studio.inbox.pending[0].answer("decline")
        assert isinstance(await third.wait(), Succeeded)
        assert isinstance(await studio.call_tool(WAIT, {"seconds": 5}).wait(), TimedOut)


async def test_a_question_goes_with_the_call_that_was_cancelled() -> None:
    async with opened(CALM) as studio:
        handle = studio.call_tool(ASK, {})
        await wait_until(lambda: studio.inbox.pending)
        handle.cancel()
        assert isinstance(await handle.wait(), Cancelled)
        await wait_until(lambda: not studio.inbox.pending)
        answers = [entry for entry in studio.trace if entry.direction == "out" and entry.kind == "result"]
        await wait_until(lambda: any(b'"action":"cancel"' in entry.body for entry in studio.trace), what=f"{answers}")


async def test_a_sampling_request_of_a_cancelled_call_is_refused_since_no_result_says_so() -> None:
    async with opened(stdio(python_server("raw_asks"), era="legacy")) as studio:
        handle = studio.call_tool(Ref("tool", "s", "sample"), {}, approved=True)
        await wait_until(lambda: studio.inbox.pending)
        handle.cancel()
        await handle.wait()
        await wait_until(lambda: [e for e in studio.trace if e.direction == "out" and e.kind == "error"])
        (refusal,) = [e for e in studio.trace if e.direction == "out" and e.kind == "error"]
        assert b'"code":-1,' in refusal.body and not studio.inbox.pending


async def test_a_question_stays_while_another_call_may_have_caused_it() -> None:
    async with opened(CALM) as studio:
        other = studio.call_tool(WAIT, {"seconds": 5})
        await wait_until(lambda: len([e for e in studio.trace if e.method == "tools/call"]) == 1)
        asking = studio.call_tool(ASK, {})
        await wait_until(lambda: studio.inbox.pending)
        other.cancel()
        await other.wait()
        assert studio.inbox.pending
        studio.inbox.pending[0].answer("accept", {"name": "Ada"})
        assert isinstance(await asking.wait(), Succeeded)

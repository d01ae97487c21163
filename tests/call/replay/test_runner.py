"""Calls are sent again with what they were sent with then, answered as then, and compared; secrets never are."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

from mcp_studio.call.call import Succeeded
from mcp_studio.call.replay.plan import Plan, Recorded, ReplayStep, load, plan, step_of
from mcp_studio.call.replay.runner import Replayer, Result, summary
from mcp_studio.catalog.listing import Ref
from mcp_studio.catalog.refresh import list_page
from mcp_studio.session.inbox import InputRequest
from mcp_studio.studio import Studio
from mcp_studio.trace.diff import path_text
from tests.studio_support import halted, opened, stdio
from tests.support import python_server, wait_until

LEGACY = stdio(python_server("raw_server"), "old")
MODERN = stdio(python_server("raw_server", "--modern"), "new")


async def made(studio: Studio, server: str) -> None:
    """Some calls, one of them with a question that is answered by a person."""

    def answer(request: InputRequest) -> None:
        if request.kind == "elicitation":
            request.answer("accept", {"name": "Ada"})

    disconnect = studio.inbox.changed.connect(answer)
    for tool, arguments in (("echo", {"text": "hi"}), ("ask", {}), ("fail", {}), ("nothing", {})):
        await studio.call_tool(Ref("tool", server, tool), arguments, approved=True).wait()
    await studio.read_resource(server, "raw://note").wait()
    await studio.get_prompt(Ref("prompt", server, "greet"), {"who": "Bob"}).wait()
    await studio.caller.complete(Ref("prompt", server, "greet"), "who", "A", {})
    disconnect()


def replayer(studio: Studio, **manner: Any) -> Replayer:
    """Sends again what this studio has sent."""
    return Replayer(studio.caller, studio.trace, **manner)


async def replayed(studio: Studio, found: Plan, **servers: str) -> list[Result]:
    """All steps of a plan."""
    return [one async for one in replayer(studio, approved=True).run(found.steps, servers)]


async def test_a_session_is_the_same_again_and_nearly_so_in_the_other_era() -> None:
    async with opened(LEGACY, MODERN) as studio:
        for here, there in (("old", "new"), ("new", "old")):
            begin = studio.trace.total
            await made(studio, here)
            await list_page(studio.manager.connection(here), "tool")
            await list_page(studio.manager.connection(here), "tool")
            mine = plan(studio.trace.columns, range(begin + 1, studio.trace.total + 1))
            same = await replayed(studio, mine)
            assert [one.verdict for one in same] == ["same"] * len(mine.steps), same
            assert summary(same)["same"] == len(mine.steps) == 9
            other = await replayed(studio, mine, **{here: there})
            calls = [one for one in other if one.step.method == "tools/call" and one.step.target != "nothing"]
            assert [one.verdict for one in calls] == ["same", "differs", "same"], calls
            # What its person answered arrives; how a server of the other era tells of it is its own affair.
            assert "Ada" in str(calls[1].answer) and calls[1].differences[0].path[:3] == ("content", 0, "text")


async def test_many_are_a_programs_calls_and_one_is_a_persons() -> None:
    async with opened(LEGACY, can_ask=False) as studio:
        await studio.call_tool(Ref("tool", "old", "add"), {"a": 1, "b": 2}).wait()
        step = step_of(studio.trace.columns, studio.trace.total)
        assert step is not None and step.target == "add"
        studio.inbox.changed.connect(lambda request: request.answer("decline"))
        many = await replayer(studio).one(step, "old")
        assert (many.verdict, many.said) == ("failed", "denied by you")
        one = await replayer(studio, origin="person").one(step, "old")
        assert one.verdict == "same" and isinstance(one.outcome, Succeeded)
        assert one.outcome.request_id != studio.trace.entry(step.number).id  # type: ignore[union-attr]


async def test_what_differs_is_told_by_its_place() -> None:
    async with opened(LEGACY) as studio:
        await studio.call_tool(Ref("tool", "old", "echo"), {"text": "hi"}).wait()
        entry = studio.trace.entry(studio.trace.total)
        assert entry is not None
        entry.body = entry.body.replace(b"hi", b"ho")
        step = step_of(studio.trace.columns, entry.number)
        assert step is not None
        result = await replayer(studio, approved=True).one(step, "old")
        assert result.verdict == "differs"
        assert [path_text(one.path) for one in result.differences] == ["content[0].text"]
        gone = await replayer(studio, approved=True).one(step, "elsewhere")
        assert gone.verdict == "failed" and "elsewhere" in gone.said


async def test_a_secret_is_never_sent_as_the_mark_that_stands_for_it() -> None:
    async with opened(LEGACY) as studio:
        studio.redactor.learn("very-secret-1")
        arguments = {"text": "x", "more": [{"token": "very-secret-1"}], "note": "is very-secret-1"}
        await studio.call_tool(Ref("tool", "old", "echo"), arguments).wait()
        step = step_of(studio.trace.columns, studio.trace.total)
        assert step is not None
        sent = studio.trace.total
        refused = await replayer(studio, approved=True).one(step, "old")
        assert refused.verdict == "skipped" and studio.trace.total == sent
        assert refused.said == "the recording does not have arguments.more[0].token, arguments.note, being secret"

        async def fill(step: ReplayStep, recorded: Recorded) -> dict[str, Any]:
            return {**recorded.params, "arguments": arguments}

        filled = replayer(studio, approved=True, fill=fill)
        assert (await filled.one(step, "old")).verdict == "same"


async def test_requests_that_no_rule_can_judge_are_sent_when_they_are_approved() -> None:
    async with opened(LEGACY) as studio:
        frame = b'{"jsonrpc":"2.0","id":901,"method":"x/own","params":{"_meta":{"progressToken":3,"mine":1}}}'
        await studio.manager.by_hand("old").send(frame).wait()
        (step,) = plan(studio.trace.columns, [studio.trace.total]).steps
        assert (await load(studio.trace, step)).params == {"_meta": {"mine": 1}}
        assert (await replayer(studio).one(step, "old")).verdict == "skipped"
        assert (await replayer(studio, approved=True).one(step, "old")).verdict == "same"


async def test_leaving_a_replay_cancels_the_call_that_is_under_way() -> None:
    async with opened(LEGACY) as studio:
        await studio.call_tool(Ref("tool", "old", "wait"), {"seconds": 0.01}).wait()
        found = plan(studio.trace.columns, [studio.trace.total])
        with halted(studio, "old"):
            task = asyncio.create_task(replayed(studio, found))
            await wait_until(lambda: any(call.sendings for call in studio.caller.running))
            task.cancel()
            await asyncio.wait((task,))
        assert not studio.caller.running or all(call.outcome for call in studio.caller.running)
        last = [entry.method for entry in studio.trace][-1]
        assert last == "notifications/cancelled"
        assert studio.manager.supervisor("old").answerer.scripts == []


async def test_a_server_that_ends_meanwhile_fails_what_was_under_way_and_what_comes_before_it_is_back() -> None:
    async with opened(LEGACY) as studio:
        for seconds in (0.02, 0.01):
            await studio.call_tool(Ref("tool", "old", "wait"), {"seconds": seconds}).wait()
        found = plan(studio.trace.columns, range(studio.trace.total - 3, studio.trace.total + 1))
        with halted(studio, "old") as pid:
            task = asyncio.create_task(replayed(studio, found))
            await wait_until(lambda: any(call.sendings for call in studio.caller.running))
            os.kill(pid, signal.SIGKILL)
        lost, after = await task
        assert lost.verdict == "failed" and "SIGKILL" in lost.said
        assert after.verdict == "same"

"""Questions that a server asks as tasks of ours, on npm's everything server and on a small one."""

from __future__ import annotations

import json

from mcp_studio.call.call import Cancelled
from mcp_studio.catalog.listing import Ref
from tests.studio_support import opened, stdio, text
from tests.support import npm_server, python_server, wait_until


async def test_everythings_questions_as_tasks_are_answered() -> None:
    async with opened(stdio(npm_server("everything"))) as studio:
        tool = Ref("tool", "s", "trigger-elicitation-request-async")
        call = studio.call_tool(tool, {}, approved=True)
        await wait_until(lambda: studio.inbox.pending, 10, "a question")
        studio.inbox.pending[0].answer("accept", {"name": "Ada", "favoriteColor": "Red"})
        said = text(await call.wait())
        assert "[COMPLETED]" in said


async def test_everythings_sampling_as_a_task_is_answered() -> None:
    async with opened(stdio(npm_server("everything"))) as studio:
        tool = Ref("tool", "s", "trigger-sampling-request-async")
        call = studio.call_tool(tool, {"prompt": "hello"}, approved=True)
        await wait_until(lambda: studio.inbox.pending, 10, "a question")
        reply = {"role": "assistant", "content": {"type": "text", "text": "by hand"}, "model": "person"}
        studio.inbox.pending[0].answer("accept", reply)
        assert "by hand" in text(await call.wait())


async def test_everythings_research_runs_as_a_task_and_asks() -> None:
    async with opened(stdio(npm_server("everything"))) as studio:
        tool = Ref("tool", "s", "simulate-research-query")
        call = studio.call_tool(tool, {"topic": "python", "ambiguous": True}, approved=True)
        await wait_until(lambda: studio.inbox.pending, 20, "a question")
        await wait_until(lambda: studio.tasks.all()[0].status == "input_required", 20, "a task that waits")
        studio.inbox.pending[0].answer("accept", {"interpretation": "snake"})
        assert "snake" in text(await call.wait())
        task = studio.tasks.all()[0]
        assert (task.status, task.problems, task.ttl) == ("completed", (), 300)


async def test_a_question_as_a_task_is_polled_fetched_and_told() -> None:
    async with opened(stdio(python_server("raw_asking_tasks"))) as studio:
        call = studio.call_tool(Ref("tool", "s", "ask"), {}, approved=True)
        await wait_until(lambda: studio.inbox.pending, 10, "a question")
        studio.inbox.pending[0].answer("accept", {"name": "Ada"})
        said = json.loads(text(await call.wait()))
        assert said["created"]["task"]["status"] == "working"
        assert said["created"]["task"]["ttl"] == 3_600_000
        identity = said["created"]["task"]["taskId"]
        assert said["get"]["taskId"] == identity
        assert [task["taskId"] for task in said["list"]["tasks"]] == [identity]
        assert said["unknown"]["code"] == -32602
        assert said["result"]["content"] == {"name": "Ada"}
        assert said["result"]["_meta"] == {"io.modelcontextprotocol/related-task": {"taskId": identity}}
        assert said["cancel"]["code"] == -32602
        assert said["told"] == ["completed"]


async def test_a_server_cancels_its_question() -> None:
    async with opened(stdio(python_server("raw_asking_tasks"))) as studio:
        call = studio.call_tool(Ref("tool", "s", "regret"), {}, approved=True)
        said = json.loads(text(await call.wait()))
        assert said["cancel"]["status"] == "cancelled"
        assert said["result"]["message"] == "The task was cancelled"
        assert said["told"] == ["cancelled"]
        await wait_until(lambda: not studio.inbox.pending)


async def test_the_question_goes_with_the_call_that_it_was_asked_for() -> None:
    async with opened(stdio(python_server("raw_asking_tasks"))) as studio:
        call = studio.call_tool(Ref("tool", "s", "ask"), {}, approved=True)
        await wait_until(lambda: studio.inbox.pending, 10, "a question")
        call.cancel()
        assert isinstance(await call.wait(), Cancelled)
        await wait_until(lambda: not studio.inbox.pending)


async def test_tasks_that_were_not_declared_are_not_made() -> None:
    server = stdio(python_server("raw_asking_tasks"), capabilities={"elicitation": {"form": {}}})
    async with opened(server) as studio:
        call = studio.call_tool(Ref("tool", "s", "ask"), {}, approved=True)
        await wait_until(lambda: studio.inbox.pending, 10, "a question")
        studio.inbox.pending[0].answer("accept", {"name": "Ada"})
        said = json.loads(text(await call.wait()))
        assert said["created"] == {"action": "accept", "content": {"name": "Ada"}}

"""The demo server's task, in both eras, over stdio and HTTP, through the studio and bare."""

from __future__ import annotations

import pytest

from mcp_studio.call.call import Cancelled
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import ServerConfig
from mcp_studio.studio import Studio
from tests.demo.wire import opened as wired
from tests.studio_support import http, opened, stdio, text
from tests.support import wait_until
from tests.support_servers import demo_stdio

BIND = Ref("tool", "s", "bind_edition")


def server(era: str, url: str) -> ServerConfig:
    wanted = "legacy" if era == "legacy" else "modern"
    return http(url, era=wanted) if url else stdio(demo_stdio(), era=wanted)


async def answer(studio: Studio, colour: str) -> None:
    await wait_until(lambda: studio.inbox.pending, 10, "a question")
    studio.inbox.pending[0].answer("accept", {"colour": colour})


@pytest.mark.parametrize("remote", [False, True], ids=["stdio", "http"])
async def test_a_task_asks_and_completes(era: str, remote: bool, url: str) -> None:
    async with opened(server(era, url if remote else "")) as studio:
        call = studio.call_tool(BIND, {"copies": 2, "seconds_per_copy": 0.2, "ask": True}, wants_task=True)
        await answer(studio, "green")
        assert text(await call.wait()) == "2 copies are bound in green."
        task = studio.tasks.all()[0]
        assert task.problems == () and task.kind == ("core" if era == "legacy" else "extension")
        statuses = list(dict.fromkeys(step.status for step in task.steps))
        assert statuses[-1] == "completed" and "input_required" in statuses


async def test_a_task_over_http_names_itself_in_a_header(url: str) -> None:
    async with opened(server("modern", url)) as studio:
        call = studio.call_tool(BIND, {"copies": 1, "seconds_per_copy": 0.2})
        assert text(await call.wait()) == "1 copies are bound."
        sent = [entry.body.lower() for entry in studio.trace if entry.kind == "http" and entry.direction == "out"]
        asked = [body for body in sent if b"tasks/get" in body]
        assert asked and all(b"mcp-name" in body for body in asked), sent
        assert all(studio.tasks.all()[0].id.encode() in body for body in asked)


async def test_a_task_is_cancelled_with_its_call(era: str) -> None:
    async with opened(server(era, "")) as studio:
        call = studio.call_tool(BIND, {"copies": 100, "seconds_per_copy": 60}, wants_task=True)
        await wait_until(lambda: call.as_task is not None)
        call.cancel()
        assert isinstance(await call.wait(), Cancelled)
        await wait_until(lambda: studio.tasks.all()[0].status == "cancelled")


async def test_a_client_without_tasks_waits_for_the_result(era: str) -> None:
    async with wired(era != "legacy") as wire:
        arguments = {"copies": 2, "seconds_per_copy": 0.05}
        reply = await wire.ask("tools/call", name="bind_edition", arguments=arguments)
        assert reply["result"]["content"][0]["text"] == "2 copies are bound."


async def test_an_unknown_task_and_a_missing_capability_are_refused(era: str) -> None:
    async with wired(era != "legacy") as wire:
        reply = await wire.ask("tasks/get", taskId="no-such")
        assert reply["error"]["code"] == (-32602 if era == "legacy" else -32021)

"""Servers that die, or take their question back, while a person is answering it: the dialog goes, the studio stays."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from mcp_studio.catalog.listing import Ref
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import on_stage, raw

SERVER = "raw_poison_asks"


async def test_a_server_that_dies_takes_its_dialog_with_it() -> None:
    tools = ("forms", "visit", "sample")
    hostile = [stdio(python_server(SERVER, "--modern"), tool) for tool in tools]
    async with on_stage(*hostile, raw("good"), size=(80, 24)) as stage:
        for tool in tools:
            call = stage.studio.call_tool(Ref("tool", tool, tool), {}, approved=True)
            await stage.until(lambda: stage.app.screen is not stage.main, "the dialog")
            await stage.press("tab", "x", "y")
            os.kill(stage.studio.manager.status(tool).pid, signal.SIGKILL)
            await stage.until(lambda: stage.app.screen is stage.main, "the main screen")
            assert call.outcome and not stage.studio.inbox.pending
            beside = stage.studio.call_tool(Ref("tool", "good", "echo"), {"text": "x"}, approved=True)
            assert type(await beside.wait()).__name__ == "Succeeded"
        began = time.monotonic()
    assert time.monotonic() - began < 15


async def test_servers_with_the_same_task_id_have_tasks_of_their_own() -> None:
    def server(name: str) -> Any:
        return stdio(python_server("raw_tasks"), name)

    async with on_stage(server("a"), server("b")) as stage:
        tasks = stage.studio.tasks
        for name in ("a", "b"):
            tasks.adopt(name, "same")
        # What one server says of a task is not taken for another's.
        told = {"taskId": "same", "status": "cancelled", "createdAt": "x", "lastUpdatedAt": "x", "ttl": 1}
        stage.studio.manager.notified.emit(("a", "notifications/tasks/status", told))

        def states() -> list[tuple[str, str]]:
            return [(task.server, task.status) for task in tasks.all()]

        await stage.until(lambda: ("a", "cancelled") in states(), "cancelled")
        assert ("b", "working") in states()

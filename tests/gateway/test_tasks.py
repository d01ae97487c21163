"""Calls that go on as tasks, through the gateway, in both eras on both sides."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_studio.call.call import Succeeded
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import AnswerRule, Settings
from mcp_studio.limits import Limits
from tests.gateway.kit import argv, configured, on_stdio, raw
from tests.gateway.kit import text as text_of
from tests.studio_support import opened, stdio, text
from tests.support import wait_until

BIND = Ref("tool", "s", "mcp__demo__bind_edition")


@pytest.mark.parametrize("era", ["legacy", "auto"])
@pytest.mark.parametrize("upstream", [(), ("--modern",)])
async def test_a_client_without_tasks_gets_the_result_of_a_tool_that_works_only_as_a_task(
    era: str, upstream: tuple[str, ...]
) -> None:
    async with on_stdio(configured('mode = "all"', raw=raw("raw_tasks", *upstream)), era=era) as client:
        assert text_of(await client.call_tool("mcp__raw__progress", {"text": "x"})) == "progress is done x"


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("upstream", ["legacy", "modern"])
async def test_a_call_becomes_a_task_that_asks_and_can_be_cancelled(era: Any, upstream: Any) -> None:
    rule = AnswerRule("accept", content={"colour": "red"})
    settings = Settings(limits=Limits(connect=60.0), answers=(rule,))
    words = argv(configured('mode = "all"'), "--era", upstream)
    server = stdio(words, era=era, inherit_env=("PYTHONPATH", "MCP_STUDIO_HOME"))
    async with opened(server, settings=settings) as studio:
        await wait_until(lambda: studio.catalog.find(BIND))
        arguments = {"copies": 4, "seconds_per_copy": 0.05, "ask": True}
        call = studio.call_tool(BIND, arguments, approved=True, wants_task=True)
        outcome = await call.wait()
        assert isinstance(outcome, Succeeded), outcome
        assert text(outcome) == "4 copies are bound in red."
        assert call.as_task is not None and call.as_task.status == "completed"

        endless = studio.call_tool(BIND, {"copies": 20, "seconds_per_copy": 5}, approved=True, wants_task=True)
        await wait_until(lambda: endless.as_task or endless.outcome, timeout=30)
        task = endless.as_task
        assert task is not None
        endless.cancel()
        await endless.wait()
        await wait_until(
            lambda: (known := studio.tasks.get(*task.key)) is None or known.status == "cancelled", timeout=30
        )

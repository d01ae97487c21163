"""A call that waits for approval in one process is listed and answered from another one."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mcp_studio.call.call import CallOutcome, Denied, ToolFailed
from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import UsageError
from mcp_studio.paths import write_object
from mcp_studio.session.approvals import answer, waiting
from tests.studio_support import opened, stdio
from tests.support import SERVERS, python_server, wait_until


@pytest.mark.parametrize(
    ("approved", "kind", "rule"), [(True, ToolFailed, ""), (False, Denied, "denied by another terminal: not today")]
)
async def test_a_waiting_call_is_answered_from_another_terminal(
    approved: bool, kind: type[CallOutcome], rule: str
) -> None:
    arguments: dict[str, Any] = {"token": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789", "n": 1}
    async with opened(stdio(python_server("raw_server"))) as studio:
        folder = studio.paths.state / "approvals"
        call = studio.call_tool(Ref("tool", "s", "fail"), arguments)
        await wait_until(lambda: waiting(folder))
        (one,) = waiting(folder)
        assert one.subject == "s.fail" and "it is marked destructive" in one.reasons and one.until > one.asked
        assert one.arguments["n"] == 1 and "sk-proj" not in str(one.arguments)  # type: ignore[index]
        with pytest.raises(UsageError, match="No call waits"):
            answer(folder, "1-1", approved=True)
        assert await asyncio.to_thread(answer, folder, one.id, approved=approved, note="not today") == one
        with pytest.raises(UsageError, match="No call waits"):
            answer(folder, one.id, approved=True)
        outcome = await asyncio.wait_for(call.wait(), 20)
        assert isinstance(outcome, kind) and getattr(outcome, "rule", "") == rule
        await wait_until(lambda: not list(folder.iterdir()))


SERVER = """
import sys
sys.path.insert(0, sys.argv[1])
from raw_server import RawServer
server = RawServer(modern=False)
words = {"type": "object", "properties": {"words": {"type": "string", "format": "password"}}}
server.tools.append({"name": "unlock", "inputSchema": words, "annotations": {"destructiveHint": True}})
server.run()
"""


async def test_what_a_schema_calls_secret_is_in_no_file_before_or_after_the_answer() -> None:
    server = stdio([sys.executable, "-c", SERVER, str(SERVERS)])
    async with opened(server) as studio:
        folder = studio.paths.state / "approvals"
        call = studio.call_tool(Ref("tool", "s", "unlock"), {"words": "correct horse battery"})
        await wait_until(lambda: waiting(folder))
        (one,) = waiting(folder)
        await asyncio.to_thread(answer, folder, one.id, approved=False)
        await asyncio.wait_for(call.wait(), 20)
        (line,) = studio.audit.lines()
    assert "horse" not in str(one.arguments) and "horse" not in str(line) and line["outcome"] == "not sent"


def asked(folder: Path, *, age: float) -> Path:
    """What a process leaves that was ended while it asked, so many seconds after its last sign of life."""
    file, now = folder / "1-1.json", time.time()
    write_object(file, {"version": 1, "subject": "s.fail", "asked": now - 60, "until": now + 60})
    os.utime(file, (now - age, now - age))
    return file


def test_a_process_that_has_ended_waits_for_nothing_and_nothing_is_confirmed(tmp_path: Path) -> None:
    asked(tmp_path, age=6)
    assert waiting(tmp_path) == []
    asked(tmp_path, age=0)
    with pytest.raises(UsageError, match="waits no more"):
        answer(tmp_path, "1-1", approved=True)
    assert [file.name for file in tmp_path.iterdir()] == ["1-1.json"]


async def test_an_answer_that_lies_there_already_approves_nothing() -> None:
    async with opened(stdio(python_server("raw_server"))) as studio:
        folder = studio.paths.state / "approvals"
        for number in range(50):
            for name in (f"{os.getpid()}-{number}", str(number)):
                write_object(folder / f"{name}.answer", {"approved": True})
        call = studio.call_tool(Ref("tool", "s", "fail"), {})
        await wait_until(lambda: waiting(folder))
        (one,) = waiting(folder)
        await asyncio.to_thread(answer, folder, one.id, approved=False)
        assert isinstance(await asyncio.wait_for(call.wait(), 20), Denied)


async def test_large_arguments_are_not_written() -> None:
    async with opened(stdio(python_server("raw_server"))) as studio:
        folder = studio.paths.state / "approvals"
        call = studio.call_tool(Ref("tool", "s", "fail"), {"text": "x" * 300_000})
        await wait_until(lambda: waiting(folder))
        (one,) = waiting(folder)
        assert one.arguments == "too large to be shown here"
        call.cancel()
        await call.wait()

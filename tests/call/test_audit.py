"""The audit log: every tool call that was wanted has a line, without secrets, and nothing is rewritten."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from mcp_studio.call.audit import Audit
from mcp_studio.call.call import Call, Succeeded
from mcp_studio.call.policy import Judgement
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import PolicyRule, Settings
from mcp_studio.redact import Redactor
from mcp_studio.session.inbox import Action
from tests.studio_support import call, opened, stdio
from tests.support import python_server, wait_until

RAW = python_server("raw_server")


async def test_calls_are_written_with_verdict_rule_and_outcome_and_without_secrets() -> None:
    settings = Settings(policy=(PolicyRule("s.add", "deny"),))
    async with opened(stdio(RAW), settings=settings) as studio:
        await call(studio, "echo", text="hi", api_key="sk-proj-abcdefghijklmnopqrstuvwxyz0123456789")
        await call(studio, "add", a=1, b=2)
        await call(studio, "fail")
        await studio.get_prompt(Ref("prompt", "s", "greet"), {"who": "x"}).wait()
        lines = list(studio.audit.lines())
    assert [(one["tool"], one["verdict"], one["outcome"]) for one in lines] == [
        ("echo", "allow", "ok"), ("add", "deny", "not sent"), ("fail", "ask", "tool error"),
    ]  # fmt: skip
    assert lines[1]["rule"] == "policy rule 's.add'" and lines[0]["who"] == "person"
    assert lines[0]["arguments"]["text"] == "hi" and "sk-proj" not in str(lines)
    assert studio.audit.file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("action", "by", "approved", "outcome", "said"),
    [
        ("accept", "", "you", "tool error", ""),
        ("accept", "another terminal", "another terminal", "tool error", ""),
        ("decline", "", "", "not sent", "denied by you"),
        ("", "", "", "not sent", "needs approval, nobody answered"),
    ],
)
async def test_who_approved_a_call_is_written_and_that_nobody_did(
    action: Action | Literal[""], by: str, approved: str, outcome: str, said: str
) -> None:
    async with opened(stdio(RAW)) as studio:
        made = studio.call_tool(Ref("tool", "s", "fail"), {})
        await wait_until(lambda: studio.inbox.pending)
        if action:
            studio.inbox.pending[0].answer(action, by=by)
            await made.wait()
    (line,) = studio.audit.lines()
    assert (line["approved"], line["outcome"]) == (approved, outcome) and line["said"].startswith(said)


async def test_a_log_that_cannot_be_written_is_told_once() -> None:
    async with opened(stdio(RAW)) as studio:
        studio.audit.file.mkdir(parents=True)
        outcomes = [await call(studio, "echo", text="hi") for _ in range(2)]
    assert [len(one.notes) for one in outcomes] == [1, 0]
    assert "not written into the audit log" in outcomes[0].notes[0] and isinstance(outcomes[0], Succeeded)


async def test_a_full_file_is_put_aside_and_the_oldest_goes(tmp_path: Path) -> None:
    log = Audit(tmp_path / "audit.jsonl", Redactor(), "tests", largest=100)
    for number in range(12):
        made = Call(Ref("tool", "s", "t"), "tools/call", {"name": "t", "arguments": {"number": number}})
        log.add(made, Succeeded(ms=1.0), "person", Judgement("allow", "a rule"))
        log.close()
    assert [one["arguments"]["number"] for one in log.lines()] == list(range(4, 12))


async def test_large_arguments_are_left_out_and_said_to_be(tmp_path: Path) -> None:
    log = Audit(tmp_path / "audit.jsonl", Redactor(), "tests")
    made = Call(Ref("tool", "s", "t"), "tools/call", {"name": "t", "arguments": {"text": "x" * 300_000}})
    log.add(made, Succeeded(ms=1.0), "person", Judgement("allow", "a rule"))
    log.close()
    assert [(one["arguments"], one["large"]) for one in log.lines()] == [(None, True)]


async def test_what_is_called_in_a_burst_is_written_together_a_moment_later(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    log = Audit(file, Redactor(), "tests")
    for number in range(3):
        made = Call(Ref("tool", "s", "t"), "tools/call", {"name": "t", "arguments": {"number": number}})
        log.add(made, Succeeded(), "person", Judgement("allow", "a rule"))
    assert file.read_bytes().count(b"\n") == 1
    await wait_until(lambda: file.read_bytes().count(b"\n") == 3)
    assert [one["arguments"]["number"] for one in log.lines()] == [0, 1, 2]
    log.close()

"""The audit log: every tool call that was wanted has a line, without secrets, and nothing is rewritten."""

from __future__ import annotations

from pathlib import Path

from mcp_studio.call.audit import Audit
from mcp_studio.call.call import Call, Succeeded
from mcp_studio.call.policy import Judgement
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import PolicyRule, Settings
from mcp_studio.redact import Redactor
from tests.studio_support import call, opened, stdio
from tests.support import python_server

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


def test_a_full_file_is_put_aside_and_the_oldest_goes(tmp_path: Path) -> None:
    log = Audit(tmp_path / "audit.jsonl", Redactor(), "tests", largest=100)
    for number in range(12):
        made = Call(Ref("tool", "s", "t"), "tools/call", {"name": "t", "arguments": {"number": number}})
        made.outcome = Succeeded(ms=1.0)
        log.add(made, "person", Judgement("allow", "a rule"))
    log.close()
    assert [one["arguments"]["number"] for one in log.lines()] == list(range(4, 12))


def test_large_arguments_are_left_out_and_said_to_be(tmp_path: Path) -> None:
    log = Audit(tmp_path / "audit.jsonl", Redactor(), "tests")
    made = Call(Ref("tool", "s", "t"), "tools/call", {"name": "t", "arguments": {"text": "x" * 300_000}})
    made.outcome = Succeeded(ms=1.0)
    log.add(made, "person", Judgement("allow", "a rule"))
    log.close()
    assert [(one["arguments"], one["large"]) for one in log.lines()] == [(None, True)]

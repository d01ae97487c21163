"""How the end of a call is told, and with which exit code."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mcp_studio.call.call import Denied, Rejected, Succeeded
from mcp_studio.cli.engine import end
from mcp_studio.cli.options import parse
from mcp_studio.cli.questions import Asker
from mcp_studio.cli.terminal import Output
from mcp_studio.safetext import safe
from tests.cli.kit import faulty


def ended(outcome: Any, *words: str) -> int:
    out = Output(parse(["call", *words]))
    out.asker, out.studio = Asker(out), cast(Any, SimpleNamespace(manager=SimpleNamespace(names=tuple)))
    return end(outcome, out)


def test_a_tool_whose_definition_forbids_calling_it_is_a_failure_that_no_approval_changes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ended(Denied(rule="excluded: x", unusable=True)) == 1
    assert "It cannot be called: excluded: x." in capsys.readouterr().err
    assert ended(Denied(rule="you said no")) == 6


def test_what_a_server_says_with_its_refusal_stands_on_one_line_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    refusal = Rejected(code=-32602, message="gated", data={"reason": "demo", "list": [1, 2]})
    assert ended(refusal) == 1
    said = capsys.readouterr().err
    assert 'the server refused it: gated (-32602) {"reason": "demo", "list": [1, 2]}' in said


def test_json_has_what_a_server_says_with_its_refusal_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(Rejected(code=-1, message="no", data={"a": 1}), "--json") == 1
    assert '"data": {\n      "a": 1\n    }' in capsys.readouterr().out


@pytest.mark.parametrize("line", ["words of usual length\n", "one line goes on ", "näher\tbei\r\n", "x"])
def test_a_long_text_is_printed_whole(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = line * (1_000_000 // len(line)) + "\x1b[31m end"
    result = {"content": [{"type": "text", "text": text}]}
    assert ended(Succeeded(result=result)) == 0
    assert capsys.readouterr().out == safe(text, len(text), lines=True) + "\n"
    assert ended(Succeeded(result=result), "--json") == 0
    out = capsys.readouterr().out
    assert json.loads(out)["result"] == result and "\x1b" not in out


def test_a_call_whose_server_died_says_what_was_in_flight() -> None:
    done = faulty("killed-mid-call", "call", "echo", "text=hi", "--json")
    assert done.code == 4
    ending = done.json["error"]["ending"]
    assert (ending["how"], ending["code"], ending["inFlight"][0]["target"]) == ("signal", 9, "echo")
    lines = done.err.splitlines()
    assert "SIGKILL" in lines[0] and "in flight  tools/call echo, for" in done.err


def test_doctor_says_how_a_server_ended_and_explains_what_it_printed() -> None:
    done = faulty("dies-at-start", "doctor")
    assert "in flight    initialize, for" in done.out and "ran          for" in done.out
    told = faulty("stray", "doctor").out
    assert "stdout       2 times greeting" in told and "print(…, file=sys.stderr)" in told

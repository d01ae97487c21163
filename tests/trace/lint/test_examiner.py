"""The closer look: whole messages against the model of their version, put into words, and not said twice."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from mcp_studio.trace.lint import examiner
from mcp_studio.trace.lint.examiner import SIZE, Job, check, typical
from mcp_studio.trace.lint.rules import Spot
from tests.support import run
from tests.trace.lint.kit import MODERN, Talk, text, tool


def spots(kind: Any, method: str, value: Any, version: str = "2025-11-25", direction: Any = "in") -> list[Spot]:
    part = "result" if kind == "result" else "params"
    body = json.dumps({"jsonrpc": "2.0", part: value}).encode()
    return check(Job(direction, kind, method, version, body))


def pointers(found: list[Spot]) -> list[str]:
    return [spot.pointer for spot in found]


def test_only_the_arm_of_a_union_that_was_meant_is_judged() -> None:
    blocks = [{"type": "text", "text": 1}, {"type": "hologram"}, {"type": "image", "data": ""}, "text"]
    found = spots("result", "tools/call", {"content": blocks})
    assert pointers(found) == [
        "/result/content/0/text",
        "/result/content/1",
        "/result/content/2/mimeType",
        "/result/content/3",
    ]
    assert [spot.text for spot in found] == [
        "text must be a string.",
        "content[1] is of no known kind.",
        "mimeType is missing.",
        "content[3] must be an object.",
    ]


def test_the_version_decides() -> None:
    result = {"content": []}
    assert spots("result", "tools/call", result) == []
    assert pointers(spots("result", "tools/call", result, MODERN)) == ["/result/resultType"]


def test_messages_of_the_negotiation_say_their_version_themselves() -> None:
    result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}}
    assert pointers(spots("result", "initialize", result, "")) == [
        "/result/serverInfo/name",
        "/result/serverInfo/version",
    ]
    assert pointers(spots("result", "server/discover", {"resultType": "complete"}, "")) != []


@pytest.mark.parametrize(
    ("direction", "kind", "method", "value", "pointer"),
    [
        ("in", "request", "sampling/createMessage", {"messages": []}, "/params/maxTokens"),
        ("in", "notification", "notifications/resources/updated", {}, "/params/uri"),
        ("out", "request", "tools/call", {"arguments": {}}, "/params/name"),
        ("out", "result", "elicitation/create", {"action": "perhaps"}, "/result/action"),
    ],
)
def test_every_kind_of_message_in_both_directions(
    direction: str, kind: str, method: str, value: Any, pointer: str
) -> None:
    assert pointer in pointers(spots(kind, method, value, direction=direction))


def test_null_is_no_way_to_leave_a_member_out() -> None:
    found = spots("result", "tools/call", text({"type": "text", "text": "x", "annotations": None}, isError=None))
    assert pointers(found) == ["/result/isError", "/result/content/1/annotations"]
    assert spots("result", "tools/call", text(structuredContent={"a": None}, _meta={"b": None})) == []
    assert spots("notification", "notifications/message", {"level": "info", "data": None}) == []


def test_what_no_version_knows_and_what_is_a_task_are_left_alone() -> None:
    assert spots("result", "no/such", {}) == []
    assert spots("result", "tools/call", {"task": {"taskId": "1"}}) == []
    assert check(Job("in", "result", "tools/call", "2025-11-25", b"{")) == []


def looked_at(talk: Talk) -> list[str]:
    """The rules that the newest message breaks after a closer look."""
    run(talk.store.examine("s"))
    return talk.rules()


def test_a_closer_look_adds_what_the_rules_do_not_say() -> None:
    talk = Talk()
    icons = [{"src": "https://h/i.png", "sizes": "48x48"}]
    assert talk.called("tools/list", tool(icons=icons)) == []
    revision = talk.store.revision
    assert looked_at(talk) == ["wrong-type"] and talk.store.revision > revision
    (found,) = talk.newest.findings
    assert (found.pointer, found.section) == ("/result/tools/0/icons/0/sizes", "server/tools#tool")
    assert talk.ledger.counts["error"] == 1


def test_a_closer_look_repeats_nothing() -> None:
    talk = Talk()
    assert talk.called("tools/list", tool(inputSchema=7)) == ["tool-schema"]
    assert looked_at(talk) == ["tool-schema"] and looked_at(talk) == ["tool-schema"]
    assert talk.called("tools/call", text({"type": "hologram"})) == []
    assert looked_at(talk) == looked_at(talk) == ["content-block"] and talk.ledger.counts["error"] == 2


def test_a_message_that_is_too_large_is_left_alone() -> None:
    for size, rules in ((10, ["wrong-type"]), (SIZE, [])):
        talk = Talk()
        talk.called("tools/call", {"content": [{"type": "text", "text": "x" * size, "_meta": 7}]})
        assert looked_at(talk) == rules


def test_of_many_messages_the_newest_of_each_kind_are_looked_at() -> None:
    talk = Talk()
    for _ in range(500):
        talk.called("tools/call", text())
    chosen = typical(reversed(list(talk.store)), "s")
    assert len(chosen) <= 8 and chosen[0] is talk.newest
    assert {(entry.kind, entry.method) for entry in chosen} >= {("result", "initialize"), ("request", "tools/call")}
    assert typical(reversed(list(talk.store)), "another") == []


def test_time_that_other_programs_take_leaves_no_message_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    really = check

    def slowly(job: Job) -> list[Spot]:
        time.sleep(0.02)  # as on a machine that is busy
        return really(job)

    monkeypatch.setattr(examiner, "TIME", 0.05)
    monkeypatch.setattr(examiner, "check", slowly)
    job = Job("in", "result", "tools/list", "2025-11-25", b'{"result":{"tools":[{"name":5,"inputSchema":{}}]}}')
    assert [bool(found) for found in examiner.check_all([job] * 5)] == [True] * 5

"""What is wrong with results, in words."""

from __future__ import annotations

import pytest

from mcp_studio.call.call import CallOutcome, Rejected, Succeeded, ToolFailed, problems_of, wants_handshake
from mcp_studio.session.state import Status


def test_good_results_have_no_problems() -> None:
    blocks = [
        {"type": "text", "text": ""},
        {"type": "image", "data": "", "mimeType": "i"},
        {"type": "resource", "resource": {}},
        {"type": "resource_link", "uri": "a:"},
    ]
    assert problems_of("tools/call", {"content": blocks}) == ()
    assert problems_of("prompts/get", {"messages": [{"role": "user", "content": blocks[0]}]}) == ()
    assert problems_of("resources/read", {"contents": [{"uri": "a:", "text": ""}, {"uri": "b:", "blob": ""}]}) == ()


@pytest.mark.parametrize(
    ("method", "result", "word"),
    [
        ("tools/call", {}, "content"),
        ("tools/call", {"content": [{"type": "hologram"}]}, "hologram"),
        ("tools/call", {"content": [{"type": "text"}]}, "no text"),
        ("tools/call", {"content": [5]}, "not an object"),
        ("tools/call", {"content": [], "isError": "yes"}, "isError"),
        ("prompts/get", {"messages": [{"role": "robot"}]}, "role"),
        ("prompts/get", {}, "messages"),
        ("resources/read", {"contents": [{"uri": "a:"}]}, "neither"),
        ("resources/read", {"contents": [{"text": ""}]}, "uri"),
        ("resources/read", {}, "contents"),
    ],
)
def test_what_is_missing_is_named(method: str, result: object, word: str) -> None:
    assert word in " ".join(problems_of(method, result))


def test_many_problems_are_cut() -> None:
    assert len(problems_of("tools/call", {"content": [5] * 1_000})) == 20


def tool_error(text: str) -> ToolFailed:
    return ToolFailed(result={"isError": True, "content": [{"type": "text", "text": text}]})


NO_WAY = "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests."
NEEDS_ROOTS = {"requiredCapabilities": {"roots": {}}}


@pytest.mark.parametrize(
    ("outcome", "wants"),
    [
        (Rejected(code=-32600, message=NO_WAY), True),
        (tool_error(f"Error executing tool ask: {NO_WAY}"), True),
        (tool_error("elicitation via server-initiated requests is unavailable on 2026-07-28 connections."), True),
        (tool_error("Server-to-client requests are not available on protocol revision 2026-07-28: 'roots/list'"), True),
        (tool_error("MCP error -32021: Missing required client capability"), True),
        (Rejected(code=-32021, message="no", data={"requiredCapabilities": {"elicitation": {}}}), True),
        (Rejected(code=-32021, message="no"), True),
        (Rejected(code=-32021, message="no", data=NEEDS_ROOTS), False),
        (Rejected(code=-32602, message="Unknown tool: ask"), False),
        (tool_error("It went wrong."), False),
        (Succeeded(result={"content": [{"type": "text", "text": NO_WAY}]}), False),
    ],
)
def test_a_server_that_still_asks_by_requests_of_its_own_is_recognised(outcome: CallOutcome, wants: bool) -> None:
    for modern in (True, False):
        status = Status("s", "ready", modern=modern, declared={"elicitation": {}})
        assert wants_handshake(outcome, status) == (wants and modern)

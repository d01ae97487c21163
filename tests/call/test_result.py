"""What is wrong with results, in words."""

from __future__ import annotations

import pytest

from mcp_studio.call.result import problems_of


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

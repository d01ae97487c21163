"""Nested arguments on the real screen: filled, checked while typing, sent, kept, without their secrets on the disk."""

from __future__ import annotations

import json

from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import on_stage


async def test_a_nested_call_is_sent_as_it_was_filled_in() -> None:
    async with on_stage(stdio(python_server("schema_zoo"), "zoo"), size=(80, 24)) as stage:
        await stage.open("ship")
        await stage.press("right", "tab", "tab", *"12")
        await stage.shows("zip *", "must match the pattern")
        await stage.press(*"345", "alt+v")
        await stage.shows("What will be sent", '"zip": "12345"')
        await stage.press("escape")
        assert (await stage.ran()).result["content"][0]["text"] == '{"country": "US", "zip": "12345"}'

        await stage.open("secrets")
        await stage.shows("accounts *", "nothing in it yet", "+ add item")
        await stage.press("alt+o", *"ada", "tab", *"hunter2")
        await stage.shows("user *", "ada")
        assert "hunter2" not in stage.screen_text()
        outcome = await stage.ran()
        assert json.loads(outcome.result["content"][0]["text"]) == {
            "accounts": [{"user": "ada", "password": "hunter2"}]
        }
        await stage.press("f2")
        await stage.shows("^d Empty")
    drafts = stage.studio.paths.state / "drafts.json"
    assert "ada" in drafts.read_text() and "hunter2" not in drafts.read_text()

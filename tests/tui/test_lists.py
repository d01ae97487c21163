"""Lists in the studio: marks, what changed, pages, freshness, definitions in words, values while typing."""

from __future__ import annotations

import re
from typing import Any

from mcp_studio.catalog.listing import Ref
from tests.servers.http_raw import RawServer, Reply, Request
from tests.studio_support import http, stdio
from tests.support import python_server
from tests.tui.stage import Stage, on_stage

SMALL = (80, 24)


def server(*options: str) -> Any:
    return stdio(python_server("raw_lists", "--modern", *options), inherit_env=("LISTS_VERSION",))


async def change(stage: Stage) -> None:
    """Have the server change its lists, and wait until that is seen."""
    await stage.studio.call_tool(Ref("tool", "s", "change"), {}, approved=True).wait()
    await stage.until(lambda: stage.studio.catalog.listing("s", "tool").changes, "changes")


async def tab(stage: Stage, name: str) -> None:
    """Go to a tab of the call pane, which fills the screen."""
    if not stage.main.has_class("-zoom"):
        await stage.press("f10")
    for _ in range(8):
        if stage.main.call.tab == name:
            return
        await stage.press("ctrl+pagedown")
        await stage.pilot.pause()
    raise AssertionError(f"there is no tab {name}")


async def test_changes_are_marked_with_signs_and_words_until_they_are_looked_at() -> None:
    async with on_stage(server(), size=SMALL) as stage:
        await change(stage)
        await stage.shows("± changed", "+ new", "- gone", "5±")
        await stage.open("words")
        await stage.shows("Since you last looked: changed", "1 new, 1 gone")
        assert "± changed" not in stage.screen_text()
        await stage.press("f6", "a")
        await stage.until(lambda: "+ new" not in stage.screen_text() and "- gone" not in stage.screen_text())
        assert "2 changes marked as seen." in stage.toasts
        await stage.press("a")
        await stage.until(lambda: any("Nothing here is new" in toast for toast in stage.toasts))


async def test_a_changed_tool_shows_the_difference_also_when_one_comes_back_to_it() -> None:
    async with on_stage(server(), size=(120, 60)) as stage:
        await change(stage)
        await stage.open("words")
        await tab(stage, "changes")
        await stage.shows("description, inputSchema", "as you saw it last", "Old words.", "New words, version 2.")
        await stage.open("full")
        await stage.open("words")
        await stage.shows("Changes")


async def test_what_is_typed_into_the_open_tool_stays_as_it_stands_when_the_server_changes_the_tool() -> None:
    async with on_stage(server()) as stage:
        await stage.open("words")
        await stage.press("a", "c", "left")
        await change(stage)
        await stage.shows("changed: description")
        await stage.press("b")
        await stage.until(lambda: stage.main.calling.opened.value == {"text": "abc"}, "the value")
        await stage.press("ctrl+pagedown")
        await stage.until(lambda: stage.main.call.tab == "json", "the JSON")
        await stage.press("down", "down", "end", "backspace", "left")
        await change(stage)
        await stage.shows("version 3")
        await stage.press("x")
        assert stage.main.call.tab == "json"
        assert stage.main.call.body.json.text == '{\n  "text": "abc"x\n'


async def test_a_list_is_read_page_by_page() -> None:
    async with on_stage(server("--pages", "--ttl", "9000"), size=SMALL) as stage:
        await stage.press("p")
        await stage.shows("tools/list", "page 1 of 1 read · 2 tools", "no cursor", '"after 2"', "fresh for 9 s")
        await stage.press("right_square_bracket")
        await stage.shows("page 2 of 2 read", '"after 4"', "2 + 2 = 4")
        await stage.press("ctrl+pagedown")
        await stage.shows("page 3 of 3 read · 1 tool", "none, this is the last page", "2 + 2 + 1 = 5")
        await stage.press("right_square_bracket", "left_square_bracket")
        await stage.shows("page 2 of 3 read")
        await stage.press("r")
        await stage.shows("page 1 of 1 read")
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main)


async def test_freshness_stands_in_the_border_and_on_the_card_of_the_server() -> None:
    async with on_stage(server("--ttl", "50000", "--scope", "public"), size=(120, 90)) as stage:
        await stage.until(lambda: re.search(r"fresh [1-5]?\d s", stage.screen_text()), "a border")
        await stage.press("1", "enter")
        await stage.shows("what it says of itself is fresh for 50 s, public")
        await stage.until(lambda: re.search(r"(?<!itself is )fresh for [1-5]?\d s", stage.screen_text()), "a list")


async def test_a_resource_comes_from_the_cache_and_a_key_asks_the_server() -> None:
    async with on_stage(server("--ttl", "60000"), size=SMALL) as stage:
        await stage.open("raw://count", "resource")
        await stage.ran()
        await stage.shows("read 1", "fresh for ", " s, private")
        await stage.press("ctrl+j")
        await stage.shows("from the cache, ", " s old, ttl 60 s, private", "here asks the server")
        await stage.press("f5", "r")
        await stage.shows("read 2")
        assert "from the cache" not in stage.screen_text()


async def test_a_definition_is_told_in_words() -> None:
    async with on_stage(server(), size=(120, 50)) as stage:
        await stage.open("full")
        await tab(stage, "about")
        await stage.shows("Everything (of its annotations)", "can be run as a task", "checked against its outputSchema")
        await stage.shows(
            "https://example.com/i.png · image/png · 48x48 any", "1 icon, not fetched", '"example.com/team"'
        )
        await stage.shows("Mcp-Param-Region ← region (not set", "not sent here: only over HTTP")
        await stage.open("raw://note", "resource")
        await tab(stage, "about")
        await stage.shows("user, assistant", "0.8", "2026-01-02T03:04:05Z", "1,234 bytes", "text/plain")
        await stage.open("visit", "prompt")
        await tab(stage, "about")
        await stage.shows("country: required", "city (The city): optional")


def mirroring(name: str, **headers: str) -> dict[str, Any]:
    """A tool whose arguments are mirrored into headers."""
    properties = {key: {"type": "string", "x-mcp-header": header} for key, header in headers.items()}
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


async def mirrors(got: Request, reply: Reply) -> None:
    """A modern server over HTTP with two such tools."""
    match got.json["method"]:
        case "server/discover":
            await reply.result({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
        case _:
            tools = [mirroring("full", region="Region", tag="Tag"), mirroring("twice", a="Same", b="same")]
            await reply.result({"resultType": "complete", "tools": tools})


async def test_mirrored_headers_show_what_would_be_sent_and_excluded_tools_say_why() -> None:
    async with RawServer(mirrors) as server, on_stage(http(server.url), size=(120, 50)) as stage:
        await stage.open("full")
        await stage.press(*"eu", "tab", "ö")
        await tab(stage, "about")
        await stage.shows("sent with each call", "Mcp-Param-Region ← region = eu")
        await stage.shows("Mcp-Param-Tag ← tag = =?base64?w7Y=?=")
        await stage.open("twice")
        await stage.shows("excluded: two arguments want the header")
        await stage.press("ctrl+j")
        await stage.until(lambda: any("must not be used" in toast for toast in stage.toasts))


async def test_values_are_offered_while_a_prompt_is_filled_in_and_know_the_other_arguments() -> None:
    async with on_stage(server(), size=SMALL) as stage:
        await stage.open("visit", "prompt")
        await stage.press("f")
        await stage.shows("│ france", "│ finland", "take one")
        await stage.press("down", "enter", "tab", "n")
        await stage.shows("│ Nice")
        await stage.press("down", "enter")
        await stage.until(lambda: stage.main.calling.opened.value == {"country": "france", "city": "Nice"})

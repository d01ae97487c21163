"""Groups in the servers pane, and a tool whose definition changed in the catalog."""

from __future__ import annotations

from mcp_studio.call.call import Denied
from mcp_studio.catalog.listing import Ref
from mcp_studio.tui.screens.approval import Approval
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import on_stage, raw


async def test_members_are_preferred_drained_and_released_by_hand() -> None:
    async with on_stage(raw("one", group="pair"), raw("two", group="pair"), raw("three"), size=(140, 40)) as stage:
        servers, groups = stage.main.servers, stage.studio.groups
        await stage.shows("one .*@pair 6", "two .*@pair 6")
        servers.go_to("two")
        servers.action_prefer()
        await stage.shows("two .*@pair preferred 6")
        await stage.told("two gets the calls of its group")
        assert groups.best("pair", "echo") == "two"
        servers.action_drain()
        await stage.shows("two .*@pair drained 6")
        assert groups.best("pair", "echo") == "one"
        servers.action_release()
        await stage.shows("two .*@pair 6")
        servers.go_to("three")
        servers.action_drain()
        await stage.told("three belongs to no group")


async def test_a_tool_that_changed_is_asked_about_until_the_change_is_accepted() -> None:
    async with on_stage(stdio(python_server("raw_lists"), "lists")) as stage:
        change = Ref("tool", "lists", "change")
        await stage.studio.call_tool(change, {}, approved=True).wait()
        await stage.shows("±")
        await stage.open("words", server="lists")
        await stage.press("ctrl+j")
        await stage.shows("required")
        await stage.press("ctrl+j")  # it is sent as it is
        await stage.dialog(Approval)
        await stage.shows("changed: description")
        await stage.press("enter")  # the focus is on Deny
        await stage.until(lambda: isinstance(getattr(stage.main.result.call, "outcome", None), Denied), "a refusal")
        stage.main.catalog.action_accept_change()
        await stage.told("The definition of words is accepted")
        (entry,) = stage.studio.catalog.find(Ref("tool", "lists", "words"))
        assert entry.change is None
        stage.main.catalog.action_accept_change()
        await stage.told("has not changed since")

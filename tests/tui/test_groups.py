"""Groups in the servers pane, and a tool whose definition changed in the catalog."""

from __future__ import annotations

import os
import signal

from mcp_studio.call.call import Denied
from mcp_studio.catalog.listing import Ref
from mcp_studio.tui.panes.servers import Heading
from mcp_studio.tui.screens.approval import Approval
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import on_stage, raw


async def test_members_are_preferred_drained_and_released_by_hand() -> None:
    async with on_stage(raw("one", group="pair"), raw("two", group="pair"), raw("three"), size=(140, 40)) as stage:
        servers, groups = stage.main.servers, stage.studio.groups
        await stage.shows("▾ @pair +2 of 2 ready", "  ● one .* 6", "  ● two .* 6", "│ ● three")
        servers.go_to("two")
        servers.action_prefer()
        await stage.shows("two .*preferred 6")
        await stage.told("two gets the calls of its group")
        assert groups.best("pair", "echo") == "two"
        servers.action_drain()
        await stage.shows("two .*drained 6")
        assert groups.best("pair", "echo") == "one"
        await stage.studio.manager.stop("two")
        await stage.shows("▾ @pair +1 of 2 ready", "two .*drained off")
        servers.action_release()
        await stage.shows("two .* off")
        servers.go_to("three")
        servers.action_drain()
        await stage.told("three belongs to no group")


async def test_two_servers_of_one_group_have_no_heading() -> None:
    async with on_stage(raw("one", group="pair"), raw("two", group="pair")) as stage:
        await stage.shows("● one .*@pair 6", "● two .*@pair 6")
        await stage.hides("of 2 ready")


async def test_many_servers_are_folded_filtered_and_started_on_demand() -> None:
    many = [raw(f"idle-{number:02}", start="demand", group="farm" if number % 2 else "") for number in range(48)]
    broken = stdio(["no-such-program"], "broken")
    async with on_stage(raw("first"), *many, broken, size=(80, 40), ready=False) as stage:
        servers = stage.main.servers
        await stage.shows("● first .* 6", "▾ @farm +0 of 24 ready", "○ idle-01 .*on demand")
        await stage.press("1", "g", "j", "j")
        assert isinstance(servers.list.row, Heading) and servers.current == ""
        await stage.press("space")
        await stage.shows("▸ @farm")
        assert len(servers.list.rows) == 51 - 24
        await stage.press("enter")
        await stage.until(lambda: len(servers.list.rows) == 51, "unfolded")
        await stage.press("slash")
        await stage.type("@farm 47")
        await stage.shows("1 of 50", "idle-47")
        await stage.press("enter", "j", "space")
        await stage.shows("@farm +1 of 24 ready", "● idle-47")


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


async def test_the_question_about_a_tool_that_changed_shows_how_and_always_accepts_that() -> None:
    async with on_stage(stdio(python_server("raw_lists"), "lists"), size=(120, 40)) as stage:
        words = Ref("tool", "lists", "words")
        await stage.studio.call_tool(Ref("tool", "lists", "change"), {}, approved=True).wait()
        await stage.shows("±")
        await stage.open("words", server="lists")
        stage.main.call.fill({"text": "a"})
        await stage.press("ctrl+j")
        await stage.dialog(Approval)
        await stage.shows(
            "The definition differs from the accepted one", '-  "description": "Old words."', r"\+  .*New words"
        )
        await stage.press("a")
        await stage.shows("Each of these accepts the change")
        await stage.studio.call_tool(Ref("tool", "lists", "change"), {}, approved=True).wait()
        await stage.until(lambda: "version 3" in str(stage.studio.catalog.find(words)[0].view.raw), "another change")
        await stage.press("enter")
        await stage.told("lists.words has changed again: nothing was accepted.")
        await stage.until(lambda: stage.app.screen is stage.main, "closed")
        await stage.press("exclamation_mark")
        await stage.dialog(Approval)
        await stage.shows("New words, version 3")
        await stage.press("a")
        await stage.shows("Each of these accepts the change", "Accept the change, and make no rule")
        await stage.press("enter")  # the first one: no rule
        await stage.until(lambda: getattr(stage.main.result.call, "outcome", None), "an outcome")
        (entry,) = stage.studio.catalog.find(words)
        assert entry.change is None and not stage.studio.paths.config_file.exists()
        await stage.call()  # it asks no more


async def test_kept_results_are_forgotten_by_hand() -> None:
    async with on_stage(raw("one", cache_ttl=0.0), raw("two", cache_ttl=0.0)) as stage:
        reads, catalog = stage.studio.caller.reads, stage.main.catalog
        for act, said, left in (
            (catalog.action_forget, "1 cached result", 3),
            (stage.main.servers.action_forget, "2 cached results", 2),
            (stage.main.action_forget, "4 cached results", 0),
        ):
            for server in ("one", "two"):
                for uri in ("raw://note", "raw://notes/ada"):
                    await stage.studio.read_resource(server, uri).wait()
            assert len(reads.sizes()) == 4
            await stage.open("raw://note", "resource", "one")
            stage.main.servers.go_to("one")
            act()
            await stage.told(f"{said} forgotten")
            assert len(reads.sizes()) == left


async def test_tools_of_a_group_are_listed_once_and_go_to_its_best_member() -> None:
    async with on_stage(raw("one", group="pair"), raw("two", group="pair"), raw("three"), size=(140, 40)) as stage:
        await stage.shows("▾ @pair +6", "r echo .*→ one", "▾ one +6")
        stage.studio.groups.prefer("two")
        await stage.press("2", "home", "down")
        await stage.shows("r echo .*→ two", "3 two › echo")
        await stage.press("enter")
        await stage.told("@pair.echo goes to two now.")
        assert stage.main.call.draft is not None and stage.main.call.draft.entry.ref.server == "two"
        await stage.press("escape", "home", "space")
        await stage.shows("▸ @pair +6.*\\n. ▾ one", "@pair is a group", "two · ready · priority 0")
        await stage.press("slash", *"echo")
        await stage.shows("3 of 18")  # a filter finds single tools


async def test_a_result_says_which_members_were_tried_and_who_could_take_it() -> None:
    gone = stdio(["no-such-program"], "gone", group="pair")
    async with on_stage(raw("one", group="pair"), raw("two", group="pair"), gone, size=(140, 40), ready=False) as stage:
        await stage.until(lambda: len([e for e in stage.studio.catalog.entries("tool") if e.ref.name == "wait"]) == 2)
        await stage.open("wait", server="one")
        stage.main.call.fill({"seconds": 600})
        await stage.press("ctrl+j")
        await stage.until(lambda: any(call.sendings for call in stage.studio.caller.running), "a call")
        pid = stage.studio.manager.status("one").pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await stage.shows("two could take it, though it may run twice")
        await stage.studio.manager.stop("one")
        await stage.open("echo", server="one")
        stage.main.call.fill({"text": "hello"})
        await stage.call()
        await stage.shows("one could not serve it, so it went on to two: ")

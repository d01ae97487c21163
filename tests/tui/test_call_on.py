"""The same call on several servers, side by side; and the tools of a group, which go to its best member."""

from __future__ import annotations

import os
import signal

from mcp_studio.tui.screens.approval import Approval
from mcp_studio.tui.screens.many_calls import CallOn
from tests.studio_support import stdio
from tests.tui.stage import Stage, on_stage, raw


async def open_on(stage: Stage, tool: str, value: dict[str, object]) -> CallOn:
    await stage.open(tool, server="one")
    stage.main.call.fill(value)  # pyright: ignore[reportArgumentType]
    await stage.main.call.run_action("call_on")
    return await stage.dialog(CallOn)


async def test_results_stand_beside_one_another_and_are_compared_with_a_base() -> None:
    pair = raw("one", group="pair"), raw("two", "--modern", group="pair"), raw("three")
    async with on_stage(*pair, size=(140, 40)) as stage:
        dialog = await open_on(stage, "echo", {"text": "hello"})
        await stage.shows(r"\[x\] one", r"\[x\] two", r"\[ \] three")
        await stage.press("down", "down", "space", "ctrl+j")
        await stage.shows("one  the base .*two  1 difference .*three  the same", "(✓ ok .*){3}", "resultType  added")
        await stage.press("b")  # the focus is in the base: the next one takes its place
        await stage.shows("one  1 difference .*two  the base .*three  1 difference", "resultType  removed")
        await stage.pilot.click(dialog.query(".head").last())
        await stage.shows("one  the same .*two  1 difference .*three  the base")
        past = [await stage.studio.memory.history.of(entry.ref) for entry in stage.studio.catalog.entries("tool")]
        assert sum(map(len, past)) == 3
        await stage.press("s", "space", "ctrl+j")  # other servers: the third one no longer
        await stage.shows("one  the base .*two  1 difference")
        await stage.hides("three  ")
        await stage.studio.manager.stop("two")
        await stage.press("ctrl+j")
        await stage.shows("one  the base", "✗ not sent")  # and not sent to the other member of the group


async def test_a_member_that_starts_on_demand_is_there_and_starts_and_a_disabled_one_is_not() -> None:
    later, off = raw("later", group="pair", start="demand"), raw("off", group="pair", enabled=False)
    async with on_stage(raw("one", group="pair"), later, off, size=(140, 40), ready=False) as stage:
        await stage.until(lambda: bool(stage.studio.catalog.entries("tool")), "tools")
        await open_on(stage, "echo", {"text": "hello"})
        await stage.shows(r"\[x\] one", r"\[ \] later")
        await stage.hides(r"\] off")
        await stage.press("down", "space", "ctrl+j")
        await stage.shows("one  the base .*later  the same", "(✓ ok .*){2}")


async def test_a_killed_server_loses_its_own_call_only_and_cancel_ends_the_others() -> None:
    trio = [raw(name, group="trio", trust=True) for name in ("one", "two", "three")]
    async with on_stage(*trio, size=(80, 24)) as stage:
        await open_on(stage, "wait", {"seconds": 600})
        await stage.press("ctrl+j")
        await stage.until(lambda: sum(call.sendings for call in stage.studio.caller.running) == 3, "three calls")
        await stage.shows("one  the base .*two", "running")
        pid = stage.studio.manager.status("two").pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await stage.shows("✗ no reply")
        assert len(stage.studio.caller.running) == 2  # no other member has taken it
        await stage.press("escape")
        await stage.told("It is still running")
        await stage.press("a")
        await stage.until(lambda: not stage.studio.caller.running, "cancelled calls")
        await stage.shows("cancelled")
        await stage.press("escape")
        await stage.hides("several servers")


async def test_a_destructive_tool_is_asked_about_once_for_each_server() -> None:
    async with on_stage(raw("one"), raw("two"), size=(80, 24)) as stage:
        await open_on(stage, "fail", {})
        await stage.press("ctrl+j")
        await stage.dialog(Approval)
        await stage.press("r")
        await stage.until(lambda: len(stage.studio.inbox.pending) == 1, "one approval left")
        second = await stage.dialog(Approval)
        second.action_decline()
        await stage.shows("✗ tool error", "○ not sent")
        stage.app.pop_screen()
        await stage.open("echo", kind="tool", server="one")
        await stage.studio.manager.remove("two")
        await stage.main.call.run_action("call_on")
        await stage.told("No other server has this tool.")


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

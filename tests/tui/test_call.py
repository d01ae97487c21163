"""The call pane: previews, forms and JSON, wrong arguments, every kind of ending, resources, prompts."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import TextArea

from mcp_studio.call.call import Cancelled, Lost, Rejected, Succeeded, ToolFailed
from mcp_studio.tui.form.json_editor import JsonEditor
from mcp_studio.tui.screens.approval import Approval
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import Stage, on_stage, raw, ref

FUNCTION = '''
def read(path: str) -> str:
    """Read the complete contents of a file from the file system as text. Handles various text encodings, and provides
    detailed error messages if the file cannot be read. Use it when you need to examine the contents of a single file,
    and not those of several files, for which it would have to be called again for each of them: that would be slow. It
    reads only inside the allowed directories, and says so if the file is outside of all of them. A folder is no file.
    """
    return path
'''


def value(stage: Stage) -> Any:
    """The arguments as the call pane has them."""
    assert stage.main.call.draft is not None
    return stage.main.call.draft.value


def name(stage: Stage) -> str:
    """What the call pane shows."""
    assert stage.main.call.draft is not None
    return stage.main.call.draft.entry.ref.name


async def tab(stage: Stage, wanted: str) -> None:
    """Go to a tab of the call pane."""
    await stage.press("f2")
    stage.main.call.go_to_tab(wanted)
    await stage.until(lambda: stage.main.call.has_focus_within, "the focus is in the pane")


async def outcome(stage: Stage, before: object = None) -> Any:
    """The outcome of the call that is shown."""
    pane = stage.main.call
    await stage.until(lambda: pane.call is not before and pane.call and pane.call.outcome, "an outcome")
    assert pane.call is not None
    return pane.call.outcome


async def test_the_cursor_previews_and_what_is_typed_is_kept_for_each_tool_and_the_next_start() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("2", "home")
        await stage.shows("3 raw › echo", "Gives back what it gets", "r reads", "No result yet")
        await stage.press("down")
        await stage.shows("3 raw › add", "a \\* .*number", "w writes")
        assert stage.main.focused_pane is stage.main.catalog
        await stage.press("up", "enter")
        await stage.type("kept")
        assert value(stage) == {"text": "kept"}
        await stage.press("escape", "down")
        await stage.until(lambda: name(stage) == "add", "the other tool")
        await stage.press("up")
        await stage.shows("text \\* .*kept")
        await stage.press("3", "tab")
        assert stage.app.focused is stage.main.call.button
        await stage.press("enter")
        assert isinstance(await outcome(stage), Succeeded)
        await stage.until(lambda: stage.main.focused_pane is stage.main.result, "the result has the focus")
        await stage.open("wait")
        await stage.shows("No result yet")
        await stage.type("0.5")
        await stage.press("ctrl+j")
        await stage.until(lambda: stage.main.focused_pane is stage.main.result, "what runs has the focus")
        await outcome(stage)
        await stage.shows("✓ ok")
        assert stage.main.focused_pane is stage.main.result, "and keeps it"
        await stage.open("echo")
        await stage.shows("ok")
        await stage.main.call.run_action("delete")
        assert value(stage) == {}
        await stage.press("ctrl+z")
        assert value(stage) == {"text": "kept"}
    async with on_stage(raw(), size=(80, 24)) as stage:
        await stage.open("echo")
        await stage.shows("text \\* .*kept")


async def test_form_and_json_are_one_value_and_wrong_ones_are_not_sent() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        await stage.press("ctrl+j")
        await stage.open("add")
        await stage.press("ctrl+j")
        await stage.told("Not sent: a is required; 1 more problem. Press ^j again to send anyway.")
        await stage.shows("2 problems", "required")
        await stage.type("x")
        await stage.shows("must be a number")
        await stage.press("ctrl+j")
        await stage.told("Not sent: a must be a number, got 'x'; 1 more problem.")
        await stage.press("ctrl+j")
        assert isinstance(await outcome(stage), (ToolFailed, Rejected, Succeeded)), "the person may insist"
        await stage.press("f2", "ctrl+pagedown")
        assert stage.main.call.tab == "json"
        await stage.until(lambda: stage.main.call.has_focus_within, "the focus is in the pane")
        area = stage.main.call.query_one(JsonEditor).query_one(TextArea)
        await stage.shows('"a": "x"')
        area.text = '{"a": 12345678901234567890, "more": null}'
        await stage.until(lambda: value(stage) == {"a": 12345678901234567890, "more": None}, "it is taken")
        await stage.press("escape")
        await stage.shows("a \\* .*12345678901234567890")
        await stage.press("slash")
        await stage.until(lambda: stage.main.catalog.filter.has_focus, "the key is no letter in a field of the form")
        await stage.press("escape")
        await tab(stage, "json")
        stage.main.call.query_one(JsonEditor).query_one(TextArea).text = '{"a": '
        before = stage.main.call.call
        await stage.press("ctrl+j", "ctrl+j")
        await stage.told("Not sent: invalid JSON")
        assert stage.main.call.call is before, "what is no JSON is never sent"
        await stage.press("escape")
        await stage.shows("The JSON is invalid; the form shows")
        await stage.open("echo")
        await stage.hides("The JSON is invalid")
        await stage.open("add")
        await tab(stage, "json")
        await stage.shows('{"a":  ')
        assert value(stage) == {"a": 12345678901234567890, "more": None}
        await stage.press("escape", "3", "end", "1")
        await stage.until(lambda: value(stage)["a"] == 123456789012345678901, "the form is edited meanwhile")
        await stage.press("ctrl+j")
        await stage.shows('{"a":  ')
        assert stage.main.call.tab == "json" and stage.main.call.call is before, "a form hides no broken JSON"
        await tab(stage, "schema")
        await stage.shows('"inputSchema"')
        await tab(stage, "about")
        await stage.shows("what the server claims")


async def test_every_ending_reads_differently_and_a_killed_server_ends_nothing_else() -> None:
    faulty = stdio(python_server("raw_faults", "--fault", "exits-mid-call"), "faulty")
    async with on_stage(raw(), faulty, size=(80, 24)) as stage:
        await stage.open("fail")
        await stage.shows("d destructive", "Call \\(destructive\\)  \\^j")
        assert stage.app.focused is stage.main.call.button and stage.main.call.button.variant == "error"
        await stage.press("enter")
        await stage.dialog(Approval)
        await stage.press("escape")
        await stage.shows("waiting for your answer", "Answer", "Cancel")
        await stage.pilot.click("#answer")
        await stage.dialog(Approval)
        await stage.press("r")
        assert isinstance(await outcome(stage), ToolFailed)
        await stage.shows("tool error")
        await stage.open("echo", server="faulty")
        await stage.type("x")
        assert isinstance(await stage.call(), Lost)
        await stage.shows("lost", "Whether the server did the work is")
        await stage.open("wait", server="raw")
        await stage.type("30")
        await stage.press("ctrl+j")
        await stage.shows("running", "Cancel")
        pid = stage.studio.manager.status("raw").pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        assert isinstance(await outcome(stage), Lost)
        await stage.shows("lost", "SIGKILL", "Exit report")
        await stage.studio.manager.settle("raw")
        await stage.open("echo", server="raw")
        await stage.type("alive")
        assert isinstance(await stage.call(), Succeeded)
        await stage.open("wait", server="raw")
        await stage.press("ctrl+j")
        await stage.open("add", server="raw")
        pid = stage.studio.manager.status("raw").pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        await stage.told("raw.wait: The connection was lost")
        assert stage.app.screen.query("Toast.-error"), "in the colour of a failure"
        for server in ("faulty", "raw"):
            await stage.studio.manager.remove(server)
        await stage.shows("Its server is not configured any more")


async def test_a_running_call_shows_how_far_it_is_and_esc_never_cancels_it() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("count")
        stage.main.call.fill({"steps": 5000, "pause": 0.1})
        await stage.press("ctrl+j")
        await stage.shows("running · \\d", "%", "Cancel")
        await stage.press("escape", "escape", "escape", "ctrl+j")
        await stage.told("Not sent again: the first call was still running.")
        running = stage.main.call.call
        assert running is not None and running.outcome is None
        await stage.press("3")
        await stage.main.call.run_action("cancel")
        assert isinstance(await outcome(stage), Cancelled)
        await stage.main.call.run_action("cancel")
        await stage.told("Nothing is running here.")


async def test_a_progress_bar_leaves_the_cancel_button_its_place_on_a_narrow_screen() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        await stage.open("count")
        stage.main.call.fill({"steps": 5000, "pause": 0.1})
        await stage.press("ctrl+j")
        await stage.shows("% .*Cancel")


async def test_a_long_description_leaves_the_form_its_place_on_a_short_screen(tmp_path: Path) -> None:
    file = tmp_path / "files.py"
    file.write_text(FUNCTION, "utf-8")
    server = stdio([sys.executable, "-m", "mcp_studio.servers.module", str(file)], inherit_env=("PYTHONPATH",))
    async with on_stage(server, size=(80, 24)) as stage:
        await stage.shows(r"│ Read the complete contents of a file from ", "B more ", r"│ path \*")
        await stage.pilot.resize_terminal(200, 60)
        await stage.shows("if the file cannot be read.", r"│ path \*")
        await stage.hides("B more ")


async def test_a_form_is_as_high_as_it_needs_to_be_while_no_answer_needs_the_room(tmp_path: Path) -> None:
    file = tmp_path / "slow.py"
    names = [f"field_{letter}" for letter in "abcdefghijklmn"]
    file.write_text(f"import asyncio\nasync def slow({'=1, '.join(names)}=1): await asyncio.sleep(99)\n", "utf-8")
    server = stdio([sys.executable, "-m", "mcp_studio.servers.module", str(file)], inherit_env=("PYTHONPATH",))
    async with on_stage(server, size=(140, 40)) as stage:
        await stage.shows(*names, "No result yet")
        await stage.press("ctrl+j")
        await stage.hides("field_i")
        await stage.press("x")
        await stage.shows("cancelled", "field_i")


async def test_a_scroll_bar_goes_with_the_need_for_it_also_where_the_description_would_need_two_lines(
    tmp_path: Path,
) -> None:
    file = tmp_path / "slow.py"
    words = f"{'x' * 40} {'y' * 42}"  # as wide as the pane
    fields = ", ".join(f"field_{letter}=1" for letter in "abcdefghi")
    file.write_text(f"import asyncio\nasync def slow({fields}):\n    '{words}'\n    await asyncio.sleep(99)\n", "utf-8")
    server = stdio([sys.executable, "-m", "mcp_studio.servers.module", str(file)], inherit_env=("PYTHONPATH",))
    async with on_stage(server, size=(140, 40)) as stage:
        await stage.shows(words, "field_i")
        form = stage.main.call.query_one("#call-form")
        assert not form.show_vertical_scrollbar
        await stage.press("ctrl+j")
        await stage.until(lambda: form.show_vertical_scrollbar, "less room while the call runs")
        await stage.press("x")
        await stage.until(lambda: not form.show_vertical_scrollbar, "room for the form again")


async def test_resources_prompts_and_templates_are_read_with_one_key() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        await stage.open("raw://note", "resource")
        assert isinstance(await outcome(stage), Succeeded)
        await stage.shows("3 raw › A note", "raw://note  text/plain", "Read  \\^j")
        await tab(stage, "schema")  # a resource has no arguments, and so no JSON
        await stage.press("2", "right_square_bracket", "enter")
        await stage.until(lambda: name(stage) == "raw://notes/{name}", "the template")
        await stage.main.call.run_action("follow")
        await stage.told("Its URI is not complete")
        await stage.type("today")
        assert isinstance(await stage.call(), Succeeded)
        assert stage.main.call.call and stage.main.call.call.params["uri"] == "raw://notes/today"
        await stage.press("3")
        await stage.main.call.run_action("follow")
        await stage.told("Subscribing to raw://notes/today.")
        await stage.open("greet", "prompt")
        await stage.shows("who \\*", "Get  \\^j", "prompt")
        await stage.type("A")
        await stage.shows("Ada")  # the server completes it
        await stage.press("down", "enter")
        assert value(stage) == {"who": "Ada"}
        assert isinstance(await stage.call(), Succeeded)
        await stage.shows("Ada")
        found = stage.main.call
        found.read_link("raw", "raw://unlisted", "A link")
        assert isinstance(await outcome(stage), (Rejected, Succeeded))
        await stage.shows("raw › A link")


@pytest.mark.parametrize("shown", ["json", "schema", "history"])
async def test_a_tab_shows_one_view_however_quickly_entries_follow_one_another(shown: str) -> None:
    async with on_stage(raw()) as stage:
        await stage.open("echo")
        await tab(stage, shown)
        for turn in range(12):
            for _ in range(turn):  # a little later each time
                await asyncio.sleep(0)
            stage.main.show_entry(ref(("add", "echo")[turn % 2]))
        await stage.shows("3 raw › echo")
        shown_views = [view for view in stage.main.call.place.children if view.display]
        assert len(shown_views) == 1 and shown_views[0].is_running


async def test_hostile_text_stays_text_in_every_part_of_the_pane() -> None:
    hostile = stdio(python_server("raw_poison", "--plain"), "evil")
    async with on_stage(hostile, size=(80, 24)) as stage:

        def clean() -> bool:
            return not any(char in stage.text for char in "\x1b\x07\u202e\u200b")

        await stage.open("echo")
        await stage.type("mine")
        await stage.shows("text.*mine")  # however long the description above is
        for wanted in ("json", "schema", "about", "form"):
            stage.main.call.go_to_tab(wanted)
            await stage.pilot.pause()
            assert clean(), wanted
        for kind in ("resource", "template", "prompt"):
            stage.main.call.preview(stage.studio.catalog.entries(kind)[0])  # type: ignore[arg-type]
            await stage.pilot.pause()
            assert clean(), kind
        assert stage.app.is_running

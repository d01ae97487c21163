"""Opening, filling in, checking and running: tools, resources, templates, prompts; every kind of ending."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp_studio.tui.panels.call import CallPanel

from mcp_studio.call.call import Cancelled, Lost, Rejected, Succeeded, TimedOut, ToolFailed
from mcp_studio.config.model import Source
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import on_stage, raw, run


async def test_a_form_is_filled_in_and_the_result_appears() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("echo")
        await stage.press(*"hello")
        assert stage.messages(CallPanel.Edited)[-1].value == {"text": "hello"}
        assert isinstance(await stage.ran(), Succeeded)
        await stage.shows("✓ ok", "hello")


async def test_arguments_survive_leaving_the_tool_and_restarting_the_app() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("echo")
        await stage.press(*"kept")
        await stage.open("add")
        await stage.open("echo")
        await stage.shows("kept")
    async with on_stage(raw()) as stage:
        await stage.open("echo")
        await stage.shows("kept")


async def test_form_and_json_are_one_value() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("echo")
        await stage.press(*"one")
        stage.main.call.post_message(CallPanel.TabChosen(stage.main.call, "json"))
        await stage.shows('"text": "one"')
        stage.main.call.body.json._area.text = '{"text": "two", "more": 12345678901234567890}'
        await stage.until(lambda: stage.main.calling.opened.value.get("text") == "two", "two")
        stage.main.call.post_message(CallPanel.TabChosen(stage.main.call, "form"))
        await stage.shows("two")
        assert (await stage.ran()) is not None
        assert stage.main.calling.call.params["arguments"]["more"] == 12345678901234567890


async def test_text_that_is_no_json_is_kept_and_not_sent() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("echo")
        stage.main.call.post_message(CallPanel.TabChosen(stage.main.call, "json"))
        await stage.until(lambda: stage.main.call.body.json is not None, "editor")
        stage.main.call.body.json._area.text = '{"text": '
        await stage.until(lambda: stage.main.call.unreadable(), "a problem")
        await stage.press("ctrl+j")
        await stage.until(lambda: any(text.startswith("Not sent") for text in stage.toasts), "toast")
        assert stage.main.calling.call is None
        assert stage.main.call.body.json.text == '{"text": '


async def test_a_tool_error_a_refusal_and_a_lost_connection_read_differently() -> None:
    faulty = stdio(python_server("raw_faults", "--fault", "exits-mid-call"), "faulty")
    async with on_stage(raw(), faulty) as stage:
        await stage.open("fail")
        await stage.press("ctrl+j")
        await stage.shows("Run raw.fail?")
        await stage.press("y")
        await stage.shows("✗ tool error: it ran and says that it failed")
        assert isinstance(stage.main.calling.call.outcome, ToolFailed)
        assert stage.main.result.has_class("-bad")
        entry = next(e for e in stage.studio.catalog.entries("tool") if str(e.ref) == "faulty.echo")
        await stage.main.calling.open(entry, go=True)
        await stage.press("x")
        assert isinstance(await stage.ran(), Lost)
        await stage.shows("✗ connection lost. Whether the server did the work is unknown.")
        await stage.open("greet", "prompt")
        stage.main.calling.opened.value = {}
        await stage.press("ctrl+j", "ctrl+j")
        await stage.until(lambda: stage.main.calling.call and stage.main.calling.call.outcome, "an outcome")
        assert isinstance(stage.main.calling.call.outcome, (Rejected, Succeeded))


async def test_progress_is_drawn_and_escape_stops_the_call() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("count")
        stage.main.calling.edited({"steps": 5000, "pause": 0.1}, {})
        await stage.press("ctrl+j")
        await stage.shows("running", "%", " of 5,000")
        await stage.press("escape")
        await stage.until(lambda: stage.main.calling.call.outcome, "an outcome")
        assert isinstance(stage.main.calling.call.outcome, (Cancelled, TimedOut))
        await stage.shows("stopped after")


async def test_resources_templates_and_prompts_are_read_and_got() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("raw://note", "resource")
        assert isinstance(await stage.ran(), Succeeded)
        await stage.open("raw://notes/{name}", "template")
        await stage.press(*"today")
        assert isinstance(await stage.ran(), Succeeded)
        assert stage.main.calling.call.params["uri"] == "raw://notes/today"
        await stage.open("greet", "prompt")
        await stage.press(*"Ada")
        assert isinstance(await stage.ran(), Succeeded)
        await stage.shows("Ada")


async def test_the_result_of_each_entry_stays_at_hand() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("echo")
        await stage.press(*"first")
        await stage.ran()
        await stage.open("wait")
        await stage.shows("No result yet")
        await stage.open("echo")
        await stage.shows("✓ ok")


@pytest.mark.parametrize("saved", [False, True])
def test_a_server_that_asks_as_in_the_older_era_is_restarted_in_it(saved: bool, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("# mine\n")
    source = Source("user", str(file)) if saved else Source("argument")

    async def main() -> None:
        config = stdio(python_server("raw_both", "--pushes"), "both", source=source)
        async with on_stage(config) as stage:
            await stage.open("ask")
            await stage.ran()
            await stage.shows("no back-channel", 'era = "legacy" makes it work', "H restarts it so")
            await stage.press("4", "H")
            await stage.shows("until you quit")
            await stage.press(*(["down"] * saved), "enter")
            await stage.told("restarted in the legacy era. r runs it again.")
            await stage.studio.manager.settle("both")
            await stage.press("r")
            await stage.shows("What is your name?")

    run(main())
    assert ('era = "legacy"' in file.read_text()) == saved

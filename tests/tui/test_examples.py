"""A form is filled with an example that was chosen from a list."""

from __future__ import annotations

from mcp_studio.tui.screens.example_dialog import ExampleDialog

from tests.tui.stage import on_stage, raw


async def test_a_form_is_filled_with_the_example_that_was_chosen() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("3", "alt+x")
        await stage.until(lambda: any("Nothing that could be filled in" in toast for toast in stage.toasts), "toast")
        await stage.open("add")
        await stage.press("alt+x")
        await stage.shows("Fill raw.add with an example", "only what is required", "The whole schema allows it")
        await stage.press("home", "n")
        await stage.shows("seed 1")
        await stage.press("tab", "tab", "y", "enter")
        await stage.until(lambda: not isinstance(stage.app.screen, ExampleDialog), "the dialog is gone")
        assert stage.main.calling.opened.value.keys() == {"a", "b"}
        value = stage.main.calling.opened.value
        assert stage.studio.memory.drafts.get("tool:raw:add") == value
        await stage.press("ctrl+z")
        await stage.until(lambda: stage.main.calling.opened.value == {}, "what was there before")
        await stage.press("ctrl+y")
        await stage.until(lambda: stage.main.calling.opened.value == value, "the example again")
        await stage.press("alt+x")
        await stage.shows("only what is required")
        await stage.press("escape")
        assert stage.main.calling.opened.value == value
        await stage.open("greet", "prompt")
        await stage.press("alt+x")
        await stage.shows("only what is required", "It is complete.")
        await stage.press("enter")
        await stage.until(lambda: stage.main.calling.opened.value.get("who"), "the argument of the prompt")

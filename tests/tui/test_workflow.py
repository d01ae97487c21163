"""The workflow screen: inputs, steps with their states, what they got and gave, and running from a step on."""

from __future__ import annotations

import sys
from pathlib import Path

from textual.widgets import Button

from mcp_studio.config.model import Settings
from mcp_studio.tui.screens.approval import Approval
from mcp_studio.tui.screens.workflow import WorkflowDialog
from tests.studio_support import stdio
from tests.support_servers import demo_stdio
from tests.tui.stage import on_stage

PLAN = """
name = "shelf"
[inputs]
type = "object"
properties.genre = { type = "string" }
required = ["genre"]
[[steps]]
id = "books"
call = "demo.list_books"
arguments = { genre = "$input.genre" }
[[steps]]
id = "some"
assert = "books.result.count > 0"
[[steps]]
id = "ok"
wait = "Is this the shelf?"
"""


async def test_a_workflow_is_loaded_run_step_by_step_and_run_again_from_a_step(tmp_path: Path) -> None:
    file = tmp_path / "shelf.toml"
    file.write_text("name = ")
    async with on_stage(stdio(demo_stdio(), "demo", trust=True), size=(120, 40)) as stage:
        await stage.main.run_action("workflows")
        dialog = await stage.dialog(WorkflowDialog)
        dialog.file.value = str(file)
        await stage.press("enter")
        await stage.shows("Invalid", "Edit +Close")
        file.write_text(PLAN.replace('"demo.list_books"', '"demo.list_bookz"'))
        dialog.action_load()
        await stage.shows(
            "Workflow: shelf", r"shelf.toml:8:1: step books", "Did you mean `list_books", "○ demo.list_bookz"
        )
        file.write_text(PLAN)
        dialog.action_load()
        await stage.shows("○ demo.list_books")
        dialog.query_one("#start", Button).press()
        await stage.shows("✗ required")
        dialog.form.set_value({"genre": "poetry"})
        dialog.query_one("#start", Button).press()
        await stage.dialog(Approval)
        await stage.shows("─ shelf: ok ─", "Is this the shelf\\?  ", "Go on +Deny +Later")
        await stage.press("escape")
        await stage.shows("✓ demo.list_books", "⚑ Is this the shelf")
        dialog.steps.go_to("books")
        await stage.shows('"genre": "poetry"', "A Lamp in the Reeds")
        dialog.query_one("#cancel", Button).press()
        await stage.shows("○ Is this the shelf", "cancelled after")
        dialog.steps.go_to("some")
        dialog.query_one("#from_here", Button).press()
        question = await stage.dialog(Approval)
        question.query_one("#accept", Button).press()
        await stage.shows("✓ books.result.count")
        await stage.shows("✓ Is this the shelf", "done after")
        dialog.steps.go_to("books")
        dialog.query_one("#from_here", Button).press()
        await stage.dialog(Approval)
        await stage.press("escape")
        dialog.query_one("#cancel", Button).press()
        await stage.shows("cancelled after")
        dialog.steps.focus()
        await stage.press("enter")
        await stage.shows(r"under:\d+", "4 of", "workflow/call", "tools/call")


async def test_the_file_is_edited_in_the_persons_editor_and_loaded_again(tmp_path: Path) -> None:
    file, editor = tmp_path / "shelf.toml", tmp_path / "editor.py"
    file.write_text("name = ")
    editor.write_text(f"import pathlib, sys\npathlib.Path(sys.argv[1]).write_text({PLAN!r})\n")
    settings = Settings(editor=f"'{sys.executable}' '{editor}'")
    async with on_stage(stdio(demo_stdio(), "demo", trust=True), settings=settings, size=(120, 40)) as stage:
        await stage.main.run_action("workflows")
        dialog = await stage.dialog(WorkflowDialog)
        dialog.file.value = str(file)
        await stage.press("enter")
        await stage.shows("Invalid")
        dialog.query_one("#edit", Button).press()
        await stage.shows("Workflow: shelf", "○ demo.list_books")

"""Help for the field of a form, from the key to the value: on the real app, with a script as the editor."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Input

from mcp_studio.config.model import Settings
from mcp_studio.schema.form import build
from mcp_studio.tui.aids import visit
from mcp_studio.tui.form.form_view import FormView
from mcp_studio.tui.form.json_editor import JsonEditor
from mcp_studio.tui.screens.confirm import Confirm
from tests.tui.stage import Stage, on_stage

SCHEMA = {
    "type": "object",
    "properties": {
        "due": {"type": "string", "format": "date"},
        "id": {"type": "string", "format": "uuid"},
        "body": {"type": "string", "contentMediaType": "text/markdown", "examples": ["# One"]},
        "tags": {"type": "array", "items": {"type": "integer"}},
        "password": {"type": "string"},
        "count": {"type": "integer"},
    },
}
EDITOR = """
import pathlib, sys
file, told, code = pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[1]), int(sys.argv[2])
told.open("a").write(f"{file.name}|{file.read_text()}\\n")
new = told.with_name("new")
if new.exists():
    file.write_bytes(new.read_bytes())
    new.unlink()
    file.with_suffix(".bak").write_text("beside it")
sys.exit(code)
"""


class Holder(Screen[None]):
    """A form, and the same as JSON."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.form = FormView(build(SCHEMA), value)
        self.json = JsonEditor(value)
        self.json.display = False

    def compose(self) -> ComposeResult:
        yield self.form
        yield self.json


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A command that writes down what it gets into `told`, and puts what is in `new` into the file."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "editor.py").write_text(EDITOR)
    return f"'{sys.executable}' '{tmp_path / 'editor.py'}' '{tmp_path / 'told'}' 0"


def folders(where: Path) -> list[Path]:
    """What visits to the editor have left behind."""
    return [*where.glob("mcp-studio-*")]


async def hold(stage: Stage, value: Any) -> Holder:
    screen = Holder(value)
    stage.app.push_screen(screen)
    await stage.until(lambda: screen.form.is_attached and stage.app.screen is screen)
    screen.form.focus()
    await stage.pilot.pause()
    return screen


async def edited(stage: Stage, *keys: str) -> None:
    """Press keys that start the editor, and wait until it has ended."""
    await stage.press(*keys)
    await stage.until(lambda: all(worker.is_finished for worker in stage.app.workers), "the editor's end")


async def test_dates_ids_examples_and_pasted_lists_go_into_the_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "there is no desktop")

    async with on_stage(size=(80, 24)) as stage:
        form = (await hold(stage, {})).form
        await stage.press("alt+i")
        await stage.shows("due: date")
        await stage.press(*"2027-01-02", "enter")
        await stage.until(lambda: form.value == {"due": "2027-01-02"})
        form.focus_field("/id")
        await stage.press("alt+i")
        await stage.until(lambda: len(form.value.get("id", "")) == 36)
        form.focus_field("/body")
        await stage.press("alt+h", *"one", "enter")
        await stage.until(lambda: form.value.get("body") == "# One")
        stage.app.copy_to_clipboard("1\n2")
        form.focus_field("/tags")
        await stage.press("alt+p")
        await stage.shows("becomes list with 2 items")
        await stage.press("ctrl+j")
        await stage.until(lambda: form.value.get("tags") == [1, 2])
        await stage.press("alt+h", *"undo", "enter")
        await stage.until(lambda: "tags" not in form.value)
        form.focus_field("/count")
        await stage.press("alt+shift+f")
        await stage.until(lambda: any("takes no text" in toast for toast in stage.toasts))
        form.focus_field("/body")
        await stage.press("alt+h", *"not sent", "enter")
        await stage.until(lambda: "body" not in form.value)


async def test_a_secret_is_seen_only_on_demand_and_only_in_its_field() -> None:
    async with on_stage(size=(80, 24)) as stage:
        form = (await hold(stage, {"password": "hunter2"})).form
        form.focus_field("/password")
        await stage.pilot.pause()
        line = form.query_one(Input)
        assert line.password
        await stage.press("alt+q")
        assert form.revealed and not line.password and line.value == "hunter2"
        await stage.press("x", "tab")
        assert not form.revealed
        form.focus_field("/password")
        assert form.query_one(Input).password and form.value == {"password": "hunter2x"}
        form.put_value(("password",), "two\nlines")
        await stage.press("tab", "shift+tab")
        await stage.shows("•••••••••")
        assert "two" not in stage.screen_text()
        await stage.press("alt+q")
        await stage.shows("two", "lines")
        await stage.press("shift+tab")
        await stage.until(lambda: "two" not in stage.screen_text(), "the secret hidden")


async def test_a_field_a_part_and_the_whole_are_edited_outside(editor: str, tmp_path: Path) -> None:
    told, new = tmp_path / "told", tmp_path / "new"

    async with on_stage(size=(80, 24), settings=Settings(editor=editor)) as stage:
        holder = await hold(stage, {"body": "# One", "tags": [1], "other": 1.50})
        form = holder.form
        form.focus_field("/body")
        new.write_text("# Two\n")
        await edited(stage, "alt+e")
        assert told.read_text() == "body.md|# One\n" and form.value["body"] == "# Two"
        new.write_text("[3, 4]\n")
        form.focus_field("/tags")
        await edited(stage, "alt+e")
        assert form.value["tags"] == [3, 4] and "tags.json|[\n  1\n]" in told.read_text()
        new.write_text("[3, ")
        form.focus_field("/tags")
        await edited(stage, "alt+e")
        assert form.value["tags"] == [3, 4] and form.pending == {"/tags": "[3, "}
        new.write_text('{"tags": [5], "x": 1.00}')
        await edited(stage, "alt+shift+e")
        assert repr(form.value) == "{'tags': [5], 'x': 1.00}"
        new.write_text("{")
        await stage.press("alt+shift+e")
        await stage.until(lambda: isinstance(stage.app.screen, Confirm))
        await stage.shows("no JSON", "Edit it again?")
        new.write_text("{}")
        await stage.press("y")
        await stage.until(lambda: form.value == {})
        assert told.read_text().endswith("value.json|{\n")
        holder.json.display = True
        holder.json.query_one("AreaEditor").focus()
        new.write_text('{"count": ')
        await edited(stage, "alt+e")
        assert holder.json.text == '{"count": ' and holder.json.unreadable
    assert folders(tmp_path) == []


async def test_editors_that_fail_or_return_at_once_lose_nothing(
    editor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visit, "AT_ONCE", 60.0)

    settings = Settings(editor=editor[:-1] + "3")
    async with on_stage(size=(80, 24), settings=settings) as stage:
        form = (await hold(stage, {"body": "# One", "password": "hunter2"})).form
        form.focus_field("/body")
        await edited(stage, "alt+e")
        assert any("ended with code 3: the field is as it was." in toast for toast in stage.toasts)
        (tmp_path / "new").write_text("precious")
        await edited(stage, "alt+e")
        kept = next(toast for toast in stage.toasts if "is kept in" in toast)
        [folder] = folders(tmp_path)
        assert f"{folder / 'body.md'}." in kept and form.value["body"] == "# One"
        assert [file.read_text() for file in folder.glob("*.md")] == ["precious"]
        form.focus_field("/password")
        await stage.press("alt+e")
        await stage.shows("This is a secret.")
        await stage.press("n")
        await stage.pilot.pause()
        assert "hunter2" not in (tmp_path / "told").read_text()
        for command, words in (("true", "ended at once"), ("no-such-editor", "names `no-such-editor`")):
            object.__setattr__(stage.studio.config.settings, "editor", command)
            form.focus_field("/body")
            await edited(stage, "alt+e")
            assert any(words in toast for toast in stage.toasts), words

"""The whole value as JSON: what is typed stays, what is JSON is told, nothing is rounded."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from mcp_studio.jsontext import Json, dumps, loads
from mcp_studio.safetext import is_live
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.schema.form import build
from mcp_studio.tui import themes
from mcp_studio.tui.form.json_editor import JsonEditor
from mcp_studio.tui.form.model import LARGEST
from mcp_studio.tui.form.view import FormView


class EditorApp(App[None]):
    """A JSON editor beside a form of the same value."""

    def __init__(self, value: Json) -> None:
        super().__init__()
        schema = {"properties": {"count": {"type": "integer"}, "note": {"type": ["string", "null"]}, "json": {}}}
        self.form = FormView(build(schema), value)
        self.editor = JsonEditor(value)
        self.told: list[Json] = []

    def get_css_variables(self) -> dict[str, str]:
        return themes.complete(super().get_css_variables())

    def compose(self) -> ComposeResult:
        yield self.form
        yield self.editor

    def on_json_editor_changed(self, event: JsonEditor.Changed) -> None:
        self.told.append(event.value)

    def text(self) -> str:
        """Everything on the screen."""
        strips = self.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        return "\n".join(strip.text.rstrip() for strip in strips)


@asynccontextmanager
async def edited(value: Json) -> AsyncGenerator[tuple[EditorApp, Pilot[None]]]:
    """The editor with a value in it, focused."""
    app = EditorApp(value)
    async with app.run_test(size=(60, 24)) as pilot:
        await pilot.pause()
        app.editor.query_one(TextArea).focus()
        await pilot.pause()
        yield app, pilot


async def test_the_value_is_shown_laid_out_with_numbers_as_they_were() -> None:
    async with edited(loads('{"b": 1.10, "a": [1e400, 12345678901234567890]}', exact=True)) as (app, _):
        assert app.editor.text == '{\n  "b": 1.10,\n  "a": [\n    1e400,\n    12345678901234567890\n  ]\n}'


async def test_edits_that_are_json_are_told_and_others_are_kept_with_line_and_column() -> None:
    async with edited({"a": 1}) as (app, pilot):
        await pilot.press("down", "end", "2", "comma")
        assert app.told == [{"a": 12}]
        assert app.editor.text == '{\n  "a": 12,\n}'
        assert app.editor.value == {"a": 12}
        assert "}  ✗ Expecting" in app.text()
        assert "(line 3, column 1)" in app.editor.unreadable[0].message
        app.editor.focus_problem()
        assert app.editor.query_one(TextArea).cursor_location == (2, 0)
        await pilot.press("up", "end", "backspace")
        assert app.told[-1] == {"a": 12} and not app.editor.unreadable
        assert "✗" not in app.text()


async def test_text_that_is_no_json_survives_looking_at_the_form() -> None:
    value = {"count": 1}
    async with edited(value) as (app, pilot):
        await pilot.press("x")
        app.editor.show(value)
        assert app.editor.text.startswith("x{") and app.editor.unreadable


async def test_the_same_value_keeps_how_it_was_written() -> None:
    async with edited({}) as (app, pilot):
        area = app.editor.query_one(TextArea)
        area.replace('{"count":   1}', (0, 0), area.document.end)
        await pilot.pause()
        app.editor.show({"count": 1})
        assert app.editor.text == '{"count":   1}'
        app.editor.show({"count": 2})
        assert app.editor.text == '{\n  "count": 2\n}'
        await pilot.press("ctrl+z")
        assert app.editor.text == '{"count":   1}'


async def test_a_fresh_value_leaves_nothing_of_the_one_before() -> None:
    async with edited({}) as (app, pilot):
        await pilot.press("x")
        app.editor.show({}, fresh=True)
        assert app.editor.text == "{}" and not app.editor.unreadable
        await pilot.press("ctrl+z")
        assert app.editor.text == "{}"


@pytest.mark.parametrize(
    "text",
    [
        '{"zz":1e400,"count":123456789012345678901234567890,"other":[1.10,null],"note":null}',
        '{"note":"","json":{"b":0.0,"a":-0.0}}',
        '{"count":"no number","json":"5"}',
        "{}",
    ],
)
async def test_from_form_to_json_and_back_nothing_is_lost(text: str) -> None:
    async with edited(loads(text, exact=True)) as (app, pilot):
        app.editor.query_one(TextArea).insert(" ", (0, 0))
        await pilot.pause()
        app.form.set_value(app.told[-1])
        app.form.query_one(Input).focus()
        for _ in range(3):
            await pilot.press("tab")
        assert dumps(app.form.value).decode() == text
        app.editor.show(app.form.value)
        assert dumps(loads(app.editor.text, exact=True)).decode() == text


async def test_problems_of_a_check_are_told_below() -> None:
    async with edited({"a": 1}) as (app, pilot):
        app.editor.show_problems(
            [SchemaProblem("/a", "must be text, got 1"), SchemaProblem("", "unchecked", "warning")]
        )
        await pilot.pause()
        assert "✗ /a must be text, got 1" in app.text() and "! unchecked" in app.text()


async def test_live_characters_are_escapes_and_stay_what_they_are() -> None:
    value = {"a": "\x1b[31m\u202e\x9b\u200b", "\ud800": 1}
    async with edited(value) as (app, pilot):
        assert not [char for char in app.editor.text if is_live(char) and char != "\n"]
        app.editor.query_one(TextArea).insert(" ", (0, 0))
        await pilot.pause()
        assert app.told == [value]


async def test_a_value_too_large_to_edit_is_said_to_be() -> None:
    value = {"a": "x" * LARGEST}
    async with edited(value) as (app, _):
        assert "too large to be edited here" in app.text()
        assert app.editor.value is value
        app.editor.show({"a": 1})
        assert app.editor.text == '{\n  "a": 1\n}'

"""The form on a screen: keys, mouse, what it shows and what it tells."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.events import Key, Paste
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from mcp_studio.jsontext import Json, loads
from mcp_studio.safetext import is_live
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.schema.form import MAX_FIELDS, build
from mcp_studio.tui.form.model import LARGEST
from mcp_studio.tui.form.view import FormView
from tests.support import wait_until
from tests.tui.form.demo import FormApp


@asynccontextmanager
async def shown(
    properties: dict[str, Any],
    value: Json = None,
    required: Sequence[str] = (),
    size: tuple[int, int] = (60, 24),
    **options: Any,
) -> AsyncGenerator[tuple[FormApp, Pilot[None]]]:
    """A form of these properties, its first field current."""
    app = FormApp(build({"properties": properties, "required": list(required)}), value, **options)
    async with app.run_test(size=size) as pilot:
        await pilot.press("tab")
        await pilot.pause()
        yield app, pilot


def line(app: FormApp, start: str) -> str:
    """The line of the form that starts so."""
    return next((text for text in app.lines() if text.startswith(start)), "")


TEXT = {"type": "string"}
NUMBER = {"type": "integer", "minimum": 1}
LONG = {"enum": [f"option {n}" for n in range(30)]}
OBJECT = {"type": "object", "properties": {"a": {}}}
ANY: dict[str, Any] = {}


async def test_typing_walks_by_tab_and_every_edit_is_told() -> None:
    async with shown({"name": TEXT, "count": NUMBER}) as (app, pilot):
        await pilot.press("A", "d", "tab", "1", "2", "shift+tab", "a")
        assert app.changes == [
            {"name": "A"},
            {"name": "Ad"},
            {"name": "Ad", "count": 1},
            {"name": "Ad", "count": 12},
            {"name": "Ada", "count": 12},
        ]
        assert app.form.value == app.changes[-1]
        assert line(app, "count") == "count 12"


async def test_tab_enters_and_leaves_the_form_at_its_ends() -> None:
    async with shown({"name": TEXT, "flag": {"type": "boolean"}, "other": TEXT}) as (app, pilot):
        seen: list[str] = []
        for key in ("tab", "tab", "tab", "shift+tab", "shift+tab", "shift+tab", "shift+tab"):
            await pilot.press(key)
            await pilot.pause()
            field = app.form.current
            inside = app.form.has_focus_within and field is not None
            seen.append(field.name if inside and field else (app.focused.id or "") if app.focused else "")
        assert seen == ["flag", "other", "after", "other", "flag", "name", "before"]


async def test_arrows_and_enter_walk_too() -> None:
    async with shown({"a": TEXT, "b": NUMBER, "c": TEXT}) as (app, pilot):
        await pilot.press("1", "down", "2", "enter", "3", "up", "4", "up", "up", "5")
        assert app.form.value == {"a": "15", "b": 24, "c": "3"}


async def test_wrong_text_stays_as_typed_with_the_problem_below() -> None:
    async with shown({"count": NUMBER, "next": TEXT}) as (app, pilot):
        await pilot.press(*"two", "tab")
        await wait_until(lambda: line(app, "count") == "count ✗ two", what="the text as typed")
        assert app.lines()[1] == "✗ must be a whole number, got 'two'"
        assert app.form.value == {"count": "two"}
        assert [problem.pointer for problem in app.form.problems] == ["/count"]


async def test_an_empty_field_says_what_could_be_there() -> None:
    properties = {
        "first": TEXT,
        "size": {**NUMBER, "default": 5},
        "name": {**TEXT, "maxLength": 9},
        "range": {**OBJECT, "description": "From where"},
        "flag": {"type": "boolean", "default": True},
    }
    async with shown(properties, required=["name"]) as (app, _):
        assert app.lines()[:6] == [
            "first text, optional",
            "size 5 (default)",
            "name * at most 9 characters",
            "range ▸ object {a}, optional",
            "From where",
            "flag [—] true (default)",
        ]


async def test_a_title_that_only_repeats_the_name_is_left_out() -> None:
    properties = {
        "shoe_size": {**TEXT, "title": "Shoe Size"},
        "hat": {**TEXT, "title": "Hats", "description": "All."},
    }
    async with shown(properties) as (app, _):
        assert app.lines()[:3] == ["shoe_size text, optional", "hat text, optional", "Hats: All."]


async def test_a_flag_is_toggled_by_space_enter_and_click_and_cleared() -> None:
    async with shown({"flag": {"type": "boolean"}, "next": TEXT}) as (app, pilot):
        await pilot.press("space")
        assert line(app, "flag") == "flag [x] true"
        await pilot.press("enter")
        assert line(app, "flag") == "flag [ ] false"
        await pilot.press("backspace")
        assert line(app, "flag") == "flag [—] optional"
        await pilot.click(FormView, offset=(14, 0))
        assert app.changes == [{"flag": True}, {"flag": False}, {}, {"flag": True}]


async def test_few_options_stand_side_by_side() -> None:
    choice = {"oneOf": [{"const": 1, "title": "One"}, {"const": "two"}]}
    async with shown({"pick": choice, "next": TEXT}) as (app, pilot):
        assert line(app, "pick") == "pick ○ One ○ two optional"
        await pilot.press("right")
        assert line(app, "pick") == "pick ● One ○ two"
        await pilot.press("left")
        assert app.form.value == {"pick": "two"}
        await pilot.click(FormView, offset=(14, 0))
        assert app.form.value == {"pick": 1}


async def test_many_options_open_as_a_list_that_narrows_by_typing() -> None:
    async with shown({"pick": LONG, "next": TEXT}) as (app, pilot):
        await pilot.press("space")
        await pilot.pause()
        assert app.lines()[1:9] == [
            "● not sent",
            *(f"○ option {n}" for n in range(7)),
        ]
        await pilot.press("2", "9")
        await pilot.pause()
        assert app.lines()[1:3] == ["/ 29", "○ option 29"]
        await pilot.press("enter")
        assert app.form.value == {"pick": "option 29"}
        await pilot.pause()
        assert app.lines()[:2] == ["pick option 29 ▾", "one of 30"]
        await pilot.press("space", "up", "enter")
        assert app.form.value == {"pick": "option 28"}
        await pilot.press("space", "down", "escape")
        assert app.form.value == {"pick": "option 28"} and app.form.has_focus_within


async def test_typing_on_a_closed_list_opens_it() -> None:
    async with shown({"pick": LONG}) as (app, pilot):
        await pilot.press("1", "7", "enter")
        assert app.form.value == {"pick": "option 17"}


async def test_several_options_are_marked_one_by_one() -> None:
    many = {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 1}
    async with shown({"many": many, "next": TEXT}) as (app, pilot):
        await pilot.press("enter", "down", "space", "down", "space")
        assert app.form.value == {"many": ["a", "b"]}
        await pilot.pause()
        assert app.lines()[1:5] == ["[ ] not sent", "[x] a", "[x] b", "[ ] c"]
        await pilot.press("space", "enter")
        assert app.lines()[0] == "many a ▾"
        await pilot.press("space")
        await pilot.pause()
        await pilot.click(FormView, offset=(8, 4))
        assert app.form.value == {"many": ["a", "c"]}
        await pilot.click(FormView, offset=(8, 1))
        assert app.form.value == {}


async def test_json_is_typed_in_a_line_and_opens_on_enter() -> None:
    async with shown({"json": ANY, "next": TEXT}, {"json": loads('{"a": [1.10, 2]}', exact=True)}) as (
        app,
        pilot,
    ):
        assert line(app, "json") == 'json {"a":[1.10,2]}'
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.focused, TextArea)
        assert app.lines()[:6] == [
            "json {",
            '"a": [',
            "1.10,",
            "2",
            "]",
            "}",
        ]
        await pilot.press("backspace", "tab")
        await pilot.pause()
        assert app.form.value == {"json": {"a": [1.10, 2]}}
        assert list(app.form.pending) == ["/json"]
        assert app.form.unreadable[0].pointer == "/json"
        assert "✗ must be JSON" in "\n".join(app.lines())
        assert isinstance(app.focused, Input)


@pytest.mark.parametrize("properties", [{"it": TEXT}, {"it": ANY}])
async def test_pasting_several_lines_goes_on_in_the_large_editor(properties: dict[str, Any]) -> None:
    async with shown(properties) as (app, pilot):
        assert app.focused is not None
        app.focused.post_message(Paste('{"a":\n1}\n'))
        await wait_until(lambda: app.changes)
        await pilot.pause()
        assert isinstance(app.focused, TextArea)
        assert app.form.value == {"it": '{"a":\n1}' if properties["it"] is TEXT else {"a": 1}}


async def test_text_of_several_lines_is_edited_in_place() -> None:
    async with shown({"first": TEXT, "it": TEXT}, {"it": "one\ntwo"}) as (app, pilot):
        assert line(app, "it") == "it one⏎two"
        await pilot.press("tab")
        await pilot.pause()
        assert app.lines()[1:3] == ["it one", "two"]
        await pilot.press("!", "enter", "3")
        await pilot.pause()
        assert app.form.value == {"it": "one\ntwo!\n3"}
        assert app.lines()[1:4] == ["it one", "two!", "3"]


async def test_secrets_are_masked() -> None:
    async with shown({"first": TEXT, "password": TEXT}, {"password": "hunter2"}) as (app, pilot):
        assert "hunter2" not in "\n".join(app.lines())
        await pilot.press("tab", "3")
        assert app.form.value == {"password": "hunter23"}
        assert "hunter" not in "\n".join(app.lines())


async def test_the_first_problem_gets_the_focus_and_what_is_missing_is_told() -> None:
    async with shown({"a": TEXT, "b": NUMBER, "c": TEXT}, required=["b", "c"]) as (app, pilot):
        assert "✗" not in "\n".join(app.lines())
        assert app.form.focus_first_problem()
        await pilot.pause()
        assert app.form.current is not None and app.form.current.name == "b"
        assert "\n".join(app.lines()).count("✗ is required") == 2
        app.form.set_value({"b": 1, "c": ""})
        assert not app.form.focus_first_problem()


async def test_problems_of_a_check_are_told_at_their_field_or_above() -> None:
    async with shown({"a": TEXT, "b": OBJECT}, {"b": {"x": [1]}}) as (app, pilot):
        app.form.show_problems(
            [SchemaProblem("/b/x/0", "must be text, got 1"), SchemaProblem("", "unchecked: too deep", "warning")]
        )
        await pilot.pause()
        assert app.lines()[0] == "! unchecked: too deep"
        assert app.lines()[2:3] == ["b ▸ {x: [1]} ✗ 1"]
        assert app.form.focus_field("/b/x/0") and app.form.row is not None and app.form.row.path == ("b", "x")
        await pilot.pause()
        assert app.lines()[4:6] == ["x ✗ [1] ×", "✗ 0 must be text, got 1"]
        assert not app.form.focus_field("/none")


async def test_what_no_field_shows_is_named() -> None:
    properties = {f"p{n}": TEXT for n in range(MAX_FIELDS + 2)}
    async with shown(properties, {"other": 1, "p301": "x"}) as (app, pilot):
        await pilot.press("shift+tab", "shift+tab")
        assert app.form.value == {"other": 1, "p301": "x"}
        assert app.form.focus_field("/p301")
        await pilot.pause()
        names = [text.split()[0] for text in app.lines() if text[:1].isalnum()]
        assert names[-4:] == ["other", "p301", "The", "2"]


async def test_a_value_that_is_no_object_is_told_and_kept() -> None:
    async with shown({"a": TEXT}, [1], size=(80, 24)) as (app, pilot):
        assert app.lines()[:2] == ["value ✗ [1]", "✗ must be an object, got a list of 1"]
        await pilot.press("x")
        assert app.form.value == [1] and app.form.pending == {"": "[1]x"}
        await pilot.press("backspace", *" ", "backspace")
        assert app.form.value == [1] and not app.form.pending


async def test_without_fields_it_says_so() -> None:
    async with shown({}, empty="Takes nothing.") as (app, _):
        assert app.lines()[0].strip() == "Takes nothing."


async def test_the_current_field_stays_in_view() -> None:
    async with shown({f"p{n}": TEXT for n in range(40)}, size=(40, 10)) as (app, pilot):
        app.form.focus_field("/p38")
        await pilot.press("tab", "x")
        await pilot.pause()
        assert app.lines()[-1] == "p39 x"
        app.form.focus_field("/p3")
        await pilot.press("y")
        assert "p3 y" in app.lines()
        assert app.form.value == {"p3": "y", "p39": "x"}


async def test_the_editor_goes_with_the_scrolled_rows() -> None:
    async with shown({f"p{n}": TEXT for n in range(40)}, {"p0": "here"}, size=(40, 10)) as (app, pilot):
        app.form.scroll_to(y=1, animate=False)
        await pilot.pause()
        assert app.lines()[0] == "p1 text, optional"
        app.form.scroll_home(animate=False)
        await pilot.pause()
        assert app.lines()[0] == "p0 here"


HOSTILE = "a\x1b[31m\u202eb\u200b\x9b[/red][@click=app.quit]c"


async def test_nothing_of_a_server_acts_or_is_markup() -> None:
    field = {"title": HOSTILE, "description": HOSTILE * 5}
    properties = {
        HOSTILE: {**field, **TEXT, "default": HOSTILE},
        "text": {**field, **TEXT, "format": HOSTILE},
        "one": {"enum": [HOSTILE, "b"]},
        "list": {**field, "enum": [HOSTILE, *range(9)]},
        "json": {**OBJECT, "properties": {HOSTILE: {}}},
        "more": {"oneOf": [{"const": n, "title": HOSTILE} for n in range(3)]},
    }
    value = {"text": HOSTILE, "json": {HOSTILE: HOSTILE}, HOSTILE + "?": 1}
    async with shown(properties, value, required=[HOSTILE], size=(100, 60)) as (app, pilot):
        app.form.show_problems([SchemaProblem("/json", HOSTILE), SchemaProblem("", HOSTILE)])
        for _ in range(6):
            assert not [char for text in app.lines() for char in text if is_live(char)]
            assert "[@click=app.quit]" in "\n".join(app.lines())
            await pilot.press("tab")
            if app.form.current and app.form.current.name == "list":
                await pilot.press("space")
            await pilot.pause()


@pytest.mark.parametrize(
    ("schema", "large"),
    [
        (TEXT, "x\n" * LARGEST),
        (ANY, {"a": "x" * 2 * LARGEST}),
        ({}, loads("[" * 500 + "1.10" + "]" * 500, exact=True)),
    ],
    ids=["text", "object", "deep"],
)
async def test_a_value_too_large_to_edit_is_kept_until_it_is_taken_away(schema: dict[str, Any], large: Json) -> None:
    value = {"it": large}
    async with shown({"it": schema}, value) as (app, pilot):
        assert app.lines()[0] == "it too large to be edited here"
        await pilot.press("x", "backspace", "enter", "space")
        assert app.form.value is value and app.changes == []
        app.form.set_value({})
        assert app.form.value == {}


async def test_sixty_fields_are_a_handful_of_widgets() -> None:
    kinds = (TEXT, NUMBER, {"type": "boolean"}, LONG)
    properties = {f"p{n}": {**kinds[n % 4], "description": "What it is for."} for n in range(60)}
    async with shown(properties, size=(80, 24)) as (app, pilot):
        for n in (8, 59, 32):
            assert app.form.focus_field(f"/p{n}")
            await pilot.press("1")
        assert len(app.form.query("*")) <= 4
        assert list(app.form.value) == ["p8", "p32"]


async def test_keys_that_come_all_at_once_reach_the_fields_they_were_typed_for() -> None:
    async with shown({"name": TEXT, "count": NUMBER, "kind": LONG, "last": TEXT}) as (app, _pilot):
        for key in ("A", "d", "tab", "1", "2", "down", "space", "down", "down", "enter", "tab", "z"):
            character = key if len(key) == 1 else " " if key == "space" else None
            app.post_message(Key(key, character))
        await wait_until(lambda: app.changes and app.changes[-1].get("last") == "z")
        assert app.changes[-1] == {"name": "Ad", "count": 12, "kind": "option 1", "last": "z"}

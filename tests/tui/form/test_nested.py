"""Objects, lists, maps and variants in a form: by keys and by mouse."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import TextArea

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.schema.form import build
from mcp_studio.tui.form.form_view import FormView
from tests.support import wait_until
from tests.tui.form.demo import FormApp

TEXT, WHOLE, FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
ITEM = {"type": "object", "properties": {"name": TEXT, "count": WHOLE}, "required": ["name"]}
ITEMS = {"type": "array", "items": ITEM, "minItems": 1, "maxItems": 9}


def thing(*required: str, **properties: Any) -> dict[str, Any]:
    """An object schema."""
    return {"type": "object", "properties": properties, "required": list(required)}


PAY = {
    "oneOf": [
        {**thing("kind", "number", kind={"const": "card"}, number=TEXT, note=TEXT), "title": "card"},
        {**thing("kind", kind={"const": "cash"}, note=TEXT), "title": "cash"},
    ]
}


@asynccontextmanager
async def shown(
    schema: dict[str, Any], value: Json = None, size: tuple[int, int] = (60, 30)
) -> AsyncGenerator[tuple[FormApp, Pilot[None]]]:
    """A form, its first row current."""
    app = FormApp(build(schema), value)
    async with app.run_test(size=size) as pilot:
        await pilot.press("tab")
        await pilot.pause()
        yield app, pilot


def lines(app: FormApp) -> list[str]:
    """What the form shows, without empty lines."""
    return [line for line in app.lines() if line]


async def test_a_list_is_filled_moved_copied_and_emptied_by_keys() -> None:
    async with shown(thing("items", items=ITEMS)) as (app, pilot):
        assert lines(app) == ["items *  ▾ nothing in it yet · 1 to 9 items", "  + add item"]
        await pilot.press("tab", "enter", *"ink", "tab", "5", "alt+o", *"pen")
        assert app.form.value == {"items": [{"name": "ink", "count": 5}, {"name": "pen"}]}
        await pilot.pause()
        assert [line.rstrip("✗ ") for line in lines(app)] == [
            "items *  ▾ 2 items · 1 to 9 items",
            "  1 ▾ ink",
            "    name *  ink",
            "    count   5",
            "  2 ▾ pen",
            "    name *  pen",
            "    count   integer, optional",
            "  + add item",
        ]
        await pilot.press("up", "alt+up")
        assert app.form.value == {"items": [{"name": "pen"}, {"name": "ink", "count": 5}]}
        assert app.form.current_place == (("items", 0), ITEM_FIELD(app))
        await pilot.press("alt+y", "alt+z")
        assert app.form.value == {"items": [{"name": "pen"}, {"name": "pen"}, {"name": "ink", "count": 5}]}
        await pilot.pause()
        assert [line.strip("✗ ") for line in lines(app)][1:4] == [
            "1 ▸ {name: pen}",
            "2 ▸ {name: pen}",
            "3 ▸ {name: ink, count: 5}",
        ]
        await pilot.press("delete", "delete")
        assert app.form.value == {"items": [{"name": "pen"}]}
        await pilot.press("ctrl+z", "ctrl+z", "ctrl+y", "ctrl+z")
        assert len(app.form.value["items"]) == 3


def ITEM_FIELD(app: FormApp) -> Any:
    """The field that all items share."""
    place = app.form.current_place
    assert place is not None
    return place[1]


async def test_folds_open_and_close_by_arrows_and_rows_below_are_seen_as_one_line() -> None:
    schema = thing(a=thing("b", b=thing(c=TEXT), d=TEXT), e=TEXT)
    async with shown(schema, {"a": {"b": {"c": "x"}}}) as (app, pilot):
        assert lines(app) == ["a  ▸ {b: {c: x}}", "e  text, optional"]
        await pilot.press("right", "right", "right", *"yz")
        assert app.form.current_place and app.form.current_place[0] == ("a", "b", "c")
        assert app.form.value == {"a": {"b": {"c": "xyz"}}}
        await pilot.pause()
        assert lines(app)[:4] == [
            "a  ▾ 1 of 2 filled in",
            "  b *  ▾ 1 of 1 filled in",
            "    c  xyz",
            "  d    text, optional",
        ]
        await pilot.press("alt+left", "left")
        assert app.form.current_place[0] == ("a",)
        await pilot.press("left")
        await pilot.pause()
        assert lines(app) == ["a  ▸ {b: {c: xyz}}", "e  text, optional"]
        await pilot.press("space", "tab", "tab", "tab", "1")
        assert app.form.value == {"a": {"b": {"c": "xyz"}}, "e": "1"}


async def test_an_optional_object_is_sent_once_something_is_in_it() -> None:
    async with shown(thing(a=thing("kind", kind={"const": 1}, b=TEXT)), {}) as (app, pilot):
        await pilot.press("space")
        await pilot.pause()
        assert lines(app)[0] == "a  ▾ not sent" and app.changes == []
        await pilot.press("tab", "tab", "x")
        assert app.form.value == {"a": {"kind": 1, "b": "x"}}
        await pilot.press("up", "up", "ctrl+d")
        assert app.form.value == {}
        await pilot.press("ctrl+d")
        assert app.form.value == {"a": {}}


async def test_a_variant_is_chosen_what_fits_goes_along_and_the_old_one_comes_back() -> None:
    async with shown(thing("pay", pay=PAY)) as (app, pilot):
        assert lines(app) == ["pay *  ○ card  ○ cash"]
        await pilot.press("right", "tab", *"42", "tab", *"hi")
        assert app.form.value == {"pay": {"kind": "card", "number": "42", "note": "hi"}}
        await pilot.pause()
        assert lines(app)[:3] == ["pay *  ▾ ● card  ○ cash", "  number *  42", "  note      hi"]
        await pilot.press("up", "up", "right")
        assert app.form.value == {"pay": {"kind": "cash", "note": "hi"}}
        await pilot.click(FormView, offset=(11, 0))
        assert app.form.value == {"pay": {"kind": "card", "number": "42", "note": "hi"}}
        await pilot.press("enter", "down", "enter")
        assert app.form.value == {"pay": {"kind": "cash", "note": "hi"}}
        await pilot.press("space")
        await pilot.pause()
        assert lines(app)[0] == "pay *  ▸ cash {kind: cash, note: hi}"


async def test_entries_of_a_map_get_and_change_their_keys() -> None:
    schema = thing(env={"type": "object", "additionalProperties": TEXT}, last=TEXT)
    async with shown(schema, {"env": {"B": "2"}}) as (app, pilot):
        await pilot.press("alt+o", *"A", "enter", *"one", "tab")
        assert app.form.value == {"env": {"B": "2", "A": "one"}}
        await pilot.press("up", "ctrl+l", "2", "tab", "x")
        assert app.form.value == {"env": {"B": "2", "A2": "onex"}}
        await pilot.press("ctrl+l", "backspace", "backspace", "B", "enter", "escape", "y")
        assert app.form.value == {"env": {"B": "2", "A2": "onexy"}}
        await pilot.press("alt+o", "escape", "up", "alt+delete")
        assert app.form.value == {"env": {"B": "2"}}


async def test_json_is_pasted_or_typed_over_a_part() -> None:
    async with shown(thing(items=ITEMS, text=TEXT)) as (app, pilot):
        assert app.focused is not None
        app.focused.post_message(Paste('[{"name": "a"},\n {"name": 1.10}]'))
        await wait_until(lambda: app.changes)
        assert app.form.value == {"items": [{"name": "a"}, {"name": 1.10}]}
        await pilot.press(*'[{"name":"b"}]', "tab")
        assert app.form.value == {"items": [{"name": "b"}]}
        await pilot.pause()
        assert lines(app)[0] == "items  ▸ [{name: b}]"
        await pilot.press("up", "alt+m")
        await pilot.pause()
        assert isinstance(app.focused, TextArea)
        await pilot.press("!", "escape", "tab")
        assert list(app.form.pending) == ["/items"] and app.form.value == {"items": [{"name": "b"}]}
        await pilot.press("ctrl+z")
        assert not app.form.pending


@pytest.mark.parametrize("text", ['[{"name": ', '[{"name":\n'])
async def test_what_is_pasted_on_a_part_and_is_no_json_yet_waits_there(text: str) -> None:
    async with shown(thing(items=ITEMS, text=TEXT)) as (app, _):
        assert app.focused is not None
        app.focused.post_message(Paste(text))
        await wait_until(lambda: app.form.pending)
        assert app.form.pending["/items"].strip() == '[{"name":' and app.form.unreadable
        # It is seen again after another form was shown, as after a restart.
        app.form.show(build(thing(items=ITEMS, text=TEXT)), {}, dict(app.form.pending))
        await wait_until(lambda: '[{"name":' in lines(app)[0])


async def test_problems_are_counted_in_folds_and_jumped_to() -> None:
    value = {"items": [{"name": "a"}, {"count": "x"}], "box": {"in": {"n": "y"}}}
    schema = thing(items=ITEMS, box=thing(**{"in": thing(n=WHOLE)}))
    async with shown(schema, value) as (app, pilot):
        app.form.show_problems([SchemaProblem("/items/0/name", "does not match")])
        await pilot.pause()
        assert [line[-3:] for line in lines(app)[:1]] == ["✗ 2"] and lines(app)[-1] == "box    ▸ {in: {n: y}} ✗ 1"
        seen: list[Any] = []
        for _ in range(5):
            await pilot.press("ctrl+g")
            seen.append(app.form.current_place[0] if app.form.current_place else None)
        assert sorted(seen[:4], key=str) == [
            ("box", "in", "n"),
            ("items", 0, "name"),
            ("items", 1, "count"),
            ("items", 1, "name"),
        ]
        assert seen[4] == seen[0]
        await pilot.press("ctrl+z")


async def test_what_does_not_fit_is_json_with_its_problem_and_secrets_are_masked_inside() -> None:
    schema = thing("a", a=thing(b=TEXT), users={"type": "array", "items": thing(name=TEXT, password=TEXT)})
    value = {"a": [1], "users": [{"name": "n", "password": "hunter2"}], "more": {"x": 1}}
    async with shown(schema, value) as (app, pilot):
        assert lines(app) == [
            "a *    [1]",
            "       ✗ must be an object, got a list of 1",
            "  object {b}",
            "users  ▸ [{name: n, password: •••}]",
            'more   {"x":1}',
        ]
        await pilot.press("tab", "right", "tab", "right", "tab", "tab")
        await pilot.pause()
        assert "hunter2" not in "\n".join(lines(app)) and app.changes == []
        app.form.focus_field("/a")
        await pilot.press("backspace", "backspace", "backspace", *'{"b":"c"}', "tab")
        await pilot.pause()
        assert app.form.value["a"] == {"b": "c"} and lines(app)[:2] == ["a *    ▾ 1 of 1 filled in", "  b    c"]


async def test_examples_of_the_schema_are_offered_and_a_root_that_is_no_object_is_drawn() -> None:
    async with shown(thing(a={**TEXT, "examples": ["red", "green"], "readOnly": True})) as (app, pilot):
        assert lines(app) == ["a  text, optional", "  read only · e.g. red, green"]
        await pilot.press("alt+down")
        await wait_until(lambda: "│ green" in "\n".join(app.lines()))
        await pilot.press("down", "down", "enter")
        assert app.form.value == {"a": "green"}
    async with shown({"oneOf": [{**thing(a=TEXT), "title": "A"}, {**thing(b=TEXT), "title": "B"}]}) as (app, pilot):
        await pilot.press("left", "tab", "x")
        assert app.form.value == {"b": "x"} and lines(app)[0] == "value  ▾ ○ A  ● B"


async def test_the_mouse_folds_adds_and_removes() -> None:
    async with shown(thing("tags", tags={"type": "array", "items": TEXT}, o=thing(x=TEXT))) as (app, pilot):
        await pilot.click(FormView, offset=(4, 1))
        assert app.form.value == {"tags": [""]}
        await pilot.press(*"red")
        await pilot.pause()
        row = next(at for at, line in enumerate(app.lines()) if line.endswith("✗"))
        await pilot.click(FormView, offset=(len(app.lines()[row]) - 1, row))
        assert app.form.value == {"tags": []}
        row = next(at for at, line in enumerate(app.lines()) if line.startswith("o "))
        await pilot.click(FormView, offset=(9, row))
        assert any(line.startswith("  x") for line in app.lines())


async def test_a_thousand_rows_are_drawn_only_where_they_are_seen() -> None:
    value = {"items": [{"name": f"n{n}", "count": n} for n in range(1000)]}
    async with shown(thing("items", items={"type": "array", "items": ITEM}), value, (50, 24)) as (app, pilot):
        await pilot.press("tab", "alt+z")
        assert app.form.focus_field("/items/500/name")
        await pilot.press("x")
        await pilot.pause()
        assert app.form.value["items"][500]["name"] == "n500x"
        await pilot.pause()
        assert "501  ▾ n500x" in "\n".join(lines(app))
        assert len(app.form._rows._drawn) < 30  # pyright: ignore[reportPrivateUsage]
        assert len(app.form.query("*")) <= 4


async def test_the_current_row_stays_in_view_when_there_is_less_room_and_focus_reaches_the_first_row_at_any_time() -> (
    None
):
    schema = thing(**{f"f{n}": TEXT for n in range(25)})
    async with shown(schema) as (app, pilot):
        app.form.focus_field("/f24")
        await pilot.pause()
        await pilot.resize_terminal(60, 10)
        await wait_until(lambda: any(line.startswith("f24") for line in lines(app)))
        app.set_focus(None)
        await pilot.pause()
        app.form.show(build(schema), {})
        app.form.focus()
        await pilot.pause()
        assert app.form.has_focus_within


async def test_letters_and_digits_typed_where_nothing_is_typed_open_nothing_else() -> None:
    async with shown(thing("a", a={"type": "array", "items": TEXT})) as (app, pilot):
        said: list[str] = []
        app.say = lambda why, how: said.append(why)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownLambdaType, reportUnknownArgumentType]
        app.form.begin()
        await pilot.press("b", "2", "f5")
        assert len(said) == 2 and "Nothing is typed here" in said[0]


def test_a_form_that_sends_nothing_does_not_speak_of_sending() -> None:
    form = build(thing(a=TEXT))
    assert "form-sent" in FormView(form).acts
    assert "form-sent" not in FormView(form, sends=False).acts

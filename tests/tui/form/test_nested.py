"""Objects, lists, maps and variants in a form: by keys and by mouse."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.schema.form import build
from mcp_studio.tui.form.view import FormView
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


async def test_a_list_is_filled_moved_copied_and_emptied() -> None:
    async with shown(thing("items", items=ITEMS)) as (app, pilot):
        assert lines(app) == ["items * ▾ nothing in it yet · 1 to 9 items +", "+ add item"]
        await pilot.press("tab", "enter", *"ink", "tab", "5")
        app.form.items.add()
        await pilot.press(*"pen")
        assert app.form.value == {"items": [{"name": "ink", "count": 5}, {"name": "pen"}]}
        await pilot.pause()
        assert lines(app) == [
            "items * ▾ 2 items · 1 to 9 items",
            "1 ▾ ink",
            "name * ink",
            "count 5",
            "2 ▾ pen",
            "name * pen",
            "count integer, optional",
            "+ add item",
        ]
        await pilot.press("up")
        app.form.items.move(-1)
        assert app.form.value == {"items": [{"name": "pen"}, {"name": "ink", "count": 5}]}
        assert app.form.row is not None and app.form.row.path == ("items", 0)
        app.form.items.duplicate()
        assert app.form.value == {"items": [{"name": "pen"}, {"name": "pen"}, {"name": "ink", "count": 5}]}
        await pilot.press("left")
        await pilot.pause()
        assert lines(app)[4:6] == ["2 ▸ {name: pen} ↑ ↓ ×", "3 ▾ ink"]
        app.form.items.remove()
        app.form.items.remove()
        assert app.form.value == {"items": [{"name": "pen"}]}
        await pilot.press("ctrl+z", "ctrl+z", "ctrl+y", "ctrl+z")
        assert len(app.form.value["items"]) == 3


async def test_folds_open_and_close_by_arrows_and_rows_below_are_seen_as_one_line() -> None:
    schema = thing(a=thing("b", b=thing(c=TEXT), d=TEXT), e=TEXT)
    async with shown(schema, {"a": {"b": {"c": "x"}}}) as (app, pilot):
        assert lines(app) == ["a ▸ {b: {c: x}}", "e text, optional"]
        await pilot.press("right", "right", "right", *"yz")
        assert app.form.row is not None and app.form.row.path == ("a", "b", "c")
        assert app.form.value == {"a": {"b": {"c": "xyz"}}}
        await pilot.pause()
        assert lines(app)[:4] == [
            "a ▾ 1 of 2 filled in",
            "b * ▾ 1 of 1 filled in",
            "c xyz",
            "d text, optional",
        ]
        await pilot.press("up", "left", "left")
        assert app.form.row.path == ("a",)
        await pilot.press("left")
        await pilot.pause()
        assert lines(app) == ["a ▸ {b: {c: xyz}}", "e text, optional"]
        await pilot.press("space", "tab", "tab", "tab", "1")
        assert app.form.value == {"a": {"b": {"c": "xyz"}}, "e": "1"}


async def test_an_optional_object_is_sent_once_something_is_in_it() -> None:
    async with shown(thing(a=thing("kind", kind={"const": 1}, b=TEXT)), {}) as (app, pilot):
        await pilot.press("space")
        await pilot.pause()
        assert lines(app)[0] == "a ▾ not sent" and app.changes == []
        await pilot.press("tab", "tab", "x")
        assert app.form.value == {"a": {"kind": 1, "b": "x"}}
        await pilot.press("up", "up", "ctrl+z")
        assert app.form.value == {}


async def test_a_variant_is_chosen_what_fits_goes_along_and_the_old_one_comes_back() -> None:
    async with shown(thing("pay", pay=PAY)) as (app, pilot):
        assert lines(app) == ["pay * ○ card ○ cash"]
        await pilot.press("right", "tab", *"42", "tab", *"hi")
        assert app.form.value == {"pay": {"kind": "card", "number": "42", "note": "hi"}}
        await pilot.pause()
        assert lines(app)[:3] == ["pay * ▾ ● card ○ cash", "number * 42", "note hi"]
        await pilot.press("up", "up", "right")
        assert app.form.value == {"pay": {"kind": "cash", "note": "hi"}}
        await pilot.click(FormView, offset=(15, 0))
        assert app.form.value == {"pay": {"kind": "card", "number": "42", "note": "hi"}}
        await pilot.press("enter", "down", "enter")
        assert app.form.value == {"pay": {"kind": "cash", "note": "hi"}}
        await pilot.press("space")
        await pilot.pause()
        assert lines(app)[0] == "pay * ▸ cash {kind: cash, note: hi}"


async def test_entries_of_a_map_get_and_change_their_keys() -> None:
    schema = thing(env={"type": "object", "additionalProperties": TEXT}, last=TEXT)
    async with shown(schema, {"env": {"B": "2"}}) as (app, pilot):
        items = app.form.items
        items.add()
        await pilot.press(*"A", "enter", *"one", "tab")
        assert app.form.value == {"env": {"B": "2", "A": "one"}}
        await pilot.press("up")
        items.rename()
        await pilot.press("2", "tab", "x")
        assert app.form.value == {"env": {"B": "2", "A2": "onex"}}
        items.rename()
        await pilot.press("backspace", "backspace", "B", "enter", "escape", "y")
        assert app.form.value == {"env": {"B": "2", "A2": "onexy"}}
        items.add()
        await pilot.press("escape", "up")
        items.remove()
        assert app.form.value == {"env": {"B": "2"}}


async def test_json_that_waits_is_seen_again_after_another_form_was_shown() -> None:
    schema = thing(items=ITEMS, text=TEXT)
    async with shown(schema) as (app, pilot):
        app.form.put_text(("items",), '[{"name":')
        assert app.form.pending == {"/items": '[{"name":'} and app.form.unreadable
        app.form.show(build(schema), {}, dict(app.form.pending))
        await pilot.pause()
        assert '[{"name":' in lines(app)[0]
        await pilot.press(*'"b"}]', "tab")
        await pilot.pause()
        assert app.form.value == {"items": [{"name": "b"}]} and lines(app)[0] == "items ▸ [{name: b}]"


async def test_problems_are_counted_in_folds_and_jumped_to() -> None:
    value = {"items": [{"name": "a"}, {"count": "x"}], "box": {"in": {"n": "y"}}}
    schema = thing(items=ITEMS, box=thing(**{"in": thing(n=WHOLE)}))
    async with shown(schema, value) as (app, pilot):
        app.form.show_problems([SchemaProblem("/items/0/name", "does not match")])
        await pilot.pause()
        assert lines(app)[0].removesuffix(" +").endswith("✗ 2") and lines(app)[-1] == "box ▸ {in: {n: y}} ✗ 1"
        seen: list[Any] = []
        for _ in range(5):
            await pilot.press("ctrl+g")
            seen.append(app.form.row.path if app.form.row else None)
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
            "a * ✗ [1]",
            "✗ must be an object, got a list of 1",
            "object {b}",
            "users ▸ [{name: n, password: •••}]",
            'more {"x":1}',
        ]
        await pilot.press("tab", "right", "tab", "right", "tab", "tab")
        await pilot.pause()
        assert "hunter2" not in "\n".join(lines(app)) and app.changes == []
        app.form.focus_field("/a")
        await pilot.press("backspace", "backspace", "backspace", *'{"b":"c"}', "tab")
        await pilot.pause()
        assert app.form.value["a"] == {"b": "c"} and lines(app)[:2] == ["a * ▾ 1 of 1 filled in", "b c"]


async def test_a_root_that_is_no_object_is_drawn() -> None:
    async with shown({"oneOf": [{**thing(a=TEXT), "title": "A"}, {**thing(b=TEXT), "title": "B"}]}) as (app, pilot):
        await pilot.press("left", "tab", "x")
        await pilot.pause()
        assert app.form.value == {"b": "x"} and lines(app)[0] == "value ▾ ○ A ● B"


async def test_the_mouse_folds_adds_moves_and_removes() -> None:
    async with shown(thing("tags", tags={"type": "array", "items": TEXT}, o=thing(x=TEXT))) as (app, pilot):
        width = app.form.size.width
        await pilot.click(FormView, offset=(4, 1))
        assert app.form.value == {"tags": [""]}
        await pilot.press(*"red")
        await pilot.click(FormView, offset=(4, 2))
        await pilot.press(*"blue")
        await pilot.pause()
        assert app.lines()[2] == "2 blue ↑ ↓ ×"
        await pilot.click(FormView, offset=(width - 8, 2))
        assert app.form.value == {"tags": ["blue", "red"]}
        await pilot.click(FormView, offset=(width - 4, 1))
        assert app.form.value == {"tags": ["red"]}
        row = next(at for at, line in enumerate(app.lines()) if line.startswith("o "))
        await pilot.click(FormView, offset=(16, row))
        await pilot.pause()
        assert any(line.startswith("x") for line in app.lines())


async def test_a_thousand_rows_are_drawn_only_where_they_are_seen() -> None:
    value = {"items": [{"name": f"n{n}", "count": n} for n in range(1000)]}
    async with shown(thing("items", items={"type": "array", "items": ITEM}), value, (50, 24)) as (app, pilot):
        assert app.form.focus_field("/items/500/name")
        await pilot.press("x")
        await pilot.pause()
        assert app.form.value["items"][500]["name"] == "n500x"
        await pilot.pause()
        assert "501 ▾ n500x" in "\n".join(lines(app))
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
        app.form.begin()
        await pilot.press("b", "2")
        assert app.form.has_focus_within and app.changes == []

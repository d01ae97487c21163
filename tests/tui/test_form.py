"""The form on a screen: keys, mouse, what it shows and what it tells."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key, Paste
from textual.widgets import Input, TextArea

from mcp_studio.call.call import Succeeded
from mcp_studio.jsontext import Json, loads
from mcp_studio.safetext import is_live
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.schema.form import build
from mcp_studio.tui.form.editors import LineEditor
from tests.studio_support import stdio
from tests.support import python_server, wait_until
from tests.tui.form_host import Host, hosted
from tests.tui.stage import on_stage

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))
from schema_zoo import TOOLS

TEXT: dict[str, Any] = {"type": "string"}
WHOLE: dict[str, Any] = {"type": "integer"}
FLAG = {"type": "boolean"}
LONG = {"enum": [f"option {n}" for n in range(30)]}


def thing(*required: str, **properties: Any) -> dict[str, Any]:
    """An object schema."""
    return {"type": "object", "properties": properties, "required": list(required)}


ITEMS = {"type": "array", "items": thing("name", name=TEXT, count=WHOLE), "minItems": 1, "maxItems": 9}
PAY = {
    "oneOf": [
        {**thing("kind", "number", kind={"const": "card"}, number=TEXT, note=TEXT), "title": "card"},
        {**thing("kind", kind={"const": "cash"}, note=TEXT), "title": "cash"},
    ]
}


async def test_typing_walks_by_tab_arrows_and_enter_and_leaves_the_form_at_its_ends() -> None:
    async with hosted(thing(name=TEXT, count={**WHOLE, "minimum": 1}, last=TEXT)) as host:
        await host.press("A", "d", "tab", "1", "2", "shift+tab", "a")
        assert host.app.changes == [
            {"name": "A"}, {"name": "Ad"}, {"name": "Ad", "count": 1}, {"name": "Ad", "count": 12},
            {"name": "Ada", "count": 12},
        ]  # fmt: skip
        await host.press("down", "3", "enter", "z", "up", "4", "up", "up", "!")
        assert host.form.value == {"name": "Ada!", "count": 1234, "last": "z"}
        await host.press("tab", "tab", "tab")
        assert host.app.focused is host.app.query_one("#after")
        await host.press("shift+tab", "?", "home", "shift+tab", "shift+tab", "shift+tab")
        assert host.app.focused is host.app.query_one("#before") and host.form.value["last"] == "z?"


async def test_keys_that_come_all_at_once_reach_the_fields_they_were_typed_for() -> None:
    async with hosted(thing(name=TEXT, count=WHOLE, kind=LONG, last=TEXT)) as host:
        for key in ("A", "d", "tab", "1", "2", "down", "space", "down", "down", "enter", "tab", "z"):
            host.app.post_message(Key(key, key if len(key) == 1 else " " if key == "space" else None))
        await wait_until(lambda: host.app.changes and "z" in host.app.changes[-1].values())
        assert host.app.changes[-1] == {"name": "Ad", "count": 12, "kind": "option 1", "last": "z"}
    async with hosted(thing(text=TEXT, last=TEXT), {"text": "one\ntwo"}) as host:
        for key in ("!", "tab", "z"):
            host.app.post_message(Key(key, key if len(key) == 1 else None))
        await wait_until(lambda: "last" in host.form.value)
        assert host.form.value == {"text": "one\ntwo!", "last": "z"}
    async with hosted(thing("pay", pay=PAY, last=TEXT)) as host:
        for key in ("right", "tab", "4", "2", "tab", "h", "i", "enter", "z"):
            host.app.post_message(Key(key, key if len(key) == 1 else None))
        await wait_until(lambda: "last" in host.form.value)
        assert host.form.value == {"pay": {"kind": "card", "number": "42", "note": "hi"}, "last": "z"}


async def test_an_empty_field_says_what_could_be_there_and_a_wrong_one_what_is_wrong() -> None:
    schema = thing(
        "name",
        first=TEXT,
        size={**WHOLE, "default": 5},
        name={**TEXT, "maxLength": 9},
        range={**thing(a={}), "description": "From where"},
        flag={**FLAG, "default": True},
        shoe_size={**TEXT, "title": "Shoe Size"},
        hat={**TEXT, "title": "Hats", "description": "All."},
        pay=PAY,
        old={**TEXT, "deprecated": True, "examples": ["red"]},
    )
    async with hosted(schema) as host:
        assert host.app.lines == [
            "first  text, optional",
            "size  5 (default)",
            "name *  at most 9 characters",
            "range  ▸ object {a}, optional",
            "              From where",
            "flag  [—] true (default)",
            "shoe_size  text, optional",
            "hat  text, optional",
            "              Hats: All.",
            "pay  ○ card  ○ cash  optional",
            "old  text, optional",
            "              deprecated",
        ]
        await host.press("down", "'two", "down")
        assert host.form.value == {"size": "two"} and host.app.line("size") == "size  ✗ two"
        assert host.app.line("✗") == "✗ must be a whole number, got 'two'"
        assert {problem.pointer for problem in host.form.problems} == {"/size", "/name"}
        assert host.form.focus_first_problem() and host.form.row and host.form.row.path == ("size",)
        assert (await host.press("ctrl+g"))[4] == "              ✗ required"
        assert host.form.row and host.form.row.path == ("name",)
        host.form.focus_field("/old")
        assert "e.g. red" in (await host.press("x"))[-1]
        host.form.set_value({"name": "x", "size": 1})
        assert not host.form.focus_first_problem() and not host.form.problems


async def test_a_description_that_one_line_cannot_hold_has_two() -> None:
    long = {**TEXT, "description": "IANA time zone name, such as Europe/Amsterdam or America/New_York, of the clock"}
    async with hosted(thing(zone=long, last=TEXT)) as host:
        told = [line.strip() for line in host.app.lines]
        assert told[1].startswith("IANA") and told[2].endswith("of the clock") and told[3].startswith("last")


async def test_flags_and_choices_are_set_by_keys_and_by_clicks_and_cleared() -> None:
    few = {"oneOf": [{"const": 1, "title": "One"}, {"const": "two"}]}
    many = {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 1}
    async with hosted(thing(flag=FLAG, few=few, long=LONG, many=many, last=TEXT)) as host:
        for key, shown in (("space", "[x] true"), ("enter", "[ ] false"), ("backspace", "[—] optional")):
            await host.press(key)
            assert host.app.line("flag") == f"flag  {shown}"
        await host.click("flag", "[")
        assert host.app.changes == [{"flag": True}, {"flag": False}, {}, {"flag": True}]
        await host.press("tab", "right")
        assert host.app.line("few") == "few  ● One  ○ two"
        await host.press("left")
        await host.click("few", "One")
        assert host.form.value == {"flag": True, "few": 1} and host.app.changes[-2]["few"] == "two"
        lines = await host.press("tab", "space")
        assert [line.strip() for line in lines[3:6]] == ["● not sent", "○ option 0", "○ option 1"]
        lines = await host.press("2", "9")
        assert [line.strip() for line in lines[3:5]] == ["/ 29", "○ option 29"]
        await host.press("enter", "space", "up", "enter", "space", "down", "escape")
        assert host.form.value["long"] == "option 28" and host.app.line("long") == "long  option 28  ▾"
        await host.press("tab", "enter", "down", "space", "down", "space")
        assert host.form.value["many"] == ["a", "b"]
        assert [line.strip() for line in host.app.lines[4:8]] == ["[ ] not sent", "[x] a", "[x] b", "[ ] c"]
        await host.click("[ ] c")
        await host.click("[x] a")
        await host.press("escape")
        assert host.app.line("many") == "many  b, c  ▾"
        await host.press("home")
        assert host.form.row and host.form.row.path == ("flag",)
        await host.press("end", "?")
        assert host.form.value["last"] == "?" and not host.toasts


async def test_words_that_choose_nothing_are_told_and_tab_takes_what_they_fit() -> None:
    async with hosted(thing(long=LONG, count=WHOLE), {"count": 5}) as host:
        await host.press("'n 2", "tab")
        assert host.form.value == {"long": "option 2", "count": 5}
        await host.press("backspace")
        assert host.form.value == {"long": "option 2"}
        assert host.app.query_one(LineEditor).placeholder == "integer, optional", "what is not sent is no text"
        await host.press("up", "'zz")
        assert [one.sentence for one in host.form.unreadable] == ["long is not chosen: no option has these words"]
        await host.press("escape")
        assert not host.form.unreadable


async def test_json_is_typed_in_a_line_and_text_of_several_lines_in_a_larger_editor() -> None:
    value = {"json": loads('{"a": [1.10, 2]}', exact=True), "text": "one\ntwo"}
    async with hosted(thing(json={}, text=TEXT, other=TEXT), value) as host:
        assert host.app.line("json") == 'json  {"a":[1.10,2]}' and host.app.line("text") == "text  one⏎two"
        lines = await host.press("enter")
        assert isinstance(host.app.focused, TextArea) and lines[1].strip() == '"a": [' and len(lines) == 9
        lines = await host.press("backspace", "tab")
        assert host.form.value["json"] == {"a": [1.10, 2]} and list(host.form.pending) == ["/json"]
        assert host.form.unreadable[0].pointer == "/json" and "JSON" in lines[1]
        lines = await host.press("end", "!", "enter", "3")
        assert host.form.value["text"] == "one\ntwo!\n3" and lines[4].strip() == "two!"
        await host.press("tab")
        assert host.app.focused is not None
        host.app.focused.post_message(Paste("a\nb\n"))
        await wait_until(lambda: host.form.value.get("other") == "a\nb")
        await host.press("escape")
        assert isinstance(host.app.focused, TextArea)
        # What waits is there again after another form was shown, as after a restart.
        host.form.show(build(thing(json={})), {}, dict(host.form.pending))
        await wait_until(lambda: host.app.line("json") == "json  ✗ {")


def names(host: Host) -> list[str]:
    """The names of the items."""
    return [item.get("name", "") for item in host.form.value["items"]]


async def test_a_list_is_filled_moved_copied_and_emptied_and_all_of_it_undone() -> None:
    async with hosted(thing(items=ITEMS)) as host:
        assert host.app.lines == ["items  ▸ object {name, count}[], 1 to 9 items, option… +"]
        await host.press("right", "tab", "enter", "'ink", "tab", "5", "tab", "enter", "'pen")
        assert host.form.value == {"items": [{"name": "ink", "count": 5}, {"name": "pen"}]}
        assert host.app.lines == [
            "items  ▾ 2 items · 1 to 9 items",
            "  1  ▾ ink",
            "    name *  ink",
            "    count  5",
            "  2  ▾ pen",
            "    name *  pen",
            "    count  integer, optional",
            "   + add item",
        ]
        await host.press("up")
        assert host.app.line("2").endswith("↑ ↓ ×")
        await host.click("2", "↑")
        assert host.form.value == {"items": [{"name": "pen"}, {"name": "ink", "count": 5}]}
        host.form.items.duplicate()
        await host.press()
        host.form.items.add()
        await host.press()
        assert names(host) == ["pen", "pen", "", "ink"]
        await host.press("up")
        await host.click("3", "×")
        await host.click("items")
        await host.click("items", "+")
        assert names(host) == ["pen", "pen", "ink", ""]
        for _ in range(99):
            await host.press("ctrl+z")
            if host.form.value == {}:
                break
        assert host.form.value == {}
        await host.press("ctrl+z")
        assert host.toasts[-1] == "Nothing to undo."
        await host.press(*["ctrl+y"] * 12)
        assert names(host) == ["pen", "pen", "ink", ""]


async def test_parts_fold_by_arrows_space_and_clicks_and_are_sent_once_something_is_in_them() -> None:
    schema = thing(a=thing("b", b=thing("kind", kind={"const": 1}, c=TEXT), d=TEXT), e=TEXT)
    async with hosted(schema) as host:
        assert host.app.lines == ["a  ▸ object {b, d}, optional", "e  text, optional"]
        lines = await host.press("right")
        assert lines[0] == "a  ▾ not sent" and host.app.changes == []
        await host.press("down", "down", "down", "'xyz")
        assert host.form.value == {"a": {"b": {"kind": 1, "c": "xyz"}}}
        assert [line.strip() for line in host.app.lines[:5]] == [
            "a  ▾ 1 of 2 filled in", "b *  ▾ 2 of 2 filled in", "kind *  1 (fixed)", "c  xyz", "d  text, optional",
        ]  # fmt: skip
        await host.press("up", "left", "left", "left", "left")
        assert host.app.lines[0] == "a  ▸ {b: {kind: 1, c: xyz}}"
        await host.click("a", "▸")
        await host.click("d", at=12)
        await host.press("1", "tab", "2")
        assert host.form.value == {"a": {"b": {"kind": 1, "c": "xyz"}, "d": "1"}, "e": "2"}


async def test_a_variant_is_chosen_what_fits_goes_along_and_the_old_one_comes_back() -> None:
    async with hosted(thing("pay", pay=PAY)) as host:
        await host.press("right", "tab", "'42", "tab", "'hi")
        assert host.form.value == {"pay": {"kind": "card", "number": "42", "note": "hi"}}
        assert [line.strip() for line in host.app.lines] == ["pay *  ▾ ● card  ○ cash", "number *  42", "note  hi"]
        await host.press("up", "up", "right")
        assert host.form.value == {"pay": {"kind": "cash", "note": "hi"}}
        await host.click("pay", "card")
        assert host.form.value == {"pay": {"kind": "card", "number": "42", "note": "hi"}}
        await host.press("space")
        assert host.app.lines == ["pay *  ▸ card {kind: card, number: 42, note: hi}"]
    root = {"oneOf": [{**thing(a=TEXT), "title": "A"}, {**thing(b=TEXT), "title": "B"}]}
    async with hosted(root, size=(30, 9)) as host:  # a root that is no object is drawn, too
        await host.press("left", "tab", "x")
        assert host.form.value == {"b": "x"} and host.app.lines[0] == "value  ▾ ○ A  ● B"


async def test_entries_of_a_map_get_and_change_their_keys() -> None:
    schema = thing("env", env={"type": "object", "additionalProperties": TEXT}, last=TEXT)
    async with hosted(schema, {"env": {"B": "2"}}) as host:
        await host.click("+ add")
        await host.press("'A", "enter", "'one")
        assert host.form.value == {"env": {"B": "2", "A": "one"}}
        host.form.items.rename()
        await host.press("2", "tab", "x")
        assert host.form.value == {"env": {"B": "2", "A2": "onex"}}
        host.form.items.rename()
        await host.press("backspace", "backspace", "B", "enter")
        assert host.toasts == ["There is an entry with this key already."]
        await host.press("escape", "y")
        assert host.form.value == {"env": {"B": "2", "A2": "onexy"}}
        await host.click("+ add")
        await host.press("escape", "up")
        await host.click("A2", "×")
        assert host.form.value == {"env": {"B": "2"}}


async def test_problems_are_counted_in_folds_and_gone_to_and_those_of_a_check_are_told_at_their_place() -> None:
    value = {"items": [{"name": "a"}, {"count": "x"}], "box": {"in": {"n": "y"}}, "odd": [1], "more": {"x": 1}}
    schema = thing(items=ITEMS, box=thing(**{"in": thing(n=WHOLE)}), odd=thing(b=TEXT))
    async with hosted(schema, value) as host:
        host.form.show_problems([SchemaProblem("/items/0/name", "does not match"), SchemaProblem("", "too much")])
        lines = await host.press()
        assert lines[0] == "✗ too much" and lines[1].endswith("✗ 2  +") and lines[4] == "box  ▸ {in: {n: y}} ✗ 1"
        assert lines[3].strip() == "✗ #1 › name does not match"
        assert lines[5:8] == ["odd  ✗ [1]", "          ✗ must be an object, got a list of 1", 'more  {"x":1}']
        seen: list[Any] = []
        for _ in range(6):
            await host.press("ctrl+g")
            seen.append(host.form.row.path if host.form.row else None)
        assert sorted(seen[:5], key=str) == [
            ("box", "in", "n"), ("items", 0, "name"), ("items", 1, "count"), ("items", 1, "name"), ("odd",),
        ]  # fmt: skip
        assert seen[5] == seen[0]
        host.form.focus_field("/odd")
        await host.press("backspace", "backspace", "backspace", '\'{"b":"c"}', "tab")
        assert host.form.value["odd"] == {"b": "c"} and host.app.line("odd") == "odd  ▸ {b: c}"
        host.form.focus_field("/more")
        host.form.show_problems([SchemaProblem("/odd", "must be such as this " * 5 + "example")])
        lines = await host.press()
        assert sum("must be such as" in line for line in lines) == 2 and "…" not in "".join(lines), "wrapped, not cut"
        assert host.app.line("more") and "example" in "".join(lines)


async def test_secrets_are_masked_also_inside_of_folds_until_they_are_shown() -> None:
    schema = thing(password=TEXT, users={"type": "array", "items": thing(name=TEXT, password=TEXT)})
    value = {"password": "hunter2", "users": [{"name": "n", "password": "hunter2"}]}
    async with hosted(schema, value) as host:
        assert host.app.line("users") == "users  ▸ [{name: n, password: •••}]"
        await host.press("3")
        assert host.form.value["password"] == "hunter23" and "hunter" not in "\n".join(host.app.lines)
        host.form.toggle_revealed()
        assert "hunter23" in (await host.press())[0]
        await host.press("tab", "right", "tab", "right", "tab", "tab")
        assert "hunter" not in "\n".join(host.app.lines)


async def test_completions_of_the_server_open_below_the_field_and_the_keys_take_one() -> None:
    asked: list[tuple[str, str]] = []
    offers: dict[str, list[str]] = {"city": ["berlin", "be\x1b[2Jst", "bern", *(f"b{n:03}" for n in range(30))]}

    async def complete(name: str, text: str) -> tuple[list[str], str]:
        asked.append((name, text))
        return offers.get(name, []), "3 of 120"

    async with hosted(thing(city=TEXT, other=TEXT), complete=complete) as host:
        await host.press("b")
        await wait_until(lambda: host.app.line("3 of"))
        assert host.app.line("berlin") and host.app.line("3 of") == "3 of 120 · 1 unsafe left out · ↓ and enter tak…"
        await host.press("down", "down", "up", "down", "enter")
        assert host.form.value == {"city": "bern"} and asked == [("city", "b")]
        await host.press("!")
        await wait_until(lambda: host.app.line("3 of"))
        await host.press("escape")
        assert not host.app.line("berlin") and host.form.has_focus_within
        host.form.completions.ask()  # as the field menu does
        await wait_until(lambda: host.app.line("3 of"))
        await host.press("down", *["pagedown"] * 9)
        assert host.app.line("b029")
        await host.press("tab", "z")
        assert host.form.value == {"city": "b029", "other": "z"}
        await host.press("up", "!")
        await wait_until(lambda: host.app.line("3 of"))
        await host.click("bern")
        assert host.form.value["city"] == "bern"


async def test_a_thousand_rows_are_three_widgets_and_the_current_one_stays_in_view() -> None:
    value: Json = {"rows": [{"a": f"n{n}", "b": n} for n in range(1000)]}
    async with hosted(TOOLS["rows"][1], value, (50, 24)) as host:
        host.form.focus_field("/rows/500/a")
        await host.press("x")
        assert host.form.value["rows"][500]["a"] == "n500x" and len(host.form.query("*")) <= 4
        assert host.app.line("501") == "501  ▾ n500x"
        await host.pilot.resize_terminal(50, 8)
        await wait_until(lambda: host.app.line("a ") == "a *  n500x")
        host.form.show(build(thing()), {})
        assert (await host.press())[:1] == ["No arguments."]
        host.form.show(build(thing(a=TEXT)), {})
        host.form.begin()
        await host.press("9")
        assert host.form.value == {"a": "9"} and isinstance(host.app.focused, Input)


@pytest.mark.parametrize("ascii", [False, True])
async def test_hostile_names_and_texts_are_drawn_as_text(ascii: bool, request: pytest.FixtureRequest) -> None:
    from mcp_studio.tui.views import rows

    if ascii:
        request.addfinalizer(lambda: rows.choose(ascii=False))
        rows.choose(ascii=True)
    async with hosted(TOOLS["hostile"][1], {"[@click=app.quit]x\x1b[31m\u202e": "\x1b]52;c;aGk=\x07"}) as host:
        text = ""
        for _ in range(12):
            text = "".join(await host.press("tab"))
            assert not [char for char in text if is_live(char)]
        assert "[@click=app.quit]" in text
        if ascii:
            assert not set(text) & set("▸▾⋮●○·×")


async def test_few_fields_on_a_large_screen_show_their_whole_help_and_nothing_moves_with_the_focus() -> None:
    words = " ".join(f"word{number}" for number in range(30))
    schema = {"type": "object", "properties": {name: {"type": "string", "description": words} for name in "ab"}}
    async with hosted(schema) as host:
        assert str(host.app.lines).count("word29") == 1
        host.app.screen.add_class("-huge", "-tall")
        await host.pilot.resize_terminal(64, 44)
        before = await host.press("down")
        assert str(before).count("word29") == 2
        assert await host.press("up") == before


async def test_a_form_keeps_its_height_when_the_focus_leaves_it_so_that_a_click_below_it_counts() -> None:
    ranged = {**WHOLE, "minimum": 1, "maximum": 9}
    async with hosted(thing("n", n=ranged, json={}, last=TEXT)) as host:
        lines, heights = await host.press("5"), [host.form.size.height]
        assert lines[1].strip() == "integer 1 to 9" and lines[2].startswith("json")
        await host.press("shift+tab")
        assert host.app.focused is host.app.query_one("#before") and host.app.lines[1].strip() == "integer 1 to 9"
        heights.append(host.form.size.height)
        await host.press("tab", "tab", "'{}", "enter", "enter", "enter")  # a larger editor
        heights.append(host.form.size.height)
        host.app.query_one("#after").focus()
        await host.press()
        heights.append(host.form.size.height)
        assert heights[0] == heights[1] and heights[2] == heights[3] > heights[0]


async def test_letters_typed_where_nothing_is_typed_are_refused_and_another_definition_keeps_the_cursor() -> None:
    async with hosted(thing("a", a={"type": "array", "items": TEXT}, b=TEXT)) as host:
        await host.press("x", "y")
        assert len(host.toasts) == 1 and "This field takes no text" in host.toasts[0]
        await host.press("tab", "tab", "'word", "home", "right")
        host.form.show(build(thing(new=TEXT, b=TEXT)), host.form.value, again=True)
        await host.press("!")
        assert host.form.value == {"b": "w!ord"}


async def test_a_nested_call_is_sent_as_it_was_filled_in_and_its_secrets_are_not_kept() -> None:
    async with on_stage(stdio(python_server("schema_zoo"), "zoo"), size=(80, 24)) as stage:
        await stage.open("ship")
        await stage.press("right", "tab", "tab", "1", "2")
        await stage.shows(r"zip \*", "must match the pattern", "Form JSON Schema")
        await stage.press("3", "4", "5")
        await stage.hides("must match the pattern")
        outcome = await stage.call()
        assert isinstance(outcome, Succeeded)
        assert outcome.result["content"][0]["text"] == '{"country": "US", "zip": "12345"}'
        await stage.open("secrets")
        await stage.shows(r"accounts \*", "nothing in it yet", r"\+ add item")
        await stage.press("enter", *"ada", "tab", *"hunter2")
        await stage.shows(r"user \*", "ada", "Form JSON Schema")
        assert "hunter2" not in stage.text
        outcome = await stage.call()
        assert isinstance(outcome, Succeeded) and json.loads(outcome.result["content"][0]["text"]) == {
            "accounts": [{"user": "ada", "password": "hunter2"}]
        }
        await stage.studio.manager.stop("zoo")  # what is typed stays where its server ends
        stage.main.call.form.focus_field("/accounts/0/user")
        await stage.press("!")
        assert stage.main.call.form.value["accounts"][0]["user"] == "ada!"
    drafts = (stage.studio.paths.state / "drafts.json").read_text()
    assert "ada" in drafts and "hunter2" not in drafts

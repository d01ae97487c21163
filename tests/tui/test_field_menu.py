"""What the menu of a field does, the dialogs behind it, the person's editor, and the JSON tab; on the real screen."""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.widgets import Input, OptionList, TextArea

from mcp_studio.config.model import Limits, Settings
from mcp_studio.jsontext import Json, dumps, loads
from mcp_studio.schema.field import Choice, Field, Flag, JsonField, List, Number, Object, Option, Text
from mcp_studio.schema.keywords import wrong_format
from mcp_studio.tui.form.json_editor import JsonEditor
from mcp_studio.tui.screens.dialog import Choose, Item
from mcp_studio.tui.screens.insert import InsertFile, Kind, NoContents, contents, kind_of, meaning, shape, written
from mcp_studio.tui.screens.insert import Paste as PasteDialog
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import Stage, on_stage, raw

ZOO = stdio(python_server("schema_zoo"), "zoo")


async def pick(stage: Stage, words: str, kind: type[Any] | None = None) -> Any:
    """Choose an entry of the field menu by typing; gives the dialog that it opens."""
    await stage.press("ctrl+k")
    menu = await stage.dialog(Choose)
    await stage.type(words)
    await stage.press("enter")
    if kind is not None:
        return await stage.dialog(kind)
    await stage.until(lambda: stage.app.screen is not menu, "the menu is gone")


def value(stage: Stage) -> Any:
    """The value in the form."""
    return stage.main.call.form.value


async def test_dates_uuids_and_files_are_inserted_and_what_cannot_be_done_is_not_offered(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(b"\x00\xff")
    async with on_stage(ZOO, size=(80, 24)) as stage:
        await stage.open("formats")
        today, week = (f"{datetime.now() + timedelta(days=days):%Y-%m-%d}" for days in (0, 7))
        await stage.press("ctrl+k")
        await stage.dialog(Choose)
        await stage.shows("Field: date", f"Insert a date: now +{today}", f"in a week +{week}", "Choose +Cancel")
        await stage.hides("an hour")
        await stage.press("enter")
        await stage.until(lambda: value(stage) == {"date": today}, "the date, for which the field menu begins")
        await pick(stage, "date: in a week")
        await stage.until(lambda: value(stage) == {"date": week}, "a choice")
        stage.main.call.form.focus_field("/uuid")
        await pick(stage, "uuid")
        assert re.fullmatch(r"[0-9a-f-]{36}", value(stage)["uuid"])
        await stage.press("ctrl+k")
        menu = await stage.dialog(Choose)
        await stage.shows("Field: uuid", "Example value")
        await stage.type("null")
        await stage.shows("Nothing has these words")
        await stage.press("enter", "escape")
        assert stage.app.screen is not menu and value(stage)["uuid"]
        await pick(stage, "omit")
        assert "uuid" not in value(stage)
        stage.main.call.form.focus_field("/blob")
        dialog = await pick(stage, "a file", InsertFile)
        await stage.shows("Insert a file into blob", "It goes in as base64", "Insert +Cancel")
        dialog.query_one(Input).value = str(tmp_path / "nothing")
        await stage.press("enter")
        await stage.shows("There is no such file")
        dialog.query_one(Input).value = str(tmp_path / "data.bin")
        await stage.press("enter")
        await stage.until(lambda: value(stage).get("blob") == "AP8=", "the contents")
        for _ in range(9):
            await stage.press("ctrl+z")
        assert value(stage) == {} and "Nothing to undo." in stage.toasts


async def test_json_is_pasted_seen_first_and_taken_and_examples_fill_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    async with on_stage(ZOO, size=(80, 24)) as stage:
        monkeypatch.setattr(type(stage.app), "copy", lambda _self, text, _name="": copied.append(text))
        await stage.open("orders.add")
        stage.main.call.form.focus_field("/tags")
        await stage.pilot.pause()
        assert stage.app.focused is not None
        stage.app.focused.post_message(Paste('["b", "a"'))
        dialog = await stage.dialog(PasteDialog)
        await stage.shows("Paste into tags", "Invalid JSON", "Insert +Cancel")
        await stage.press("end")
        await stage.type("]")
        await stage.shows("It becomes a list of 2")
        await stage.press("ctrl+j")
        await stage.until(lambda: stage.app.screen is not dialog and value(stage) == {"tags": ["b", "a"]}, "the list")
        await pick(stage, "copy")
        assert json.loads(copied[0]) == ["b", "a"]
        await pick(stage, "as json", PasteDialog)
        assert isinstance(stage.app.focused, TextArea) and json.loads(stage.app.focused.text) == ["b", "a"]
        stage.app.focused.load_text("[1.10, 12345678901234567890, 3]")
        await stage.shows("It becomes a list of 3")
        await stage.press("ctrl+j")
        await stage.until(lambda: dumps(value(stage)) == b'{"tags":[1.10,12345678901234567890,3]}', "exact numbers")
        await pick(stage, "empty")
        assert value(stage) == {"tags": []}
        await pick(stage, "whole form")
        await stage.shows("Fill the form with an example", "only what is required")
        await stage.press("end", "enter")
        await stage.until(lambda: len(value(stage)) > 5, "the example with everything")
        await stage.press("ctrl+z")
        assert value(stage) == {"tags": []}
        await stage.main.call.run_action("example")
        await stage.shows("only what is required")
        await stage.press("enter")
        await stage.until(lambda: {"customer", "payment", "items"} <= value(stage).keys(), "the example")
        assert "tags" not in value(stage)


EDITOR = """
import pathlib, sys
file = pathlib.Path(sys.argv[1])
pathlib.Path(__file__).with_name("seen").write_text(f"{file} {file.stat().st_mode & 0o777:o} {file.read_text()}")
wanted = pathlib.Path(__file__).with_name("wanted")
if not wanted.exists():
    sys.exit(3)
file.write_text(wanted.read_text() + "\\n")
"""


async def test_the_persons_editor_gets_the_field_in_a_private_file_and_nothing_is_lost(tmp_path: Path) -> None:
    script, wanted, seen = tmp_path / "editor.py", tmp_path / "wanted", tmp_path / "seen"
    script.write_text(EDITOR)
    settings = Settings(limits=Limits(connect=60.0), editor=f"'{sys.executable}' '{script}'")
    async with on_stage(ZOO, settings=settings) as stage:
        await stage.open("formats")
        stage.main.call.form.focus_field("/body")
        await stage.type("before")
        await stage.press("ctrl+e")
        await stage.told("ended with code 3: the field is as it was")
        assert seen.read_text().endswith("/body.md 600 before")
        wanted.write_text("after\nit")
        await stage.press("ctrl+e")
        await stage.until(lambda: value(stage) == {"body": "after\nit"}, "what was written")
        await stage.press("ctrl+z")
        assert value(stage) == {"body": "before"}
        await stage.press("ctrl+pagedown")  # the JSON tab
        await stage.until(lambda: stage.main.call.query(JsonEditor), "the JSON tab")
        stage.main.call.query_one(JsonEditor).area.focus()
        wanted.write_text('{"body": 1.10, "zz": [null]}')
        await stage.press("ctrl+e")
        await stage.shows('"body": 1.10, "zz"')
        file, mode, _ = seen.read_text().split(" ", 2)
        assert file.endswith("/value.json") and mode == "600" and not Path(file).parent.exists()
        wanted.write_text('{"body": ')
        await stage.press("ctrl+e")
        await stage.shows(r'\{"body": +✗ expected value')


async def test_the_json_tab_keeps_what_is_typed_and_tells_one_problem_at_its_place() -> None:
    async with on_stage(ZOO, size=(100, 40)) as stage:
        await stage.open("mixed")
        exact = (
            '{"zz":1e400,"big":123456789012345678901234567890,"any":{"b":0.0,"a":-0.0},"filter":null,"esc":"\\u001b"}'
        )
        stage.main.call.fill(loads(exact, exact=True))
        await stage.press("ctrl+pagedown")
        await stage.until(lambda: stage.main.call.query(JsonEditor), "the JSON tab")
        editor = stage.main.call.query_one(JsonEditor)
        editor.area.focus()
        await stage.shows('"zz": 1e400', '"big": 123456789012345678901234567890', r'"esc": "\\u001b"')
        editor.area.cursor_location = (9, 0)
        await stage.press("comma")
        await stage.shows(",}  ✗ expected property name enclosed in double quotes  ")
        assert editor.unreadable and dumps(value(stage)).decode() == exact
        assert len(re.findall("✗", stage.text)) == 1
        await stage.press("up", "ctrl+g", "backspace")
        await stage.hides("✗ expected")
        await stage.press("ctrl+pageup")
        await stage.shows("big +", "zz +")
        for _ in range(4):
            await stage.press("tab")
        assert dumps(value(stage)).decode() == exact
        # What is typed in the moment of leaving is taken, too, and by nothing else.
        await stage.press("ctrl+pagedown")
        await stage.until(lambda: editor.area.display, "the JSON tab")
        editor.area.focus()
        editor.area.text = '{"big": 1'
        editor.area.cursor_location = editor.area.document.end
        await stage.burst("2", "}", "ctrl+pageup")
        await stage.until(lambda: stage.main.call.tab == "form", "the form")
        assert value(stage) == {"big": 12}
        await stage.press("ctrl+pagedown")
        editor.area.text = '{"big": 13}'
        await stage.open("tree")
        assert "big" not in value(stage)
        await stage.open("mixed")
        assert value(stage) == {"big": 13}


@pytest.mark.parametrize("kind", ["date", "time", "date-time"])
def test_dates_and_times_are_written_as_their_formats_want(kind: Kind) -> None:
    assert (
        wrong_format(kind, written(kind, datetime(2028, 2, 29, 20, 47, 13))) == "" and kind_of(f"full-{kind}") == kind
    )


WORDS = List("l", items=lambda: Text(""))
NUMBERS = List("l", items=lambda: Number("", integer=True))


@pytest.mark.parametrize(
    ("field", "text", "meant"),
    [
        (Text("t"), "hello\n", "hello"),
        (Text("t"), "a\nb\n", "a\nb\n"),
        (Text("t"), '"he said"', '"he said"'),
        (Text("t"), '{"a": 1}', '{"a": 1}'),
        (Number("n", integer=True), " 1,234 ", 1234),
        (Flag("f"), "yes", True),
        (Choice("c", options=(Option("a", "A"), Option(2, "Two"))), "Two", 2),
        (JsonField("j"), '```json\n{"a": 1,} // one\n```', {"a": 1}),
        (JsonField("j"), "plain", "plain"),
        (Object("o"), '{"a": 1}', {"a": 1}),
        (WORDS, "a\n\nb\n", ["a", "b"]),
        (WORDS, '["x", "y"]', ["x", "y"]),
        (WORDS, "alone", ["alone"]),
        (NUMBERS, "1, 2", [1, 2]),
        (NUMBERS, "5", [5]),
    ],
)
def test_what_is_pasted_becomes_what_the_field_takes(field: Field, text: str, meant: Json) -> None:
    found = meaning(field, text)
    assert found.value == meant and type(found.value) is type(meant) and not found.problem


def test_what_does_not_fit_the_field_says_so_and_can_be_taken() -> None:
    for field, text, kept, told in (
        (NUMBERS, "1\nx", "1\nx", "not fit"), (NUMBERS, "{}", {}, "not fit"),
        (Object("o"), "[1]", [1], "not fit"), (Object("o"), '{"a"', '{"a"', "Invalid JSON"),
    ):  # fmt: skip
        found = meaning(field, text)
        assert found.value == kept and told in found.problem


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "(" * 60_000, "{'a':" * 5_000, "-" * 50_000 + "1", "1e999999999"],
    ids=["[", "(", "{", "-", "1"],
)
def test_hostile_text_that_is_pasted_is_only_text(text: str) -> None:
    assert meaning(JsonField("j"), text).value in (text, float("inf")) or text == "1e999999999"


def test_files_go_in_as_text_or_base64_and_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("zwölf", encoding="utf-8-sig")
    (tmp_path / "b").write_bytes(b"\xff\x00")
    os.mkfifo(tmp_path / "pipe")
    assert contents(tmp_path / "a.txt", "text", 100) == "zwölf"
    assert contents(tmp_path / "b", "base64url", 100) == "_wA=" and contents(tmp_path / "b", "text", 9) == "/wA="
    assert contents(tmp_path / "a.txt", "data", 100).startswith("data:text/plain;base64,")
    for name, words in {
        "none": "no such file", ".": "a folder", "pipe": "a pipe", "a\0b": "no such file",
    }.items():  # fmt: skip
        with pytest.raises(NoContents, match=words):
            contents(tmp_path / name, "text", 100)
    with pytest.raises(NoContents, match="larger than the 2 bytes"):
        contents(tmp_path / "a.txt", "base64", 2)
    for field, asked in (
        (Text("b"), "text"), (Text("b", schema={"contentEncoding": "base64"}), "base64"),
        (Text("b", format="byte"), "base64"), (Text("b", format="uri"), "data"), (JsonField("j", schema=True), "text"),
    ):  # fmt: skip
        assert shape(field) == asked


async def test_a_short_list_of_choices_has_the_focus_and_a_long_one_is_searched() -> None:
    async with on_stage(raw(), ready=False) as stage:
        answers: list[str | None] = []
        for options, keys in (
            ([Item("One", "a"), Item("[red]Two\x1b[31m", "b")], ("enter",)),
            ([Item(f"item {n}", str(n), "noted" * (n == 7)) for n in range(20)], (*"NOTED", "enter")),
            ([Item(f"item {n}", str(n)) for n in range(20)], (*"m77", "enter", "escape")),
        ):
            stage.app.push_screen(Choose("Which?", options, now="b"), answers.append)
            dialog = await stage.dialog(Choose)
            assert isinstance(dialog.focused, OptionList if len(options) == 2 else Input)
            if len(options) == 2:
                await stage.shows(re.escape("[red]Two"))
            await stage.press(*keys)
            await stage.until(lambda d=dialog: stage.app.screen is not d, "the dialog is gone")
        assert answers == ["b", "7", None]

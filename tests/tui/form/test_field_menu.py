"""Help for the field of a form, from the key to the value: with a script as the editor."""

from __future__ import annotations

import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste as Pasted
from textual.widgets import Input, RadioButton

from mcp_studio.config.model import Settings
from mcp_studio.schema.field import List, Number, Text
from mcp_studio.tui import external
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.screens.file import InsertFile
from mcp_studio.tui.screens.paste import Paste
from mcp_studio.tui.screens.when import When
from tests.tui.form.hosting import Host, hosted

SCHEMA = {
    "type": "object",
    "properties": {
        "due": {"type": "string", "format": "date"},
        "id": {"type": "string", "format": "uuid"},
        "body": {"type": "string", "contentMediaType": "text/markdown", "examples": ["# One"]},
        "tags": {"type": "array", "items": {"type": "integer"}},
        "password": {"type": "string"},
        "count": {"type": "integer"},
        "note": {"type": ["string", "null"]},
    },
    "required": ["body"],
}


async def answer(host: Host, dialog: Any) -> list[Any]:
    """Open a dialog; the list gets its answer."""
    answers: list[Any] = []
    host.app.push_screen(dialog, answers.append)
    await host.until(lambda: host.app.screen is dialog)
    return answers


async def test_values_go_into_the_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "there is no desktop")
    async with hosted(SCHEMA, {}) as host:
        form = host.form
        await host.choose("date")
        await host.shows("Insert a date into due")
        await host.type("2027-01-02")
        await host.press("enter")
        assert form.value == {"due": "2027-01-02"}
        form.focus_field("/id")
        await host.choose("uuid")
        assert len(form.value["id"]) == 36
        form.focus_field("/body")
        await host.choose("example: one")
        assert form.value["body"] == "# One"
        await host.choose("undo")
        assert "body" not in form.value
        await host.choose("empty text")
        assert form.value["body"] == ""
        await host.choose("omit")
        assert "body" not in form.value
        form.focus_field("/note")
        await host.choose("null")
        assert form.value["note"] is None
        host.app.copy_to_clipboard("1\n2")
        form.focus_field("/tags")
        await host.choose("paste")
        await host.shows("List with 2 items")
        await host.press("ctrl+j")
        assert form.value["tags"] == [1, 2]
        await host.choose("add an item")
        assert form.value["tags"] == [1, 2, 0]
        await host.choose("move the item up")
        await host.choose("duplicate")
        await host.choose("remove the item")
        assert form.value["tags"] == [1, 0, 2]


async def test_what_cannot_be_done_is_listed_with_its_reason() -> None:
    async with hosted(SCHEMA, {}) as host:
        host.form.focus_field("/count")
        await host.press("ctrl+k")
        await host.type("uuid")
        await host.shows("Field: count", "the field takes no text")
        await host.press("enter")
        assert host.app.screen is not host.holder
        await host.press("escape")
        assert host.app.screen is host.holder and host.form.value == {}


async def test_the_whole_form_is_filled_with_an_example() -> None:
    async with hosted(SCHEMA, {}) as host:
        await host.choose("everything filled in")
        await host.until(lambda: set(host.form.value) == set(SCHEMA["properties"]))
        await host.press("ctrl+z")
        assert host.form.value == {}


async def test_the_menu_opens_by_a_click_on_the_sign_of_the_field() -> None:
    async with hosted(SCHEMA, {}) as host:
        await host.pilot.click(FormView, offset=(host.form.size.width - 2, 0))
        await host.shows("Field: due")


async def test_json_is_pasted_on_a_part_or_edited_beside_it() -> None:
    async with hosted(SCHEMA, {}) as host:
        host.form.focus_field("/tags")
        assert host.app.focused is not None
        host.app.focused.post_message(Pasted("[1, 2,"))
        await host.shows("invalid JSON")
        await host.press("end", "3", "]", "ctrl+j")
        assert host.form.value == {"tags": [1, 2, 3]}
        await host.choose("edit as json")
        await host.shows("Edit as JSON: tags", "List with 3 items")
        await host.press("escape")
        assert host.form.value == {"tags": [1, 2, 3]}


async def test_a_secret_is_seen_only_on_demand_and_only_in_its_field() -> None:
    async with hosted(SCHEMA, {"password": "hunter2"}) as host:
        form = host.form
        form.focus_field("/password")
        await host.pilot.pause()
        line = form.query_one(Input)
        assert line.password
        await host.choose("show the secret")
        assert form.revealed and not line.password and line.value == "hunter2"
        await host.press("x", "tab")
        assert not form.revealed
        form.focus_field("/password")
        assert form.query_one(Input).password and form.value == {"password": "hunter2x"}
        form.put_value(("password",), "two\nlines")
        await host.press("tab", "shift+tab")
        await host.shows("•••••••••")
        assert "two" not in host.text()
        await host.choose("show the secret")
        await host.shows("two", "lines")
        await host.press("shift+tab")
        await host.until(lambda: "two" not in host.text())


# The dialogs


async def test_a_date_is_chosen_by_words_keys_and_clicks() -> None:
    async with hosted(SCHEMA, {}) as host:

        def when(kind: Any, text: str) -> When:
            return When("due\x1b", kind, text, lambda: datetime(2026, 11, 21, 20, 47))

        dialog = when("date", "2027-02-28")
        answers = await answer(host, dialog)
        await host.shows("Insert a date into due␛", "February 2027", "2027-02-28   Sunday")
        await host.press("down", "pageup")
        await host.shows("2027-02-07")
        await host.type("tomorrow foo")
        await host.shows("“foo” is not understood.")
        await host.press("enter")
        assert host.app.screen is dialog, "what is not understood is not taken"
        await host.press(*["backspace"] * 4)
        await host.shows("2026-11-22   Sunday")
        await host.pilot.click("#month", offset=(5 * 3, 2 + 3))
        await host.shows("2026-11-21")
        await host.press("ctrl+j")
        assert answers == ["2026-11-21"]
        answers = await answer(host, when("duration", ""))
        await host.type("1h30")
        await host.shows("is no duration")
        await host.type("m")
        await host.shows("PT1H30M")
        await host.press("escape")
        assert answers == [None]


async def test_a_file_is_inserted_in_the_shape_that_fits(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[31m.txt").write_text("hello")
    (tmp_path / "blob.bin").write_bytes(b"\x00\xff")
    async with hosted(SCHEMA, {}) as host:
        dialog = InsertFile("body", Text("body"), 4, tmp_path)
        answers = await answer(host, dialog)
        await host.shows("a␛[31m.txt", "blob.bin")
        dialog.query_one(Input).value = f"{tmp_path}/a\x1b[31m.txt"
        await host.press("ctrl+j")
        await host.shows("larger than the 4 bytes", "field_file")
        dialog.query_one(Input).value = f"{tmp_path}/blob.bin"
        await host.press("ctrl+j")
        await host.shows("Take it as base64.")
        await host.pilot.click(dialog.query(RadioButton)[1])
        await host.press("ctrl+j")
        await host.until(lambda: answers == ["AP8="])


async def test_what_is_pasted_is_shown_before_it_is_taken() -> None:
    async with hosted(SCHEMA, {}) as host:
        numbers = List("l", items=lambda: Number("", integer=True))
        answers = await answer(host, Paste("ids", numbers, "1\n2\u202e"))
        await host.shows("List with 2 items", "another type", "invisible")
        await host.press("7", "comma", "8")
        await host.shows("List with 2 items, read as 2 parts between commas", "Text of 3 characters")
        await host.press("ctrl+j")
        assert answers[0].value == [7, 8]


# The editor

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


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A command that writes down what it gets into `told`, and puts what is in `new` into the file."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "editor.py").write_text(EDITOR)
    return f"'{sys.executable}' '{tmp_path / 'editor.py'}' '{tmp_path / 'told'}' 0"


def folders(where: Path) -> list[Path]:
    """What visits to the editor have left behind."""
    return [*where.glob("mcp-studio-*")]


async def test_a_field_a_part_and_the_whole_are_edited_outside(editor: str, tmp_path: Path) -> None:
    told, new = tmp_path / "told", tmp_path / "new"
    value = {"body": "# One", "tags": [1], "other": 1.50}
    async with hosted(SCHEMA, value, settings=Settings(editor=editor)) as host:
        form = host.form
        form.focus_field("/body")
        new.write_text("# Two\n")
        await host.press("ctrl+e")
        await host.idle()
        assert told.read_text() == "body.md|# One\n" and form.value["body"] == "# Two"
        new.write_text("[3, 4]\n")
        form.focus_field("/tags")
        await host.press("ctrl+e")
        await host.idle()
        assert form.value["tags"] == [3, 4] and "tags.json|[\n  1\n]" in told.read_text()
        new.write_text("[3, ")
        await host.press("ctrl+e")
        await host.idle()
        assert form.value["tags"] == [3, 4] and form.pending == {"/tags": "[3, "}
        new.write_text('{"tags": [5], "x": 1.00}')
        await host.choose("edit everything")
        await host.idle()
        assert repr(form.value) == "{'tags': [5], 'x': 1.00}"
        new.write_text("{")
        await host.choose("edit everything")
        await host.idle()
        assert form.value["tags"] == [5] and any("Invalid JSON" in words for words in host.said)
        host.holder.json.display = True
        host.holder.json.area.focus()
        new.write_text('{"count": ')
        await host.press("ctrl+e")
        await host.idle()
        assert host.holder.json.text == '{"count": ' and host.holder.json.unreadable
    assert folders(tmp_path) == []


async def test_editors_that_fail_or_return_at_once_lose_nothing(
    editor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external, "AT_ONCE", 60.0)
    settings = Settings(editor=editor[:-1] + "3")
    async with hosted(SCHEMA, {"body": "# One"}, settings=settings) as host:
        host.form.focus_field("/body")
        await host.press("ctrl+e")
        await host.idle()
        assert any("ended with code 3: the field is as it was." in words for words in host.said)
        (tmp_path / "new").write_text("precious")
        await host.press("ctrl+e")
        await host.idle()
        kept = next(words for words in host.said if "is kept in" in words)
        [folder] = folders(tmp_path)
        assert f"{folder / 'body.md'}." in kept and host.form.value["body"] == "# One"
        assert (folder / "body.md").read_text() == "precious"
        for command, words in (("true", "ended at once"), ("no-such-editor", "names `no-such-editor`")):
            object.__setattr__(host.app.studio.config.settings, "editor", command)
            await host.press("ctrl+e")
            await host.idle()
            assert any(words in said for said in host.said), words

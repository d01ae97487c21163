"""The dialogs that help with a field, on the real app: moving, typing, clicking, and what they answer."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from textual.screen import ModalScreen
from textual.widgets import Input

from mcp_studio.schema.field import List, Number, Text
from mcp_studio.tui.aids.offered import Here, aids
from mcp_studio.tui.screens.aid_choice import AidChoice
from mcp_studio.tui.screens.calendar import Calendar
from mcp_studio.tui.screens.file_dialog import FileDialog
from mcp_studio.tui.screens.paste_dialog import PasteDialog
from mcp_studio.tui.screens.when_dialog import WhenDialog
from tests.tui.stage import Stage, on_stage

SMALL = (80, 24)


async def shown(stage: Stage, dialog: ModalScreen[Any]) -> list[Any]:
    """Open a dialog; the list gets its answer."""
    answers: list[Any] = []
    stage.app.push_screen(dialog, answers.append)
    await stage.until(lambda: stage.app.screen is dialog, "the dialog")
    await stage.pilot.pause()
    return answers


async def test_a_date_is_chosen_by_arrows_words_and_clicks() -> None:
    async with on_stage(size=SMALL) as stage:

        def when(kind: Any, text: str) -> WhenDialog:
            return WhenDialog("due\x1b", kind, text, lambda: datetime(2026, 11, 21, 20, 47))

        dialog = when("date", "2027-02-28")
        answers = await shown(stage, dialog)
        await stage.shows("due␛: date", "February 2027", "2027-02-28", "Sunday, in 99 days")
        await stage.press("right", "down", "pageup", "end")
        await stage.shows("2027-02-28")
        await stage.press("ctrl+pagedown", "home", "up")
        await stage.shows("2028-01-25")
        for key in "tomorrow foo":
            await stage.press("space" if key == " " else key)
        await stage.shows("“foo” is not understood.")
        await stage.press("enter")
        assert stage.app.screen is dialog, "what is not understood is not taken"
        await stage.press(*["backspace"] * 4)
        await stage.shows("2026-11-22", "Sunday, tomorrow")
        calendar = dialog.query_one(Calendar)
        await stage.pilot.click(calendar, offset=(5 * 3, 2 + 4))
        await stage.shows("2026-11-28")
        await stage.pilot.click(calendar, offset=(19, 0))
        await stage.shows("December 2026", "2026-12-28")
        await stage.press("enter")
        assert answers == ["2026-12-28"]

        answers = await shown(stage, when("date-time", "2027-01-05T08:30:00Z"))
        await stage.shows("zone Z (UTC)")
        await stage.press("tab", "up", "right", "pagedown", "right", "down")
        await stage.shows("2027-01-05T09:14:59Z")
        await stage.press("left", "down", "enter")
        assert answers == ["2027-01-05T09:13:59Z"]

        answers = await shown(stage, when(None, ""))
        await stage.press("alt+k", "alt+k", "alt+k", "1", "h", "3", "0")
        await stage.shows("PT1H30M", "1 hour, 30 minutes", "names no format")
        await stage.press("escape")
        assert answers == [None]


async def test_a_file_is_found_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a\x1b[31m.txt").write_text("hello")
    (tmp_path / "notes" / "blob.bin").write_bytes(b"\x00\xff")
    (tmp_path / ".secret").write_text("x")

    async with on_stage(size=SMALL) as stage:
        FileDialog.last_folder = ""
        answers = await shown(stage, FileDialog("body", Text("body"), 4, tmp_path))
        await stage.shows("notes/", "enter goes into the folder")
        assert ".secret" not in stage.screen_text()
        await stage.press("alt+h")
        await stage.shows(".secret")
        await stage.press("n", "tab")
        await stage.shows("a␛[31m.txt", "5 B, UTF-8 text · goes in as text")
        await stage.press("enter")
        await stage.shows("5 bytes; more than 4", "field_file")
        await stage.press("down")
        await stage.shows("2 B, binary · goes in as base64, about 2 characters")
        await stage.press("ctrl+t")
        await stage.shows("goes in as text")
        await stage.press("enter")
        await stage.shows("no text in UTF-8 or UTF-16. Take it as base64.")
        await stage.press("ctrl+t", "enter")
        await stage.until(lambda: answers, "an answer")
        assert answers == ["AP8="] and FileDialog.last_folder == f"{tmp_path}/notes/"
        dialog = FileDialog("body", None, 9, tmp_path)
        answers = await shown(stage, dialog)
        dialog.query_one(Input).value = f"{tmp_path}/notes/a\x1b[31m.txt"
        dialog.action_take()  # before the folder is listed: what is typed counts, not the old list
        await stage.until(lambda: answers == ["hello"], "the file that was typed")
        FileDialog.last_folder = ""
        answers = await shown(stage, FileDialog("body", None, 4, tmp_path))
        await stage.press("x", "/")
        await stage.shows("The folder cannot be read", "There is no such file.")
        await stage.press("escape")
        assert answers == [None]


async def test_what_is_pasted_is_shown_before_it_is_taken() -> None:
    async with on_stage(size=SMALL) as stage:
        numbers = List("l", items=lambda: Number("", integer=True))
        answers = await shown(stage, PasteDialog("ids", numbers, "1\n2\u202e"))
        await stage.shows("becomes list with 2 items", "another type", "invisible", r"2\u202e")
        await stage.press("7", "comma", "8")
        await stage.shows("becomes list with 2 items   1 of 3, ^t for the next", "2 parts between commas as items")
        await stage.press("ctrl+t", "ctrl+t")
        await stage.shows("becomes text of 3 characters")
        await stage.press("ctrl+t", "ctrl+j")
        assert answers[0].value == [7, 8]

        answers = await shown(stage, PasteDialog("key", Text("key", secret=True), "hunter2-hunter2"))
        await stage.shows("becomes text of 15 characters", "••••••••")
        assert "hunter2" not in stage.screen_text()
        await stage.press("ctrl+j")
        assert answers[0].value == "hunter2-hunter2"


async def test_aids_are_found_by_typing_and_the_refused_ones_say_why() -> None:
    async with on_stage(size=SMALL) as stage:
        field = Number("n", schema={"examples": [3]})
        answers = await shown(stage, AidChoice("n", aids(Here(field, editor="vi")), {"editor": "alt+e"}))
        await stage.shows("Help with n", "Example: 3", "Edit in vi", "alt+e")
        await stage.press(*"date")
        await stage.shows("the field takes no text")
        await stage.press("enter")
        assert not answers
        await stage.press(*["backspace"] * 4, *"exam", "enter")
        assert [aid.value for aid in answers] == [3]

"""Palette, help and search: everything by its name, from where it is shown to where it is done."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from textual.command import CommandPalette
from textual.widgets import Input, OptionList, Select

from mcp_studio.tui import screens
from mcp_studio.tui.screens.console import Console
from mcp_studio.tui.screens.dialog import Confirm, Dialog, letters, underlined
from mcp_studio.tui.screens.help import Help
from mcp_studio.tui.screens.palette import DOCS
from mcp_studio.tui.screens.search import Search
from mcp_studio.tui.screens.theme_picker import ThemePicker
from tests.tui.stage import on_stage, raw

ROOT = Path(__file__).parents[2]


def test_every_page_of_the_documentation_that_the_palette_offers_exists() -> None:
    assert {page for page in DOCS if not (ROOT / "docs" / f"{page}.md").exists()} == set()


def dialogs(above: type[Dialog[Any]] = Dialog) -> Iterator[type[Dialog[Any]]]:
    """Every dialog of the studio, with those that only others are made of."""
    for module in pkgutil.iter_modules(screens.__path__):
        importlib.import_module(f"{screens.__name__}.{module.name}")
    for below in above.__subclasses__():
        yield from (below, *dialogs(below))


def test_letters_of_buttons_mean_the_same_in_every_dialog() -> None:
    meant = {"c": ("Cancel", "Copy as"), "l": ("Close", "Later"), "d": ("De", "Di", "Dr"), "y": ("Copy",)}
    letter_of = {"Accept": "a", "Cancel": "c", "Close": "l", "Decline": "d", "Later": "l", "Edit": "e"}
    for dialog in dialogs():
        found = letters(dialog.choices)
        assert len(set(filter(None, found))) == len([*filter(None, found)]), f"letters of {dialog} differ"
        assert not {*found} & {*"ghjkx"}, f"none of {dialog} moves a cursor or cancels"
        for letter, choice in zip(found, dialog.choices, strict=True):
            assert choice.label.startswith(meant.get(letter, ("",))), f"{choice.label} of {dialog}"
            always = letter_of.get(choice.label.split()[0])
            assert letter == always or not always or always in found, f"{choice.label} of {dialog} is {letter}"


def test_the_letter_of_a_button_is_underlined() -> None:
    assert letters(Confirm("t", "t", "Go").choices) == ["o", "c"]
    assert [span.style for span in underlined("Copy", "p").spans] == ["underline"]
    assert underlined("Copy", "").spans == []


def marked(help: Help) -> str:
    """The row under the cursor of the help."""
    return str(option.prompt) if (option := help.query_one(OptionList).highlighted_option) is not None else ""


async def test_the_palette_does_what_is_typed_and_help_does_what_is_chosen() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("ctrl+p")
        await stage.until(lambda: isinstance(stage.app.screen, CommandPalette), "the palette")
        await stage.shows("Help for this pane")
        await stage.type("theme")
        await stage.shows(r"\n[^\n]+Change the theme[^\n]+\n[^\n]+Use the theme ")
        await stage.press("escape", "ctrl+p")
        await stage.type("chagne the theme")
        await stage.shows("Change the theme")
        await stage.press("enter")
        await stage.dialog(ThemePicker)
        await stage.press("ctrl+p")
        await stage.told("Close this dialog first.")
        await stage.press("escape", "ctrl+p", *"thm")
        await stage.shows("Change the theme")
        await stage.press("escape", "ctrl+p")
        await stage.burst(*"change the theme", "enter")  # before anything of it can be listed
        await stage.dialog(ThemePicker)
        await stage.press("escape", "colon", *"raw.add")
        await stage.shows("raw.add", "Adds two numbers")
        await stage.press("down", "enter")
        await stage.shows("3 raw › add")
        await stage.press("escape", "ctrl+p", *"console send", "enter")
        await stage.dialog(Console)
        await stage.press("escape")
        await stage.shows("3 raw › add")
        assert stage.main.focused_pane is stage.main.catalog, "after a dialog all is as before"
        await stage.press("ctrl+p", *"history", "enter")
        await stage.until(lambda: stage.main.call.tab == "history" and stage.main.focused_pane is stage.main.call, "it")
        await stage.press("escape", "2")
        await stage.press("1", "ctrl+p", *"server raw", "enter")
        await stage.until(lambda: stage.main.focused_pane is stage.main.servers, "the servers")
        await stage.press("ctrl+p", *"zzzzqqq")
        await stage.shows("No matches found")
        await stage.press("escape", "2", "question_mark")
        help = await stage.dialog(Help)
        await stage.shows("Help: catalog", "In the catalog pane", r"r +Refresh the lists", "Everywhere")
        for asked, meant in (("how do i leave the studio", "Quit"), ("refrehs lists", "Refresh the lists")):
            help.query_one(Input).value = asked
            await stage.until(lambda meant=meant: meant in marked(help), f"{meant}, though not all words occur")
        help.query_one(Input).value = "zoom"
        await stage.until(lambda: help.query_one(OptionList).option_count == 2, "one action under its heading")
        await stage.press("enter")
        await stage.until(lambda: stage.main.maximized is stage.main.catalog, "what was chosen")
        await stage.press("escape", "ctrl+f")
        await stage.dialog(Search)
        await stage.press("tab", "f1")
        await stage.dialog(Help)
        await stage.shows("Help: this dialog", "Accept: press the first button")
        await stage.type("xyzxyz")
        await stage.shows("Nothing here has these words; .* finds the actions of all panes")
        await stage.press("escape")
        await stage.dialog(Search)


async def test_search_finds_as_one_types_and_leads_to_the_form_or_to_the_result() -> None:
    async with on_stage(raw(), raw("other"), size=(80, 24)) as stage:
        await stage.press("ctrl+f", *"echo")
        search = await stage.dialog(Search)
        await stage.shows("raw.echo", "other.echo", r"text: string\*", r"\d of 18 · \d+ ms", "Open +Call")
        await stage.press("down")
        assert search.hits.row is not None  # whose place may change while servers are still indexed
        server = search.hits.row.ref.server
        await stage.press("enter")
        await stage.shows(f"3 {server} › echo")
        assert stage.main.focused_pane is stage.main.call
        await stage.press("escape", "ctrl+f")
        search = await stage.dialog(Search)
        assert search.field.value == "echo" and search.field.selected_text == "echo"
        search.query_one("#mode", Select).value = "regex"
        await stage.type("[")
        await stage.until(lambda: search.query_one("#box").border_subtitle, "an answer")
        await stage.shows("Search everything", "Mode: regex")
        await stage.press("ctrl+u", *"^fail$")
        await stage.shows("raw.fail")
        search.query_one("#server", Select).value = "other"
        await stage.until(lambda: search.hits.row is not None and search.hits.row.ref.server == "other", "one server")
        await stage.press("ctrl+j")
        await stage.until(lambda: stage.main.result.call is not None, "a call")
        assert stage.main.result.call is not None and stage.main.result.call.ref.server == "other"
        await stage.press("escape", "ctrl+f", "ctrl+u", *"nothing like this", "enter")
        await stage.told("Nothing is found that could be opened")

"""Everything can be reached and read on a small screen: long lists, keys of dialogs, one step back at a time."""

from __future__ import annotations

from typing import get_args

import pytest
from mcp_studio.tui.screens.help import Help
from mcp_studio.tui.views.hanging import hang
from mcp_studio.tui.views.virtual_list import VirtualList
from rich.cells import cell_len
from textual.content import Content

from mcp_studio.tui.actions import Scope, scoped, spell
from tests.studio_support import stdio
from tests.tui.stage import on_stage, raw

SMALL = (80, 24)


def test_rows_that_belong_to_another_are_passed_and_a_click_on_them_is_one_on_that() -> None:
    view: VirtualList[str] = VirtualList(stops=lambda row: not row.startswith(" "))
    view.set_rows(["a", " 1", " 2", "b", "c", " 3"])
    view.action_move(1)
    assert view.row == "b"
    view.action_move(-1)
    assert view.row == "a"
    view.action_last()
    assert view.row == "c"
    view.action_move(1)
    assert view.row == "c"
    view.row_clicked(2, 0, 1)
    assert view.row == "a"
    view.set_rows([" 0", "x"])
    assert view.row == "x"


@pytest.mark.parametrize("scope", get_args(Scope))
def test_the_keys_of_every_dialog_fit_into_its_border(scope: Scope) -> None:
    shown = [action for action in scoped(scope) if action.show]
    words = "   ".join(f"{spell(action.keys.split(',')[0])} {action.short}" for action in shown)
    wide = scope in ("log", "console", "servers", "main", "trace", "trace detail", "difference", "sign in", "search")
    assert len(shown) <= 7 and cell_len(words) <= (68 if wide else 56), words


async def test_the_help_key_lists_the_keys_of_a_dialog_and_closes_again() -> None:
    async with on_stage(raw(), size=SMALL) as stage:
        await stage.press("1", "l")
        await stage.shows("Log of raw")
        await stage.press("f1")
        await stage.until(lambda: isinstance(stage.app.screen, Help), "help")
        await stage.shows("With lines of standard error")
        await stage.press("f1")
        await stage.shows("Log of raw")
        await stage.press("ctrl+p")
        await stage.until(lambda: any("keys of its own: F1" in toast for toast in stage.toasts), "a reason")


def test_long_lines_go_on_below_where_their_value_began() -> None:
    text = Content("  key     a value that is long\nplain words that are long\n\n  x")
    assert hang(text, 20).plain.split("\n") == [
        "  key     a value", "          that is", "          long", "plain words that are", "long", "", "  x",
    ]  # fmt: skip
    assert hang(text, 80).plain == text.plain
    assert all(cell_len(line) <= 9 for line in hang(Content("  名前名前名前 x"), 9).plain.split("\n"))


async def test_servers_are_narrowed_by_name_address_or_state_and_esc_goes_back() -> None:
    many = [stdio(("no-such-program", f"--port={number}"), f"bad{number}") for number in range(6)]
    async with on_stage(raw(), *many, size=SMALL) as stage:
        servers = stage.main.servers

        def names() -> list[str]:
            return list(dict.fromkeys(row.server.status.server for row in servers.list.rows))

        await stage.press("1", "down", "slash", *"connected")
        await stage.until(lambda: names() == ["raw"], "what is connected")
        await stage.shows("1 of 7")
        await stage.press("ctrl+u", *"failed port=4")
        await stage.until(lambda: names() == ["bad4"], "a state and an address")
        await stage.press("space", *"x")
        await stage.shows("0 of 7", "words; esc ends")
        await stage.press("escape")
        await stage.until(lambda: servers.list.has_focus and len(names()) == 7 and servers.current == "bad0", "all")
        await stage.press("slash", *"bad5", "enter", "escape")
        await stage.until(lambda: len(names()) == 7 and servers.current == "bad5", "all, and the one that was found")
        assert not servers.filter.display
        await stage.press("slash", *"bad2", "enter")
        servers.go_to("raw")
        await stage.until(lambda: len(names()) == 7 and servers.current == "raw", "one that was hidden")

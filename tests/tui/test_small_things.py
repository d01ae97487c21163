"""Where the eye and the cursor are: filters, footers, tabs, and lines that have to fit."""

from __future__ import annotations

import pytest
from textual.color import Color
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Input

from mcp_studio.schema.form import build
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.painter import Painter
from mcp_studio.tui.panels.status import Facts, StatusLine
from mcp_studio.tui.views.rows import RowsView
from tests.tui.stage import on_stage, raw


async def test_typing_replaces_the_text_of_a_filter_that_is_opened_again() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("slash", *"wait", "down", "slash", *"ech")
        assert stage.main.catalog.filter.query_one(Input).value == "ech"
        await stage.shows("1 of 6")


async def test_escape_from_a_filter_goes_back_to_the_row_it_began_at() -> None:
    async with on_stage(raw()) as stage:
        catalog = stage.main.catalog
        await stage.press("down", "down", "down", "slash", *"ec", "escape")
        await stage.pilot.pause()
        assert catalog.list.row.entry.ref.name == "count"
        await stage.press("slash", *"fail", "enter")
        await stage.shows("raw.fail")
        await stage.press("escape", "slash", "backspace", *"e", "escape")
        await stage.pilot.pause()
        assert catalog.list.row.entry.ref.name == "fail"


async def test_another_entry_shows_its_result_as_text_and_the_same_one_as_before() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("ask")
        await stage.open("wait")
        await stage.ran()
        stage.main.go_to(stage.main.result)
        await stage.press("right_square_bracket", "right_square_bracket")
        await stage.until(lambda: stage.main.result.tab == "raw", "raw")
        await stage.ran()
        assert stage.main.result.tab == "raw"
        await stage.open("count")
        await stage.ran()
        assert stage.main.result.tab == "text"


async def test_the_footer_offers_what_can_be_done() -> None:
    async with on_stage(raw()) as stage:
        await stage.shows("enter Open   / Filter")
        assert "^j Call" not in stage.screen_text()
        await stage.open("wait")
        await stage.shows("^j Call", "^pgdn Tab")
        stage.main.go_to(stage.main.servers)
        await stage.pilot.pause()
        assert "^pgdn Tab" not in stage.screen_text()


async def test_scrollbars_stand_on_the_ground_of_their_theme() -> None:
    async with on_stage(raw()) as stage:
        ground = Color.parse(stage.app.theme_variables["background"])
        assert {view.styles.scrollbar_background for view in stage.main.query(RowsView)} == {ground}


async def test_an_import_of_nothing_says_what_was_looked_for() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("ctrl+n")
        await stage.shows("enabled    [x] true", "trust      [ ] false")
        await stage.press("ctrl+o")
        await stage.shows("Nothing to import: Claude Desktop")


@pytest.mark.parametrize("width", [80, 60, 40])
def test_the_status_line_is_cut_between_its_parts(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StatusLine, "size", property(lambda self: Size(width, 1)))
    line = StatusLine()
    line.facts = Facts(12, 12, 12_345, 3, 1_234.0, 56_789.0, "2 problems in the configuration (F12)")
    shown: Content = line.render()
    assert shown.cell_length <= width
    assert "12/12 servers" in shown.plain and "3 waiting" in shown.plain
    assert ("12,345 tools" in shown.plain) is (width > 50)
    assert "p50" not in shown.plain or "p95 56.8s" in shown.plain


def test_a_hint_stands_once() -> None:
    same = {"type": "string", "minLength": 2, "maxLength": 40, "description": "2 to 40 characters"}
    form = build({"properties": {"name": same, "sort": {"enum": ["a", "b"]}}, "required": ["name"]})
    for value in ({"sort": "a"}, {"name": "Ada", "sort": "a"}):
        model = FormModel(form, value)
        painter = Painter(model, 80)
        drawn = [
            painter.draw(index, row, current=True, focused=True, picker=None, editor=0, offers=None)
            for index, row in enumerate(model.rows)
        ]
        text = "\n".join("".join(piece for piece, _ in line) for one in drawn for line in one.lines)
        assert text.count("2 to 40 characters") == 1
        assert "one of 2" not in text

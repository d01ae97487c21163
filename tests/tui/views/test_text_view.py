"""The text viewer: wrapping, scrolling, finding, copying."""

from __future__ import annotations

from typing import ClassVar, cast

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.widgets import Input

from mcp_studio.tui.views.find import Findable, SearchView
from mcp_studio.tui.views.text_view import TextView
from tests.support import wait_until
from tests.tui.views.stage import Stage, staged


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(count))


def summary(stage: Stage) -> str:
    return cast("SearchView.Searched", stage.of(SearchView.Searched)[-1]).summary


async def test_text_is_shown_safe_and_wrapped() -> None:
    view = TextView("\x1b[31mred\x1b[0m [bold]not markup[/bold]\n" + "word " * 20)
    async with staged(view) as (stage, pilot):
        await pilot.pause()
        assert stage.lines()[0] == "␛[31mred␛[0m [bold]not markup[/bold]"
        assert stage.lines()[1] == "word word word word word word word word"
        assert stage.lines()[2] == "word " * 7 + "word"
        view.show(b"other \xff\n")
        await pilot.pause()
        assert stage.lines()[:2] == ["other \\xff", ""]
        view.show("")
        view.empty = "Nothing."
        await pilot.pause()
        assert stage.lines()[0] == " Nothing."


async def test_keys_scroll_to_every_part() -> None:
    view = TextView(numbered(100))
    async with staged(view) as (stage, pilot):
        for key, first in [
            ("j", 1), ("down", 2), ("k", 1), ("pagedown", 10), ("pageup", 1), ("G", 90), ("g", 0), ("end", 90),
            ("home", 0), ("up", 0),
        ]:  # fmt: skip
            await pilot.press(key)
            assert stage.lines()[0] == f"line {first}", key


async def test_the_end_of_a_long_text_is_reached_as_soon_as_it_is_known() -> None:
    view = TextView(numbered(400_000))
    async with staged(view) as (stage, pilot):
        await pilot.press("G")
        await wait_until(lambda: stage.lines()[-1] == "line 399999")


async def test_a_new_width_keeps_the_place() -> None:
    view = TextView("".join(f"{number} {'word ' * 12}\n" for number in range(200)))
    async with staged(view) as (stage, pilot):
        await pilot.press(*["pagedown"] * 12)
        first = next(line for line in stage.lines() if line[0].isdigit()).split()[0]
        await pilot.resize_terminal(71, 10)
        await pilot.pause()
        assert view.row_count == 200
        assert abs(int(stage.lines()[0].split()[0]) - int(first)) <= 1


async def test_a_search_shows_the_first_hit_from_here_and_goes_round() -> None:
    view = TextView(numbered(1_000))
    async with staged(view) as (stage, pilot):
        view.scroll_rows(150)
        await pilot.pause()
        view.find("line 11")
        await wait_until(lambda: "line 11" in stage.lines(), what="the search went round to the begin")
        view.find_next(1)
        view.find_next(1)
        await pilot.pause()
        assert summary(stage) == "3 of 11"
        view.find("LINE 99")
        await pilot.pause()
        assert summary(stage) == "not found"
        view.find("line 990")
        await pilot.pause()
        assert "line 990" in stage.lines()
        view.find_next(-1)
        await pilot.pause()
        assert summary(stage) == "1 of 1"
        view.find("")
        await pilot.pause()
        assert view.hit_offset is None


async def test_hits_are_found_in_any_language_and_case() -> None:
    view = TextView("eins\nZWEI ÄPFEL\ndrei äpfel\n")
    async with staged(view) as (stage, pilot):
        view.find("äpfel")
        await pilot.pause()
        assert summary(stage) == "1 of 2"
        view.find("ÄPFEL")
        await pilot.pause()
        assert summary(stage) == "1 of 1"


async def test_y_copies_all_of_it_as_it_came() -> None:
    text = "a\x1bb \u202e " + "word " * 30 + "\n\nend"
    view = TextView(text)
    async with staged(view) as (stage, pilot):
        await pilot.pause()
        view.copy()
        assert stage.copied == [text]


async def test_what_the_mouse_selects_is_copied_without_the_breaks_of_wrapping() -> None:
    view = TextView("the quick brown fox jumps over the lazy dog again\nsecond line\n")
    async with staged(view) as (stage, pilot):
        await pilot.pause()
        await pilot.mouse_down(view, offset=(4, 0))
        await pilot.hover(view, offset=(2, 1))
        await pilot.mouse_up(view, offset=(2, 1))
        await pilot.pause()
        view.copy()
        assert stage.copied == ["quick brown fox jumps over the lazy dog"]


async def test_the_search_line_opens_types_and_closes() -> None:
    view = TextView(numbered(500))
    box = Findable(view)
    async with staged(box) as (stage, pilot):
        view.focus()
        await pilot.press("slash", *"line 42")
        await wait_until(lambda: "line 42" in stage_lines(view))
        assert box.has_class("-finding")
        await pilot.press("enter", "n")
        assert view.has_focus
        assert summary(stage) == "2 of 11"
        assert str(box.count.render()) == "2 of 11"
        await pilot.press("escape")
        assert not box.has_class("-finding") and view.needle == "" and view.has_focus
        await pilot.press("y")
        assert stage.copied == [numbered(500)]
        await pilot.press("slash", "x", "x")
        await pilot.pause()
        assert str(box.count.render()) == "not found"
        await pilot.press("enter")
        view.show("another text")
        await pilot.pause()
        assert not box.has_class("-finding") and box.query_one(Input).value == ""


async def test_esc_is_the_search_lines_only_while_one_is_open() -> None:
    class Screenful(App[None]):
        BINDINGS: ClassVar[list[BindingType]] = [("escape", "back", "Back")]
        went_back = 0

        def compose(self) -> ComposeResult:
            yield Findable(TextView("some text"))

        def action_back(self) -> None:
            self.went_back += 1

    app = Screenful()
    async with app.run_test() as pilot:
        app.query_one(TextView).focus()
        await pilot.press("escape", "slash", "slash", "t", "escape")
        assert app.went_back == 1 and app.query_one(TextView).has_focus
        await pilot.press("escape")
        assert app.went_back == 2


async def test_a_text_set_while_hidden_is_there_when_shown() -> None:
    view = TextView("old")
    async with staged(view) as (stage, pilot):
        view.display = False
        await pilot.pause()
        view.show(numbered(500))
        view.display = True
        await wait_until(lambda: stage.lines()[:2] == ["line 0", "line 1"])
        assert view.row_count == 500 and view.complete and view.max_scroll_y == 490


def stage_lines(view: TextView) -> list[str]:
    return [strip.text.rstrip() for strip in view.render_lines(view.size.region)]

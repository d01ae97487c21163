"""The virtual list: drawing, moving, choosing, and keeping the cursor when rows change."""

from __future__ import annotations

from typing import ClassVar, cast

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from mcp_studio.tui.views.virtual_list import VirtualList
from tests.tui.views.stage import staged

Names = VirtualList[str]


def names(count: int, start: int = 0) -> list[str]:
    return [f"row {number}" for number in range(start, start + count)]


async def test_only_visible_rows_are_drawn() -> None:
    drawn: list[str] = []

    def draw(row: str, width: int, selected: bool) -> list[tuple[str, str]]:
        drawn.append(row)
        return [(row, "")]

    view = Names(draw)
    async with staged(view) as (stage, pilot):
        view.show(names(10_000))
        await pilot.pause()
        assert stage.lines() == names(10)
        assert len(set(drawn)) <= 12


async def test_twenty_quick_presses_move_twenty_rows() -> None:
    view = Names()
    async with staged(view) as (stage, pilot):
        view.show(names(100))
        await pilot.press(*["down"] * 20)
        assert view.cursor == 20 and view.row == "row 20"
        assert stage.lines()[-1] == "row 20"
        last = stage.of(VirtualList.Highlighted)[-1]
        assert cast("VirtualList.Highlighted", last).row == "row 20"


async def test_keys_move_as_in_vi_and_in_pagers() -> None:
    view = Names()
    async with staged(view) as (_, pilot):
        view.show(names(100))
        for key, place in [
            ("j", 1), ("k", 0), ("up", 0), ("G", 99), ("j", 99), ("g", 0), ("end", 99), ("home", 0),
            ("pagedown", 9), ("pagedown", 18), ("pageup", 9),
        ]:  # fmt: skip
            await pilot.press(key)
            assert view.cursor == place, key


async def test_enter_and_double_click_choose_and_a_click_highlights() -> None:
    view = Names()
    async with staged(view) as (stage, pilot):
        view.show(names(30))
        await pilot.press("down", "enter")
        await pilot.click(view, offset=(3, 4))
        assert view.cursor == 4
        await pilot.double_click(view, offset=(3, 5))
        chosen = [cast("VirtualList.Chosen", message).row for message in stage.of(VirtualList.Chosen)]
        assert chosen == ["row 1", "row 5"]
        await pilot.click(view, offset=(3, 9))
        assert view.cursor == 9


async def test_a_key_that_the_pane_around_has_bound_is_the_panes() -> None:
    class Pane(Vertical):
        BINDINGS: ClassVar[list[BindingType]] = [("enter", "go_in", "Go in")]
        opened = 0

        def action_go_in(self) -> None:
            self.opened += 1

    class Screenful(App[None]):
        chosen = 0

        def compose(self) -> ComposeResult:
            with Pane():
                yield Names()

        def on_virtual_list_chosen(self) -> None:
            self.chosen += 1

    app = Screenful()
    async with app.run_test() as pilot:
        app.query_one(VirtualList).show(names(3))
        app.query_one(VirtualList).focus()
        await pilot.press("enter")
        assert app.query_one(Pane).opened == 1 and app.chosen == 0


async def test_the_wheel_scrolls_and_leaves_the_cursor() -> None:
    from textual.events import MouseScrollDown

    view = Names()
    async with staged(view) as (stage, pilot):
        view.show(names(100))
        await pilot.pause()
        await pilot._post_mouse_events([MouseScrollDown], widget=view)
        await pilot.pause()
        assert stage.lines()[0] != "row 0" and view.cursor == 0


async def test_the_cursor_stays_on_its_key_and_on_its_line_of_the_screen() -> None:
    view = Names()
    async with staged(view) as (stage, pilot):
        view.show(names(100, 50))
        await pilot.press(*["down"] * 30)
        where = stage.lines().index("row 80")
        view.show(names(200))
        await pilot.pause()
        assert view.row == "row 80" and stage.lines().index("row 80") == where
        view.show([row for row in names(200) if row != "row 80"])
        assert view.row == "row 81", "the row that came into its place"
        view.show(names(5))
        assert view.row == "row 4"
        view.show(names(50), keep=False)
        await pilot.pause()
        assert view.row == "row 0" and stage.lines()[0] == "row 0"


async def test_a_key_function_tells_which_row_is_which() -> None:
    view = VirtualList[dict[str, int]](key=lambda row: row["id"])
    async with staged(view) as (stage, pilot):
        view.show([{"id": number, "age": 1} for number in range(20)])
        await pilot.press("j", "j")
        before = len(stage.of(VirtualList.Highlighted))
        view.show([{"id": number, "age": 2} for number in range(1, 20)])
        await pilot.pause()
        assert view.row == {"id": 2, "age": 2}
        assert len(stage.of(VirtualList.Highlighted)) == before, "it is the same row"
        assert view.go_to(19) and view.cursor == 18
        assert not view.go_to(0)


async def test_no_rows_say_so_and_bear_every_key() -> None:
    view = Names(empty="Nothing here.\nPress n to add one, it is quite really simple.")
    async with staged(view) as (stage, pilot):
        await pilot.pause()
        assert [line.strip() for line in stage.lines()[:3]] == [
            "Nothing here.",
            "Press n to add one, it is quite",
            "really simple.",
        ]
        await pilot.press("down", "up", "G", "g", "pagedown", "enter")
        await pilot.click(view, offset=(1, 1))
        assert view.row is None and not stage.of(VirtualList.Chosen)
        view.show(names(3))
        await pilot.pause()
        assert stage.lines()[:3] == names(3) and view.row == "row 0"
        view.show([])
        await pilot.pause()
        assert stage.lines()[0].strip() == "Nothing here." and view.row is None


async def test_rows_set_before_the_first_layout_are_there_after_it() -> None:
    view = Names()
    view.show(names(50))
    async with staged(view) as (stage, pilot):
        await pilot.pause()
        assert stage.lines()[:2] == ["row 0", "row 1"]
        assert view.max_scroll_y == 40


async def test_a_wider_terminal_draws_rows_anew_at_their_width() -> None:
    view = Names(lambda row, width, selected: [(f"{row} on {width}", "")])
    async with staged(view) as (stage, pilot):
        view.show(names(5))
        await pilot.pause()
        assert stage.lines()[0] == "row 0 on 39"
        await pilot.resize_terminal(60, 10)
        await pilot.pause()
        assert stage.lines()[0] == "row 0 on 59"
        view.show(names(50))
        await pilot.pause()
        assert stage.lines()[0] == "row 0 on 59", "the scrollbar has its place"


async def test_the_cursor_row_looks_different_with_and_without_focus() -> None:
    view = Names(lambda row, width, selected: [(row, "ok" if row == "row 0" else "")])
    async with staged(view) as (_, pilot):
        view.show(names(2))
        await pilot.pause()

        def backgrounds() -> list[object]:
            strips = view.render_lines(view.size.region)
            return [next(iter(strip)).style.bgcolor for strip in strips[:2]]  # type: ignore[union-attr]

        focused, plain = backgrounds()
        view.blur()
        await pilot.pause()
        blurred, still_plain = backgrounds()
        assert plain == still_plain and len({focused, plain, blurred}) == 3

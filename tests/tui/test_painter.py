"""What is drawn when a little has changed: what is seen there, and nothing else."""

from __future__ import annotations

from mcp_studio.tui.painter import Painted
from mcp_studio.tui.screens.jump import Jump
from textual.app import App, ComposeResult
from textual.events import Callback, MouseDown, MouseMove, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import TextArea


class Patch(Widget):
    """Lines of one letter, and how many of them were asked for."""

    def __init__(self, letter: str) -> None:
        super().__init__(id=letter)
        self.asked: list[int] = []

    def render(self) -> str:
        return "\n".join([str(self.id) * 40] * 10)

    def render_lines(self, crop: Region) -> list[Strip]:
        self.asked += crop.line_range
        return super().render_lines(crop)


class Sheet(Painted[None]):
    """`b` stands above the middle of `a`, and `c` beside both."""

    CSS = """
    Sheet { layout: horizontal; layers: low high; }
    Patch { width: 20; height: 8; layer: low; }
    #b { layer: high; width: 6; height: 3; offset: 4 2; position: absolute; }
    """

    def compose(self) -> ComposeResult:
        yield from (Patch("a"), Patch("c"), Patch("b"))


class Sheets(App[None]):
    def on_mount(self) -> None:
        self.push_screen(Sheet())


async def test_a_part_that_is_drawn_again_looks_as_in_the_whole_and_what_is_not_seen_in_it_is_left_alone() -> None:
    app = Sheets()
    async with app.run_test(size=(50, 12)) as pilot:
        await pilot.pause()
        sheet, patches = app.screen, list(app.screen.query(Patch))
        assert isinstance(sheet, Sheet)
        for changed, region, drawn in (
            ("a", Region(0, 1, 20, 4), {"a": [1, 2, 3, 4], "b": [0, 1, 2]}),
            ("b", Region(0, 1, 6, 1), {"b": [1]}),
            ("c", Region(0, 7, 20, 1), {"c": [7]}),
        ):
            for patch in patches:
                patch.asked.clear()
            widget = app.screen.query_one(f"#{changed}", Patch)
            widget.refresh(region)
            sheet._compositor.update_widgets({widget})
            update = sheet._compositor.render_partial_update()
            assert {patch.id: patch.asked for patch in patches if patch.asked} == drawn
            assert update is not None
            whole = [strip.text for strip in sheet._compositor.render_strips()]
            for y, x1, x2 in update.spans:
                cells = {x: strip.text for x, strip in update.chops[y].items() if strip is not None}
                seen = "".join(text for x, text in sorted(cells.items()) if x1 <= x < x2)
                assert seen == whole[y][x1:x2]


async def test_what_is_drawn_as_a_whole_in_a_moment_is_not_drawn_in_parts_before() -> None:
    app = Sheets()
    async with app.run_test(size=(50, 12)) as pilot:
        await pilot.pause()
        sheet, patch = app.screen, app.screen.query_one("#c", Patch)
        patch.asked.clear()
        sheet.refresh()
        patch.refresh()
        sheet._compositor.update_widgets({patch})
        sheet._compositor_refresh()
        assert patch.asked == []
        await pilot.pause()
        assert patch.asked == list(range(8))


class Page(Painted[None]):
    """A text that can be taken away."""

    def compose(self) -> ComposeResult:
        yield TextArea("some words")


class Pages(App[None]):
    def on_mount(self) -> None:
        self.push_screen(Page())


async def test_what_was_taken_away_is_not_drawn_before_the_screen_is_laid_out_anew() -> None:
    app = Pages()
    async with app.run_test(size=(30, 6)) as pilot:
        await pilot.pause()
        page = app.screen
        assert "some words" in "".join(strip.text for strip in page._compositor.render_strips())
        area = page.query_one(TextArea)
        await area.remove()
        for update in (page._compositor.render_strips, page._compositor.render_full_update):
            page._compositor._visible_widgets = None
            assert area in page._compositor.visible_widgets, "the screen is not laid out anew yet"
            update()
        assert "some words" not in "".join(strip.text for strip in page._compositor.render_strips())


async def test_the_mouse_does_not_meet_what_was_taken_away_before_the_screen_is_laid_out_anew() -> None:
    app = Pages()
    async with app.run_test(size=(30, 6)) as pilot:
        await pilot.pause()
        page = app.screen
        area = page.query_one(TextArea)
        assert page.get_widget_at(3, 1)[0] is area
        await area.remove()
        page._compositor._visible_widgets = page._compositor._layers_visible = None
        assert area in page._compositor.visible_widgets, "the screen is not laid out anew yet"
        assert page.get_widget_at(3, 1)[0] is page
        assert area not in page._compositor.visible_widgets
        assert area not in [widget for widget, _ in page.get_widgets_at(3, 1)]
        for kind in (MouseDown, MouseMove):
            page._forward_event(kind(None, 3, 1, 0, 0, 1, False, False, False))


async def test_a_screen_that_is_left_twice_takes_no_other_along() -> None:
    app = Pages()
    async with app.run_test() as pilot:
        await pilot.pause()
        page, jump = app.screen, Jump([])
        await app.push_screen(jump)
        jump.dismiss(None)
        jump.dismiss(None)
        await pilot.pause()
        assert app.screen is page


async def test_sizes_that_follow_each_other_quickly_come_to_rest_at_the_last_one() -> None:
    app, seen = Pages(), list[Message]()
    async with app.run_test(size=(30, 6), message_hook=seen.append) as pilot:
        await pilot.pause()
        page = app.screen
        first, last = Size(60, 20), Size(50, 12)
        app._size = last
        for size in (first, last):
            page.post_message(Resize(size, size))
            page.post_message(Callback(callback=lambda: None))  # or the later takes the place of the first
        for _ in range(20):
            await pilot.pause()
        before = len(seen)
        for _ in range(20):
            await pilot.pause()
        assert page.size == last
        assert not [message for message in seen[before:] if isinstance(message, Resize)]

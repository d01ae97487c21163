"""Moving the focus styles and draws what looks different, and nothing else."""

from __future__ import annotations

import asyncio

import pytest
from mcp_studio.tui.painter import Painted
from mcp_studio.tui.screens.frame import Frame
from textual.app import App, ComposeResult
from textual.containers import Container
from textual.css.styles import RulesMap
from textual.css.stylesheet import Stylesheet
from textual.widget import Widget

from tests.tui.stage import on_stage


class Spot(Widget, can_focus=True):
    def render(self) -> str:
        return "spot"


class Three(Painted[None]):
    CSS = """
    Container { height: 4; &:focus-within { border: solid red; } &:focus-within Spot { color: green; } }
    Spot { height: 1; &:focus { background: blue; } }
    """

    def compose(self) -> ComposeResult:
        yield Container(Spot(id="a"), Spot(id="b"))
        yield Container(Spot(id="c"))


class Framed(Three, Frame):
    """The same as a main screen."""


class FrameApp(App[None]):
    def __init__(self, screen: Three) -> None:
        super().__init__()
        self.first = screen

    def on_mount(self) -> None:
        self.push_screen(self.first)


def rules(screen: Three) -> list[RulesMap]:
    return [dict(node.styles.base.get_rules()) for node in screen.walk_children()]  # type: ignore[misc]


@pytest.mark.parametrize("kind", [Three, Framed])
def test_looks_follow_the_focus_without_a_new_screen(kind: type[Three]) -> None:
    async def main() -> None:
        app = FrameApp(kind())
        async with app.run_test(size=(40, 12)) as pilot:
            screen = app.screen
            assert isinstance(screen, Three)
            drawn: list[int] = []
            full = screen._compositor.render_full_update
            screen._compositor.render_full_update = lambda *args, **more: (drawn.append(1), full(*args, **more))[1]  # type: ignore
            for name in ("a", "b", "c", "a"):
                spot = screen.query_one(f"#{name}")
                await pilot.pause()
                drawn.clear()
                spot.focus()
                await pilot.pause()
                assert not drawn, "the whole screen"
                assert spot.has_focus and spot.styles.background.hex == "#0000FF"
                now = rules(screen)
                app.stylesheet.update(screen)
                assert rules(screen) == now, "what all rules say"

    asyncio.run(main())


async def test_the_rules_of_a_dialog_are_read_as_it_opens_and_no_others_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with on_stage() as stage:
        sheets: list[Stylesheet] = []
        make = Stylesheet.__init__
        monkeypatch.setattr(Stylesheet, "__init__", lambda new, **of: (sheets.append(new), make(new, **of))[1])
        had = stage.app.stylesheet.rules
        await stage.press("f1")
        await stage.until(lambda: stage.app.screen is not stage.main, "help")
        assert len(stage.app.stylesheet.rules) > len(had)
        assert not sheets, "all rules are read anew"

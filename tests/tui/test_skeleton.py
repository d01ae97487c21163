"""The first frame is where the real screen will be, and foreign text in it is harmless."""

from __future__ import annotations

from pathlib import Path

import pyte
import pytest

from mcp_studio.catalog.remembered import Memory
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.paths import Paths
from mcp_studio.safetext import is_live
from mcp_studio.studio import Studio
from mcp_studio.tui import skeleton
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.themes_file import palette
from tests.support import run

EVIL = "\x1b[31mred\x1b]0;title\x07\u202egnp.exe"


@pytest.mark.parametrize("count", [1, 4, 12])
def test_the_panes_are_where_the_real_ones_will_be(count: int) -> None:
    names = [f"server{number}" for number in range(count)]
    known = [skeleton.Known(name, "stdio", False, Memory()) for name in names]

    async def main() -> None:
        servers = {name: ServerConfig(name, command="true", enabled=False) for name in names}
        async with Studio.open(Config(servers=servers), Paths.default(), can_ask=True) as studio:
            app = StudioApp(studio)
            async with app.run_test(size=(80, 24)) as pilot:
                panes = [app.main.query_one(f"#{name}") for name in ("servers", "catalog", "call", "result", "trace")]
                for size in ((80, 24), (120, 36), (200, 60), (110, 35), (160, 44)):
                    await pilot.resize_terminal(*size)
                    await pilot.pause()
                    real = {tuple(pane.region) for pane in panes if pane.region.height}
                    drawn = skeleton.boxes(*size, known)
                    assert {(box.x, box.y, box.width, box.height) for box in drawn} == real, size

    run(main())


def test_what_was_remembered_is_there_and_nothing_live_with_it() -> None:
    tools = [{"name": "echo", "annotations": {"readOnlyHint": True}}, {"name": EVIL}, 7]
    servers = [
        skeleton.Known("demo", "stdio", True, Memory("legacy", {"tool": tools})),
        skeleton.Known(EVIL, "http", True, Memory()),
    ]
    text = "".join(skeleton._paint(skeleton.boxes(120, 36, servers), 120, 36, servers, None))
    screen = pyte.Screen(120, 36)
    pyte.Stream(screen).feed(text)
    shown = "\n".join(screen.display)
    assert "1 Servers" in shown and "demo stdio" in shown and "r echo" in shown and "remembered" in shown
    assert "title" in shown and not [char for line in screen.display for char in line if is_live(char)]
    assert len(screen.display) == 36 and all(line.count("╮") + line.count("│") <= 8 for line in screen.display)


def test_colours_come_from_the_theme_and_a_bad_theme_costs_them_only(tmp_path: Path) -> None:
    assert palette("studio-dark", tmp_path)
    (tmp_path / "bad.toml").write_text("primary = [")
    (tmp_path / "words.toml").write_text('foreground = "red"\nbackground = 7')
    assert palette("bad", tmp_path) is None and palette("words", tmp_path) is None
    assert palette("no-such", tmp_path) is None and palette("../studio-dark", tmp_path) is None

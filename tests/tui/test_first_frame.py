"""The borders that are drawn before Textual is imported stand where its panes will be."""

from __future__ import annotations

import pytest
from textual.geometry import Region

from mcp_studio.tui.run import boxes
from tests.tui.stage import on_stage


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 35), (143, 51), (200, 60)])
async def test_the_first_frame_agrees_with_the_panes(size: tuple[int, int]) -> None:
    async with on_stage(size=size) as stage:
        main = stage.main
        groups = [main.servers, main.catalog], [main.call, main.result], [main.trace]
        regions = [[pane.region for pane in group if pane.region] for group in groups]
        assert [Region(*box) for box in boxes(*size)] == [Region.from_union(group) for group in regions if group]


@pytest.mark.parametrize("size", [(39, 40), (120, 9)])
def test_a_tiny_terminal_gets_no_borders(size: tuple[int, int]) -> None:
    assert boxes(*size) == []

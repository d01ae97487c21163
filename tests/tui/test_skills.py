"""Skills stand among the resources; reading one says whether it is what the server listed."""

from __future__ import annotations

from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import on_stage


async def test_a_skill_is_marked_and_what_reading_it_found_stands_above_it() -> None:
    async with on_stage(stdio(python_server("raw_skills")), size=(80, 24)) as stage:
        await stage.press("2", "ctrl+pagedown")
        await stage.shows("wrong-digest", "skill")
        await stage.open("skill://brew/SKILL.md", "resource")
        await stage.ran()
        await stage.shows("skill brew: this file is", "skill ✓")
        await stage.open("skill://wrong-size/SKILL.md", "resource")
        await stage.ran()
        await stage.shows("! skill wrong-size: It has 78 bytes", "skill ✗")
        text = stage.screen_text()
        assert (text.count("skill ✓"), text.count("skill ✗")) == (1, 1)

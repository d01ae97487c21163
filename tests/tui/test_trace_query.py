"""The filter of the trace: what it offers, what it says is wrong, what stays in force."""

from __future__ import annotations

from tests.tui.stage import Stage, on_stage, raw


async def typed(stage: Stage, text: str) -> None:
    for char in text:
        await stage.press(char)


async def test_tab_takes_what_is_offered_and_a_wrong_text_leaves_the_last_filter_in_force() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        panel = stage.main.trace
        await stage.press("f8")
        await stage.shows("tools/list")
        await stage.press("slash")
        await stage.shows("tab server:")
        await typed(stage, "met")
        await stage.shows("tab method: the method of a message")
        await stage.press("tab")
        await typed(stage, "ols/l")
        await stage.shows("tab method:tools/list")
        await stage.press("tab")
        await stage.until(lambda: panel.filter.text == "method:tools/list ", "the whole word")
        await stage.until(lambda: panel.table.row_count == 2, "two rows")
        await typed(stage, "kind:reqest")
        await stage.shows("✗ at 24: There is no kind `reqest`.")
        assert panel.table.row_count == 2 and panel.table.filter_text == "method:tools/list"
        await stage.press("enter")
        assert panel.filter.has_focus_within, "a wrong text is not left by enter"
        await stage.press(*["backspace"] * 3, "tab", "enter")
        await stage.until(lambda: panel.table.has_focus, "the table")
        await stage.until(lambda: panel.table.row_count == 1, "one row")
        assert not panel.filter.aid.display
        await stage.press("escape")
        await stage.until(lambda: panel.table.row_count == len(stage.studio.trace), "all rows")

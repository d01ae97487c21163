"""The trace pane: follow, filter, detail, copy."""

from __future__ import annotations

from mcp_studio.tui.screens.trace_dialog import TraceDialog
from tests.tui.stage import on_stage, raw, run


def test_every_message_appears_and_a_filter_shows_some() -> None:
    async def main() -> None:
        async with on_stage(raw()) as stage:
            await stage.shows("tools/list")
            await stage.press("f8", "slash", *"~m prompts")
            await stage.until(lambda: stage.main.trace.table.row_count == 2, "two rows")
            await stage.shows("~m prompts · 2 of")
            await stage.press("escape")
            await stage.until(lambda: stage.main.trace.table.row_count == len(stage.studio.trace), "all rows")

    run(main())


def test_enter_shows_request_and_response() -> None:
    async def main() -> None:
        async with on_stage(raw()) as stage:
            await stage.press("f8", "end", "enter")
            await stage.until(lambda: isinstance(stage.app.screen, TraceDialog), "detail")
            await stage.shows("jsonrpc", "result")
            await stage.press("right_square_bracket")
            await stage.shows("No HTTP headers")
            await stage.press("right_square_bracket")
            await stage.shows("No other request belongs to it")
            line = stage.screen_text().splitlines()[stage.app.screen.query_one("#box").region.y]
            await stage.pilot.click(offset=(line.index("Findings"), stage.app.screen.query_one("#box").region.y))
            await stage.shows("Nothing is wrong with it")
            await stage.press("right_square_bracket")
            await stage.shows("├─", "0.0 ms")
            await stage.press("escape")
            await stage.until(lambda: stage.app.screen is stage.main, "main screen")

    run(main())


def test_on_a_wide_screen_the_exchange_is_beside_the_trace() -> None:
    async def main() -> None:
        async with on_stage(raw(), size=(200, 60)) as stage:
            await stage.press("f8", "end", "up", "up")
            await stage.shows("Request │ Response", "jsonrpc")
            await stage.press("enter")
            await stage.until(lambda: stage.main.detail.has_focus_within, "detail")
            await stage.press("right_square_bracket", "right_square_bracket", "escape")
            await stage.until(lambda: stage.main.trace.has_focus_within, "trace")

    run(main())


def test_moving_up_stops_following_and_f_follows_again() -> None:
    async def main() -> None:
        async with on_stage(raw()) as stage:
            await stage.press("f8", "up")
            await stage.shows("f follows")
            await stage.press("f")
            await stage.shows("following")

    run(main())


def test_y_copies_the_message_as_it_crossed_the_wire() -> None:
    async def main() -> None:
        async with on_stage(raw()) as stage:
            await stage.press("f8", "end", "y")
            await stage.until(lambda: stage.app.clipboard.startswith('{"jsonrpc"'), "copied")

    run(main())

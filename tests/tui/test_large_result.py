"""A large result in the whole program: shown from the message that brought it, in every tab, found in, and copied."""

from __future__ import annotations

from typing import Any

from mcp_studio.call.call import Succeeded
from mcp_studio.protocol.message import LargeObject
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import on_stage, run

SIZE = 5_000_000


def test_a_large_result_is_shown_without_a_copy_of_it() -> None:
    async def check() -> None:
        server = stdio(python_server("raw_faults", "--fault", "big-result", "--size", str(SIZE)), "s")
        async with on_stage(server) as stage:
            await stage.open("echo")
            stage.main.calling.opened.value = {"text": "hi"}
            outcome: Any = await stage.ran()
            assert isinstance(outcome, Succeeded) and isinstance(outcome.result, LargeObject), outcome
            await stage.shows("x" * 40)
            frame = outcome.result.whole.data
            text = stage.main.result._views["text"].view
            assert text.searched_data() is frame
            await stage.until(lambda: text.complete, "all rows")
            assert text.row_count >= SIZE // text.row_width and len(text.data) == SIZE
            text.find("xx")
            assert text.hit_offset is not None, "the first hit is there at once"
            text.find("")
            stage.main.go_to(stage.main.result)
            await stage.press("ctrl+pagedown", "ctrl+pagedown")
            await stage.shows("content")
            assert stage.main.result._views["raw"].view.searched_data() is frame

    run(check())

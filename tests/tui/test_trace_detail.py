"""The detail of an exchange: bodies that come from disk, and what is not there."""

from __future__ import annotations

import asyncio

from mcp_studio.tui.panels.trace_detail import TraceDetail

from mcp_studio.redact import Redactor
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.store import TraceStore
from tests.support import wait_until
from tests.tui.views.stage import Stage, staged


class Slow(TraceStore):
    """Its bodies come when they are let go."""

    def __init__(self) -> None:
        super().__init__(Redactor())
        self.go = asyncio.Event()

    async def body(self, entry: WireMessage) -> bytes:
        await self.go.wait()
        return entry.body


def text(stage: Stage) -> str:
    """What is on the screen."""
    strips = stage.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def test_a_body_on_disk_is_said_to_be_loading_and_shown_when_it_is_there() -> None:
    store = Slow()
    entry = store.add("s", "in", "notification", b'{"method":"x"}')
    entry.held = lambda: b'{"method":"of the disk"}'
    other = store.add("s", "in", "stderr", b"oops")
    async with staged(detail := TraceDetail(), (80, 20)) as (stage, pilot):
        detail.show(store, entry)
        await wait_until(lambda: "Loading 14B" in text(stage))
        detail.show(store, other)
        store.go.set()
        await wait_until(lambda: "oops" in text(stage))
        await pilot.pause()
        assert "of the disk" not in text(stage), "it belongs to an entry that is not shown any more"
        detail.show(store, entry)
        await wait_until(lambda: "of the disk" in text(stage))
        for tab, words in (("response", "There is no answer."), ("children", "No other request")):
            detail.show_tab(tab)
            await wait_until(lambda words=words: words in text(stage))

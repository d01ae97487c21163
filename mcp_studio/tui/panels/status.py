"""The line on top: servers, tools, open questions, latency."""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.events import Click
from textual.widget import Widget


class Facts(NamedTuple):
    """What the line shows."""

    ready: int = 0
    servers: int = 0
    tools: int = 0
    waiting: int = 0
    p50: float | None = None
    p95: float | None = None
    note: str = ""
    insecure: int = 0
    """Servers whose certificate may be anybody's."""


class StatusLine(Widget):
    """One line, repainted when its facts change; a click on it opens what is waiting."""

    def __init__(self) -> None:
        super().__init__(id="status")
        self.facts = Facts()
        self.flag = "⚑"

    def show(self, facts: Facts) -> None:
        """Show these facts."""
        if facts != self.facts:
            self.facts = facts
            self.refresh()

    def render(self) -> Content:
        """The line as text; where there is no room the least important parts are left out as a whole."""
        f = self.facts
        waiting = f"   {self.flag} {f.waiting:,} waiting" if f.waiting else ""
        known = f.p50 is not None and f.p95 is not None
        times = f"   p50 {_short(f.p50)}  p95 {_short(f.p95)}" if known else ""
        loud = f"   ! {f.insecure} insecure" if f.insecure else ""
        parts = [
            (" mcp-studio", "b $primary", 2),
            (f"  {f.ready:,}/{f.servers:,} servers", "", 1),
            (f"  {f.tools:,} tools", "", 3),
            (loud, "b $error", -1),
            (waiting, "b $accent", 0),
            (times, "$quiet", 5),
            (f"   {f.note}" if f.note else "", "$warning", 4),
        ]
        room, shown = self.size.width, set[int]()
        for text, _, rank in sorted(parts, key=lambda part: part[2]):
            if cell_len(text) <= room:
                room -= cell_len(text)
                shown.add(rank)
        return Content.assemble(*((text, look) for text, look, rank in parts if rank in shown))

    async def on_click(self, event: Click) -> None:
        """Open the oldest question."""
        if self.facts.waiting:
            await self.run_action("app.questions")


def _short(ms: float | None) -> str:
    ms = ms or 0.0
    return f"{ms:.0f}ms" if ms < 999.5 else f"{ms / 1000:,.1f}s"

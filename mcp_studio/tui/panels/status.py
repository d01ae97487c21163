"""The line on top: servers, tools, open questions, latency."""

from __future__ import annotations

from typing import NamedTuple

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
        """The line as text."""
        f = self.facts
        parts: list[str | tuple[str, str]] = [(" mcp-studio", "b $primary"), f"  {f.ready}/{f.servers} servers"]
        parts.append(f"  {f.tools:,} tools")
        if f.waiting:
            parts.append((f"   {self.flag} {f.waiting} waiting", "b $accent"))
        if f.p50 is not None and f.p95 is not None:
            parts.append((f"   p50 {f.p50:.0f}ms  p95 {f.p95:.0f}ms", "$quiet"))
        if f.note:
            parts.append((f"   {f.note}", "$warning"))
        return Content.assemble(*parts)

    async def on_click(self, event: Click) -> None:
        """Open the oldest question."""
        if self.facts.waiting:
            await self.run_action("app.questions")

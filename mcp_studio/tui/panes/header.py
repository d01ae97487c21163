"""The line on top: servers by state, what they offer, how long calls take, what is pending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from mcp_studio.catalog.listing import KINDS
from mcp_studio.present import connections, units
from mcp_studio.tui.views.glyphs import glyphs

if TYPE_CHECKING:
    from mcp_studio.studio import Studio

_STATES = (("ok", "on", "$state-ready"), ("busy", "half", "$state-busy"), ("bad", "bad", "$state-failed"))


class HeaderItem(Static):
    """A part of the header; a click runs an action of the main screen."""

    def __init__(self, action: str, id: str) -> None:
        super().__init__(id=id, markup=False)
        self._action = action

    async def on_click(self) -> None:
        await self.screen.run_action(self._action)


class StudioHeader(Horizontal):
    """One line of facts."""

    def compose(self) -> ComposeResult:
        yield HeaderItem("about", "header-title")
        yield HeaderItem("pane_servers", "header-servers")
        yield HeaderItem("pane_catalog", "header-catalog")
        yield HeaderItem("statistics", "header-calls")
        yield HeaderItem("about", "header-problems")
        yield HeaderItem("pending", "header-pending")

    def on_mount(self) -> None:
        self._put("title", Content("mcp-studio"))

    def show(self, studio: Studio) -> None:
        """Show the facts as they are now."""
        names = studio.manager.names()
        tones = [connections.tone(studio.manager.status(name)) for name in names]
        states = [
            (f"{getattr(glyphs(), sign)}{tones.count(tone)} ", colour)
            for tone, sign, colour in _STATES
            if tones.count(tone)
        ]
        self._put("servers", Content.assemble(*states) if states else Content("no servers"))
        counts = [
            units.plural(count, kind)
            for kind in KINDS
            if (count := sum(len(studio.catalog.listing(name, kind).entries) for name in names))
        ]
        self._put("catalog", Content(" · ".join(counts)))
        durations = studio.trace.durations
        p50, p95 = durations.percentile(0.5), durations.percentile(0.95)
        told = "" if p50 is None or p95 is None else f"calls p50 {units.duration(p50)}  p95 {units.duration(p95)}"
        self._put("calls", Content(told))
        problems = len(studio.config.problems)
        insecure = sum(studio.manager.config(name).tls.insecure for name in names)
        warnings = [f"{units.plural(problems, 'problem')} in the configuration"] if problems else []
        warnings += [f"{units.plural(insecure, 'server')} insecure"] if insecure else []
        sign = f"{glyphs().warning} " if warnings else ""
        self._put("problems", Content(sign + " · ".join(warnings)))
        pending = len(studio.inbox.pending) + studio.inbox.held
        self._put("pending", Content(f"{glyphs().waiting} {pending} pending" if pending else ""))

    def _put(self, name: str, content: Content) -> None:
        self.query_one(f"#header-{name}", HeaderItem).update(content)

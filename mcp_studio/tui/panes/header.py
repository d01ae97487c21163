"""The line on top: servers by state, what they offer, how long requests take, what is pending."""

from __future__ import annotations

from collections.abc import Iterator

from textual import getters
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Click
from textual.widgets import Static

from mcp_studio.catalog.listing import KINDS
from mcp_studio.present import connections, units
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.views.rows import glyphs

_STATES = (("ok", "on", "$state-ready"), ("busy", "half", "$state-busy"), ("bad", "bad", "$state-failed"))
_ACTIONS = {
    "title": "about", "servers": "pane_servers", "catalog": "pane_catalog", "calls": "statistics",
    "problems": "about", "pending": "pending",
}  # fmt: skip
_GAP = 3
"""Cells between two parts of the line."""


class StudioHeader(Horizontal):
    """One line of facts. What does not fit is said shorter, or left out whole, the least important first."""

    app = getters.app(StudioApp)

    def compose(self) -> ComposeResult:
        for name in _ACTIONS:
            yield Static(id=f"header-{name}", markup=False)

    async def on_click(self, event: Click) -> None:
        if event.widget is not None and event.widget is not self:
            await self.screen.run_action(_ACTIONS[str(event.widget.id).removeprefix("header-")])

    def on_resize(self) -> None:
        self.show()

    def show(self) -> None:
        """Show the present facts."""
        room = self.content_size.width
        for name, *variants in self._facts():
            item = self.query_one(f"#header-{name}", Static)
            text = next((text for text in variants if text and text.cell_length <= room), Content())
            item.display = bool(text)
            if item.content != text:  # setting the content would lay out the screen again
                item.update(text)
            room -= text.cell_length + _GAP if text else 0

    def _facts(self) -> Iterator[tuple[str, *tuple[Content, ...]]]:
        """The name of each part and its texts, from long to short; the most important part first."""
        studio = self.app.studio
        names = studio.manager.names()
        yield "title", Content("mcp-studio")
        tones = [connections.tone(studio.manager.status(name)) for name in names]
        counts = [(tones.count(tone), getattr(glyphs(), sign), colour) for tone, sign, colour in _STATES]
        states = [(f"{sign}{count} ", colour) for count, sign, colour in counts if count]
        yield "servers", Content.assemble(*states).rstrip(" ") if states else Content("no servers")
        pending = len(studio.inbox.pending) + studio.inbox.held
        yield "pending", Content(f"{glyphs().waiting} {pending} pending" if pending else "")
        problems = len(studio.config.problems)
        insecure = sum(studio.manager.config(name).tls.insecure for name in names)
        warnings = [f"{units.plural(problems, 'problem')} in the configuration"] if problems else []
        warnings += [f"{units.plural(insecure, 'server')} insecure"] if insecure else []
        sign = f"{glyphs().warning} " if warnings else ""
        yield "problems", Content(sign + " · ".join(warnings)), Content(sign + warnings[0] if warnings else "")
        offers = [(kind, sum(len(studio.catalog.listing(name, kind).entries) for name in names)) for kind in KINDS]
        parts = [units.plural(count, kind) for kind, count in offers if count]
        yield "catalog", *(Content(" · ".join(parts[:most])) for most in range(len(parts), 0, -1))
        studio.numbers.look()
        p50, p95 = studio.numbers.total.p50, studio.numbers.total.p95
        if p50 is not None and p95 is not None:
            short = f"p95 {units.duration(p95)}"
            yield "calls", Content(f"requests p50 {units.duration(p50)}  {short}"), Content(f"requests {short}")

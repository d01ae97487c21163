"""The line on top: servers by state, what they offer, how long requests take, what is pending."""

from __future__ import annotations

from collections.abc import Iterator

from textual import getters
from textual.content import Content
from textual.widgets import Static

from mcp_studio.catalog.listing import KINDS
from mcp_studio.present import connections, units
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.views.lines import PartLine
from mcp_studio.tui.views.rows import glyphs

_STATES = (
    ("ok", "on", "$state-ready"), ("busy", "half", "$state-busy"), ("bad", "bad", "$state-failed"),
    ("off", "off", "$quiet"),
)  # fmt: skip
_PARTS = {
    "title": ("about", "bold $primary"), "servers": ("pane_servers", "$quiet"), "catalog": ("", "$quiet"),
    "calls": ("trace('details')", "$quiet"), "problems": ("about", "$state-busy"),
    "breakpoint": ("trace('breakpoints')", "$state-busy"), "pending": ("pending", "bold $accent"),
}  # fmt: skip
"""The parts from left to right: the action of a click, and the look; each count of the catalog has its own action."""


class StudioHeader(PartLine, Static):
    """One line of facts. What does not fit is said shorter, or left out whole, the least important first."""

    app = getters.app(StudioApp)

    def show(self) -> None:
        """Show the present facts."""
        room, shown = self.size.width, dict[str, Content]()
        for name, *variants in self._facts():
            text = next((text for text in variants if text and text.cell_length <= room), Content())
            room -= text.cell_length + 3 if text else 0
            action, look = _PARTS[name]
            text = text.stylize_before(look)
            shown[name] = self.part(text, f"screen.{action}", "underline") if action else text
        left = Content("   ").join(shown[name] for name in _PARTS if shown.get(name) and name != "pending")
        line = left.pad_right(self.size.width - left.cell_length - shown["pending"].cell_length) + shown["pending"]
        if not isinstance(self.content, Content) or not line.is_same(self.content):
            self.update(line, layout=False)

    on_resize = watch_pointed = show

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
        yield "breakpoint", Content("breakpoint set" if studio.breakpoints.gate.breakpoints else "")
        offers = [(kind, sum(len(studio.catalog.listing(name, kind).entries) for name in names)) for kind in KINDS]
        offered = [(kind, Content(units.plural(count, kind))) for kind, count in offers if count]
        parts = [self.part(text, f"screen.catalog({kind!r})", "underline") for kind, text in offered]
        yield "catalog", *(Content(" · ").join(parts[:most]) for most in range(len(parts), 0, -1))
        studio.numbers.look()
        p50, p95 = studio.numbers.total.p50, studio.numbers.total.p95
        if p50 is not None and p95 is not None:
            short = f"p95 {units.duration(p95)}"
            yield "calls", Content(f"requests p50 {units.duration(p50)}  {short}"), Content(f"requests {short}")

"""Exit report: how a server ended, what was in flight, its last words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.present import connections, crashes, units
from mcp_studio.safetext import safe
from mcp_studio.session.state import Status
from mcp_studio.trace.postmortem import Mortem
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.trace_row import clock

Part = str | tuple[str, str]
_HEAD = "b $accent"
_LINES = 60
"""Lines of standard error that are shown."""


class ExitReport(Dialog[int]):
    """All endings of a server, the newest first. Answers the message of the trace to go to.

    Args:
        server: whose.
        known: the endings that an earlier session tells of, the newest last; without it those since the studio runs.
    """

    DEFAULT_CLASSES = "-large"
    choices = (
        Choice("show_trace", "Show in the trace", "primary"), Choice("copy", "Copy"), Choice("back", "Close"),
    )  # fmt: skip

    def __init__(self, server: str, known: Sequence[Mortem] | None = None) -> None:
        super().__init__()
        manager = self.app.studio.manager
        self._server = server
        self._known = tuple(manager.supervisor(server).mortems if known is None else known)
        status = manager.status(server) if known is None and server in manager.names() else None
        self._text = Content("\n\n").join(Content.assemble(*report(one, status)) for one in reversed(self._known))

    def heading(self) -> str:
        return f"Exit report: {self._server}" + (f" · {len(self._known)} times" if len(self._known) > 1 else "")

    def body(self) -> Iterable[Widget]:
        yield Static(self._text, markup=False)

    def on_mount(self) -> None:
        self.query_one("#back").focus()

    def action_show_trace(self) -> None:
        """Go to its last end in the trace."""
        self.dismiss(self._known[-1].last)

    def action_copy(self) -> None:
        self.app.copy(self._text.plain)


def report(one: Mortem, status: Status | None) -> list[Part]:
    """Everything that is known of an ending, as pieces of text.

    Args:
        status: how the server is now; None in an earlier session.
    """
    sign = glyphs().off if one.ending.how == "closed" else glyphs().bad
    parts: list[Part] = [(f"{sign} {safe(crashes.first_line(one), 300)}\n", "b $state-failed")]
    if one.message and one.ending.how not in ("exit", "signal", "guard", "closed"):
        parts.append((f"{safe(one.message, 600)}\n", "$quiet"))
    parts += [f"  {'ended':<10} {clock(one.time)}\n"]
    parts += [f"  {name:<10} {safe(value, 600)}\n" for name, value in crashes.facts(one)]
    if status is not None:
        look = {"ok": "$text-success", "bad": "$text-error"}.get(connections.tone(status), "")
        parts += [f"  {'now':<10} ", (f"{connections.state_words(status)}\n", look)]
    for title, lines in (("Last on stderr", one.stderr[-_LINES:]), ("Unexpected output on stdout", one.stray)):
        if lines or lines is not one.stray:
            parts.append((f"\n{title}{'' if lines else ': nothing'}\n", _HEAD))
        parts += [f"  {safe(line, 500)}\n" for line in lines]
    parts.append(("\nLast messages\n", _HEAD))
    for frame in one.frames:
        sign = {"out": glyphs().sent, "in": glyphs().received}.get(frame.direction, " ")
        what = " ".join(filter(None, (safe(frame.method, 60), safe(frame.target, 60)))) or frame.kind
        kind = "" if frame.kind in ("request", "notification") else f" {frame.kind}"
        parts += [f"  {clock(frame.time)} {sign} {what}{kind}", (f"  {units.size(frame.size)}\n", "$quiet")]
    return parts

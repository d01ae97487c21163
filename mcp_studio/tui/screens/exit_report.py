"""Exit report: how a server ended, what was in flight, its last words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Static

from mcp_studio.present import connections, crashes, units
from mcp_studio.safetext import safe
from mcp_studio.session.state import Status
from mcp_studio.trace.postmortem import Mortem
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.trace_row import clock

Part = str | tuple[str, str]
_HEAD = "b $accent"
_EVERY = 0.5
_LINES = 60
"""Lines of standard error that are shown."""


class ExitReport(Dialog[int]):
    """The endings of a server, one at a time, the newest first. Answers the message of the trace to go to.

    Args:
        server: whose; without `known` all of its endings since the studio runs.
        known: endings that an earlier session tells of, the newest last.
    """

    DEFAULT_CLASSES = "-large"
    choices = (
        Choice("show_trace", "Show in the trace", "primary"), Choice("restart", "Reconnect"),
        Choice("earlier", "Earlier"), Choice("later", "Later"), Choice("copy", "Copy"), Choice("back", "Close"),
    )  # fmt: skip

    def __init__(self, server: str, known: Sequence[Mortem] | None = None) -> None:
        super().__init__()
        self._server = server
        self._here = known is None
        self._known = tuple(self.app.studio.manager.supervisor(server).mortems if known is None else known)
        self._place = len(self._known) - 1
        self._text = ""

    def body(self) -> Iterable[Widget]:
        yield Static(id="report", markup=False)

    def on_mount(self) -> None:
        self._show()
        self.set_interval(_EVERY, self._show)
        self.query_one("#back").focus()

    def _show(self) -> None:
        """Draw it; how the server is now changes while it is open."""
        one, count, manager = self._known[self._place], len(self._known), self.app.studio.manager
        status = manager.status(self._server) if self._here and self._server in manager.names() else None
        content = Content.assemble(*report(one, status))
        if content.plain != self._text:
            self._text = content.plain
            self.query_one("#report", Static).update(content)
            self.retitle(f"Exit report: {one.server}" + (f" · {self._place + 1} of {count}" if count > 1 else ""))
        self.query_one("#earlier", Button).disabled = self._place == 0
        self.query_one("#later", Button).disabled = self._place == count - 1
        self.query_one("#restart", Button).disabled = status is None

    def action_earlier(self) -> None:
        self._place -= 1
        self._show()

    def action_later(self) -> None:
        self._place += 1
        self._show()

    def action_restart(self) -> None:
        """Connect the server again."""
        self.app.studio.manager.restart(self._server)
        self.dismiss(None)

    def action_show_trace(self) -> None:
        """Go to its end in the trace."""
        self.dismiss(self._known[self._place].last)

    def action_copy(self) -> None:
        self.app.copy(self._text)


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
        parts += [f"  {safe(line.text, 500)}\n" for line in lines]
    parts.append(("\nLast messages\n", _HEAD))
    for frame in one.frames:
        sign = {"out": glyphs().sent, "in": glyphs().received}.get(frame.direction, " ")
        what = " ".join(filter(None, (safe(frame.method, 60), safe(frame.target, 60)))) or frame.kind
        kind = "" if frame.kind in ("request", "notification") else f" {frame.kind}"
        parts += [f"  {clock(frame.time)} {sign} {what}{kind}", (f"  {units.size(frame.size)}\n", "$quiet")]
    return parts

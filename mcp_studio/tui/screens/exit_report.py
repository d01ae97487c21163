"""Exit report: how a server ended, what was in flight, its last words."""

from __future__ import annotations

import time
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
_STDERR = 60
"""Lines of standard error that are shown."""
_LINE = 500


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
        self._given = known
        self._one: Mortem | None = None
        self._content = Content("")

    @property
    def _known(self) -> Sequence[Mortem]:
        return self.app.studio.manager.supervisor(self._server).mortems if self._given is None else self._given

    @property
    def _status(self) -> Status | None:
        """How the server is now; None in an earlier session."""
        manager = self.app.studio.manager
        return manager.status(self._server) if self._given is None and self._server in manager.names() else None

    def heading(self) -> str:
        return "Exit report"

    def body(self) -> Iterable[Widget]:
        yield Static(id="report", markup=False)

    def on_mount(self) -> None:
        self._one = self._known[-1] if self._known else None
        self._show()
        self.set_interval(_EVERY, self._show)
        self.query_one("#back").focus()

    def _show(self) -> None:
        """Draw it; how the server is now changes while it is open."""
        one, known = self._one, list(self._known)
        if one is None:
            return
        place = known.index(one) + 1 if one in known else 0
        which = f" · {place} of {len(known)}" if len(known) > 1 and place else ""
        self.retitle(f"Exit report: {one.server}{which}")
        for name, off in (("earlier", place <= 1), ("later", place == len(known)), ("restart", self._status is None)):
            self.query_one(f"#{name}", Button).disabled = off
        content = Content.assemble(*report(one, self._status))
        if content.plain != self._content.plain:
            self._content = content
            self.query_one("#report", Static).update(content)

    def _step(self, step: int) -> None:
        known = list(self._known)
        if self._one in known:
            self._one = known[max(0, min(known.index(self._one) + step, len(known) - 1))]
            self._show()

    def action_earlier(self) -> None:
        self._step(-1)

    def action_later(self) -> None:
        self._step(1)

    def action_restart(self) -> None:
        """Connect the server again."""
        self.app.studio.manager.restart(self._server)
        self.dismiss(None)

    def action_show_trace(self) -> None:
        """Go to its end in the trace."""
        self.dismiss(self._one.last if self._one else None)

    def action_copy(self) -> None:
        self.app.copy(self._content.plain)


def report(one: Mortem, status: Status | None) -> list[Part]:
    """Everything that is known of an ending, as pieces of text.

    Args:
        status: how the server is now; None in an earlier session.
    """
    sign = glyphs().off if one.ending.how == "closed" else glyphs().bad
    parts: list[Part] = [(f"{sign} {safe(one.server, 80)} {crashes.headline(one.ending)}\n", "b $state-failed")]
    if text := crashes.meaning(one.ending):
        parts.append(f"{text}\n")
    if one.message and one.ending.how not in ("exit", "signal", "guard", "closed"):
        parts.append((f"{safe(one.message, 600)}\n", "$quiet"))
    parts += _state(one, status)
    parts.append((f"\n{'In flight' if one.flights else 'Nothing was in flight'}\n", _HEAD))
    for flight in one.flights:
        sign = glyphs().sent if flight.direction == "out" else glyphs().received
        what = f"{safe(flight.method, 80)} {safe(flight.target, 200)}".rstrip()
        number = f", request {safe(flight.id, 40)}" if flight.id is not None else ""
        parts += [f"  {sign} {what}", (f"  for {units.duration(flight.ms)}{number}\n", "$quiet")]
    said = [line.text for line in one.stderr[-_STDERR:]]
    parts.append((f"\nLast on stderr{'' if said else ': nothing'}\n", _HEAD))
    parts += [f"  {safe(line, _LINE)}\n" for line in said]
    if one.stray_count:
        parts.append((f"\nUnexpected output on stdout: {units.plural(one.stray_count, 'line')}\n", _HEAD))
        parts += [(f"  {safe(line.text, _LINE)}\n", "$text-warning") for line in one.stray]
    return [*parts, *_frames(one)]


def _state(one: Mortem, status: Status | None) -> list[Part]:
    parts: list[Part] = []
    if one.uptime is not None:
        ready = "" if one.ready else ", not ready yet"
        parts.append(f"  ran      {units.duration(one.uptime * 1000)}{ready}, since {clock(one.began)}\n")
    ago = "" if status is None else f", {units.seconds(max(0.0, time.time() - one.time))} ago"
    parts.append(f"  ended    {clock(one.time)}{ago}\n")
    if status is not None:
        look = {"ok": "$text-success", "bad": "$text-error"}.get(connections.tone(status), "")
        parts += ["  now      ", (f"{connections.state_words(status)}\n", look)]
    return parts


def _frames(one: Mortem) -> list[Part]:
    parts: list[Part] = [("\nLast messages\n", _HEAD)] if one.frames else []
    for frame in one.frames:
        sign = {"out": glyphs().sent, "in": glyphs().received}.get(frame.direction, " ")
        what = " ".join(filter(None, (safe(frame.method, 60), safe(frame.target, 60)))) or frame.kind
        kind = "" if frame.kind in ("request", "notification") else f" {frame.kind}"
        parts += [f"  {clock(frame.time)} {sign} {what}{kind}", (f"  {units.size(frame.size)}\n", "$quiet")]
    return parts

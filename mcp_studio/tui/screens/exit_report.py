"""Reports about a server's process: how it ended, and what it printed to stdout apart from the protocol."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.content import Content

from mcp_studio.present import crashes, stray, units
from mcp_studio.safetext import safe
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.postmortem import Mortem, command_of
from mcp_studio.tui.screens.dialog import Choice, Dialog, Parts, Widgets, fact
from mcp_studio.tui.views.rows import Findable, TextView, glyphs
from mcp_studio.tui.views.trace_table import arrow, name_of

_HEAD = "b $accent"
_LINES = 60
"""Lines of standard error that are shown."""
_MOST = 500
"""Lines of unexpected output that are shown."""
_CHOICES = Choice("show_trace", "Show in the trace", "primary"), Choice("copy", "Copy"), Choice("back", "Close")


class ExitReport(Dialog[int]):
    """Shows all ends of a server, the newest first; answers the message of the trace to go to.

    Args:
        server: the name of the server.
        known: the ends of an earlier session, the newest last; without it, the ends since the studio runs.
    """

    DEFAULT_CLASSES = "-large"
    choices = _CHOICES

    def __init__(self, server: str, known: Sequence[Mortem] | None = None) -> None:
        super().__init__()
        self._known = tuple(self.app.studio.manager.supervisor(server).mortems if known is None else known)
        self.title = f"Exit report: {server}" + (f" · {len(self._known)} times" if len(self._known) > 1 else "")

    def look(self) -> None:
        self.put("facts", Content("\n\n").join(Content.assemble(*report(one)) for one in reversed(self._known)))

    def action_show_trace(self) -> None:
        """Go to the server's last end in the trace."""
        self.dismiss(self._known[-1].last)


def report(one: Mortem) -> Parts:
    """Everything known about one end, as pieces of text."""
    sign = glyphs().off if one.ending.how == "closed" else glyphs().bad
    parts: Parts = [(f"{sign} {safe(crashes.first_line(one), 300)}\n", "b $state-failed")]
    if one.message and one.ending.how not in ("exit", "signal", "guard", "closed"):
        parts.append((f"{safe(one.message, 600)}\n", "$quiet"))
    facts = ("ended", units.clock(one.time)), *crashes.facts(one)
    parts += [part for name, value in facts for part in fact(name, value)]
    for title, lines in (("Last on stderr", one.stderr[-_LINES:]), ("Unexpected output on stdout", one.stray)):
        parts.append((f"\n{title}{'' if lines else ': nothing'}\n", _HEAD))
        parts += [f"  {safe(line, 500)}\n" for line in lines]
    parts.append(("\nLast messages\n", _HEAD))
    return [*parts, *(f"  {_line(frame)}\n" for frame in one.frames)]


class UnexpectedOutput(Dialog[int]):
    """Answers the message of the trace to go to."""

    DEFAULT_CLASSES = "-large"
    choices = _CHOICES

    def __init__(self, server: str) -> None:
        super().__init__()
        self._server = server
        self._bursts = stray.bursts(self.app.studio.trace, server, most=_MOST)
        count = sum(len(burst.lines) for burst in self._bursts)
        newest = f"the newest {_MOST} lines" if count >= _MOST else units.plural(count, "line")
        self.title = f"Unexpected output: {server} · {newest} on stdout"

    def body(self) -> Widgets:
        yield Findable(TextView("\n".join(self._lines()), empty="Nothing: it has printed no line besides messages."))

    def _lines(self) -> Iterable[str]:
        """How such lines come about in the server's language, then the lines, the newest first."""
        command = command_of(self.app.studio.trace, self._server).split()
        sorts: dict[stray.Sort, None] = {one.sort: None for burst in self._bursts for one in burst.lines}
        for sort in sorts:
            yield f"{glyphs().bad} {stray.SORTS[sort]}: {stray.explain(sort, command)}\n"
        for burst in self._bursts:
            yield f"  after: {_line(burst.after)}"
            for one in reversed(burst.lines):
                text = safe(stray.text_of(one.entry).decode("utf-8", "replace"), 2_000)
                yield f"{units.clock(one.entry.time)} {glyphs().bad} {text}"
            yield f"  before: {_line(burst.before)}\n"

    def action_show_trace(self) -> None:
        """Go to the newest line in the trace."""
        self.dismiss(self._bursts[0].lines[-1].entry.number if self._bursts else None)


def _line(entry: WireMessage | None) -> str:
    """A line about a message, such as the one before a burst of output; there may be none."""
    if entry is None:
        return "no message"
    kind = "" if entry.kind in ("request", "notification") else f" {entry.kind}"
    return f"{units.clock(entry.time)} {arrow(entry.direction)[0]} {name_of(entry)}{kind}, {units.size(entry.size)}"

"""Unexpected output: what a server printed to stdout besides the protocol, between the messages around it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from textual import getters
from textual.widget import Widget

from mcp_studio.present import stray, units
from mcp_studio.safetext import safe
from mcp_studio.trace.message import Recording, WireMessage
from mcp_studio.trace.postmortem import command_of
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.find import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.text_view import TextView
from mcp_studio.tui.views.trace_row import clock, name_of

_MOST = 500
"""Lines that are shown."""
_NONE = "Nothing: every line on its standard output was a message."


class UnexpectedOutput(Dialog[int]):
    """Answers the message of the trace to go to.

    Args:
        recording: an earlier session; without it what is being recorded.
    """

    DEFAULT_CLASSES = "-large"
    choices = (
        Choice("show_trace", "Show in the trace", "primary"), Choice("copy", "Copy"), Choice("back", "Close"),
    )  # fmt: skip
    text = getters.query_one(TextView)

    def __init__(self, server: str, recording: Recording | None = None) -> None:
        super().__init__()
        self._server = server
        self._recording = recording or self.app.studio.trace
        self._bursts = stray.bursts(self._recording, server, most=_MOST)

    def heading(self) -> str:
        count = sum(len(burst.lines) for burst in self._bursts)
        newest = f"the newest {_MOST} lines" if count >= _MOST else units.plural(count, "line")
        return f"Unexpected output: {self._server} · {newest} on stdout"

    def body(self) -> Iterable[Widget]:
        yield Findable(TextView("\n".join(self._lines()), empty=_NONE))

    def on_mount(self) -> None:
        self.text.focus()

    def _lines(self) -> Iterable[str]:
        """How such lines come about in the server's language, then the lines, the newest first."""
        command = self._command()
        sorts: dict[stray.Sort, None] = {one.sort: None for burst in self._bursts for one in burst.lines}
        for sort in sorts:
            yield f"{glyphs().bad} {stray.SORTS[sort]}: {stray.explain(sort, command)}\n"
        for burst in self._bursts:
            yield _around("after", burst.after)
            for one in reversed(burst.lines):
                text = safe(stray.text_of(one.entry).decode("utf-8", "replace"), 2_000)
                yield f"{clock(one.entry.time)} {glyphs().bad} {text}"
            yield f"{_around('before', burst.before)}\n"

    def _command(self) -> Sequence[str]:
        """The words of the command that started the server."""
        line = command_of(self._recording, self._server)
        try:
            return shlex.split(line)
        except ValueError:
            return line.split()

    def action_show_trace(self) -> None:
        """Go to the newest line in the trace."""
        self.dismiss(self._bursts[0].lines[-1].entry.number if self._bursts else None)

    def action_copy(self) -> None:
        self.text.copy()


def _around(place: str, entry: WireMessage | None) -> str:
    """The message before or after some lines."""
    if entry is None:
        return f"  {place}: no message"
    sign = glyphs().sent if entry.direction == "out" else glyphs().received
    return f"  {place}: {clock(entry.time)} {sign} {name_of(entry)}, {units.size(entry.size)}"

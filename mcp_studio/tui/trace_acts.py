"""What a person notes on messages of a trace, and compares: the same in the table and in the detail."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from mcp_studio.errors import StudioError
from mcp_studio.safetext import safe
from mcp_studio.trace.message import MARKED, Recording, WireMessage
from mcp_studio.tui import tracing
from mcp_studio.tui.screens.comment import Comment
from mcp_studio.tui.screens.row_diff import RowDiff, Side

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.panels.trace import TracePanel

_LARGEST = 8_000_000
"""Bytes of the bodies that are compared."""


class Base(NamedTuple):
    """The first of two messages that are to be compared."""

    recording: Recording
    entry: WireMessage


def mark(app: StudioApp, recording: Recording, entry: WireMessage | None) -> None:
    """Mark an entry, or no longer."""
    columns = recording.columns
    if entry is None or not 0 <= entry.number - columns.first < len(columns):
        app.say("There is nothing to mark yet.", "warning")
        return
    on = not columns.flags[entry.number - columns.first] & MARKED
    try:
        recording.mark(entry.number, on)
    except StudioError as error:
        app.fail(error)


def comment(app: StudioApp, recording: Recording, entry: WireMessage | None) -> None:
    """Let the person write a comment on an entry."""
    if entry is None:
        app.say("There is nothing to comment on yet.", "warning")
        return

    def keep(text: str | None) -> None:
        if text is not None:
            try:
                recording.comment(entry.number, text)
            except StudioError as error:
                app.fail(error)

    app.push_screen(Comment(name_of(entry), recording.comment_on(entry.number)), keep)


def name_of(entry: WireMessage) -> str:
    """An entry in a few words: `message 17 · tools/call create_issue · github`."""
    what = " ".join(filter(None, (entry.method or entry.kind, entry.target)))
    return f"message {entry.number} · {safe(what, 80)} · {safe(entry.server, 40)}"


def choose(app: StudioApp, panel: TracePanel, recording: Recording, entry: WireMessage | None) -> None:
    """Keep the first of two messages that are to be compared; with the second one show how they differ."""
    base = panel.base
    if entry is None:
        app.say("There is nothing to compare yet.", "warning")
    elif base is None:
        panel.base = Base(recording, entry)
        app.say(f"{name_of(entry)}: {app.spell('trace-compare')} on another one compares them.")
    elif base.recording is recording and base.entry.number == entry.number:
        panel.base = None
        app.say("Not compared.")
    else:
        panel.base = None
        panel.run_worker(compare(app, base, recording, entry), group="compare", exclusive=True)


async def compare(app: StudioApp, base: Base, recording: Recording, entry: WireMessage) -> None:
    """Show how two exchanges differ."""
    sides: list[Side] = []
    both = (base, Base(recording, entry))
    first, second = (tracing.exchange_of(one.recording, one.entry)[0].number for one in both)
    if base.recording is recording and first == second:
        app.say("Both are of one exchange; compare it with a message of another one.", "warning")
        return
    for one in sorted(both, key=lambda one: one.entry.time):
        ends = tracing.exchange_of(one.recording, one.entry)
        if sum(end.size for end in ends if end is not None) > _LARGEST:
            app.say(f"{name_of(one.entry)} is too large to be compared here.", "warning")
            return
        bodies = [b"" if end is None else await one.recording.body(end) for end in ends]
        when = time.strftime("%d %b %H:%M:%S", time.localtime(ends[0].time))
        sides.append(Side(f"{name_of(ends[0])} · {when}", *bodies))
    app.push_screen(RowDiff(*sides))

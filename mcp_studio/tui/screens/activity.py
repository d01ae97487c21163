"""Activity: running calls and pending requests of all servers in one place."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from textual import getters, on
from textual.widgets import Static

from mcp_studio.call.call import Call, Progress
from mcp_studio.present import questions, units
from mcp_studio.protocol.core import progress_text
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.studio import Studio
from mcp_studio.trace.message import LISTEN
from mcp_studio.tui.external import edit_file
from mcp_studio.tui.panes.tasks import sign, words
from mcp_studio.tui.screens.dialog import Choice, Confirm, Dialog, Widgets
from mcp_studio.tui.views.rows import Line, VirtualList, cut, glyphs, spread


class Row(NamedTuple):
    """One line: a heading, or a call, request, page or rule. The drawing makes foreign text safe."""

    key: Hashable
    title: str
    text: str = ""
    right: str = ""
    sign: tuple[str, str] = ("", "")
    """A glyph and its look; a heading has no glyph."""
    thing: InputRequest | Call | str | None = None
    """The request, the call, or the path of the file that enter opens."""
    cancel: Callable[[], object] | None = None


_NOTHING = Row("", "")


class Activity(Dialog[InputRequest | Call]):
    """Lists running calls and pending requests; answers the one that the person chose.

    Args:
        answer: gives the person's answer to a request.
    """

    TITLE = "Activity"
    DEFAULT_CLASSES = "-broad"
    choices = (
        Choice("submit", "Open", "primary"), Choice("cancel", "Cancel it"), Choice("decline", "Decline"),
        Choice("decline_all", "Decline all"), Choice("back", "Close"),
    )  # fmt: skip
    every = 0.5
    rows = getters.query_one("#activity", VirtualList)

    def __init__(self, answer: Callable[[InputRequest, Answer], None]) -> None:
        super().__init__()
        self._answer = answer

    def body(self) -> Widgets:
        empty = "Nothing runs, and nothing is pending.\n\nCalls that run and what servers request are listed here."
        yield VirtualList(_draw, key=lambda row: row.key, id="activity", empty=empty)
        yield Static(id="detail", markup=False)

    def on_mount(self) -> None:
        self.look()
        self.rows.go_to(next((row.key for row in self.rows.rows if row.thing is not None), None))

    def look(self) -> None:
        rows = list(_rows(self.app.studio, self.app.key_of("pending")))
        self.rows.show(rows)
        self.show_detail()

    @on(VirtualList.Highlighted)
    def show_detail(self) -> None:
        """Show the whole text of the row, which may be cut, and the buttons that can do something with it."""
        row = self.rows.row or _NOTHING
        self.put("detail", f"{safe(row.title)}\n{safe(row.text)}" if row.text else "")
        asked = isinstance(row.thing, InputRequest)
        can = {"submit": row.thing is not None, "cancel": row.cancel is not None}
        self.show_buttons(**can, decline=asked, decline_all=asked)

    @on(VirtualList.Chosen)
    def action_submit(self) -> None:
        thing = self.rows.row.thing if self.rows.row is not None else None
        if isinstance(thing, str):
            self.app.run_worker(edit_file(self.app, thing))
        elif thing is not None:
            self.dismiss(thing)
        else:
            self.app.say("Only requests, calls and rules can be opened.", "warning")

    def action_decline(self) -> None:
        if (row := self.rows.row) is not None and isinstance(row.thing, InputRequest):
            self._answer(row.thing, Answer("decline"))
            self.look()

    def action_decline_all(self) -> None:
        if (row := self.rows.row) is not None and isinstance(row.thing, InputRequest):
            inbox, server = self.app.studio.inbox, row.thing.server
            text = f"{units.plural(inbox.waiting(server), 'request')} of {safe(server, 60)} will be declined."
            confirm = Confirm("Decline all?", text, "Decline all")
            self.app.push_screen(confirm, lambda yes: inbox.decline_all(server) if yes else None)

    def action_cancel(self) -> None:
        if (row := self.rows.row) is not None and row.cancel is not None:
            row.cancel()
            self.app.say(f"Cancelled {row.title}.")


def _rows(studio: Studio, key: str) -> Iterator[Row]:
    """All rows in sections; empty sections are left out."""
    excess = f", and {studio.inbox.held:,} more after them" if studio.inbox.held else ""
    for title, rows, more in (
        ("Pending requests", _requests(studio), excess), ("Running", _running(studio, key), ""),
        ("Pages opened", _pages(studio), ""), ("Answer rules", _rules(studio), ""),
    ):  # fmt: skip
        if found := list(rows):
            yield Row(title, f"{title}  {len(found):,}{more}", sign=("", "strong"))
            yield from found


def _requests(studio: Studio) -> Iterator[Row]:
    for request in studio.inbox.pending:
        waited = units.seconds(time.monotonic() - request.asked)
        right = " · ".join(filter(None, (waited, questions.time_left(request))))
        text = f"{request.subject or request.server}  {questions.summary(request)}  {request.note}"
        title = f"{questions.KINDS[request.kind]}{', opened' if request.opened else ''}"
        yield Row(("request", request.number), title, text, right, (glyphs().waiting, "accent"), request)


def _running(studio: Studio, key: str) -> Iterator[Row]:
    now, busy = time.monotonic(), (glyphs().half, "warn")
    for call in studio.caller.running:
        text = "waiting for your answer" if call.asking else _progress(call.progress)
        yield Row(("call", id(call)), str(call.ref), text, units.seconds(now - call.started), busy, call, call.cancel)
    followed = {call.as_task.key for call in studio.caller.running if call.as_task is not None}
    for task in studio.tasks.all():
        if task.followed and not task.done and task.key not in followed:
            title, old = f"{task.subject} in the background", units.seconds(time.time() - task.started)
            yield Row(task.key, title, words(task, key), old, sign(task), None, partial(_stop, studio, *task.key))
    for one in studio.manager.running:
        title, old = f"{one.server} {one.method} {one.target}".strip(), units.seconds(now - one.started)
        if one.method == LISTEN:
            yield Row(("running", id(one)), title, "listens for changes", old, (glyphs().dot, "dim"))
        elif not one.on_progress:  # else it belongs to a call above
            yield Row(("running", id(one)), title, _progress(one.progress), old, busy, None, one.cancel)


def _stop(studio: Studio, server: str, task: str) -> None:
    studio.spawn(studio.tasks.cancel_noting(server, task))


def _progress(progress: Progress | None) -> str:
    if progress is None:
        return ""
    part = f"{progress.done / progress.total:.0%} " if progress.total else ""
    return f"{part}{progress_text(progress.done, progress.total)} {progress.message}"


def _pages(studio: Studio) -> Iterator[Row]:
    for page in studio.inbox.pages:
        old = units.seconds(time.monotonic() - page.asked)
        yield Row(("page", page.number), page.server, questions.summary(page), old, (glyphs().off, "dim"))


def _rules(studio: Studio) -> Iterator[Row]:
    for number, rule in enumerate(studio.rules):
        named = (file for file in studio.config.files if rule.source.endswith(Path(file).name))
        file = next(named, str(studio.paths.answers_file))
        yield Row(("rule", number), questions.rule_line(rule), f"in {file}", "", (glyphs().dot, ""), file)


def _draw(row: Row, width: int, selected: bool) -> Line:
    glyph, look = row.sign
    if not glyph:
        return [(cut(row.title, width), look)]
    right = [(f"  {row.right}", "dim")] if width > 40 else []
    title = cut(safe(row.title, 200), max(8, (width - len(row.right)) // 2) if row.text else width)
    return spread([(f"  {glyph} ", look), (title, ""), (f"  {safe(row.text, 400)}", "dim")], right, width)

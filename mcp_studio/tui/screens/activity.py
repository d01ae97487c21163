"""Activity: what runs and what is pending, of all servers in one place."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.call.call import Call, Progress
from mcp_studio.present import questions
from mcp_studio.present.units import seconds as age
from mcp_studio.protocol.core import progress_text
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import OURS, Answer, InputRequest
from mcp_studio.studio import Studio
from mcp_studio.trace.message import LISTEN
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.screens.task import sign, words
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, cut, spread
from mcp_studio.tui.views.virtual_list import VirtualList

_MOST = 100
"""Rows of one section; of what is more only the number is shown."""
_PAUSE = 0.5
"""Seconds between two looks at what runs."""


class Row(NamedTuple):
    """One line: a heading, or something that runs, is pending, or holds."""

    key: Hashable
    title: str
    text: str = ""
    right: str = ""
    sign: tuple[str, str] = ("", "")
    """A glyph and its look; a heading has no glyph."""
    detail: str = ""
    """All about it, foreign text in it."""
    thing: InputRequest | Call | None = None
    """What opens on enter."""
    cancel: Callable[[], object] | None = None


class Activity(Dialog[InputRequest | Call]):
    """Answers the request or call that was chosen.

    Args:
        answer: gives an answer to a request.
        decline_all: declines what a server requests, after asking.
    """

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    Activity {
        & VirtualList { height: 1fr; }
        & #detail { height: auto; max-height: 6; color: $quiet; border-top: solid $panel; }
    }
    """
    choices = (
        Choice("submit", "Open", "primary"), Choice("cancel", "Cancel it"), Choice("decline", "Decline"),
        Choice("decline_all", "Decline all"), Choice("copy", "Copy"), Choice("back", "Close"),
    )  # fmt: skip
    rows = getters.query_one("#activity", VirtualList)

    def __init__(self, answer: Callable[[InputRequest, Answer], None], decline_all: Callable[[str], None]) -> None:
        super().__init__()
        self._answer = answer
        self._decline_all = decline_all

    def heading(self) -> str:
        return "Activity"

    def body(self) -> Iterable[Widget]:
        empty = (
            "Nothing runs, and nothing is pending.\n\n"
            f"Calls are listed here while they run: {self.app.key_of('submit')} starts the one that is shown. What "
            "servers request is listed until it is answered: forms to fill in, pages to open, LLM completions."
        )
        yield VirtualList(_draw, key=lambda row: row.key, id="activity", empty=empty)
        yield Static(id="detail", markup=False)

    def on_mount(self) -> None:
        self.rows.focus()
        self._look()
        first = next((row.key for row in self.rows.rows if row.thing is not None), None)
        if first is not None:
            self.rows.go_to(first)
        self.set_interval(_PAUSE, self._look)

    def _look(self) -> None:
        self.rows.show(list(_rows(self.app.studio, self.app.key_of("pending"))))
        self.show_detail()

    @on(VirtualList.Highlighted)
    def show_detail(self) -> None:
        row = self.rows.row
        self.query_one("#detail", Static).update(Content(safe(row.detail, 1_500, lines=True) if row else ""))

    @on(VirtualList.Chosen)
    def action_submit(self) -> None:
        if (row := self.rows.row) is not None and row.thing is not None:
            self.dismiss(row.thing)
        else:
            self.app.say("Only requests and calls can be opened.", "warning")

    def _request(self) -> InputRequest | None:
        if (row := self.rows.row) is not None and isinstance(row.thing, InputRequest):
            return row.thing
        self.app.say("The cursor is on no request.", "warning")
        return None

    def action_decline(self) -> None:
        if (request := self._request()) is not None:
            self._answer(request, Answer("decline"))
            self._look()

    def action_decline_all(self) -> None:
        if (request := self._request()) is not None and request.kind in OURS:
            self.app.say("The studio asks this for a call of yours: decline it alone.", "warning")
        elif request is not None:
            self._decline_all(request.server)

    def action_cancel(self) -> None:
        if (row := self.rows.row) is None or row.cancel is None:
            self.app.say("Nothing runs here that could be cancelled.", "warning")
        else:
            row.cancel()
            self.app.say(f"Cancelled {row.title}.")

    def action_copy(self) -> None:
        if (row := self.rows.row) is not None and row.detail:
            self.app.copy(row.detail)


def _rows(studio: Studio, key: str) -> Iterator[Row]:
    """Everything, in sections that are not there while they are empty."""
    sections = (
        ("Pending requests", _requests(studio)), ("Running", _running(studio, key)),
        ("Pages opened", _pages(studio)), ("Answer rules", _rules(studio)),
    )  # fmt: skip
    held = studio.inbox.held
    for title, rows in sections:
        if found := list(rows):
            yield Row(title, f"{title}  {len(found) + held:,}", sign=("", "strong"))
            yield from found[:_MOST]
            if more := held + max(0, len(found) - _MOST):
                yield Row((title, "more"), f"{more:,} more", sign=("", "dim"))
        held = 0


def _requests(studio: Studio) -> Iterator[Row]:
    for request in studio.inbox.pending:
        kind = questions.KINDS[request.kind]
        waits = f"; {request.subject} waits for it." if request.subject else "."
        said = request.message or questions.asks(request)
        detail = "\n".join(filter(None, (f"{request.server}: {kind}{waits}", request.note, request.url, said)))
        right = " · ".join(filter(None, (age(time.monotonic() - request.asked), questions.left(request))))
        text = f"{safe(request.subject or request.server, 60)}  {questions.asks(request)}"
        title = f"{kind}, opened" if request.opened else kind
        yield Row(("request", request.number), title, text, right, (glyphs().waiting, "accent"), detail, request)


def _running(studio: Studio, key: str) -> Iterator[Row]:
    now, busy = time.monotonic(), (glyphs().half, "warn")
    for call in studio.caller.running:
        text = "waiting for your answer" if call.asking else _progress(call.progress)
        title, detail = safe(call.subject, 80), f"{call.method} {call.subject}"
        yield Row(("call", id(call)), title, text, age(now - call.started), busy, detail, call, call.cancel)
    followed = {call.as_task.key for call in studio.caller.running if call.as_task is not None}
    for task in studio.tasks.all():
        if task.followed and not task.done and task.key not in followed:
            title, detail = (
                f"{safe(task.subject, 80)} in the background",
                f"{task.subject}\ntask {task.id}: {task.status}",
            )
            old, cancel = age(time.time() - task.started), partial(studio.tasks.cancel_soon, *task.key)
            yield Row(("task", *task.key), title, words(task, key), old, sign(task), detail, None, cancel)
    for one in studio.manager.running:
        what, old = f"{one.method} {one.target}".strip(), age(now - one.started)
        title, detail = f"{safe(one.server, 40)} {safe(what, 80)}", f"{one.server}: {what}"
        if one.method == LISTEN:
            yield Row(("running", id(one)), title, "listens for changes", old, (glyphs().dot, "dim"), detail)
        elif not one.on_progress:  # else it is of a call above
            yield Row(("running", id(one)), title, _progress(one.progress), old, busy, detail, None, one.cancel)


def _progress(progress: Progress | None) -> str:
    if progress is None:
        return ""
    part = f"{progress.done / progress.total:.0%} " if progress.total else ""
    return safe(f"{part}{progress_text(progress.done, progress.total)} {progress.message}", 200)


def _pages(studio: Studio) -> Iterator[Row]:
    for page in studio.inbox.pages:
        detail = f"{page.server} has not said yet that this page is done.\n{page.url}"
        old, mark = age(time.monotonic() - page.asked), (glyphs().off, "dim")
        yield Row(("page", page.number), safe(page.server, 40), questions.asks(page), old, mark, detail)


def _rules(studio: Studio) -> Iterator[Row]:
    for number, rule in enumerate(studio.rules):
        line, where = questions.rule_line(rule), rule.source or str(studio.paths.answers_file)
        detail = f"{line}\nIt stands in {where}; to remove or change a rule, edit the file."
        yield Row(("rule", number), line, "", safe(where, 60), (glyphs().dot, ""), detail)


def _draw(row: Row, width: int, selected: bool) -> Line:
    glyph, look = row.sign
    if not glyph:
        return [(cut(row.title, width), look)]
    right = [(f"  {row.right}", "dim")] if row.right and width > 40 else []
    room = width - 4 - sum(len(text) for text, _ in right)
    title = cut(row.title, max(8, room * 3 // 5) if row.text else max(8, room))
    return spread([(f"  {glyph} ", look), (title, ""), (f"  {row.text}", "dim")], right, width)

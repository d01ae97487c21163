"""Activity: what runs and what is pending, of all servers in one place."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.call.call import Call
from mcp_studio.present import questions
from mcp_studio.present.units import seconds as age
from mcp_studio.protocol.core import progress_text
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
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


@dataclass(frozen=True)
class Row:
    """One line: a heading, or something that runs, is pending, or holds."""

    key: Hashable
    title: str
    text: str = ""
    right: str = ""
    glyph: str = ""
    look: str = ""
    detail: str = ""
    """All about it, foreign text in it."""
    thing: InputRequest | Call | None = field(default=None, compare=False)
    """What opens on enter."""
    cancel: Callable[[], None] | None = field(default=None, compare=False)


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
        Choice("decline_all", "Decline all of the server"), Choice("copy", "Copy"), Choice("back", "Close"),
    )  # fmt: skip
    rows = getters.query_one("#activity", VirtualList)

    def __init__(self, answer: Callable[[InputRequest, Answer], None], decline_all: Callable[[str], None]) -> None:
        super().__init__()
        self._answer = answer
        self._decline_all = decline_all

    def heading(self) -> str:
        return "Activity"

    def body(self) -> Iterable[Widget]:
        yield VirtualList(_draw, key=lambda row: row.key, id="activity", empty=self._empty())
        yield Static(id="detail", markup=False)

    def _empty(self) -> str:
        call = self.app.key_of("submit")
        return (
            "Nothing runs, and nothing is pending.\n\n"
            f"Calls are listed here while they run: {call} starts the one that is shown. What servers request is "
            "listed until it is answered: forms to fill in, pages to open, LLM completions."
        )

    def on_mount(self) -> None:
        self.rows.focus()
        self._look()
        first = next((row.key for row in self.rows.rows if row.thing is not None), None)
        if first is not None:
            self.rows.go_to(first)
        self.set_interval(_PAUSE, self._look)

    def _look(self) -> None:
        rows = list(_rows(self.app.studio, self.app.key_of("pending")))
        if rows != self.rows.rows:
            self.rows.show(rows)

    @on(VirtualList.Highlighted)
    def show_detail(self, event: VirtualList.Highlighted) -> None:
        event.stop()
        row = self.rows.row
        self.query_one("#detail", Static).update(Content(safe(row.detail, 1_500, lines=True) if row else ""))

    @on(VirtualList.Chosen)
    def action_submit(self) -> None:
        row = self.rows.row
        if row is not None and row.thing is not None:
            self.dismiss(row.thing)
        else:
            self.app.say("Only requests and calls can be opened.", "warning")

    def _request(self) -> InputRequest | None:
        row = self.rows.row
        if row is not None and isinstance(row.thing, InputRequest):
            return row.thing
        self.app.say("The cursor is on no request.", "warning")
        return None

    def action_decline(self) -> None:
        if (request := self._request()) is not None:
            self._answer(request, Answer("decline"))
            self._look()

    def action_decline_all(self) -> None:
        request = self._request()
        if request is not None and request.kind == "approval":
            self.app.say("This is a call of yours that needs approval: decline it alone.", "warning")
        elif request is not None:
            self._decline_all(request.server)

    def action_cancel(self) -> None:
        row = self.rows.row
        if row is None or row.cancel is None:
            self.app.say("Nothing runs here that could be cancelled.", "warning")
        else:
            row.cancel()
            self.app.say(f"Cancelled {row.title}.")

    def action_copy(self) -> None:
        if (row := self.rows.row) is not None and row.detail:
            self.app.copy(row.detail)


def _rows(studio: Studio, key: str) -> Iterator[Row]:
    """Everything, in sections that are not there while they are empty."""
    now = time.monotonic()
    yield from _section("Pending requests", list(_requests(studio, now)), studio.inbox.held)
    yield from _section("Running", list(_running(studio, now, key)))
    yield from _section("Pages opened", list(_pages(studio, now)))
    yield from _section("Answer rules", list(_rules(studio)))


def _section(title: str, found: list[Row], held: int = 0) -> Iterator[Row]:
    if found:
        more = held + max(0, len(found) - _MOST)
        yield Row(("section", title), f"{title}  {len(found) + held:,}", look="strong")
        yield from found[:_MOST]
        if more:
            yield Row(("more", title), f"{more:,} more", look="dim")


def _requests(studio: Studio, now: float) -> Iterator[Row]:
    for request in studio.inbox.pending:
        kind = questions.KINDS[request.kind]
        waits = f"; {request.subject} waits for it." if request.subject else "."
        said = request.message or questions.asks(request)
        detail = filter(None, (f"{request.server}: {kind}{waits}", request.note, request.url, said))
        right = filter(None, (age(now - request.asked), questions.left(request, now)))
        text = f"{safe(request.subject or request.server, 60)}  {questions.asks(request)}"
        title = f"{kind}, opened" if request.opened else kind
        yield Row(
            ("request", request.number), title, text, " · ".join(right), glyphs().waiting, "accent",
            "\n".join(detail), request,
        )  # fmt: skip


def _running(studio: Studio, now: float, key: str) -> Iterator[Row]:
    for call in studio.caller.running:
        progress = call.progress
        text = f"{progress_text(progress.done, progress.total)} {progress.message}" if progress else ""
        text = "waiting for your answer" if call.asking else text
        yield Row(
            ("call", id(call)), safe(call.subject, 80), safe(text, 200), age(now - call.started), glyphs().half, "warn",
            f"{call.method} {call.subject}", call, call.cancel,
        )  # fmt: skip
    followed = {call.as_task.key for call in studio.caller.running if call.as_task is not None}
    for task in studio.tasks.all():
        if task.followed and not task.done and task.key not in followed:
            glyph, look = sign(task)
            yield Row(
                ("task", *task.key), f"{safe(task.subject, 80)} in the background", words(task, key),
                age(time.time() - task.started), glyph, look, f"{task.subject}\ntask {task.id}: {task.status}", None,
                lambda task=task: studio.tasks.cancel_soon(*task.key),
            )  # fmt: skip
    for one in studio.manager.running:
        if not one.on_progress:
            long = one.method == LISTEN
            what = f"{one.method} {one.target}".strip()
            text = (
                "listens for changes"
                if long
                else progress_text(one.progress.done, one.progress.total)
                if one.progress
                else ""
            )
            yield Row(
                ("running", id(one)), f"{safe(one.server, 40)} {safe(what, 80)}", text, age(now - one.started),
                glyphs().dot if long else glyphs().half, "dim" if long else "warn", f"{one.server}: {what}", None,
                None if long else one.cancel,
            )  # fmt: skip


def _pages(studio: Studio, now: float) -> Iterator[Row]:
    for page in studio.inbox.pages:
        detail = f"{page.server} has not said yet that this page is done.\n{page.url}"
        yield Row(
            ("page", page.number), safe(page.server, 40), questions.asks(page), age(now - page.asked), glyphs().off,
            "dim", detail,
        )  # fmt: skip


def _rules(studio: Studio) -> Iterator[Row]:
    for number, rule in enumerate(studio.rules):
        line, where = questions.rule_line(rule), rule.source or str(studio.paths.answers_file)
        detail = f"{line}\nIt stands in {where}; to remove or change a rule, edit the file."
        yield Row(("rule", number), line, "", safe(where, 60), glyphs().dot, "", detail)


def _draw(row: Row, width: int, selected: bool) -> Line:
    if not row.glyph:
        return [(cut(row.title, width), row.look)]
    right = [(f"  {row.right}", "dim")] if row.right and width > 40 else []
    room = width - 4 - sum(len(text) for text, _ in right)
    title = cut(row.title, max(8, room * 3 // 5) if row.text else max(8, room))
    return spread([(f"  {row.glyph} ", row.look), (title, ""), (f"  {row.text}", "dim")], right, width)

"""The rows of the board: what runs, what waits, which pages are open, which rules hold. Bounded, and drawn safely."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING

from rich.cells import cell_len

from mcp_studio.call.call import Call
from mcp_studio.present import questions
from mcp_studio.present.units import seconds
from mcp_studio.record import record
from mcp_studio.safetext import safe
from mcp_studio.session.connection import RunningRequest
from mcp_studio.session.tasks import Task
from mcp_studio.trace.message import LISTEN
from mcp_studio.tui import task_words
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, fit, spread

if TYPE_CHECKING:
    from mcp_studio.studio import Studio

MOST = 100
"""Rows of one section; of what is more only the number is told."""


@record(frozen=True)
class Row:
    """One line; two rows that look the same are equal, whatever they are about."""

    kind: str
    """`head call request question held page rule more`."""
    key: Hashable
    title: str
    words: str = ""
    right: str = ""
    sign: str = ""
    look: str = ""
    detail: str = ""
    """All about it, foreign text in it."""
    copy: str = ""
    thing: object = field(default=None, compare=False)
    cancel: Callable[[], None] | None = field(default=None, compare=False)


def teach(spell: Callable[[str], str]) -> str:
    """What the board says while there is nothing on it."""
    return (
        "Nothing runs, and nobody asks you anything.\n\n"
        f"Calls stand here while they run: {spell('call')} starts what is open. "
        "What servers ask stands here until it is answered: forms to fill in, pages to open, replies of a model.\n\n"
        f"{spell('make-rule')} makes a rule of an answer just given; from then on it is answered by itself."
    )


def rows(studio: Studio, now: float | None = None) -> list[Row]:
    """Everything, in sections that are not there while they are empty."""
    at = time.monotonic() if now is None else now
    return [
        *_section("Waiting for you", list(_questions(studio, at)), studio.inbox.held),
        *_section("Running", list(_running(studio, at))),
        *_section("Pages opened", list(_pages(studio, at))),
        *_section("Rules that answer", list(_rules(studio))),
    ]


def _section(title: str, found: list[Row], more: int = 0) -> Iterator[Row]:
    if not found:
        return
    count = len(found) + more
    yield Row("head", ("head", title), f"{title}  {count:,}", look="strong")
    yield from islice(found, MOST)
    if more:
        yield Row(
            "more", ("held", title), f"{more:,} more wait their turn", look="dim", detail="Answer or decline some."
        )
    if len(found) > MOST:
        yield Row("more", ("more", title), f"{len(found) - MOST:,} more", look="dim")


def _questions(studio: Studio, now: float) -> Iterator[Row]:
    for request in studio.inbox.pending:
        kind = questions.KINDS[request.kind]
        old = seconds(now - request.asked)
        words = questions.asks(request)
        title = f"{kind} opened" if request.opened else kind
        waits = f"; {request.subject} waits for it." if request.subject else "."
        said = request.message or words
        detail = "\n".join(
            filter(None, (f"{request.server} asks for a {kind}{waits}", request.note, request.url, said))
        )
        right = " · ".join(filter(None, (old, questions.left(request, now))))
        yield Row(
            "question", ("question", request.number), title, f"{safe(request.subject or request.server, 60)}  {words}",
            right, glyphs().waiting, "accent", detail, request.url, request,
        )  # fmt: skip


def _running(studio: Studio, now: float) -> Iterator[Row]:
    others = studio.manager.running
    calls = {(one.server, one.method, one.target): one for one in others if one.on_progress}
    for call in studio.caller.running:
        paused = calls.get((call.ref.server, call.method, call.ref.name))
        yield _call_row(call, paused is not None and paused.deadline.paused, now)
    waited = {call.as_task.key for call in studio.caller.running if call.as_task is not None}
    for task in studio.tasks.all():
        if task.followed and not task.done and task.key not in waited:
            yield _task_row(studio, task)
    for one in others:
        if not one.on_progress:
            yield _request_row(one, now)


def _call_row(call: Call, paused: bool, now: float) -> Row:
    progress = call.progress
    last = progress.at if progress else 0.0
    words = task_words.progress(progress.done, progress.total, progress.message) if progress else ""
    if (task := call.as_task) is not None and progress is None:
        words = safe(f"task {task.status}  {task.message}".rstrip(), 200)
    state = "paused: you are asked" if paused else "waits for approval" if call.asking else ""
    detail = f"{call.method} {call.subject}\n{progress.message if progress else ''}"
    return Row(
        "call", ("call", id(call)), safe(call.subject, 80), "  ".join(filter(None, (state, words))),
        _times(call.started, last, now), glyphs().half, "warn", detail, "", call, call.cancel,
    )  # fmt: skip


def _task_row(studio: Studio, task: Task) -> Row:
    """A task that goes on though no call waits for it."""
    sign, look = task_words.sign(task)
    times = _times(task.started, task.seen, time.time())
    return Row(
        "call", ("task", *task.key), f"{safe(task.subject, 80)} in the background", task_words.words(task),
        times, sign, look, f"{task.subject}\ntask {task.id}: {task.status}\n{task.message}", task.id, task,
        lambda: studio.tasks.cancel_soon(*task.key),
    )  # fmt: skip


def _request_row(one: RunningRequest, now: float) -> Row:
    long = one.method == LISTEN
    words = "listens for changes" if long else ""
    if one.progress and not long:
        words = task_words.progress(one.progress.done, one.progress.total, one.progress.message)
    if one.deadline.paused and not long:
        words = f"paused: you are asked  {words}"
    what, heard = f"{one.method} {one.target}".strip(), one.progress.at if one.progress else 0.0
    detail = f"{one.server}: {what}" + ("\nIt stays open as long as the server is connected." if long else "")
    return Row(
        "request", ("request", id(one)), f"{safe(one.server, 40)} {safe(what, 80)}", words,
        _times(one.started, heard, now), glyphs().dot if long else glyphs().half, "dim" if long else "warn",
        detail, "", one, None if long else one.cancel,
    )  # fmt: skip


def _times(started: float, last: float, now: float) -> str:
    since = f" · heard {seconds(now - last)} ago" if last and now - last >= 1 else ""
    return seconds(now - started) + since


def _pages(studio: Studio, now: float) -> Iterator[Row]:
    for page in studio.inbox.pages:
        yield Row(
            "page", ("page", page.number), safe(page.server, 40), questions.asks(page), seconds(now - page.asked),
            glyphs().off, "dim", f"{page.server} has not said yet that this page is done.\n{page.url}", page.url, page,
        )  # fmt: skip


def _rules(studio: Studio) -> Iterator[Row]:
    for number, rule in enumerate(studio.rules):
        where = rule.source or "a file"
        detail = f"{questions.rule_line(rule)}\nIt stands in {where}; to remove or change a rule, edit the file."
        detail += f"\nYour own rules: {studio.paths.answers_file}"
        yield Row(
            "rule", ("rule", number), questions.rule_line(rule), "", safe(where, 60), glyphs().dot, "", detail,
            str(studio.paths.answers_file), rule,
        )  # fmt: skip


def draw(row: Row, width: int, selected: bool) -> Line:
    """One row: sign, title, words, times."""
    if row.kind == "head":
        return [(cut(row.title, width), "strong")]
    if row.kind == "more":
        return [(cut(f"    {row.title}", width), "dim")]
    sign: Piece = (f"  {row.sign} ", row.look)
    right: list[Piece] = [(f"  {row.right}", "dim")] if row.right and width > 40 else []
    if row.kind == "rule":
        return spread([sign, (row.title, "")], right, width)
    room = width - 4 - sum(cell_len(text) for text, _ in right)
    title = cut(row.title, max(8, room * 3 // 5) if row.words else max(8, room))
    if row.kind == "question":
        title = fit(row.title, max(8, cell_len(row.title)))
    return spread([sign, (title, "strong" if row.kind == "question" else ""), (f"  {row.words}", "")], right, width)

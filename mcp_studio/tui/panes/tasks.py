"""The tab Tasks of pane 2: tasks that servers work on, and their results; and a dialog about one task."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from textual import getters
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, Static

from mcp_studio.jsontext import printable
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.session.tasks import Task
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.screens.dialog import Choice, Dialog, Parts, fact, section
from mcp_studio.tui.views.rows import Line, VirtualList, glyphs, spread

EMPTY = "No tasks.\n\nA slow tool can run as a task: tick “Run as a task” in the call pane, if its server allows it."

_STATES: Mapping[str, tuple[str, str]] = {
    "working": ("half", "warn"), "input_required": ("waiting", "warn"), "completed": ("ok", "ok"),
    "failed": ("bad", "bad"), "cancelled": ("off", "dim"), "gone": ("bad", "dim"),
}  # fmt: skip
_COLOURS = {"warn": "$state-busy", "ok": "$state-ready", "bad": "bold $state-failed", "dim": "$quiet"}
_JSON = 4_000


class TaskList(VirtualList[Task]):
    """The tasks, the newest first."""

    app = getters.app(StudioApp)
    BINDINGS = bindings("tasks")

    @dataclass
    class ResultRequested(Message):
        """The result pane should show the result of a task."""

        task: Task

    def __init__(self) -> None:
        super().__init__(self._draw_task, key=lambda task: task.key, empty=EMPTY)

    def reload(self) -> int:
        """Show the present tasks; returns their number."""
        tasks = self.app.studio.tasks.all()
        self.show(tasks[::-1])
        return len(tasks)

    def row_chosen(self, index: int) -> None:
        self.action_open()

    def action_open(self) -> None:
        if (task := self.row) is None:
            return
        if not task.followed and not task.done:
            self.action_repeat()

        def close(result: bool | None) -> None:
            newest = self.app.studio.tasks.get(*task.key)
            if result and newest is not None:
                self.post_message(self.ResultRequested(newest))

        self.app.push_screen(TaskDialog(task), close)

    def action_repeat(self) -> None:
        """Ask the server for the task's state now."""
        if (task := self.row) is not None:
            with self.app.failing():
                self.app.studio.tasks.poll(*task.key)

    def action_cancel(self) -> None:
        if (task := self.row) is not None and not task.done:
            self.run_worker(self.app.studio.tasks.cancel(*task.key))
        elif task is not None:
            self.app.say("The task has ended: there is nothing to cancel.")

    def action_delete(self) -> None:
        """Remove the task from the list if it has ended."""
        if (task := self.row) is not None and task.done:
            self.app.studio.tasks.remove(*task.key)
        elif task is not None:
            self.app.say(f"The task is still running; {self.app.key_of('cancel')} cancels it.", "warning")

    def action_copy(self) -> None:
        if (task := self.row) is not None:
            self.app.copy(task.id, "its id")

    def _draw_task(self, task: Task, width: int, selected: bool) -> Line:
        mark, look = sign(task)
        name, said = safe(task.ref.name if task.ref else task.id, 200), words(task, self.app.key_of("pending"))
        server = f" {safe(task.server, 20)}" if width > 40 else ""
        end = [(f"{server} {units.seconds(time.time() - task.started)}", "dim")]
        return spread([(f"{mark} ", look), (name, ""), (f"  {said}", "dim")], end, width)


# One task


class TaskDialog(Dialog[bool]):
    """Redraws itself while the task continues; answers whether the result pane should show the result."""

    AUTO_FOCUS = "#back"
    every = 0.5
    choices = (
        Choice("result", "Show the result", "primary", True), Choice("poll", "Ask for it now"),
        Choice("cancel", "Cancel it"), Choice("copy", "Copy"), Choice("back", "Close"),
    )  # fmt: skip

    def __init__(self, task: Task) -> None:
        super().__init__(f"Task of {task.subject}")
        self._shown_task = task

    def body(self) -> Iterable[Widget]:
        yield Static(id="facts")

    def look(self) -> None:
        task = self.app.studio.tasks.get(*self._shown_task.key)
        if task is None:
            self.dismiss(False)
            return
        result = self.app.studio.caller.filter.shown(task.server, task.result)
        self._shown_task = task = replace(task, result=result)
        self.query_one("#result", Button).disabled = not task.done
        self.query_one("#cancel", Button).disabled = task.done
        self.query_one("#facts", Static).update(details(task))

    def action_poll(self) -> None:
        with self.app.failing():
            self.app.studio.tasks.poll(*self._shown_task.key)

    def action_cancel(self) -> None:
        self.run_worker(self.app.studio.tasks.cancel(*self._shown_task.key))


def state(task: Task) -> str:
    """The task's state; `gone` if the server will say nothing more about it."""
    return "gone" if task.gone else task.status


def sign(task: Task) -> tuple[str, str]:
    """The glyph of the task's state, and its look."""
    name, look = _STATES[state(task)]
    return str(getattr(glyphs(), name)), look


def words(task: Task, key: str) -> str:
    """The most important fact about the task, in one line; `key` opens pending requests."""
    return f"waiting for your answer ({key})" if task.asking else safe(task.gone or task.message, 300)


def details(task: Task) -> Content:
    """All facts about the task."""
    mark, look = sign(task)
    parts: Parts = [(f"{mark} {state(task)}", _COLOURS[look]), f"  {safe(task.gone or task.message, 300)}\n"]
    if not task.followed and not task.done:
        parts.append(("The server lists this task; the studio asks for it only when you do.\n", "$quiet"))
    parts.append("\n")
    parts += [part for name, value in _facts(task) for part in fact(name, value)]
    parts += section("Findings", ((safe(text, 300), "$text-warning") for text in task.problems))
    steps = (
        (f"{units.seconds(one.at - task.started):>6}", safe(one.status, 20), safe(one.message, 300))
        for one in task.steps
    )
    parts += section("Timeline", (f"{at:>6}  {status:<15} {message}" for at, status, message in steps))
    error = task.error._asdict() if task.error is not None else None
    for title, value in (("Arguments", task.arguments), ("Error", error), ("Result", task.result)):
        lines = safe(printable(value), _JSON, lines=True).splitlines() if value not in (None, {}) else ()
        parts += section(title, lines)
    return Content.assemble(*parts)


def _facts(task: Task) -> Iterable[tuple[str, str]]:
    now, kept = time.time(), "without end"
    if task.expires is not None:
        kept = f"for {units.seconds(task.expires - now)} more" if task.expires > now else "no longer"
    yield "for", safe(task.subject, 200)
    yield "id", safe(task.id, 200)
    yield "kind", "core, 2025-11-25" if task.kind == "core" else "extension, 2026-07-28"
    yield "age", units.seconds(now - task.started)
    yield "heard", f"{units.seconds(now - task.seen)} ago" if task.seen else ""
    yield "kept", "" if task.gone else kept
    yield "polled", f"every {units.duration(task.poll * 1000)}" if task.poll and not task.done else ""

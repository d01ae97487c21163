"""One task: its state, its facts, its result."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from mcp_studio.jsontext import printable
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.session.tasks import Task
from mcp_studio.tui.panes.tasks import sign, state
from mcp_studio.tui.screens.dialog import Choice, Dialog, Parts, fact, section

_COLOURS = {"warn": "$state-busy", "ok": "$state-ready", "bad": "bold $state-failed", "dim": "$quiet"}

_JSON = 4_000


class TaskDialog(Dialog[bool]):
    """Redraws itself while the task continues; answers whether the result pane should show the result."""

    AUTO_FOCUS = "#back"
    every = 0.5
    choices = (
        Choice("result", "Show the result", "primary", True), Choice("poll", "Refresh"),
        Choice("cancel", "Cancel it"), Choice("copy", "Copy"), Choice("back", "Close"),
    )  # fmt: skip

    def __init__(self, task: Task) -> None:
        super().__init__(f"Task of {task.subject}")
        self._shown_task = task

    def look(self) -> None:
        task = self.app.studio.tasks.get(*self._shown_task.key)
        if task is None:
            self.dismiss(False)
            return
        result = self.app.studio.caller.filter.shown(task.server, task.result)
        self._shown_task = task = replace(task, result=result)
        self.show_buttons(result=task.done, cancel=not task.done)
        self.put("facts", *_details(task))

    def action_poll(self) -> None:
        with self.app.failing():
            self.app.studio.tasks.poll(*self._shown_task.key)

    def action_cancel(self) -> None:
        self.run_worker(self.app.studio.tasks.cancel(*self._shown_task.key))


def _details(task: Task) -> Parts:
    """All facts about the task."""
    mark, look = sign(task)
    parts: Parts = [(f"{mark} {state(task)}", _COLOURS[look]), f"  {safe(task.gone or task.message, 300)}\n"]
    if not task.followed and not task.done:
        parts.append(("The server lists this task; the studio does not refresh it by itself.\n", "$quiet"))
    parts.append("\n")
    parts += [part for name, value in _facts(task) for part in fact(name, value)]
    parts += section("Findings", ((safe(text, 300), "$text-warning") for text in task.problems))
    times = [units.seconds(one.at - task.started) for one in task.steps]
    said = (f"  {safe(one.status, 20):<15} {safe(one.message, 300)}" for one in task.steps)
    parts += section("Timeline", (f"{at:>6}{words}" for at, words in zip(times, said, strict=True)))
    error = task.error._asdict() if task.error is not None else None
    for title, value in (("Arguments", task.arguments), ("Error", error), ("Result", task.result)):
        lines = safe(printable(value), _JSON, lines=True).splitlines() if value not in (None, {}) else ()
        parts += section(title, lines)
    return parts


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

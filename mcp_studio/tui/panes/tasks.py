"""The tab Tasks of pane 2: tasks that servers work on, and their results."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from textual import getters
from textual.message import Message

from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.session.tasks import Task
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.views.rows import Line, VirtualList, glyphs, spread

EMPTY = "No tasks.\n\nA slow tool can run as a task: tick “Run as a task” in the call pane, if its server allows it."

_STATES: Mapping[str, tuple[str, str]] = {
    "working": ("half", "warn"), "input_required": ("waiting", "warn"), "completed": ("ok", "ok"),
    "failed": ("bad", "bad"), "cancelled": ("off", "dim"), "gone": ("bad", "dim"),
}  # fmt: skip


class TaskList(VirtualList[Task]):
    """The tasks, the newest first."""

    app = getters.app(StudioApp)
    BINDINGS = bindings("tasks")

    @dataclass
    class Opened(Message):
        """A dialog should show a task."""

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
        self.post_message(self.Opened(task))

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

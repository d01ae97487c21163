"""The tab Tasks of pane 2: what servers work on for the person, and what came of it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from textual import getters
from textual.message import Message

from mcp_studio.errors import StudioError
from mcp_studio.present.units import seconds as age
from mcp_studio.safetext import safe
from mcp_studio.session.tasks import Task
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.screens.task import TaskDialog, sign, words
from mcp_studio.tui.views.line import Line, spread
from mcp_studio.tui.views.virtual_list import VirtualList

EMPTY = (
    "No tasks.\n\nA tool that takes long may become a task: its server works on, and is asked how far it is. "
    "Tick “Run as a task” in the call pane of tools that leave it to you."
)


class TaskList(VirtualList[Task]):
    """Tasks, the newest first."""

    app = getters.app(StudioApp)
    BINDINGS = bindings("tasks")

    @dataclass
    class ResultRequested(Message):
        """The result of a task is to be shown in the result pane."""

        task: Task

    def __init__(self) -> None:
        super().__init__(self._draw_task, key=lambda task: task.key, empty=EMPTY)

    def reload(self) -> int:
        """Show the tasks as they are now; gives how many there are."""
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
        """Ask the server for it now."""
        if (task := self.row) is not None:
            try:
                self.app.studio.tasks.poll(*task.key)
            except StudioError as error:
                self.app.fail(error)

    def action_cancel(self) -> None:
        if (task := self.row) is not None and not task.done:
            self.app.attempt(self, self.app.studio.tasks.cancel(*task.key))
        elif task is not None:
            self.app.say("There is nothing to cancel: it is over.")

    def action_delete(self) -> None:
        """Take it off the list, once nothing more will come of it."""
        if (task := self.row) is not None and task.done:
            self.app.studio.tasks.remove(*task.key)
        elif task is not None:
            self.app.say(f"It is not over yet; {self.app.key_of('cancel')} cancels it.", "warning")

    def action_copy(self) -> None:
        if (task := self.row) is not None:
            self.app.copy(task.id, "its id")

    def _draw_task(self, task: Task, width: int, selected: bool) -> Line:
        mark, look = sign(task)
        name, said = safe(task.ref.name if task.ref else task.id, 200), words(task, self.app.key_of("pending"))
        server = f" {safe(task.server, 20)}" if width > 40 else ""
        end = [(f"{server} {age(time.time() - task.started)}", "dim")]
        return spread([(f"{mark} ", look), (name, ""), (f"  {said}", "dim")], end, width)

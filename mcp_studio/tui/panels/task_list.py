"""The tab Tasks of pane 2: what runs at servers on somebody's behalf, and what came of it."""

from __future__ import annotations

import time
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from mcp_studio.safetext import safe
from mcp_studio.session.tasks import Task
from mcp_studio.tui import task_words
from mcp_studio.tui.bindings import bindings, refuse
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, spread, width_of
from mcp_studio.tui.views.virtual_list import VirtualList

EMPTY = (
    "No tasks.\n\nA tool that takes long may become a task: its server works on, and is asked how far it is. "
    "alt+k in the call pane switches that for tools which leave it to you."
)
_ROOM = 12
"""Cells from which on a message is worth showing."""


class TaskList(VirtualList[Task]):
    """Tasks, the newest first."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("tasks")

    class Wanted(Message):
        """Something is to be done with a task: `open poll cancel remove copy`."""

        def __init__(self, what: str, task: Task) -> None:
            super().__init__()
            self.what = what
            self.task = task

    def __init__(self) -> None:
        super().__init__(self._draw_task, key=lambda task: task.key, empty=EMPTY)
        self._servers = 0

    def show(self, tasks: tuple[Task, ...], servers: int) -> None:
        """Show these tasks."""
        self._servers = servers
        self.set_rows(tasks[::-1])

    def _ask(self, what: str) -> None:
        if self.row is None:
            refuse(self, "There is no task here.")
        else:
            self.post_message(self.Wanted(what, self.row))

    def action_open_task(self) -> None:
        """Show everything about it."""
        self._ask("open")

    def action_poll_task(self) -> None:
        """Ask for it now."""
        self._ask("poll")

    def action_cancel_task(self) -> None:
        """Ask the server to cancel it."""
        self._ask("cancel")

    def action_remove_task(self) -> None:
        """Take it off the list."""
        self._ask("remove")

    def action_copy_task(self) -> None:
        """Copy its id."""
        self._ask("copy")

    def _draw_task(self, task: Task, width: int, selected: bool) -> Line:
        mark, look = task_words.sign(task)
        name = safe(task.ref.name if task.ref else task.id, 200)
        end: list[Piece] = [(f" {task_words.age(max(0.0, time.time() - task.started))}", "dim")]
        if self._servers > 1 and width > 40:
            end.insert(0, (f" {safe(task.server, 20)}", "dim"))
        room = width - 2 - width_of(end)
        pieces: list[Piece] = [(f"{mark} ", look), (cut(name, max(4, room), more=glyphs().more), "")]
        left = room - len(pieces[1][0]) - 2
        said = task_words.words(task)
        if said and left >= _ROOM:
            pieces.append((f"  {cut(said, left, more=glyphs().more)}", "dim"))
        return spread(pieces, end, width)

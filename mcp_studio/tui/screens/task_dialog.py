"""One task: its state, what it went through, what it is for, what came of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.safetext import safe
from mcp_studio.tui import task_words
from mcp_studio.tui.bindings import refuse
from mcp_studio.tui.screens.dialog import Dialog

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.tui.screens.tasking import Tasking

PAUSE = 0.5
"""Seconds between two looks at it."""


class TaskDialog(Dialog[bool], scope="task"):
    """Shown anew as the task moves on; answers whether its result is to be shown in the result pane."""

    reads = True

    def __init__(self, studio: Studio, tasking: Tasking, key: tuple[str, str]) -> None:
        super().__init__()
        self._studio = studio
        self._tasking = tasking
        self._key = key
        self._text = Static()
        self._shown = ""

    def heading(self) -> Content:
        """What it is for."""
        task = self._studio.tasks.get(*self._key)
        return Content(f"Task  {safe(task.subject, 60)}" if task else "Task")

    def body(self) -> Iterable[Widget]:
        """One text."""
        yield self._text

    def on_mount(self) -> None:
        """Fill it, and look again now and then."""
        self._look()
        self.set_interval(PAUSE, self._look)

    def _look(self) -> None:
        task = self._studio.tasks.get(*self._key)
        if task is None:
            self.dismiss(False)
            return
        content = Content.assemble(*task_words.details(task))
        if content.plain != self._shown:
            self._shown = content.plain
            self._text.update(content)

    def action_show_result(self) -> None:
        """Leave, and show the result in its pane."""
        task = self._studio.tasks.get(*self._key)
        if task is not None and task.done:
            self.dismiss(True)
        else:
            refuse(self._text, "It has no result yet.")

    def action_poll(self) -> None:
        """Ask for it now."""
        self._do("poll")

    def action_cancel_task(self) -> None:
        """Ask the server to cancel it."""
        self._do("cancel")

    def action_copy(self) -> None:
        """Copy it all."""
        self.app.copy_to_clipboard(self._shown)

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(False)

    def _do(self, what: str) -> None:
        if task := self._studio.tasks.get(*self._key):
            self._tasking.wanted(what, task)

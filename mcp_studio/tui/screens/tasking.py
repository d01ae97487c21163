"""What a person does with tasks: look, ask, cancel, take off the list, see what came of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_studio.call.call import Call
from mcp_studio.call.sending import outcome_of_task
from mcp_studio.errors import StudioError
from mcp_studio.protocol.tasks import offers_tasks
from mcp_studio.safetext import safe
from mcp_studio.session.tasks import Task
from mcp_studio.tui import late

if TYPE_CHECKING:
    from mcp_studio.tui.screens.main import MainScreen


class Tasking:
    """The tab Tasks, and the dialog about one task."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._studio = screen.studio

    def begin(self) -> None:
        """Go on with what earlier runs have left."""
        self._studio.tasks.pick_up()
        self.refresh()

    def refresh(self) -> None:
        """Show all tasks as they are now; the tab is there once there are any, or a server has tasks."""
        manager, tasks = self._studio.manager, self._studio.tasks.all()
        names = manager.names()
        wanted = bool(tasks) or any(offers_tasks(manager.status(name).capabilities) for name in names)
        self._screen.catalog.show_tasks(tasks, len(names), wanted)

    def tick(self) -> None:
        """A second has gone by: ages are others."""
        if self._screen.catalog.on_tasks:
            self.refresh()

    def wanted(self, what: str, task: Task) -> None:
        """Do what the list or the dialog asks for."""
        app = self._screen.studio_app
        match what:
            case "open":
                self._open(task)
            case "copy":
                app.copy(task.id)
            case "remove" if not task.done:
                app.say("It is not over yet; x cancels it.", "warning")
            case "remove":
                self._studio.tasks.remove(*task.key)
            case "cancel" if task.done:
                app.say("There is nothing to cancel: it is over.")
            case "cancel":
                self._screen.run_worker(self._cancel(task))
            case _:
                self._poll(task)

    def show_result(self, task: Task) -> None:
        """Show in the result pane what came of a task, as if it had just been called."""
        found = self._studio.catalog.find(task.ref) if task.ref else ()
        if task.ref is None or not found:
            self._screen.studio_app.say(f"{safe(task.subject)} is not listed, so it cannot be opened.", "warning")
            return
        arguments = task.arguments if isinstance(task.arguments, dict) else {}
        call = Call(task.ref, "tools/call", {"name": task.ref.name, "arguments": arguments}, as_task=task)
        call.outcome = outcome_of_task(task)
        call.over.set()
        self._screen.run_worker(self._screen.calling.show_ended(found[0], call), group="open", exclusive=True)

    def _open(self, task: Task) -> None:
        if not task.followed and not task.done:
            self._poll(task)

        def closed(result: bool | None) -> None:
            newest = self._studio.tasks.get(*task.key)
            if result and newest is not None:
                self.show_result(newest)

        self._screen.app.push_screen(late.task_dialog(self._studio, self, task.key), closed)

    def _poll(self, task: Task) -> None:
        try:
            self._studio.tasks.poll(*task.key)
        except StudioError as error:
            self._screen.studio_app.say(safe(error.message, 300), "warning")

    async def _cancel(self, task: Task) -> None:
        try:
            await self._studio.tasks.cancel(*task.key)
        except StudioError as error:
            self._screen.studio_app.say(safe(error.message, 300), "warning")

"""Tasks in the terminal: their tab, the dialog about one, the switch in the call pane, letting go."""

from __future__ import annotations

from collections.abc import Callable

from mcp_studio.tui.panels.pane import Pane
from mcp_studio.tui.screens.task_dialog import TaskDialog

from mcp_studio.call.call import Cancelled, InBackground, Succeeded
from mcp_studio.config.model import ServerConfig
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import Stage, on_stage


def tasks(*era: str) -> ServerConfig:
    return stdio(python_server("raw_tasks", *era), "raw")


async def tab(stage: Stage, name: str = "tasks") -> None:
    stage.main.go_to(stage.main.catalog)
    stage.main.catalog.post_message(Pane.TabChosen(stage.main.catalog, name))
    await stage.until(lambda: stage.main.catalog.tab == name, name)


async def begun(stage: Stage, tool: str) -> str:
    """Run a tool and wait until it is a task; the task's id."""
    await stage.open(tool)
    await stage.press("ctrl+j")
    await stage.until(lambda: stage.main.calling.call and stage.main.calling.call.as_task, "a task")
    return stage.main.calling.call.as_task.id


async def polled(stage: Stage, identity: str, true: Callable[[], object]) -> None:
    """Ask for a task until something is so: the tasks of the helper server move on when they are asked for."""
    while not true():
        stage.studio.tasks.poll("raw", identity)
        await stage.pilot.pause(0.02)
    await stage.pilot.pause()


async def test_a_running_task_shows_its_state_and_its_result() -> None:
    async with on_stage(tasks("--poll", "30000")) as stage:
        identity = await begun(stage, "ask")
        await stage.shows("task working", "step 0 of ask", "esc cancels")
        stage.studio.tasks.poll("raw", identity)
        await stage.until(lambda: stage.studio.inbox.pending, "a question")
        stage.studio.inbox.pending[0].answer("accept", {"name": "Ada"})
        await polled(stage, identity, lambda: stage.main.calling.call.outcome)
        assert isinstance(stage.main.calling.call.outcome, Succeeded)
        await stage.shows("✓ ok", "Ada")


async def test_the_switch_decides_whether_an_optional_tool_becomes_a_task() -> None:
    async with on_stage(tasks()) as stage:
        await stage.open("work")
        await stage.shows("Can run as a task")
        await stage.ran()
        assert stage.studio.tasks.all() == ()
        await stage.press("alt+k")
        await stage.shows("Runs as a task · alt+k switches")
        stage.main.calling.copying.wanted("command")
        assert stage.app.clipboard.startswith("mcp-studio call work --task -- ")
        assert isinstance(await stage.ran(), Succeeded)
        assert len(stage.studio.tasks.all()) == 1
        await stage.open("ask")
        await stage.shows("Runs as a task.")
        await stage.press("alt+k")
        await stage.until(lambda: "This tool always runs as a task." in stage.toasts, "why not")


async def test_a_task_goes_on_in_the_background_and_its_result_is_shown_later() -> None:
    async with on_stage(tasks("--modern", "--poll", "1900", "--steps", "8")) as stage:
        identity = await begun(stage, "progress")
        await stage.press("alt+g")
        await stage.until(lambda: stage.main.calling.call.outcome, "let go")
        assert isinstance(stage.main.calling.call.outcome, InBackground)
        await stage.shows("it goes on as a task")
        await tab(stage)
        await polled(stage, identity, lambda: stage.studio.tasks.get("raw", identity).done)
        await stage.shows("✓ progress")
        await stage.press("enter")
        await stage.shows("Timeline", "progress is done")
        await stage.press("enter")
        await stage.until(lambda: isinstance(stage.main.calling.call.outcome, Succeeded), "the result")
        await stage.until(lambda: stage.main.focused_pane is stage.main.result, "its pane")


async def test_esc_cancels_the_task() -> None:
    async with on_stage(tasks()) as stage:
        await begun(stage, "forever")
        await stage.press("escape")
        await stage.until(lambda: stage.main.calling.call.outcome, "stopped")
        assert isinstance(stage.main.calling.call.outcome, Cancelled)
        await stage.until(lambda: stage.studio.tasks.all()[0].status == "cancelled", "at the server too")


async def test_a_task_is_polled_cancelled_and_removed_by_keys() -> None:
    async with on_stage(tasks("--poll", "30000")) as stage:
        identity = await begun(stage, "forever")
        await stage.press("alt+g")
        await tab(stage)
        await stage.press("d")
        await stage.until(lambda: "It is not over yet; x cancels it." in stage.toasts, "refused")
        await stage.press("r")
        await stage.until(lambda: stage.studio.tasks.get("raw", identity).message == "step 1 of forever", "polled")
        await stage.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, TaskDialog), "the dialog")
        await stage.press("x")
        await stage.shows("cancelled")
        await stage.press("escape", "d")
        await stage.until(lambda: not stage.studio.tasks.all(), "removed")

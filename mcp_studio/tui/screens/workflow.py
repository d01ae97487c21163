"""A workflow: its inputs as a form, its steps as a tree with the inputs and outputs of each, and its runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path

from textual import getters, on, work
from textual.containers import Horizontal
from textual.widgets import Button, Input

from mcp_studio.jsontext import Json, dumps, mapping
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.schema.field import defaults
from mcp_studio.schema.form import build
from mcp_studio.trace.export.formats import workflow_of
from mcp_studio.tui.app import StudioApp, failure_text
from mcp_studio.tui.external import edit_file
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.screens.dialog import Choice, RunDialog, Widgets
from mcp_studio.tui.screens.result_parts import Part, SaveFiles
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.rows import Findable, Line, VirtualList, glyphs, spread
from mcp_studio.workflow import Run, Workflow, check
from mcp_studio.workflow.records import RunStore
from mcp_studio.workflow.run import ENDED, StepRun

_FILE = "workflow:file"
_ABOUT = """A workflow is a file that lists calls of tools with their arguments, in order.

Type its path above and press enter. Or mark calls ({key}) in the trace or in the History tab, and save them."""
_LOOKS = {
    "pending": ("off", "dim"), "running": ("half", "warn"), "waiting": ("waiting", "accent"), "done": ("ok", "ok"),
    "failed": ("bad", "bad"), "skipped": ("dash", "dim"), "cancelled": ("off", "warn"),
}  # fmt: skip
"""The glyph and the look of a step by its state."""
Row = tuple[int, StepRun]
"""The depth of a step in the tree, and the step."""


class WorkflowDialog(RunDialog):
    """Shows and runs a workflow, at first the one of the last time; for each step, its inputs and its output."""

    TITLE = "Workflow"
    DEFAULT_CLASSES = "-large"
    choices = (
        Choice("load", "Load", "primary"), Choice("start", "Run", "primary"), Choice("from_here", "Run from here"),
        Choice("pause", "Pause"), Choice("cancel", "Cancel"), Choice("pending", "Pending"), Choice("edit", "Edit"),
        Choice("back", "Close"),
    )  # fmt: skip
    file = getters.query_one("#file", Input)
    form = getters.query_one(FormView)
    steps = getters.query_one("#steps", VirtualList)
    view = getters.query_one(JsonView)

    def __init__(self) -> None:
        super().__init__()
        self._workflow: Workflow | None = None
        self._run: Run | None = None
        """The running run, the last one, or one that could be started."""
        self._shown: object = None

    def body(self) -> Widgets:
        last = str(self.app.studio.memory.drafts.get(_FILE) or "")
        yield Input(last, placeholder="The path of a workflow: TOML or JSON; enter loads it", id="file", compact=True)
        yield FormView(empty="The workflow takes no inputs.")
        steps = VirtualList[Row](_draw, key=lambda row: row[1].path, id="steps")
        yield Horizontal(steps, Findable(JsonView()))

    def on_mount(self) -> None:
        self.action_load()

    @property
    def _path(self) -> str:
        return str(Path(self.file.value.strip()).expanduser())

    @on(Input.Submitted, "#file")
    @work(group="load", exclusive=True)
    async def action_load(self) -> None:
        """Read the file, and say what is wrong with it."""
        if not self.file.value.strip() or self.has_class("-running"):
            return
        self._workflow = self._run = None
        with self.noting():
            self._workflow = workflow = await asyncio.to_thread(Workflow.load, self._path)
            self.app.studio.memory.drafts.put(_FILE, self._path)
            form = build(workflow.inputs or {})
            self.form.show(form, defaults(form) if self.form.model.form.schema != form.schema else self.form.value)
            self._run = None if workflow.errors else Run(workflow, self.app.studio)
            self.retitle(f"Workflow: {workflow.name}")
            self.look()
            (self.file if self._run is None else self.steps).focus()
            found = await check(workflow, self.app.studio)
            self.note("\n".join(map(str, found)) or workflow.description, "warn" if found else "quiet")

    # Running

    def action_start(self) -> None:
        self._begin("", None)

    def action_from_here(self) -> None:
        """Run the step under the cursor and the steps after it, with the earlier results of the steps before."""
        row: Row | None = self.steps.row
        if self._run is not None and row is not None and row[1].step is not None:
            self._begin(row[1].step.id, self._run.as_json())

    def _begin(self, start: str, earlier: Json) -> None:
        workflow = self._workflow
        if not self.form.check() and workflow is not None and not self.has_class("-running"):
            with self.app.failing():
                self._run = Run(workflow, self.app.studio, mapping(self.form.value), earlier=earlier, start=start)
                self.begin(self._follow(self._run))

    async def _follow(self, run: Run) -> None:
        """Follow a run, store it when it has ended, and say how."""
        self.steps.focus()
        self.note("")
        try:
            await asyncio.wait((run.start(),))
        finally:
            studio = self.app.studio
            await asyncio.to_thread(RunStore(studio.paths.state / "runs", studio.redactor).keep, run)
        self.look()
        if failed := [node for _, node in _rows(run.root) if node.state == "failed"]:
            self.steps.go_to(failed[-1].path)
        ended = f"{run.state} after {units.duration(run.root.ms)}"
        self.note(failure_text(run.why) if run.why else ended, _LOOKS[run.state][1])

    def action_pause(self) -> None:
        """Start no further step, or continue."""
        if self._run is not None:
            (self._run.resume if self._run.paused else self._run.pause)()

    def action_cancel(self) -> None:
        if self._run is not None:
            self._run.cancel()

    @work
    async def action_edit(self) -> None:
        """Edit the file, and load it again."""
        await edit_file(self.app, self._path)
        if self.is_attached:
            self.action_load()

    # What is shown

    def look(self) -> None:
        super().look()
        run, flow = self._run, self._workflow
        self.set_class(flow is None, "-empty")
        self.steps.empty = "No steps." if flow is not None else _ABOUT.format(key=self.app.key_of("mark"))
        runs, able = self.has_class("-running"), run is not None and not self.has_class("-running")
        self.show_buttons(load=run is None, start=able, from_here=able, pause=runs, edit=bool(self.file.value))
        self.query_one("#pause", Button).label = "Go on" if run and run.paused else "Pause"
        self.steps.show([*_rows(run.root)] if run is not None else [])
        self.show_step()

    @on(VirtualList.Highlighted, "#steps")
    def show_step(self) -> None:
        """Show the inputs and the output of the step under the cursor."""
        row: Row | None = self.steps.row
        if row is not None and (shown := (id(row[1]), row[1].state, row[1].attempts)) != self._shown:
            self._shown = shown
            self._fill(row[1])

    @on(VirtualList.Chosen, "#steps")
    def show_messages(self, event: VirtualList.Chosen) -> None:
        """Close the dialog, and show the messages of a step in the trace."""
        if (spans := [one.span.number for one in event.row[1].walk() if one.span]) and not self.has_class("-running"):
            self.dismiss(f"under:{spans[0]}")

    @work(group="step", exclusive=True)
    async def _fill(self, node: StepRun) -> None:
        facts: dict[str, Json] = {"state": node.state, "inputs": node.inputs, "output": node.output}
        facts |= {"error": failure_text(node.error)} if node.error is not None else {}
        self.view.show(await asyncio.to_thread(dumps, facts))


async def save_workflow(app: StudioApp, calls: Iterable[tuple[str, str, Json, Json]]) -> bool:
    """Write a workflow whose steps are these calls, and show it; False where the person leaves.

    A query that is pinned to a tool becomes a variable, see `workflow_of`.

    Raises:
        UsageError: there is no call.
    """
    drafts = app.studio.memory.drafts
    text = workflow_of("calls", ((*one, str(drafts.get(f"query:tool:{one[0]}:{one[1]}") or "")) for one in calls))
    files = await app.push_screen_wait(SaveFiles("Save a workflow", [Part("calls.workflow.json", "", lambda: [text])]))
    if files:
        drafts.put(_FILE, str(files[0]))
        await app.screen_stack[0].run_action("workflows")
    return bool(files)


def _rows(node: StepRun, depth: int = 0) -> Iterator[Row]:
    for child in node.children:
        yield depth, child
        yield from _rows(child, depth + 1)


def _draw(row: Row, width: int, selected: bool) -> Line:
    depth, node = row
    sign, look = _LOOKS[node.state]
    title = node.step.title if node.step is not None else f"#{(node.index or 0) + 1}"
    took = units.duration(node.ms) if node.state in ENDED and node.began else ""
    left = [(f"{'  ' * depth}{getattr(glyphs(), sign)} ", look), (safe(title, 200), "")]
    return spread([*left, (f"  {safe(node.line, 200)}", "dim")], [(f" {took}", "dim")], width)

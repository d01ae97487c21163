"""History, saved calls, copying, pasting, tasks, load tests, sending again."""

from __future__ import annotations

import asyncio
import json
import re
import time
from pathlib import Path

import pytest
from textual.widgets import Button, Input

from mcp_studio.call.call import InBackground, Succeeded
from mcp_studio.call.load_test import Load
from mcp_studio.config.model import ServerConfig, Source
from mcp_studio.tui.form.editors import AreaEditor
from mcp_studio.tui.panes.history import HistoryList, moment
from mcp_studio.tui.screens.approval import Approval
from mcp_studio.tui.screens.compare import Compare
from mcp_studio.tui.screens.copy_as import CopyAs
from mcp_studio.tui.screens.dialog import Choose, Confirm
from mcp_studio.tui.screens.load_test import LoadTest, figures_of
from mcp_studio.tui.screens.paste_call import PasteCall
from mcp_studio.tui.screens.query import Query
from mcp_studio.tui.screens.resend import Resend
from mcp_studio.tui.screens.result_parts import SaveFiles
from mcp_studio.tui.screens.save_call import FillIn, SaveCall
from mcp_studio.tui.screens.task import TaskDialog
from mcp_studio.tui.screens.workflow import WorkflowDialog
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import Stage, on_stage, raw, ref
from tests.tui.test_call import outcome, tab, value

REQUEST = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":40}}}'


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The saved calls of a project, in whose folder the studio runs."""
    folder = tmp_path / "project" / ".mcp-studio" / "calls"
    folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    return folder


async def home(stage: Stage) -> None:
    """Wait until all dialogs are gone."""
    await stage.until(lambda: stage.app.screen is stage.main, "the main screen")


async def history(stage: Stage, rows: int) -> HistoryList:
    """Go to the tab History, once it has so many rows."""
    await tab(stage, "history")
    view = stage.main.call.query_one(HistoryList)
    await stage.until(lambda: view.row_count == rows and view.has_focus, f"{rows} rows")
    return view


async def test_an_earlier_call_fills_the_form_and_is_run_again() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("echo")
        await stage.type("one")
        assert isinstance(await stage.call(), Succeeded)
        await stage.open("echo")
        stage.main.call.fill({"text": "two"})
        await history(stage, 1)
        await stage.shows('✓ .*{"text": "one"}', "Fill", "Re-run")
        await stage.press("enter")
        assert value(stage) == {"text": "one"}
        await stage.until(lambda: stage.main.call.form.has_focus_within, "the form has the focus")
        await stage.press("ctrl+z")
        assert value(stage) == {"text": "two"}, "what the form held can be had back"
        before = stage.main.call.call
        await history(stage, 1)
        await stage.press("r")
        await outcome(stage, before)
        assert stage.main.call.call and stage.main.call.call.params["arguments"] == {"text": "one"}
        await history(stage, 2)
        await stage.press("y", "end", "d")
        await history(stage, 1)
        assert json.loads(stage.app.clipboard) == {"text": "one"}
        await stage.press("e")
        await stage.told("This is not a saved call.")


async def test_calls_marked_in_the_history_become_a_workflow_in_the_order_of_their_marks(tmp_path: Path) -> None:
    async with on_stage(raw()) as stage:
        for name, text in (("echo", "first"), ("echo", "second")):
            await stage.open(name)
            stage.main.call.fill({"text": text})
            assert isinstance(await stage.call(), Succeeded)
        await stage.open("add")
        stage.main.call.fill({"a": 1, "b": 2})
        assert isinstance(await stage.call(), Succeeded)
        await history(stage, 1)
        await stage.press("m")
        await stage.shows('"b": 2.*◆ step 1', "1 marked call · s saves a workflow")
        stage.main.result.action_query()
        query = await stage.dialog(Query)
        query.field.value = "content[?type == 'text'].text | [0]"
        await stage.until(lambda: query.found == ["3"], "the sum")
        query.query_one("#pin", Button).press()
        await stage.shows("Text .*Query +Raw")
        await stage.open("echo")
        await history(stage, 2)
        await stage.press("m", "end", "m", "home", "m")
        await stage.shows('"second"', '"first".*◆ step 2', "2 marked calls", "Mark")
        await stage.press("s")
        dialog = await stage.dialog(SaveFiles)
        dialog.query_one(Input).value = str(tmp_path / "plans")
        await stage.press("enter")
        shown = await stage.dialog(WorkflowDialog)
        await stage.shows("Workflow: calls", "○ raw.add", "○ raw.echo")
        assert Path(shown.file.value).parent == tmp_path / "plans"
        written = json.loads(await asyncio.to_thread(Path(shown.file.value).read_bytes))
        assert [(step.get("call"), step.get("arguments") or step["set"]) for step in written["steps"]] == [
            ("raw.add", {"a": 1, "b": 2}),
            (None, {"add_1": "$query(add_1, \"content[?type == 'text'].text | [0]\")"}),
            ("raw.echo", {"text": "first"}),
        ]  # fmt: skip
        await stage.press("escape")
        await home(stage)
        assert not stage.main.call.saved.marked


async def test_a_call_is_saved_replaced_renamed_run_and_deleted(project: Path, home: Path) -> None:
    (project / "other.toml").write_text('server="gone"\ntool="add"')
    (project / "broken.toml").write_text("x")
    async with on_stage(raw(), size=(80, 24)) as stage:
        await stage.open("echo")
        await stage.type("hello")
        await stage.press("ctrl+s")
        dialog = await stage.dialog(SaveCall)
        await stage.shows("Save the call", "raw.echo", "name \\*", "Save .*Cancel")
        dialog.form.set_value({**dialog.value, "name": "../hi"})
        await stage.press("ctrl+j")
        await stage.told("cannot be the name of a saved call")
        dialog.form.set_value({**dialog.value, "name": "hi"})
        await stage.press("ctrl+j")
        await stage.until(lambda: (project / "hi.toml").exists(), "the file")
        assert '"text": "hello"' in (project / "hi.toml").read_text()
        await stage.told("Saved as")
        await stage.press("ctrl+s")
        await stage.dialog(SaveCall)
        await stage.press("ctrl+j")
        await stage.until(lambda: stage.app.screen is stage.main, "it replaces what was saved")
        await history(stage, 1)
        await stage.shows("hi .*project")
        await stage.press("r")
        await outcome(stage)
        assert stage.main.call.call and stage.main.call.call.params["arguments"] == {"text": "hello"}
        await history(stage, 2)
        await stage.press("home", "e")
        await stage.dialog(FillIn)
        await stage.shows("Rename hi")
        await stage.press("ctrl+u")
        await stage.type("total")
        await stage.press("ctrl+j")
        await stage.until(lambda: (project / "total.toml").exists(), "it is renamed")
        await stage.press("d")
        await stage.dialog(Confirm)
        await stage.press("d")
        await stage.until(lambda: not (project / "total.toml").exists(), "it is deleted")
        await stage.main.call.run_action("saved_calls")
        await stage.dialog(Choose)
        await stage.shows("other .*gone.add", "broken.toml  is no valid TOML")
        await stage.press("enter")
        await stage.told("other is for gone.add, which no server lists.")


async def test_a_secret_of_a_saved_call_is_sent_but_not_shown_and_not_kept(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GREETING", "hello-from-env")
    (project / "say.toml").write_text('server="raw"\ntool="echo"\narguments={text="${env:GREETING}"}')
    async with on_stage(raw()) as stage:
        await stage.open("echo")
        await history(stage, 1)
        await stage.press("r")
        await stage.dialog(Confirm)
        await stage.shows("A saved call uses your secrets")
        await stage.press("enter")
        await outcome(stage)
        assert stage.main.call.call and stage.main.call.call.params["arguments"] == {"text": "hello-from-env"}
        assert value(stage) == {}
        await history(stage, 2)
        await stage.shows("a secret is left out")
    files = await asyncio.to_thread(lambda: [file for file in home.rglob("*") if file.is_file()])
    assert not any(b"hello-from-env" in file.read_bytes() for file in files)


async def test_a_call_is_copied_and_a_pasted_one_fills_the_form_that_it_is_about() -> None:
    async with on_stage(raw(source=Source("user")), size=(80, 24)) as stage:
        await stage.open("add")
        stage.main.call.fill({"a": 1, "b": 2})
        await stage.main.call.run_action("copy_as")
        await stage.dialog(CopyAs)
        await stage.shows("Copy raw.add as", "mcp-studio call raw.add a=1 b=2", r"\[ \] With secret", "Copy .*Cancel")
        await stage.press("down", "down", "down", "down", "down")
        await stage.shows('"method": "tools/call"')
        await stage.press("enter")
        await stage.until(lambda: '"arguments": {\n      "a": 1' in stage.app.clipboard, "the request")
        await stage.main.call.run_action("copy_as")
        dialog = await stage.dialog(CopyAs)
        assert dialog.forms.highlighted_option.id == "json-rpc", "the last one comes first"
        await stage.press("escape")

        await stage.open("echo")
        await stage.main.call.run_action("paste_call")
        area = (await stage.dialog(PasteCall)).query_one(AreaEditor)
        await stage.shows("Expected: arguments as JSON")
        for text, verdict in (
            ("mcp-studio call raw.add a=x", "a: must be"), ('{\n"a": 1,\n"b" 2}', "not valid"),
            (REQUEST.replace("add", "gone[/b]\\u001b"), "No server lists it"),
        ):  # fmt: skip
            area.text = text
            await stage.shows(verdict)
            assert stage.app.screen.query_one("#submit").disabled
        area.text = f"curl http://h/mcp -d '{REQUEST}'"
        await stage.shows("a call of add, 2 arguments", "→ raw.add")
        await stage.press("ctrl+j")
        await stage.until(lambda: value(stage) == {"a": 2, "b": 40}, "the other tool is filled")
        await stage.until(lambda: (e := stage.main.catalog.current) and e.ref.name == "add", "and selected")


def tasks(*options: str) -> ServerConfig:
    return stdio(python_server("raw_tasks", *options), "raw")


async def test_a_task_goes_on_in_the_background_and_is_polled_shown_cancelled_and_removed() -> None:
    async with on_stage(tasks("--poll", "30000"), size=(80, 24)) as stage:
        await stage.open("work")
        await stage.press("tab")
        assert stage.app.focused is stage.main.call.task_switch
        await stage.press("space", "tab")
        assert stage.app.focused is stage.main.call.button
        await stage.press("ctrl+j")
        await stage.shows("task working", "Cancel")
        assert len(stage.studio.tasks.all()) == 1
        await stage.main.call.run_action("background")
        assert isinstance(await outcome(stage), InBackground)
        await stage.press("2", "slash")
        await stage.type("work")
        await stage.shows(r"1 of \d")
        stage.main.set_focus(stage.main.catalog.entries)
        while not stage.main.catalog.tasks.has_focus:
            await stage.press("right_square_bracket")
        await stage.shows("◐ work", "Open", "3 raw › work")
        await stage.hides(r"\d of \d")
        await stage.press("d")
        await stage.told("The task is still running; x cancels it.")
        task = stage.studio.tasks.all()[0]
        while not stage.studio.tasks.all()[0].done:
            await stage.press("r")
        await stage.press("enter")
        await stage.dialog(TaskDialog)
        await stage.shows("completed", "Timeline", task.id, "Show the result")
        await stage.press("s")
        await stage.until(lambda: isinstance(c := stage.main.call.call, object) and c and c.outcome, "a result")
        assert isinstance(stage.main.call.call and stage.main.call.call.outcome, Succeeded)
        await stage.until(lambda: stage.main.focused_pane is stage.main.result, "its pane has the focus")
        await stage.open("forever")
        await stage.press("tab", "space", "ctrl+j")
        await stage.shows("task working")
        await stage.press("4", "x")
        await stage.until(lambda: stage.studio.tasks.all()[-1].status == "cancelled", "at the server, too")


async def test_a_load_test_is_approved_once_over_its_dialog_and_esc_stops_nothing() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        await stage.open("add")
        await stage.main.call.run_action("load_test")
        await stage.told("Not sent: a is required")
        stage.main.call.fill({"a": 2, "b": 3})
        await stage.main.call.run_action("load_test")
        dialog = await stage.dialog(LoadTest)
        await stage.shows(r"  Start +Close")
        await stage.press("end", "ctrl+u", "ctrl+j")
        await stage.shows("Calls must be from 1 to")
        await stage.press("6", "0", "ctrl+j")
        await stage.shows("60 of 60", "60 ok", "p95", r"  Start +Copy figures +Close")
        await stage.until(lambda: dialog.query_one("#start").display, "it can be started again")
        await stage.press("y", "escape")
        await home(stage)
        assert '"done": 60' in stage.app.clipboard and stage.main.call.call is None
        past = await stage.studio.memory.history.of(ref("add"))
        assert [(one.kind, one.said, one.arguments) for one in past] == [
            ("ok", "60 calls, 8 at once", {"a": 2, "b": 3})
        ]
        await stage.open("wait")
        stage.main.call.fill({"seconds": 30})
        await stage.main.call.run_action("load_test")
        dialog = await stage.dialog(LoadTest)
        await stage.press("ctrl+j")
        await stage.until(lambda: dialog.load and dialog.load.sent > dialog.load.done, "calls run")
        await stage.shows("x cancels what runs", "x Cancel", r"   Cancel ")
        assert not re.search("esc|Close|Start", stage.text.splitlines()[-1])
        await stage.press("escape", "ctrl+j")
        assert stage.app.screen is dialog and dialog.has_class("-running"), "nothing leaves, nothing starts again"
        await stage.press("x")
        await stage.shows("cancelled", "Ended early")
        await stage.press("escape")
        await home(stage)
        await stage.open("fail")
        await stage.main.call.run_action("load_test")
        dialog = await stage.dialog(LoadTest)
        await stage.press("ctrl+j")
        await stage.dialog(Approval)
        await stage.shows("100 times, 8 at once")
        await stage.press("escape")
        await stage.dialog(LoadTest)
        await stage.until(lambda: dialog.query_one("#pending").display, "it can be opened again")
        await stage.press("p")
        await stage.dialog(Approval)
        await stage.press("r")
        await stage.shows("100 of 100", "100 tool error", "100x")


async def test_requests_of_the_trace_are_sent_again_and_their_answers_compared() -> None:
    async with on_stage(raw(), raw("other", "--modern")) as stage:
        trace = stage.main.trace
        await stage.studio.call_tool(ref("add"), {"a": 1, "b": 2}, approved=True).wait()
        number = stage.studio.trace.total
        stage.main.go_to(trace)
        trace.show_message(number)
        await trace.run_action("resend_now")
        await stage.dialog(Resend)
        await stage.shows("Re-send · 1 of 1 request · 1 same", "tools/call add", "The answer is the same")
        await stage.press("enter")
        await stage.dialog(Compare)
        await stage.shows("0 differences", "then: tools/call add")
        await stage.press("escape", "escape")
        await home(stage)
        stage.main.trace.action_mark()
        await trace.run_action("resend_many")
        dialog = await stage.dialog(Resend)
        dialog.query_one("Select").value = "other"
        await stage.press("ctrl+j")
        await stage.dialog(Approval)
        await stage.press("r")
        await stage.shows("1 of 1 request · 1 same")
        sent = [one for one in stage.studio.trace if one.server == "other" and one.target == "add"]
        assert len(sent) == 2, "a request and its answer"


def test_figures_fit_where_there_is_little_room() -> None:
    load = Load(lambda: pytest.fail("nothing is called"), 1_000_000, 8)
    for place in range(40):
        load.durations.add(place**4 / 10)
    for width, height in ((34, 12), (72, 12), (120, 30)):
        lines = figures_of(load, width, height).split("\n")
        assert max(line.cell_length for line in lines) <= width and len(lines) <= height


def test_a_moment_is_told_shortly() -> None:
    now = time.time()
    assert moment(now).count(":") == 2
    assert moment(1_000_000.0) == "1970-01-12"

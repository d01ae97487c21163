"""The trace pane: follow, query, exchange, marks, comparing, sessions, re-sending, exporting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.widgets import Input, Select

from mcp_studio.catalog.listing import Ref
from mcp_studio.paths import Paths
from mcp_studio.trace.export.bundle import open_bundle
from mcp_studio.tui.panes.trace import TracePane
from mcp_studio.tui.screens.compare import Compare
from mcp_studio.tui.screens.exchange import ExchangeDialog
from mcp_studio.tui.screens.export import Export
from mcp_studio.tui.screens.resend import Resend
from mcp_studio.tui.screens.sessions import Sessions
from mcp_studio.tui.screens.statistics import Statistics
from tests.tui.trace_stage import Stage, on_stage, raw


def note(stage: Stage) -> str:
    """What stands in the bottom border."""
    return str(stage.pane.border_subtitle)


async def dialog(stage: Stage, kind: type) -> None:
    await stage.until(lambda: isinstance(stage.app.screen, kind), kind.__name__)


async def left(stage: Stage) -> None:
    await stage.until(lambda: len(stage.app.screen_stack) == 1, "the main screen")


async def test_every_message_appears_and_a_query_shows_some() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        table = stage.pane.table
        await stage.shows("tools/list")
        await stage.press("slash")
        await stage.shows("tab server:")
        await stage.press(*"met", "tab", *"ols/l")
        await stage.shows("tab method:tools/list")
        await stage.press("tab")
        await stage.until(lambda: table.row_count == 2, "two rows")
        await stage.until(lambda: f"2 of {len(stage.studio.trace)}" in note(stage), "the note")
        await stage.press(*"kind:reqest")
        await stage.shows("✗ at 24: There is no kind `reqest`.")
        assert table.row_count == 2, "the last query stays in force"
        await stage.press("enter")
        assert stage.pane.query_line.field.has_focus, "a wrong text is not left by enter"
        await stage.press(*["backspace"] * 3, "tab", "enter")
        await stage.until(lambda: table.has_focus and table.row_count == 1, "one row")
        await stage.press("escape")
        await stage.until(lambda: table.row_count == len(stage.studio.trace), "all rows")


async def test_enter_shows_the_exchange_in_tabs() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("end", "enter")
        await dialog(stage, ExchangeDialog)
        await stage.shows("jsonrpc", "result")
        await stage.press("right_square_bracket")
        await stage.shows("No HTTP headers")
        await stage.press("right_square_bracket", "right_square_bracket")
        await stage.shows("Nothing is wrong with it")
        await stage.press("right_square_bracket")
        await stage.shows("├─", "0.0 ms")
        await stage.press("escape")
        await left(stage)


async def test_moving_up_stops_following_and_f_follows_again() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("up")
        await stage.until(lambda: "f follows" in note(stage), "not following")
        await stage.press("f")
        await stage.until(lambda: "following" in note(stage), "following")
        await stage.press("end", "y")
        await stage.until(lambda: stage.app.clipboard.startswith('{"jsonrpc"'), "the message as it crossed the wire")


async def test_on_a_huge_screen_the_exchange_stands_beside_and_goes_with_the_cursor() -> None:
    async with on_stage(raw(), size=(180, 40)) as stage:
        await stage.call("echo", text="hello")
        await stage.shows("tools/call echo · raw", "hello")
        await stage.press("up")
        await stage.until(lambda: stage.pane.beside.tabs.active == "request", "the request")
        await stage.press("slash", *"method:nothing", "enter")
        await stage.shows("No message matches the query")


async def test_messages_are_marked_and_commented() -> None:
    async with on_stage(raw()) as stage:
        trace = stage.studio.trace
        await stage.press("end", "m", "e", *"odd", "enter")
        await stage.until(lambda: trace.comment_on(len(trace)) == "odd", "the comment")
        await stage.shows("◈")
        await stage.press("enter")
        await stage.shows("◇ odd", "◆ ")
        await stage.press("m", "e", *["backspace"] * 3, "ctrl+j", "escape")
        await left(stage)
        await stage.until(lambda: not trace.comment_on(len(trace)), "no comment any more")
        assert not any(flags & 24 for flags in trace.columns.flags)


async def test_two_messages_are_compared() -> None:
    async with on_stage(raw()) as stage:
        await stage.call("echo", text="hello")
        await stage.call("echo", text="howdy")
        await stage.press("end", "equals_sign")
        await stage.until(lambda: "= compares with tools/call echo" in note(stage), "the first one")
        await stage.press("equals_sign")
        await stage.told("Both are of one exchange")
        await stage.press("equals_sign", "up", "up", "equals_sign")
        await dialog(stage, Compare)
        await stage.shows("2 differences, without ids and times", "hello", "howdy")
        await stage.press("i")
        await stage.shows("Compare: 5 differences")
        await stage.press("escape")
        await left(stage)


async def test_a_call_is_filled_into_its_form_without_what_is_secret() -> None:
    async with on_stage(raw()) as stage:
        await stage.call("echo", text="hello", password="hunter2-hunter2")
        await stage.press("end", "r")
        await stage.until(lambda: stage.messages(TracePane.FillRequested), "the call")
        (wanted,) = stage.messages(TracePane.FillRequested)
        assert wanted.ref == Ref("tool", "raw", "echo") and wanted.value == {"text": "hello"}
        await stage.told("Not in the recording, being secret: password")


async def test_a_request_is_sent_as_it_was_and_its_answers_are_compared() -> None:
    async with on_stage(raw(), size=(110, 30)) as stage:
        await stage.call("add", a=1, b=2)
        await stage.press("end")
        entry = stage.studio.trace.entry(stage.studio.trace.total)
        assert entry is not None
        entry.body = entry.body.replace(b'"3"', b'"4"')
        stage.pane.action_resend_now()
        await stage.shows("1 of 1 request · 1 differs", "tools/call add", '~ content[0].text: "4" → "3"')
        await stage.press("enter")
        await dialog(stage, Compare)
        await stage.shows("then: tools/call add", '"text": "3"')
        await stage.press("escape", "o", "escape")
        await left(stage)
        assert stage.app.clipboard.startswith("differs  tools/call add  ~ content[0].text")


async def test_many_are_sent_to_another_server_once_they_are_approved() -> None:
    async with on_stage(raw(), raw("other", "--modern")) as stage:
        await stage.call("add", a=1, b=2)
        await stage.call("echo", text="x")
        stage.pane.show_query("tool:add")
        await stage.until(lambda: stage.pane.table.row_count == 2, "a query")
        stage.pane.action_resend_many()
        await dialog(stage, Resend)
        await stage.shows("1 request of what the query shows.")
        stage.app.screen.query_one(Select).value = "other"
        await stage.press("ctrl+j")
        await stage.until(lambda: stage.studio.inbox.pending, "the approval")
        await stage.shows("1 pending request to be answered first")
        stage.studio.inbox.pending[0].answer("accept")
        await stage.shows("1 of 1 request · 1 same", "The answer is the same")
        await stage.press("escape")
        await left(stage)
        assert [one.target for one in stage.studio.trace if one.server == "other" and one.method == "tools/call"]


async def test_the_statistics_count_and_lead_to_the_messages() -> None:
    async with on_stage(raw()) as stage:
        for _ in range(3):
            await stage.call("fail")
        await stage.call("echo", text="x")
        await stage.press("i")
        await dialog(stage, Statistics)
        await stage.shows("Calls 2", "3 times", "3 failed", "100%", "3x ")
        await stage.press("o", "o")
        await stage.told("Sorted by p50")
        await stage.press("enter")
        await left(stage)
        await stage.until(lambda: stage.pane.table.row_count in (2, 6), "the messages of one tool")
        assert 'server:"raw" tool:"' in stage.pane.query_line.field.value


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def nothing_chosen_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Export, "last_format", "bundle")
    monkeypatch.setattr(Export, "last_places", {False: "", True: "http://localhost:4318"})


@pytest.mark.usefixtures("nothing_chosen_before")
async def test_what_is_chosen_is_written_and_opens_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with on_stage(raw()) as stage:
        await stage.press("end", "s")
        await dialog(stage, Export)
        await stage.shows("This exchange", "The whole trace", "bundle", "Folder", str(tmp_path)[:40])
        await stage.press("ctrl+j")
        await left(stage)
        (name,) = names_in(tmp_path)
        assert name.startswith("trace-") and name.endswith("-exchange.mcptrace")
        await stage.told("Wrote 2 messages")
        bundle = open_bundle(tmp_path / name)
        assert len(bundle) == 2 and bundle[0].method == bundle[1].method != ""
        await stage.press("m", "s")
        await stage.shows("What is marked")
        stage.app.screen.query_one(Select).value = "markdown"
        await stage.press("ctrl+j")
        await left(stage)
        assert any(name.endswith(".md") for name in names_in(tmp_path))


@pytest.mark.usefixtures("nothing_chosen_before")
async def test_spans_are_sent_to_the_address_that_is_named() -> None:
    from tests.trace.export.test_collector import listening

    async with listening() as collector, on_stage(raw()) as stage:
        await stage.press("end", "s")
        await dialog(stage, Export)
        stage.app.screen.query_one(Select).value = "collector"
        await stage.shows("Address of the collector", "http://localhost:4318")
        stage.app.screen.query_one(Input).value = "localhost"
        await stage.press("ctrl+j")
        await stage.shows("begins with http://")
        stage.app.screen.query_one(Input).value = collector.url
        await stage.press("ctrl+j")
        await left(stage)
        await stage.told("Sent 1 span to the collector.")
        assert "mcp.method.name" in json.dumps(collector.bodies)


async def test_an_earlier_session_is_opened_searched_and_left_while_the_present_one_goes_on() -> None:
    folder = Paths.default().state / "trace"
    async with on_stage(raw(), origin="tui") as stage:
        await stage.call("echo", text="of yesterday")
        total = stage.studio.trace.total
    async with on_stage(raw(), origin="tui") as stage:
        await stage.until(lambda: len(list(folder.glob("*.trace"))) == 2, "both sessions")
        stage.pane.action_go_live()
        await stage.told("This is what is being recorded now.")
        await stage.press("o")
        await dialog(stage, Sessions)
        await stage.shows("this one", "It is being recorded here, now.")
        await stage.press("d")
        await stage.told("cannot be deleted")
        await stage.press("down")
        await stage.shows("It was ended properly.")
        await stage.press("enter")
        await left(stage)
        await stage.shows("Past session")
        await stage.until(lambda: note(stage).isdigit(), "the past session")
        total = stage.pane.recording.total
        await stage.press("end", "up", "enter")
        await stage.shows("of yesterday")
        await stage.press("escape", "m")
        await stage.shows("◆")
        await stage.call("echo", text="of today")
        assert stage.pane.recording.total == total
        await stage.press("o", "down")
        await stage.shows("The trace shows it now.")
        await stage.press("escape", "escape")
        await stage.until(lambda: "following" in note(stage), "what is recorded now")
        await stage.press("o", "down", "d")
        await stage.shows("Delete this session?")
        await stage.press("d")
        await stage.until(lambda: len(list(folder.glob("*.trace"))) == 1, "one session")


async def test_a_file_is_opened_by_its_path_and_what_is_none_is_told(tmp_path: Path) -> None:
    async with on_stage(raw()) as stage:
        await stage.press("o")
        await dialog(stage, Sessions)
        stage.app.screen.query_one(Input).value = str(tmp_path / "none.mcptrace")
        stage.app.screen.query_one(Input).focus()
        await stage.press("enter")
        await left(stage)
        await stage.told("cannot be opened")
        assert stage.pane.recording is stage.studio.trace

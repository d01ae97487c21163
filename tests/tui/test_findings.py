"""Findings and rounds on the screen: the mark on a row, the filter, the detail, the card and row of a server."""

from __future__ import annotations

import pytest
from mcp_studio.tui.screens.server_details import ServerDetails
from mcp_studio.tui.screens.trace_dialog import TraceDialog
from mcp_studio.tui.views.trace_row import row

from mcp_studio.config.model import ServerConfig
from mcp_studio.trace.message import Span
from mcp_studio.tui.views.glyphs import choose
from tests.studio_support import stdio
from tests.support import python_server
from tests.trace.lint.kit import MODERN, Talk, text
from tests.tui.stage import Stage, on_stage


def faulty(fault: str) -> ServerConfig:
    return stdio(python_server("raw_faults", "--fault", fault), "raw")


def drawn(talk: Talk, width: int = 120) -> str:
    """The newest message of a conversation as a row."""
    return "".join(piece for piece, _ in row(talk.newest, width))


@pytest.mark.parametrize(("ascii", "signs"), [(False, "✗!· "), (True, "x!. ")])
def test_a_row_begins_with_the_sign_of_its_worst_finding(ascii: bool, signs: str) -> None:
    choose(ascii=ascii)
    try:
        talk = Talk()
        messages = [
            {"jsonrpc": "1.0", "method": "notifications/cancelled", "extra": 1},
            {"jsonrpc": "2.0", "id": "x", "method": "no/such"},
            {"jsonrpc": "2.0", "method": "notifications/hologram"},
            {"jsonrpc": "2.0", "method": "notifications/cancelled"},
        ]
        found: list[str] = []
        for message in messages:
            talk.hear(message)
            found.append(drawn(talk)[1])
        assert found == list(signs)
    finally:
        choose(ascii=False)


def test_a_later_round_carries_its_number() -> None:
    talk = Talk(MODERN)
    talk.called("tools/call", {"resultType": "input_required", "requestState": "s"})
    assert "round" not in drawn(talk)
    talk.ask("tools/call", follows=2)
    assert "↳ round 2 tools/call" in drawn(talk) and "↳2 tools/call" in drawn(talk, 80)
    talk.answer(text())
    assert "↳ round 2 tools/call" in drawn(talk)


async def opened_with_enter(stage: Stage) -> None:
    await stage.press("enter")
    await stage.until(lambda: isinstance(stage.app.screen, TraceDialog), "the detail")


async def test_the_filter_leaves_messages_with_findings_and_their_detail_says_what_and_where() -> None:
    async with on_stage(faulty("duplicate-names"), size=(80, 24)) as stage:
        await stage.press("f8", "slash", *"finding:any", "enter")
        await stage.until(lambda: stage.main.trace.table.row_count == 1, "one row")
        assert "! " in stage.screen_text()
        await opened_with_enter(stage)
        await stage.shows('! There is more than one of the tool "echo". (+5)')
        await stage.press("left_square_bracket", "left_square_bracket", "left_square_bracket")
        await stage.shows("Answer (message", "warning: There is more", "at /result/tools/6/name", "server/tools#tool")


async def test_the_servers_card_counts_findings_with_their_sections_and_says_nothing_twice() -> None:
    async with on_stage(faulty("stray"), size=(80, 24)) as stage:
        await stage.until(lambda: stage.studio.trace.ledger("raw").wrong, "a finding")
        await stage.press("1")
        row = next(line for line in stage.screen_text().splitlines() if "● raw" in line)
        assert "!" in row
        await stage.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, ServerDetails), "the details")
        await stage.shows("Findings: 2 errors", "times, last on message", "basic/transports#stdio")
        assert "What it does wrong" not in stage.screen_text()


async def test_a_server_without_a_fault_has_no_mark_and_no_findings() -> None:
    async with on_stage(stdio(python_server("raw_server"), "raw")) as stage:
        await stage.press("1", "enter")
        await stage.until(lambda: isinstance(stage.app.screen, ServerDetails), "the details")
        await stage.shows("raw is connected")
        assert "Findings" not in stage.screen_text()


async def test_the_rounds_of_a_call_read_as_one_conversation() -> None:
    config = stdio(python_server("raw_server", "--modern"), "raw")
    async with on_stage(config) as stage:
        entry = next(one for one in stage.studio.catalog.entries("tool") if one.ref.name == "ask")
        call = stage.studio.call_tool(entry.ref, {}, approved=True)
        await stage.until(lambda: stage.studio.inbox.pending, "a question")
        stage.studio.inbox.pending[0].answer("accept", {"name": "Ada"})
        await call.wait()
        await stage.until(lambda: any(span.round == 2 for span in spans(stage)), "a second round")
        await stage.until(lambda: len(stage.app.screen_stack) == 1, "the main screen")
        await stage.press("f8", "end")
        await stage.shows("↳ round 2 tools/call")
        await opened_with_enter(stage)
        await stage.shows("round 2 of 2")
        await stage.press("left_square_bracket", "left_square_bracket")
        await stage.shows('asked who = elicitation/create: "What is your name?"', "answered who = accept")
        await stage.shows("you answered in")


def spans(stage: Stage) -> list[Span]:
    return [entry.span for entry in stage.studio.trace if entry.span is not None]

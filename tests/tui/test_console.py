"""The console: what is written by hand, what comes back, and that nothing typed is lost."""

from __future__ import annotations

import json

import pytest
from mcp_studio.tui.screens.console import Console
from mcp_studio.tui.screens.template_choice import TemplateChoice
from mcp_studio.tui.screens.trace_dialog import TraceDialog
from mcp_studio.tui.tracing import detail_of
from mcp_studio.tui.views.trace_row import row

from mcp_studio.protocol.versions import VERSIONS
from mcp_studio.tui import by_hand
from tests.tui.stage import Stage, on_stage, raw


async def console(stage: Stage) -> Console:
    await stage.press("1", "c")
    await stage.until(lambda: isinstance(stage.app.screen, Console), "console")
    assert isinstance(stage.app.screen, Console)
    return stage.app.screen


async def sent(stage: Stage, screen: Console) -> None:
    """Send, and wait for the end."""
    await stage.press("ctrl+j")
    await stage.until(lambda: screen._exchange and screen._exchange.done, "the end")
    await stage.pilot.pause(0.15)


async def test_the_first_frame_is_there_to_be_sent_and_its_answer_is_shown() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        screen = await console(stage)
        await stage.shows("Console of raw", "connected, 2025-11-25", "✓ request tools/list", '"method": "tools/list"')
        await sent(stage, screen)
        await stage.shows("✓ answered after", "← result", '"tools"')
        assert [row.kind for row in screen._list.rows] == ["result"]


async def test_a_template_is_found_by_typing_and_nothing_is_lost() -> None:
    async with on_stage(raw()) as stage:
        screen = await console(stage)
        screen._editor.text = "half a thought"
        await stage.press("ctrl+t")
        await stage.until(lambda: isinstance(stage.app.screen, TemplateChoice), "choice")
        await stage.press(*"tools/call")
        await stage.press("enter")
        await stage.until(lambda: '"tools/call"' in screen._editor.text, "template")
        await stage.press("ctrl+up")
        assert screen._editor.text == "half a thought"
        await stage.press("ctrl+down")
        assert '"tools/call"' in screen._editor.text
        await stage.press("escape")
        await stage.until(lambda: not isinstance(stage.app.screen, Console), "main screen")
        again = await console(stage)
        assert '"tools/call"' in again._editor.text
        await stage.press("alt+p")
        assert again._editor.text == "half a thought"


async def test_modern_templates_are_stamped_and_the_stamp_can_be_edited() -> None:
    async with on_stage(raw("raw", "--modern")) as stage:
        screen = await console(stage)
        assert "io.modelcontextprotocol/protocolVersion" in screen._editor.text
        screen._editor.text = screen._editor.text.replace("2026-07-28", "2099-01-01")
        await sent(stage, screen)
        await stage.shows("← error", "-32022")


async def test_a_message_of_the_trace_is_edited_and_sent_again() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("add")
        entry = next(e for e in stage.studio.trace if e.method == "tools/list" and e.kind == "request")
        stage.app.push_screen(TraceDialog(stage.studio.trace, entry))
        await stage.until(lambda: isinstance(stage.app.screen, TraceDialog), "detail")
        await stage.press("e")
        await stage.until(lambda: isinstance(stage.app.screen, Console), "console")
        screen = stage.app.screen
        assert isinstance(screen, Console)
        assert json.loads(screen._editor.text) == json.loads(entry.body)
        await sent(stage, screen)
        await stage.shows("← result")
        assert not stage.studio.manager.status("raw").warnings
        written = next(entry for entry in stage.studio.trace if entry.by_hand)
        assert "written by hand" in detail_of(stage.studio.trace, written).title
        assert "»" in "".join(piece[0] for piece in row(written, 100))


def test_frames_keep_what_they_say_on_one_line_and_broken_ones_stay_as_they_are() -> None:
    assert by_hand.frame_of('{\n  "a": "x\\n y",\n  "b": [1,\n 2]\n}') == (b'{ "a": "x\\n y", "b": [1, 2] }', False)
    assert by_hand.frame_of('{"a":\n') == (b'{"a":\n', True)
    assert by_hand.frame_of("\ud800") == (b"\xed\xa0\x80", False)


@pytest.mark.parametrize(
    ("text", "good", "words"),
    [
        ("", False, "empty"),
        ("{", False, "no JSON"),
        ("7", False, "no message"),
        ('{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', False, "no message"),
        ('{"id": "x", "method": "ping"}', True, 'request ping, id "x"'),
        ('{"method": "a"}', True, "notification a"),
        ('{"id": 3, "result": {}}', True, "answer to 3"),
        ('[{"id": 3, "result": {}}, 4]', True, "a batch of 2"),
        ('{"method": "a", "params": {"k": "‹redacted›"}}', False, "secret"),
        ("[" * 600 + "]" * 600, False, "nested deeper"),
    ],
)
def test_a_text_is_told_for_what_it_is(text: str, good: bool, words: str) -> None:
    found, said = by_hand.verdict(text)
    assert found is good and words in said


@pytest.mark.parametrize("version", ["", *VERSIONS])
def test_templates_are_those_of_the_version_and_say_what_they_are_called(version: str) -> None:
    found = by_hand.templates(version)
    names = {one.name for one in found}
    assert ("initialize" in names) == (version != "2026-07-28") and "tools/call" in names
    assert ("server/discover" in names) == (version in ("", "2026-07-28"))
    for one in found:
        good, words = by_hand.verdict(by_hand.text_of(one, 7, {"k": 1}))
        assert good is (one.kind != "broken" or one.name == "batch"), (one, words)
        assert one.kind not in ("request", "notification") or one.name in words

"""Copying the open call as something else, and filling the form from what was pasted."""

from __future__ import annotations

from mcp_studio.tui.screens.copy_dialog import CopyDialog
from mcp_studio.tui.screens.fill_dialog import FillDialog
from mcp_studio.tui.screens.trace_dialog import TraceDialog
from textual.events import Paste

from mcp_studio.config.model import Source
from tests.tui.stage import Stage, on_stage, raw

REQUEST = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":40}}}'


async def chooser(stage: Stage, *keys: str) -> CopyDialog:
    await stage.press(*keys)
    await stage.until(lambda: isinstance(stage.app.screen, CopyDialog), "the chooser")
    dialog = stage.app.screen
    assert isinstance(dialog, CopyDialog)
    return dialog


async def pasting(stage: Stage, text: str) -> FillDialog:
    await stage.press("alt+u")
    await stage.until(lambda: isinstance(stage.app.screen, FillDialog), "the dialog")
    dialog = stage.app.screen
    assert isinstance(dialog, FillDialog)
    dialog._area.text = text
    await stage.pilot.pause()
    return dialog


async def test_a_call_is_copied_in_the_form_that_is_chosen_and_that_form_comes_first_then() -> None:
    async with on_stage(raw(source=Source("user")), size=(80, 24)) as stage:
        await stage.press("2", "c")
        await stage.until(lambda: stage.app.clipboard.startswith("mcp-studio call raw."), "a command line")
        await stage.open("add")
        stage.main.calling.edited({"a": 1, "b": 2}, {})
        await chooser(stage, "alt+c")
        await stage.shows("Copy raw.add as", "mcp-studio call raw.add a=1 b=2")
        await stage.press("down", "down", "down", "down", "down")
        await stage.shows('"method": "tools/call"', "progress token")
        await stage.press("enter")
        await stage.until(lambda: '"arguments": {\n      "a": 1' in stage.app.clipboard, "the request")
        dialog = await chooser(stage, "alt+c")
        await stage.shows("last used", '"method": "tools/call"')
        assert dialog._list.row is not None and dialog._list.row.id == "json-rpc"
        await stage.press("up", "end", "home", "down", "down", "down", "down", "down")
        await stage.shows("this server is a program")
        await stage.press("enter")
        await stage.until(lambda: any("curl speaks HTTP" in toast for toast in stage.toasts), "why not")
        await stage.press("tab", "escape")
        await stage.until(lambda: stage.app.screen is stage.main, "back")


async def test_a_call_in_the_trace_is_copied() -> None:
    async with on_stage(raw(source=Source("user"))) as stage:
        await stage.open("add")
        stage.main.call.body.fill({"a": 1, "b": 2})
        await stage.pilot.pause()
        await stage.ran()
        await stage.press("f8", "G", "c")
        await stage.until(lambda: stage.app.clipboard == "mcp-studio call raw.add a=1 b=2", "a command line")
        await stage.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, TraceDialog), "the exchange")
        await chooser(stage, "C")
        await stage.press("escape")
        await stage.until(lambda: isinstance(stage.app.screen, TraceDialog), "the exchange again")
        await stage.press("escape", "g", "c")
        await stage.until(lambda: "This is no call of a tool, prompt or resource." in stage.toasts, "why not")


async def test_a_test_expects_what_the_call_before_gave() -> None:
    async with on_stage(raw(source=Source("user"))) as stage:
        stage.studio.inbox.changed.connect(lambda one: one.answer("accept", {"name": "Ada"}))
        await stage.open("ask")
        await stage.ran()
        await chooser(stage, "alt+c")
        await stage.press("down", "down", "down")
        await stage.shows("The server asked for input meanwhile")
        await stage.press("enter")
        await stage.until(lambda: "for one in result.content] == [" in stage.app.clipboard, "what came is expected")
        first = stage.app.clipboard
        stage.app.copy_to_clipboard("")
        await stage.press("f8", "G")
        await chooser(stage, "C")
        await stage.press("enter")
        await stage.until(lambda: stage.app.clipboard == first, "the same from the trace")
        await stage.open("add")
        stage.main.calling.edited({"a": 1, "b": 2}, {})
        await chooser(stage, "alt+c")
        await stage.shows("It only looks whether the call succeeds", "call_tool")


async def test_a_pasted_call_fills_the_form_or_opens_the_one_that_it_is_about() -> None:
    async with on_stage(raw(source=Source("user"))) as stage:
        await stage.open("add")
        await pasting(stage, '{"a": 1, "b": 2,}')
        await stage.shows("JSON: 2 arguments", "fills raw.add, which is open")
        await stage.press("ctrl+j")
        calling = stage.main.calling
        await stage.until(lambda: calling.opened.value == {"a": 1, "b": 2}, "the value")
        assert (await stage.ran()).result["content"][0]["text"] == "3"
        await stage.press("f2", "ctrl+pagedown")
        await stage.until(lambda: stage.main.call.tab == "json" and stage.main.call.body.typing, "the JSON")
        await stage.press("ctrl+a")
        stage.app.post_message(Paste(REQUEST))
        words = "This is a JSON-RPC request: a call of add, 2 arguments. alt+u fills the form from it."
        await stage.until(lambda: words in stage.toasts, "an offer")
        await stage.press("alt+u")
        await stage.shows("fills raw.add, which is open")
        await stage.press("ctrl+j")
        await stage.until(lambda: calling.opened.value == {"a": 2, "b": 40}, "the value")
        await stage.until(lambda: not stage.main.call.unreadable(), "nothing of the text is left")
        await stage.open("echo")
        await pasting(stage, f"curl http://h/mcp -d '{REQUEST}'")
        await stage.shows("curl command with a JSON-RPC request: a call of add, 2 arguments", "opens raw.add")
        await stage.press("ctrl+t")
        await stage.shows("fills raw.echo, which is open")
        await stage.press("ctrl+t", "ctrl+j")
        await stage.until(lambda: calling.opened.entry.ref.name == "add", "the other tool")
        await stage.until(lambda: calling.opened.value == {"a": 2, "b": 40}, "its value")
        await pasting(stage, "mcp-studio call raw.add a=x")
        await stage.shows("a: must be")
        await stage.press("ctrl+j")
        dialog = stage.app.screen
        assert isinstance(dialog, FillDialog)
        dialog._area.text = '{\n"a": 1,\n"b" 2}'
        await stage.shows("not valid", "line 3")
        dialog._area.move_cursor((0, 0))
        await stage.press("ctrl+j")
        assert dialog._area.cursor_location == (2, 0)
        dialog._area.text = REQUEST.replace("add", "gone[/b]\\u001b")
        await stage.shows("gone[/b]␛ is not listed", "fills raw.add with it")
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main, "back")
        assert calling.opened.value == {"a": 2, "b": 40}
        dialog = await pasting(stage, "")
        stage.app.post_message(Paste('{"a": 5}'))
        await stage.shows("JSON: 1 argument")
        assert dialog._area.text == '{"a": 5}'
        stage.app.post_message(Paste('{"a": 6, "b": [' + "1, " * 100_000 + "1]}"))
        await stage.shows("characters, more than can be shown", "JSON: 2 arguments")
        assert dialog._area.text == ""
        dialog._area.text = "x"
        await stage.shows("It is nothing that is known")

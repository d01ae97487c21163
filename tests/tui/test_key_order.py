"""What is done at once acts in its order, on what it was done for: no key, paste or click overtakes another."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.events import Event, Key, MouseDown, MouseUp, Paste
from textual.geometry import Offset
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from mcp_studio.tui.form.area import AreaEditor
from mcp_studio.tui.form.json_editor import JsonEditor
from mcp_studio.tui.key_order import KeyOrder
from tests.support import wait_until
from tests.tui.stage import Stage, on_stage, raw, run


def at_once(app: App[Any], *done: str | Event) -> None:
    """Everything lies in the app's queue before it acts on the first; a word that is no key is typed."""
    for one in done:
        if isinstance(one, Event):
            app.post_message(one)
        elif one[0] == "^":
            app.post_message(Key(one[1:], None))
        else:
            for letter in one:
                app.post_message(Key({"/": "slash"}.get(letter, letter), letter))


def clicked(x: int, y: int) -> tuple[Event, ...]:
    """A click at this place of the screen."""
    return tuple(kind(None, x, y, 0, 0, 1, False, False, False, x, y) for kind in (MouseDown, MouseUp))


def staged(do: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        async with on_stage(raw()) as stage:
            await do(stage)

    run(main())


async def json_tab(stage: Stage) -> JsonEditor:
    await stage.open("add")
    await stage.press("ctrl+pagedown")
    await stage.until(lambda: stage.main.call.tab == "json" and stage.main.call.body.typing, "the JSON")
    return stage.main.call.body.json


def test_what_is_pasted_does_not_overtake_the_key_before_it() -> None:
    async def do(stage: Stage) -> None:
        editor = await json_tab(stage)
        at_once(stage.app, "^end", Paste('"id": '), "x", Paste("y"), "^home", "z")
        await stage.until(lambda: "z" in editor.text, "the last key")
        assert editor.text == 'z{}"id": xy'

    staged(do)


def test_a_key_that_calls_does_not_overtake_what_is_pasted_before_it() -> None:
    async def do(stage: Stage) -> None:
        await stage.open("echo")
        at_once(stage.app, Paste("pasted"), "^ctrl+j")
        await stage.until(lambda: stage.main.calling.call and stage.main.calling.call.outcome, "an outcome")
        assert stage.main.calling.call.outcome.result["content"][0]["text"] == "pasted"

    staged(do)


def test_what_is_typed_after_the_key_of_a_tab_is_typed_there() -> None:
    async def do(stage: Stage) -> None:
        await stage.open("add")
        at_once(stage.app, "^ctrl+pagedown", "^end", "x")
        await stage.until(lambda: stage.main.call.tab == "json" and stage.main.call.body.json.text != "{}", "a letter")
        assert stage.main.call.body.json.text == "{}x"

    staged(do)


def test_what_is_typed_after_the_key_that_opens_a_tool_is_typed_into_its_form() -> None:
    async def do(stage: Stage) -> None:
        stage.main.go_to(stage.main.catalog)
        await stage.shows("r echo", "enter Open")
        at_once(stage.app, "^enter", "hello", Paste(" you"))
        await stage.until(lambda: stage.main.calling.opened is not None, "it is open")
        await stage.until(lambda: stage.main.calling.opened.value == {"text": "hello you"}, "what was typed")

    staged(do)


@pytest.mark.parametrize(
    ("pane", "key", "field"),
    [("catalog", "^ctrl+p", Input), ("servers", "c", AreaEditor), ("trace", "M", Input), ("trace", "^slash", Input)],
)
def test_what_is_typed_after_the_key_of_a_line_or_dialog_is_typed_there(
    pane: str, key: str, field: type[Input] | type[AreaEditor]
) -> None:
    async def do(stage: Stage) -> None:
        stage.main.go_to(stage.main.pane(pane))
        await stage.pilot.pause()
        at_once(stage.app, key, "the", Paste("me"), "s")
        await stage.until(lambda: isinstance(stage.app.focused, field), "there is something to type into")
        line = cast("Input | AreaEditor", stage.app.focused)
        await stage.until(lambda: (line.value if isinstance(line, Input) else line.text).startswith("themes"), "all")

    staged(do)


def test_a_search_takes_what_is_typed_after_its_key() -> None:
    async def do(stage: Stage) -> None:
        await stage.open("add")
        await stage.press("ctrl+pagedown", "ctrl+pagedown")
        await stage.until(lambda: stage.main.call.tab == "schema" and stage.main.call.has_focus_within, "the schema")
        at_once(stage.app, "/numb", Paste("er"), "^enter", "/", "x")
        line = stage.main.call.body.schema.query_one(Input)
        await stage.until(lambda: line.value == "x", "what was typed last")
        assert stage.main.call.tab == "schema"

    staged(do)


def test_a_click_does_not_take_the_focus_from_keys_that_were_typed_before_it() -> None:
    async def do(stage: Stage) -> None:
        await stage.open("echo")
        where = stage.main.trace.region.offset + Offset(3, 2)
        at_once(stage.app, "abc", *clicked(where.x, where.y))
        await stage.until(lambda: stage.main.trace.has_focus_within, "the focus is where the click was")
        await stage.until(lambda: stage.main.calling.opened.value == {"text": "abc"}, "what was typed")

    staged(do)


def test_what_is_typed_after_a_click_is_typed_into_what_it_opens() -> None:
    async def do(stage: Stage) -> None:
        stage.main.go_to(stage.main.trace)
        await stage.shows("r echo")
        row = next(row for row, line in enumerate(stage.screen_text().split("\n")) if "r echo" in line)
        at_once(stage.app, *clicked(4, row), *clicked(4, row), "hello", Paste(" you"))
        await stage.until(lambda: stage.main.calling.opened is not None, "it is open")
        await stage.until(lambda: stage.main.calling.opened.value == {"text": "hello you"}, "what was typed")

    staged(do)


def test_what_is_opened_is_not_seen_before_it_has_the_focus() -> None:
    async def do(stage: Stage) -> None:
        main = stage.main
        entry = stage.studio.catalog.entries("tool")[0]
        opening = asyncio.create_task(main.calling.open(entry, go=True))
        while not opening.done():
            seen = "echo" in str(main.call.border_title) or "Gives back" in stage.screen_text()
            assert not seen or main.call.has_focus_within
            await asyncio.sleep(0)  # one turn of the loop
        assert "echo" in str(main.call.border_title) and main.call.body.form.has_focus_within

    staged(do)


def test_what_is_typed_after_the_tab_of_a_result_goes_to_its_viewer() -> None:
    async def do(stage: Stage) -> None:
        await stage.open("echo")
        await stage.press("a")
        await stage.ran()
        await stage.shows("· request")
        stage.main.go_to(stage.main.result)
        await stage.pilot.pause()
        at_once(stage.app, "^ctrl+pagedown", "^ctrl+pagedown", "/ech", Paste("o"))
        await stage.until(lambda: stage.main.result.tab == "raw", "the tab")
        await stage.until(lambda: getattr(stage.app.focused, "value", "") == "echo", "what was typed")

    staged(do)


class Slow(Widget, can_focus=True):
    """Holds the whole program up at the key `s`, itself for ever at `h`, and for as long as it says at `w`.

    Tells its parent of each key.
    """

    class Told(Message):
        """A key came."""

    async def on_key(self, event: Key) -> None:
        if event.key == "s":
            time.sleep(0.4)  # noqa: ASYNC251 - what a machine does that has much else to do
        elif event.key == "h":
            await asyncio.Event().wait()
        elif event.key == "w":
            cast("Ordered", self.app).order.expect(60)
            await asyncio.sleep(0.4)
        self.post_message(self.Told())


class Ordered(App[int]):
    """Writes down in which order what happened was heard of."""

    BINDINGS = [Binding("ctrl+j", "note", priority=True)]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []
        self.order = KeyOrder(self, self.act)

    def compose(self) -> ComposeResult:
        yield Slow()

    def on_slow_told(self) -> None:
        self.heard.append("told")

    def action_note(self) -> None:
        self.heard.append("note")

    async def on_event(self, event: Event) -> None:
        if isinstance(event, Key) and not event.is_forwarded:
            await self.order.take(event)
        else:
            await super().on_event(event)

    async def act(self, event: Event) -> None:
        target = self.focused or self.screen
        await super().on_event(event)
        self.order.follow(target)


@pytest.mark.parametrize(("key", "heard"), [("s", ["told", "note"]), ("w", ["told", "note"]), ("h", ["note"])])
async def test_a_slow_machine_does_not_change_the_order_and_a_widget_that_hangs_does_not_take_the_keyboard_along(
    key: str, heard: list[str]
) -> None:
    app = Ordered()
    async with app.run_test() as pilot:
        await pilot.pause()
        at_once(app, key, "^ctrl+j")
        await wait_until(lambda: "note" in app.heard, 10, "the second key")
        assert app.heard == heard
        for worker in app.query(Slow):
            worker._task.cancel()  # type: ignore[union-attr]


async def test_none_of_many_keys_is_lost() -> None:
    many = 5_000

    app = Ordered()
    async with app.run_test() as pilot:
        await pilot.pause()
        at_once(app, "x" * many, "^ctrl+j")
        await wait_until(lambda: "note" in app.heard, 150, "the last key")
        assert app.heard == ["told"] * many + ["note"]

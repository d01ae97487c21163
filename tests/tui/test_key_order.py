"""What is done at once acts in its order, on what it was done for: no key, paste or click overtakes another."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest
from mcp_studio.tui.form.area import AreaEditor
from mcp_studio.tui.key_order import KeyOrder
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.events import Event, Key, Paste
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

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


def staged(do: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        async with on_stage(raw()) as stage:
            await do(stage)

    run(main())


def test_a_key_that_calls_does_not_overtake_what_is_pasted_before_it() -> None:
    async def do(stage: Stage) -> None:
        await stage.open("echo")
        at_once(stage.app, Paste("pasted"), "^ctrl+j")
        await stage.until(lambda: stage.main.calling.call and stage.main.calling.call.outcome, "an outcome")
        assert stage.main.calling.call.outcome.result["content"][0]["text"] == "pasted"

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
    [("catalog", "^ctrl+p", Input), ("servers", "c", AreaEditor), ("trace", "^slash", Input)],
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

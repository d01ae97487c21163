"""Selecting or reshaping a part of a result, a list or a message by a JMESPath expression."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual import getters, on, work
from textual.widgets import Input, Static

from mcp_studio.call.query import query
from mcp_studio.jsontext import Json, dumps
from mcp_studio.present import units
from mcp_studio.tui.screens.dialog import Choice, Dialog, Widgets
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.rows import Findable

_PAUSE = 0.15
"""Seconds without a key after which the dialog evaluates the expression."""
_HINT = "JMESPath: items[0].name, items[?price > `10`].name, length(items); @ is all of it"


class Query(Dialog[str]):
    """Shows the result of the expression while the person types; answers the expression to pin.

    Args:
        load: returns the value, in a thread; may raise StudioError.
        begin: the first expression, unless the person has already typed one for the same `what`.
        pins: whether the person can pin the expression.
    """

    DEFAULT_CLASSES = "-large"
    choices = (
        Choice("copy", "Copy", "primary"), Choice("take", "Use in a form"), Choice("pin", "Pin to the tool"),
        Choice("back", "Close"),
    )  # fmt: skip
    field = getters.query_one(Input)
    view = getters.query_one(JsonView)

    def __init__(self, what: str, load: Callable[[], Json], begin: str = "", *, pins: bool = False) -> None:
        super().__init__(f"Query of {what}")
        self._load, self._begin, self._pins = load, begin, pins
        self._whole: list[Json] = []
        """The whole value in a list; empty until it is loaded."""
        self.found: list[Json] = []
        """The result of the expression in a list; empty while the expression is wrong."""

    def body(self) -> Widgets:
        begin = self.app.queries.get(self.title or "") or self._begin
        yield Input(begin, placeholder=_HINT, compact=True)
        yield Static(id="note", markup=False)
        yield Findable(JsonView())

    def on_mount(self) -> None:
        self.show_buttons(pin=self._pins)

    @on(Input.Changed)
    @work(group="query", exclusive=True)
    async def look(self) -> None:
        """Evaluate the typed expression once the person pauses."""
        self.found, expression = [], self.field.value.strip() or "@"
        self.app.queries[self.title or ""] = self.field.value
        await asyncio.sleep(_PAUSE)
        with self.noting():
            self._whole = self._whole or [await asyncio.to_thread(self._load)]
            found = await asyncio.to_thread(query, self._whole[0], expression)
            text = await asyncio.to_thread(dumps, found)
            self.found = [found]
            self.note(units.size(len(text)) if found is not None else "It finds nothing: null.", "quiet")
            self.view.show(text)

    @on(Input.Submitted)
    def go_to_result(self) -> None:
        self.view.focus()

    def action_take(self) -> None:
        """Save the result for the field menu of a form."""
        if self.found:
            self.app.piped = self.found
            self.app.say(f"The menu of a field ({self.app.key_of('field_menu')}) inserts it now.")
            self.dismiss(None)

    def action_pin(self) -> None:
        """Pin the expression: every result of the tool will be shown through it. An empty expression ends that."""
        if self.found:
            self.dismiss(self.field.value.strip())

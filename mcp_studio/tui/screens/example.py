"""Choosing an example with which the form is filled; its value, and what the check says of it, is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from mcp_studio.jsontext import Json, dumps
from mcp_studio.safetext import safe
from mcp_studio.schema.examples import Example, valid
from mcp_studio.schema.field import Form, errors
from mcp_studio.schema.form import build
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.find import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.json_view import JsonView


class ExamplePicker(Dialog[Example]):
    """Answers the example that was taken."""

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    ExamplePicker OptionList { height: auto; max-height: 8; border: none; padding: 0; background: transparent; }
    """
    choices = (Choice("submit", "Fill the form", "primary"), Choice("other", "Other values"), Choice("back", "Cancel"))
    options = getters.query_one(OptionList)

    def __init__(self, form: Form, schema: Json) -> None:
        super().__init__()
        self._form = form
        self._schema = schema
        self._seed = -1
        self._examples: tuple[Example, ...] = ()
        self._view = JsonView()

    def heading(self) -> str:
        return "Fill the form with an example"

    def body(self) -> Iterable[Widget]:
        yield OptionList()
        yield Static(id="verdict", markup=False)
        yield Findable(self._view)

    def on_mount(self) -> None:
        self.options.focus()
        self.action_other()

    def action_other(self) -> None:
        """The same examples with other values."""
        self._seed += 1
        self.run_worker(self._make(), group="make", exclusive=True)

    async def _make(self) -> None:
        """In a thread, with a form of its own: what that opens is made there."""
        schema, form, seed = self._schema, self._form, self._seed
        self._examples = await asyncio.to_thread(lambda: valid(form if schema is None else build(schema), seed))
        self.options.clear_options().add_options([Option(example.label) for example in self._examples])
        self.options.highlighted = 0

    @property
    def _example(self) -> Example | None:
        at = self.options.highlighted
        return self._examples[at] if at is not None and at < len(self._examples) else None

    @on(OptionList.OptionHighlighted)
    def show(self) -> None:
        if (example := self._example) is not None:
            self._view.show(dumps(example.value))
            self.run_worker(self._check(example), group="check", exclusive=True)

    async def _check(self, example: Example) -> None:
        problems = await self.app.studio.checker.check(self._schema, example.value) if self._schema is not None else ()
        text, look = f"{glyphs().ok} The schema allows it.", "$state-ready"
        if wrong := errors(problems):
            text = f"{glyphs().warning} It is not valid: {safe(wrong[0].sentence, 300)}. {safe(example.remark, 200)}"
            look = "$state-busy"
        self.query_one("#verdict", Static).update(Content.styled(text, look))

    @on(OptionList.OptionSelected)
    def action_submit(self) -> None:
        if self._example is not None:
            self.dismiss(self._example)

"""Choosing an example with which the form is filled; what it is, and what the check says of it, is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.jsontext import dumps
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.schema.examples import Example, valid
from mcp_studio.schema.field import Form, SchemaProblem, errors
from mcp_studio.schema.form import build
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.findable import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.line import Line
from mcp_studio.tui.views.messages import Copied
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.opened import Opened

Verdict = tuple[str, str, str]
"""Sign, look, words."""


class ExampleDialog(Dialog[Example], scope="example"):
    """Answers the example that was taken."""

    def __init__(self, studio: Studio, opened: Opened) -> None:
        super().__init__()
        self._studio = studio
        self._opened = opened
        self._seed = 0
        self._list: VirtualList[Example] = VirtualList(self._draw, key=lambda row: row.label, empty="Making them up …")
        self._verdict = Static(classes="verdict")
        self._view = Findable(JsonView(), classes="viewer")

    def heading(self) -> Content:
        """What is filled."""
        again = f" {glyphs().dot} seed {self._seed}" if self._seed else ""
        return Content(f"Fill {safe(self._opened.entry.ref, 60)} with an example{again}")

    def body(self) -> Iterable[Widget]:
        """The examples, the verdict, the value."""
        return self._list, self._verdict, self._view

    def on_mount(self) -> None:
        """Make them up."""
        self._list.focus()
        self._make()

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Show its value."""
        event.stop()
        if self._example is not None:
            self._view.view.set_json(dumps(self._example.value))
            self.run_worker(self._check(self._example), group="check", exclusive=True)

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click takes it."""
        event.stop()
        self.action_take()

    def on_copied(self, event: Copied) -> None:
        """What is marked in the value."""
        event.stop()
        self.app.copy_to_clipboard(event.text)

    @property
    def _example(self) -> Example | None:
        return self._list.row

    def _make(self) -> None:
        self.run_worker(self._made(self._seed), group="make", exclusive=True)

    async def _made(self, seed: int) -> None:
        self._list.set_rows(await asyncio.to_thread(_made_up, self._opened, seed))
        self.retitle(self.heading())

    async def _check(self, example: Example) -> None:
        schema = self._opened.schema
        problems: tuple[SchemaProblem, ...] = ()
        if schema is not None:
            problems = await self._studio.checker.check(schema, example.value)
        if example is self._example:
            sign, look, words = _verdict(example, problems, checked=schema is not None)
            self._verdict.update(Content.assemble((f"{sign} ", look), safe(words, 400)))

    def _draw(self, row: Example, width: int, selected: bool) -> Line:
        return [(row.label, "")]

    def action_take(self) -> None:
        """Answer the example under the cursor."""
        if self._example is not None:
            self.dismiss(self._example)

    def action_other(self) -> None:
        """The same examples with other values."""
        self._seed += 1
        self._make()

    def action_turn(self) -> None:
        """To the value, or back to the examples."""
        (self._list if not self._list.has_focus else self._view.view).focus()

    def action_copy(self) -> None:
        """Copy the whole value, or what is under the cursor in it."""
        if self._view.view.has_focus:
            self._view.view.action_copy()
        elif self._example is not None:
            cast("StudioApp", self.app).copy(dumps(self._example.value).decode("utf-8", "replace"))

    def action_close(self) -> None:
        """Leave the form as it was."""
        self.dismiss(None)


def _made_up(opened: Opened, seed: int) -> tuple[Example, ...]:
    """All examples; in a thread, so with a form of its own: what it opens is made there."""
    form: Form = build(opened.schema) if opened.schema is not None else opened.form
    return valid(form, seed)


def _verdict(example: Example, problems: Iterable[SchemaProblem], *, checked: bool) -> Verdict:
    """What the check of the whole schema says, and what the example says of itself."""
    found = list(problems)
    wrong = errors(found)
    said = wrong[0].sentence if wrong else ""
    more = f", and {units.plural(len(wrong) - 1, 'more error')}" if len(wrong) > 1 else ""
    if wrong:
        return glyphs().warning, "$state-busy", f"It is not valid: {said}{more}. {example.remark}".strip()
    if found:
        return glyphs().warning, "$state-busy", found[0].sentence
    return glyphs().ok, "$state-ready", "The whole schema allows it." if checked else "It is complete."

"""A form of our own in a dialog: what a saved call needs, another name for one, how a call is saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.jsontext import Json
from mcp_studio.safetext import safe
from mcp_studio.schema.field import errors
from mcp_studio.schema.form import build
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.screens.dialog import Choice, Dialog

Value = dict[str, Json]


class FillIn(Dialog[Value]):
    """Answers the value that was filled in.

    Args:
        about: a line above the form.
        done: takes the value; what keeps it from being taken is its answer, empty where nothing does.
    """

    choices = (Choice("submit", "OK", "primary"), Choice("back", "Cancel"))
    form = getters.query_one(FormView)
    problem = getters.query_one("#problem", Static)

    def __init__(
        self, title: str, about: str, schema: Json, value: Value, done: Callable[[Value], str] = lambda value: ""
    ) -> None:
        super().__init__()
        self._title_text = title
        self._about = about
        self._schema = schema
        self._start = value
        self._done = done

    def heading(self) -> str:
        return self._title_text

    def body(self) -> Iterable[Widget]:
        yield Static(Content(safe(self._about, 600)), classes="quiet gap")
        yield FormView(build(self._schema, strict=True), self._start)
        yield Static(id="below")
        yield Static(id="problem", classes="bad", markup=False)

    def on_mount(self) -> None:
        self.form.begin()
        self.show_below()

    @on(FormView.Changed)
    def changed(self, event: FormView.Changed) -> None:
        event.stop()
        self.problem.update("")
        self.show_below()

    @property
    def value(self) -> Value:
        """What is filled in."""
        return cast("Value", self.form.value) if isinstance(self.form.value, dict) else {}

    def show_below(self) -> None:
        """Say below the form what comes of it."""

    def action_submit(self) -> None:
        wrong = errors((*self.form.unreadable, *self.form.problems))
        if wrong:
            self.form.show_problems(wrong)
            self.form.focus_first_problem()
        elif refusal := self._done(self.value):
            self.problem.update(Content(safe(refusal, 600)))
        else:
            self.dismiss(self.value)

"""A form of our own in a dialog: what a saved call needs to be run, another name, how a call is saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.jsontext import Json, mapping
from mcp_studio.safetext import safe
from mcp_studio.schema.field import errors
from mcp_studio.schema.form import build
from mcp_studio.tui.form.form_view import FormView
from mcp_studio.tui.screens.dialog import Dialog

Value = dict[str, Json]


class AskDialog(Dialog[Value], scope="ask"):
    """Answers the value of the form once it is right.

    Args:
        take: takes a value that is right, or says in a sentence why it cannot.
    """

    def __init__(
        self,
        heading: str,
        about: str,
        schema: Json,
        value: Value | None = None,
        take: Callable[[Value], str] = lambda value: "",
    ) -> None:
        super().__init__()
        self._heading = heading
        self._about = about
        self._take = take
        self.form = FormView(build(schema, strict=True), value or {}, empty="Nothing has to be filled in.", sends=False)
        self._note = Static(classes="bad")

    def heading(self) -> Content:
        """What it is."""
        return Content(safe(self._heading, 200))

    def body(self) -> Iterable[Widget]:
        """What it is about, and the form."""
        if self._about:
            yield Static(Content(safe(self._about, 2_000, lines=True)), classes="quiet")
        yield self.form
        yield from self.below()
        yield self._note

    def below(self) -> Iterable[Widget]:
        """What stands below the form."""
        return ()

    def on_mount(self) -> None:
        """The first field has the focus."""
        self.form.begin()

    @property
    def value(self) -> Value:
        """What is filled in."""
        return mapping(self.form.value)

    def say(self, text: str) -> None:
        """Say why it is not taken."""
        self._note.update(Content(safe(text, 800)))

    def on_form_view_changed(self, event: FormView.Changed) -> None:
        """Something was typed."""
        event.stop()
        self.say("")
        self.typed()

    def typed(self) -> None:
        """The value is another one."""

    def action_accept(self) -> None:
        """Answer, once it is right."""
        wrong = errors((*self.form.unreadable, *self.form.problems))
        if wrong:
            self.form.show_problems(wrong)
            self.form.focus_first_problem()
            self.say(wrong[0].sentence)
        elif why := self._take(self.value):
            self.say(why)
        else:
            self.done(self.value)

    def done(self, value: Value) -> None:
        """It is right."""
        self.dismiss(value)

    def action_back(self) -> None:
        """Leave."""
        self.dismiss(None)

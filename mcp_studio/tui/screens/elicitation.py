"""Elicitation in form mode: what a server requests of the person, in a frame that the server cannot draw."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from textual import on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.jsontext import Json
from mcp_studio.present import questions
from mcp_studio.safetext import safe
from mcp_studio.schema.field import Field, Form, Object, defaults, errors, is_secret
from mcp_studio.schema.form import build
from mcp_studio.schema.place import Path, remove
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.screens.dialog import Choice
from mcp_studio.tui.screens.request import CANCEL, DECLINE, LATER, RequestDialog
from mcp_studio.tui.views.glyphs import glyphs

_DEPTH, _FIELDS = 8, 500
"""How far secrets are looked for; the specification has no objects in objects here."""


class Elicitation(RequestDialog):
    """Its words, warnings of ours, and the form."""

    wants = "requests input"
    choices = (Choice("accept", "Accept", "primary"), DECLINE, CANCEL, LATER)

    def __init__(self, request: InputRequest, times: Callable[[InputRequest], str]) -> None:
        super().__init__(request, times)
        self._form = build(request.schema, strict=True)
        value = _start(self._form) if request.draft is None else request.draft
        self._view = FormView(self._form, value, empty="No fields to fill in.")

    def question(self) -> Iterable[Widget]:
        yield self.foreign(self.request.message)
        secret = list(dict.fromkeys(safe(path[-1], 60) for path in _secrets(self._form)))
        warning = ""
        if secret:
            warning = f"{', '.join(secret)} looks like a secret. A server should not request passwords in a form."
        elif questions.about_secrets(self.request):
            warning = "It speaks of a secret. A server should not request passwords or tokens in a form."
        for text in (warning, *self._form.problems[:3]):
            if text:
                yield Static(Content(f"{glyphs().warning} {safe(text, 300)}"), classes="bad gap")
        yield self._view

    def on_mount(self) -> None:
        super().on_mount()
        self._view.begin()

    @on(FormView.Changed)
    def keep(self, event: FormView.Changed) -> None:
        """What was typed is there again after Later."""
        event.stop()
        self.request.draft = event.value
        self.refuse("")

    def action_accept(self) -> None:
        """Send what is filled in, once it fits what was requested."""
        self.run_worker(self._accept(), exclusive=True)

    async def _accept(self) -> None:
        problems = self._view.unreadable or self._view.problems
        if not problems:
            problems = await self.app.studio.checker.check(self.request.schema, self._view.value)
        if wrong := errors(problems):
            self._view.show_problems(problems)
            self._view.focus_first_problem()
            self.refuse(f"Not sent: {safe(wrong[0].place, 120)} {safe(wrong[0].message, 300)}")
        else:
            self.dismiss(Answer("accept", self._view.value))


def _secrets(form: Form) -> list[Path]:
    """The places that look secret, inside of objects, too."""
    found: list[Path] = []
    todo: list[tuple[Path, Field]] = [((field.name,), field) for field in form.fields]
    for path, field in todo:
        if is_secret(field):
            found.append(path)
        if isinstance(field, Object) and len(path) < _DEPTH and len(todo) < _FIELDS:
            todo += [((*path, inner.name), inner) for inner in field.fields()]
    return found


def _start(form: Form) -> Json:
    """The defaults, but of no field that looks secret: a person is to know what they give away."""
    value: Json = cast("Json", defaults(form))
    for path in _secrets(form):
        value = remove(value, path)
    return value

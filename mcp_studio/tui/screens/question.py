"""What a server asks the person: its form, in a frame that the server cannot draw."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.jsontext import Json
from mcp_studio.present import questions
from mcp_studio.safetext import safe
from mcp_studio.schema.field import Field, Form, Object, SchemaProblem, defaults, errors, is_secret
from mcp_studio.schema.form import build
from mcp_studio.schema.place import Path, remove
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui.form.form_view import FormView
from mcp_studio.tui.screens.asked import AskedDialog
from mcp_studio.tui.views.glyphs import glyphs

if TYPE_CHECKING:
    from mcp_studio.tui.screens.asking import Asking

_DEPTH, _FIELDS = 8, 500
"""How far it is looked for secrets; the specification has no objects in objects here."""


class Question(AskedDialog, scope="question"):
    """Answers what the person chose; None is later, and what was typed is kept in the request."""

    wants = "asks"

    def __init__(self, request: InputRequest, asking: Asking) -> None:
        super().__init__(request, asking)
        self._form_model = build(request.schema, strict=True)
        value = _start(self._form_model) if request.draft is None else request.draft
        self._form = FormView(self._form_model, value, empty="Nothing has to be filled in.")

    def body(self) -> Iterable[Widget]:
        """Its words, warnings of ours, and the form."""
        yield from self.above()
        yield Static(Content(safe(self.request.message, 4_000, lines=True)), classes="gap foreign")
        yield from self._warnings()
        yield self._form
        yield self.note

    def _warnings(self) -> Iterable[Widget]:
        sign = glyphs().warning
        secret = list(dict.fromkeys(safe(path[-1], 60) for path in _secrets(self._form_model)))
        if secret:
            text = f"{', '.join(secret)} looks like a secret. A server has no business asking for passwords."
            yield Static(Content(f"{sign} {text}"), classes="bad gap")
        elif questions.about_secrets(self.request):
            text = "It speaks of something secret. A server has no business asking for passwords or tokens in a form."
            yield Static(Content(f"{sign} {text}"), classes="bad gap")
        for problem in self._form_model.problems[:3]:
            yield Static(Content(f"{sign} {safe(problem, 300)}"), classes="bad")

    def on_mount(self) -> None:
        """The first field gets the focus."""
        super().on_mount()
        self._form.begin()

    def on_form_view_changed(self, event: FormView.Changed) -> None:
        """Keep what is typed."""
        event.stop()
        self.request.draft = event.value
        self.say("")

    def action_accept(self) -> None:
        """Send what is filled in, once it fits what was asked for."""
        self.run_worker(self._accept(), exclusive=True)

    async def _accept(self) -> None:
        problems = self._form.unreadable or self._form.problems
        if not problems:
            problems = await self.asking.studio.checker.check(self.request.schema, self._form.value)
        wrong = errors(problems)
        if wrong:
            self._form.show_problems(problems)
            self._form.focus_first_problem()
            self.say(f"Not sent: {_words(wrong[0])}")
        else:
            self.dismiss(Answer("accept", self._form.value))


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


def _words(problem: SchemaProblem) -> str:
    return f"{safe(problem.place, 120)} {safe(problem.message, 300)}".strip()

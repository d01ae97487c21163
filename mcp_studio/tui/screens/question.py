"""What a server asks the person: its form, in a frame that the server cannot draw."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.safetext import safe
from mcp_studio.schema.field import Text
from mcp_studio.schema.form import build, defaults
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui.form.form_view import FormView
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.glyphs import glyphs

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.tui.app import StudioApp


class Question(Dialog[Answer], scope="question"):
    """Answers what the person chose; None is later, and what was typed is kept in the request."""

    def __init__(self, request: InputRequest, waiting: int, studio: Studio) -> None:
        super().__init__()
        self._request = request
        self._studio = studio
        self._waiting = waiting
        self._form_model = build(request.schema, strict=True)
        self._note = Static(classes="bad")
        value = defaults(self._form_model) if request.draft is None else request.draft
        self._form = FormView(self._form_model, value, empty="Nothing has to be filled in.")

    def heading(self) -> Content:
        """Which server asks, and which call waits."""
        subject = f" · {safe(self._request.subject, 60)} is waiting" if self._request.subject else ""
        return Content(f"{safe(self._request.server, 40)} asks{subject}")

    def body(self) -> Iterable[Widget]:
        """Its words, warnings of ours, and the form."""
        more = f"{self._waiting - 1} more waiting · " if self._waiting > 1 else ""
        asked = time.monotonic() - self._request.asked
        yield Static(Content(f"{more}asked {asked:.0f} s ago. The words below are the server's."), classes="quiet")
        yield Static(Content(safe(self._request.message, 4_000, lines=True)), classes="gap")
        secret = [field.name for field in self._form_model.fields if isinstance(field, Text) and field.secret]
        if secret:
            names = ", ".join(safe(name, 60) for name in secret)
            text = f"{glyphs().warning} {names} looks like a secret. A server has no business asking for passwords."
            yield Static(Content(text), classes="bad gap")
        for problem in self._form_model.problems[:3]:
            yield Static(Content(f"{glyphs().warning} {safe(problem, 300)}"), classes="bad")
        yield self._form
        yield self._note

    def on_mount(self) -> None:
        """The first field gets the focus."""
        self.call_after_refresh(self._focus_form)

    def _focus_form(self) -> None:
        for widget in self._form.query("*"):
            if widget.focusable and widget.display:
                widget.focus()
                return

    def on_form_view_changed(self, event: FormView.Changed) -> None:
        """Keep what is typed."""
        event.stop()
        self._request.draft = event.value
        self._note.update(Content(""))

    def action_accept(self) -> None:
        """Send what is filled in, once it fits what was asked for."""
        self.run_worker(self._accept(), exclusive=True)

    async def _accept(self) -> None:
        problems = self._form.unreadable or self._form.problems
        if not problems:
            problems = await self._studio.check(self._request.schema, self._form.value)
        errors = [problem for problem in problems if problem.severity == "error"]
        if errors:
            self._form.show_problems(problems)
            self._form.focus_first_problem()
            self._note.update(Content(f"Not sent: {safe(errors[0].message, 300)}"))
        else:
            self.dismiss(Answer("accept", self._form.value))

    def action_decline(self) -> None:
        """Tell the server that the person declines."""
        self.dismiss(Answer("decline"))

    def action_cancel(self) -> None:
        """Tell the server that the person stopped what is waiting."""
        self.dismiss(Answer("cancel"))

    def action_later(self) -> None:
        """Leave it waiting."""
        app = cast("StudioApp", self.app)
        app.say(f"It waits; {app.spell('questions')} opens it again.")
        self.dismiss(None)

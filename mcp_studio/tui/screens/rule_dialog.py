"""A rule made of the answer that was just given: for which questions it holds, what it does, and how it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.config.model import AnswerRule, RuleAction
from mcp_studio.config.save import append_answer
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json
from mcp_studio.present import questions as asking_words
from mcp_studio.present.questions import toml_of
from mcp_studio.safetext import safe
from mcp_studio.schema.form import build
from mcp_studio.schema.keywords import REQUIRED
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.session.rules import rule_for
from mcp_studio.tui.form.form_view import FormView
from mcp_studio.tui.form.joined import joined
from mcp_studio.tui.screens.dialog import Dialog

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.tui.app import StudioApp

_EVERY, _SCHEMA, _TOOL = "every one of its kind", "this schema", "this call"
_LEFT = REQUIRED, "/values/"
_ACTIONS: tuple[RuleAction, ...] = ("accept", "decline", "cancel", "ask")


class RuleDialog(Dialog[AnswerRule], scope="rule"):
    """Answers the rule that was made."""

    def __init__(self, studio: Studio, request: InputRequest, answer: Answer) -> None:
        super().__init__()
        self._studio = studio
        self._request = request
        self._answer = answer
        value: dict[str, Json] = {"for": self._scopes()[0], "action": answer.action, "wait": 0}
        form = build(self._schema())
        if self._has_values:
            form = joined(form, "values", build(request.schema, strict=True), at=3, required=False)
            value["values"] = self._made(answer.content).content
        self._form = FormView(form, value, sends=False)
        self._text = Static(classes="gap")
        self._note = Static(classes="bad")

    @property
    def _has_values(self) -> bool:
        """Whether it is a form that was filled in."""
        return self._request.kind == "elicitation" and self._answer.action == "accept"

    def _made(self, content: Json, *, tool: bool = False) -> AnswerRule:
        answer = self._answer._replace(content=content)
        return rule_for(self._request, answer, tool=tool, redact=self._studio.redactor.bytes)

    def _scopes(self) -> list[str]:
        scopes = [_SCHEMA] if self._request.kind == "elicitation" else [_EVERY]
        return [*scopes, _TOOL] if self._request.subject else scopes

    def _schema(self) -> Json:
        scopes, actions = cast("list[Json]", self._scopes()), cast("list[Json]", list(_ACTIONS))
        if self._answer.action != "accept":
            actions.remove("accept")  # There are no values that it could be accepted with.
        return {
            "type": "object",
            "properties": {
                "for": {"enum": scopes},
                "action": {"enum": actions},
                "wait": {
                    "type": "number",
                    "minimum": 0,
                    "maximum": 600,
                    "description": "seconds before it is answered",
                },
            },
            "required": ["for", "action"],
        }

    def heading(self) -> Content:
        """What it is."""
        return Content("Make a rule of this answer")

    def body(self) -> Iterable[Widget]:
        """The choices, and the rule as it is written."""
        kind = asking_words.KINDS[self._request.kind]
        about = f"From now on a {kind} of {safe(self._request.server, 60)} is answered by itself; the trace tells."
        yield Static(Content(about), classes="quiet")
        yield self._form
        yield self._text
        yield self._note

    def on_mount(self) -> None:
        """Show the rule."""
        self._show()
        self._form.focus()

    def on_form_view_changed(self, event: FormView.Changed) -> None:
        """Another choice."""
        event.stop()
        self._note.update(Content(""))
        self._show()

    @property
    def rule(self) -> AnswerRule:
        """The rule as it is chosen."""
        value = cast("dict[str, Json]", self._form.value)
        made = self._made(self._values(value), tool=value.get("for") == _TOOL)
        wait = value.get("wait")
        action = next((known for known in _ACTIONS if known == value.get("action")), made.action)
        return replace(
            made,
            action=action,
            content=made.content if action == "accept" else None,
            wait=float(wait) if isinstance(wait, (int, float)) and not isinstance(wait, bool) else 0.0,
        )

    def _values(self, value: dict[str, Json]) -> Json:
        return value.get("values") if self._has_values else self._answer.content

    def _show(self) -> None:
        rule, file = self.rule, self._studio.paths.answers_file
        parts: list[str | tuple[str, str]] = [(f"Written at the top of {file}\n", "$quiet")]
        parts.append(safe(toml_of(rule), 6_000, lines=True))
        if left := self._left_out(rule):
            parts.append((f"\n{', '.join(left)}: left out, for it looks secret.", "$state-busy"))
        self._text.update(Content.assemble(*parts))

    def _left_out(self, rule: AnswerRule) -> list[str]:
        """Names of what is written to no file: of the answer itself, and of what was typed here."""
        if rule.action != "accept" or not isinstance(rule.content, dict):
            return []
        typed = self._values(cast("dict[str, Json]", self._form.value))
        kept = self._made(self._answer.content).content
        names = {name for name in _names(self._answer.content) if name not in _names(kept)}
        return [safe(name, 60) for name in sorted(names | (_names(typed) - _names(rule.content)))]

    def action_save(self) -> None:
        """Write the rule, and use it."""
        problems = (*self._form.unreadable, *self._form.problems)
        # What a rule leaves out, the person is asked for.
        errors = [one for one in problems if one.severity == "error" and (one.message, one.pointer[:8]) != _LEFT]
        if errors:
            self._form.show_problems(errors)
            self._note.update(Content(f"Not made: {safe(errors[0].place)} {safe(errors[0].message)}"))
        elif self._request.kind == "sampling" and self.rule.action == "accept" and self.rule.content is None:
            self._note.update(Content("Not made: the reply has something secret in it, which is written to no file."))
        else:
            self.run_worker(self._save(self.rule), exclusive=True)

    async def _save(self, rule: AnswerRule) -> None:
        try:
            await asyncio.to_thread(append_answer, self._studio.paths.answers_file, rule)
        except ConfigError as problem:
            self._note.update(Content(safe(f"{problem.message} {problem.hint}", 600)))
            return
        self._studio.rules.add(rule)
        cast("StudioApp", self.app).say(f"From now on: {asking_words.rule_line(rule)}.")
        self.dismiss(rule)

    def action_back(self) -> None:
        """Leave without a rule."""
        self.dismiss(None)


def _names(value: Json) -> set[str]:
    return set(cast("dict[str, Json]", value)) if isinstance(value, dict) else set()

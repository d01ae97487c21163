"""A rule that answers such requests from now on."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from textual import on, work
from textual.content import Content
from textual.widgets import Select, Static

from mcp_studio.config.model import AnswerRule, RuleAction
from mcp_studio.config.settings import to_table
from mcp_studio.jsontext import Json, mapping
from mcp_studio.present import questions
from mcp_studio.safetext import safe
from mcp_studio.schema.form import build
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.session.rules import rule_for
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.screens.dialog import Choice, Dialog, Parts, Widgets
from mcp_studio.tui.server_files import put_rule

_ACTIONS: tuple[RuleAction, ...] = ("accept", "decline", "cancel", "ask")


class AnswerRuleDialog(Dialog[None]):
    """Makes an answer rule, and shows the rule as it will be written."""

    TITLE = "Answer rule"
    choices = (Choice("submit", "Save the rule", "primary"), Choice("back", "Cancel"))

    def __init__(self, request: InputRequest, answer: Answer) -> None:
        super().__init__()
        self._request = request
        self._answer = answer
        self._form: FormView | None = None
        """The form of the values; None if there was no form to fill in."""

    def body(self) -> Widgets:
        request, accepted = self._request, self._answer.action == "accept"
        about = f"From now on such requests of {safe(request.server, 60)} are answered by rule; the trace says so."
        yield Static(Content(about), classes="quiet gap")
        every = "this form" if request.kind == "elicitation" else "every one of its kind"
        scopes = [(every, "every"), *([("this call", "tool")] if request.subject else [])]
        actions: list[tuple[str, RuleAction]] = [(one, one) for one in _ACTIONS if accepted or one != "accept"]
        yield Static("Holds for", classes="label")
        yield Select(scopes, value="every", allow_blank=False, id="scope", compact=True)
        yield Static("Answers with", classes="label")
        self._action = Select[RuleAction](actions, value=self._answer.action, allow_blank=False, compact=True)
        yield self._action
        if request.kind == "elicitation" and accepted:
            self._form = FormView(build(request.schema, strict=True), self._made(self._answer.content).content)
            yield self._form
        yield Static(id="written")

    def _made(self, content: Json, *, tool: bool = False) -> AnswerRule:
        answer = self._answer._replace(content=content)
        return rule_for(self._request, answer, tool=tool, redact=self.app.studio.redactor.bytes)

    @property
    def rule(self) -> AnswerRule:
        """The rule as the person has chosen it."""
        values = self._form.value if self._form is not None else self._answer.content
        made = self._made(values, tool=self.query_one("#scope", Select).value == "tool")
        action = self._action.selection or "ask"
        return replace(made, action=action, content=made.content if action == "accept" else None)

    @on(Select.Changed)
    @on(FormView.Changed)
    def look(self) -> None:
        """The rule as it is written, and what is left out of it."""
        self.note("")
        rule, file = self.rule, self.app.studio.paths.answers_file
        written = safe(_toml(rule), 6_000, lines=True)
        parts: Parts = [(f"Written at the top of {file}\n", "$quiet"), written]
        typed = mapping(self._answer.content) | mapping(self._form.value if self._form is not None else None)
        left = [safe(name, 60) for name in sorted(typed) if name not in mapping(rule.content)]
        if left and rule.action == "accept" and self._form is not None:
            parts.append((f"\n{', '.join(left)}: left out, since it looks secret.", "$state-busy"))
        self.put("written", *parts)

    @work(exclusive=True)
    async def action_submit(self) -> None:
        rule = self.rule
        unreadable = self._form.unreadable if self._form is not None else ()
        if unreadable:
            self.note(f"Not saved: {unreadable[0].place} {unreadable[0].message}", "bad")
        elif self._request.kind == "sampling" and rule.action == "accept" and rule.content is None:
            self.note("Not saved: the reply holds something secret, which is written to no file.", "bad")
        else:
            await asyncio.to_thread(put_rule, self.app.studio.paths.answers_file, rule)
            self.app.studio.rules.add(rule)
            self.app.say(f"From now on: {questions.rule_line(rule)}.")
            self.dismiss(None)


def _toml(rule: AnswerRule) -> str:
    """The `[[answer]]` table of a rule; a sentence instead if TOML cannot express it."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.dumps({"answer": [to_table(rule)]}).strip()
    except TOMLKitError:
        return "Its values cannot be written as TOML, which knows no null."

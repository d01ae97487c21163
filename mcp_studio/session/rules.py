"""Rules that answer what servers ask, and the values that they answer with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from glob import escape
from typing import NamedTuple

from mcp_studio.config.model import AnswerRule
from mcp_studio.config.settings import fingerprint
from mcp_studio.jsontext import Json, dumps
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import defaults, errors, is_secret
from mcp_studio.schema.form import build
from mcp_studio.session.inbox import OURS, Answer, InputRequest
from mcp_studio.signal import Signal

MODEL = "mcp-studio"
"""What stands as `model` in an answer that no model has given."""


class Fit(NamedTuple):
    """A rule that is for a question, and what it answers; `problem` says why it cannot."""

    rule: AnswerRule
    answer: Answer
    problem: str = ""


class AnswerRules:
    """All rules in force, first match first; `answered` fires when one answers."""

    def __init__(self, rules: Iterable[AnswerRule] = ()) -> None:
        self.answered: Signal[tuple[InputRequest, Answer]] = Signal()
        self._rules: tuple[AnswerRule, ...] = tuple(rules)

    def __iter__(self) -> Iterator[AnswerRule]:
        return iter(self._rules)

    def add(self, rule: AnswerRule) -> None:
        """Put a rule before all others: what was decided last holds."""
        self._rules = (rule, *self._rules)

    def remove(self, rule: AnswerRule) -> None:
        """Take a rule away, once where it was added several times."""
        at = self._rules.index(rule)
        self._rules = (*self._rules[:at], *self._rules[at + 1 :])

    def match(self, request: InputRequest) -> Fit | None:
        """The first rule that is for a question; what the studio asks of itself is never answered by these."""
        if request.kind in OURS:
            return None
        rule = next((rule for rule in self._rules if fits(rule, request)), None)
        if rule is None:
            return None
        by = rule.source or "a rule"
        if rule.action != "accept":
            return Fit(rule, Answer("cancel" if rule.action == "ask" else rule.action, None, by))
        content, problem = _content(rule, request)
        return Fit(rule, Answer("accept", content, by), problem)


def fits(rule: AnswerRule, request: InputRequest) -> bool:
    """Whether a rule is for a question."""
    return (
        rule.kind in ("any", request.kind)
        and fnmatchcase(request.server, rule.server)
        and fnmatchcase(_called(request), rule.tool)
        and fnmatchcase(request.message, rule.message)
        and (not rule.schema or rule.schema == fingerprint(request.schema))
    )


def rule_for(
    request: InputRequest, answer: Answer, *, tool: bool = False, redact: Callable[[bytes], bytes] = bytes
) -> AnswerRule:
    """The rule that would have answered a question as a person just did; values of secret fields are left out.

    Args:
        tool: for every question of the same call, instead of for every question with the same schema.
        redact: takes secrets out of JSON; a value that it changes is left out, and a reply that it changes is none.
    """
    content = answer.content
    if request.kind == "elicitation" and isinstance(content, dict):
        secret = secrets(request.schema)
        content = {
            name: value
            for name, value in content.items()
            if name not in secret and redact(frame := dumps({name: value})) == frame
        }
    elif redact(frame := dumps(content)) != frame:
        content = None
    exact = request.kind == "elicitation" and not tool
    return AnswerRule(
        answer.action,
        server=escape(request.server),
        kind=request.kind if request.kind not in ("approval", "sign_in", "roots") else "any",
        tool=escape(_called(request)) if tool and request.subject else "*",
        schema=fingerprint(request.schema) if exact else "",
        content=_shortest(content) if answer.action == "accept" and request.kind != "url" else None,
        source="answers.toml",
    )


def _shortest(content: Json) -> Json:
    """A reply of one text as that text: a rule makes the same reply of it."""
    inner = content.get("content") if isinstance(content, dict) else None
    text = inner.get("text") if isinstance(inner, dict) else None
    return text if isinstance(text, str) and content == message_result(text) else content


def message_result(text: str) -> dict[str, Json]:
    """A `CreateMessageResult` that says one text (client/sampling)."""
    return {"role": "assistant", "content": {"type": "text", "text": text}, "model": MODEL, "stopReason": "endTurn"}


def _called(request: InputRequest) -> str:
    """The name of what is called: `subject` is `server.name`, and names of servers may have dots."""
    return request.subject.removeprefix(request.server + ".")


def _content(rule: AnswerRule, request: InputRequest) -> tuple[Json, str]:
    if request.kind == "url":
        return None, ""
    if request.kind == "sampling":
        if isinstance(rule.content, str):
            return message_result(rule.content), ""
        if isinstance(rule.content, dict) and "content" in rule.content:
            return {"role": "assistant", "model": MODEL, **rule.content}, ""
        return None, "its content is neither text nor a result with content"
    return filled(request.schema, rule.content)


def filled(schema: Json, given: Json) -> tuple[Json, str]:
    """A value over the defaults of a form, without fields that the form does not have, and what is wrong with it."""
    form = build(schema, strict=True)
    content = given
    if given is None or isinstance(given, dict):
        names = {field.name for field in form.fields}
        content = {**defaults(form), **{name: value for name, value in (given or {}).items() if name in names}}
    wrong = errors(quick(form, content))
    return content, wrong[0].sentence if wrong else ""


def secrets(schema: Json) -> frozenset[str]:
    """The names of the fields that look like passwords or tokens."""
    return frozenset(field.name for field in build(schema).fields if is_secret(field))

"""Rules that answer questions of servers, and the values in their answers."""

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
"""The value of `model` in an answer that no model gave."""


class Fit(NamedTuple):
    """A rule that matches a question, with its answer; `problem` says why the answer cannot be used."""

    rule: AnswerRule
    answer: Answer
    problem: str = ""


class AnswerRules:
    """All rules, first match first; `answered` fires when one answers."""

    def __init__(self, rules: Iterable[AnswerRule] = ()) -> None:
        self.answered: Signal[tuple[InputRequest, Answer]] = Signal()
        self._rules: tuple[AnswerRule, ...] = tuple(rules)

    def __iter__(self) -> Iterator[AnswerRule]:
        return iter(self._rules)

    def add(self, rule: AnswerRule) -> None:
        """Add a rule before all others, so that the latest decision wins."""
        self._rules = (rule, *self._rules)

    def remove(self, rule: AnswerRule) -> None:
        """Remove a rule, once if it was added several times."""
        at = self._rules.index(rule)
        self._rules = (*self._rules[:at], *self._rules[at + 1 :])

    def match(self, request: InputRequest) -> Fit | None:
        """The first rule that matches a question; questions of the studio itself match none."""
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
    """Whether a rule matches a question."""
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
    """A rule that answers a question as a person just did, without the values of secret fields.

    Args:
        tool: makes the rule match all questions of the same call, not all with the same schema.
        redact: removes secrets from JSON; values that it changes are left out.
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
    """Shorten a one-text reply to its text; `message_result` restores it."""
    inner = content.get("content") if isinstance(content, dict) else None
    text = inner.get("text") if isinstance(inner, dict) else None
    return text if isinstance(text, str) and content == message_result(text) else content


def message_result(text: str) -> dict[str, Json]:
    """A `CreateMessageResult` with one text (client/sampling)."""
    return {"role": "assistant", "content": {"type": "text", "text": text}, "model": MODEL, "stopReason": "endTurn"}


def _called(request: InputRequest) -> str:
    """The name of the called tool: `subject` is `server.name`, and servers' names may contain dots."""
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
    """A value with the defaults of a form and without unknown fields, and a sentence on what is wrong with it."""
    form = build(schema, strict=True)
    content = given
    if given is None or isinstance(given, dict):
        names = {field.name for field in form.fields}
        content = {**defaults(form), **{name: value for name, value in (given or {}).items() if name in names}}
    wrong = errors(quick(form, content))
    return content, wrong[0].sentence if wrong else ""


def secrets(schema: Json) -> frozenset[str]:
    """The names of fields that look like passwords or tokens."""
    return frozenset(field.name for field in build(schema).fields if is_secret(field))

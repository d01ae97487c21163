"""Rules answer what they are for, with values that fit, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_studio.config.model import AnswerRule
from mcp_studio.config.settings import fingerprint
from mcp_studio.redact import Redactor
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.session.rules import AnswerRules, rule_for

SCHEMA: Any = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "ok": {"type": "boolean", "default": True},
        "api_key": {"type": "string"},
    },
    "required": ["name"],
}


def request(kind: Any = "elicitation", **more: Any) -> InputRequest:
    return InputRequest(kind, "my.server", "Who are you?", schema=SCHEMA, subject="my.server.add.user", **more)


@pytest.mark.parametrize(
    ("rule", "fits"),
    [
        (AnswerRule("decline"), True),
        (AnswerRule("decline", server="my.*"), True),
        (AnswerRule("decline", server="other"), False),
        (AnswerRule("decline", tool="add.*"), True),
        (AnswerRule("decline", tool="server.add.user"), False),
        (AnswerRule("decline", kind="sampling"), False),
        (AnswerRule("decline", message="Who*"), True),
        (AnswerRule("decline", message="Why*"), False),
        (AnswerRule("decline", schema=fingerprint(SCHEMA)), True),
        (AnswerRule("decline", schema=fingerprint({})), False),
    ],
)
async def test_a_rule_is_for_what_all_its_keys_fit(rule: AnswerRule, fits: bool) -> None:
    assert bool(AnswerRules([rule]).match(request())) is fits


async def test_the_first_rule_that_fits_answers_and_a_new_one_comes_first() -> None:
    rules = AnswerRules([AnswerRule("decline"), AnswerRule("cancel")])
    fit = rules.match(request())
    assert fit and fit.answer.action == "decline"
    rules.add(AnswerRule("cancel"))
    fit = rules.match(request())
    assert fit and fit.answer.action == "cancel"


async def test_accepting_fills_in_defaults_and_leaves_out_what_was_not_asked_for() -> None:
    fit = AnswerRules([AnswerRule("accept", content={"name": "Ada", "other": 1})]).match(request())
    assert fit and fit.answer == Answer("accept", {"name": "Ada", "ok": True}, "a rule") and not fit.problem


@pytest.mark.parametrize(("content", "says"), [({}, "name"), ({"name": 5}, "name"), ([1], "")])
async def test_values_that_do_not_fit_are_a_problem(content: Any, says: str) -> None:
    fit = AnswerRules([AnswerRule("accept", content=content)]).match(request())
    assert fit and fit.problem and says in fit.problem


async def test_an_approval_is_never_answered_by_a_rule() -> None:
    assert AnswerRules([AnswerRule("accept")]).match(request("approval")) is None


async def test_a_model_is_given_words_or_a_whole_result() -> None:
    said = AnswerRules([AnswerRule("accept", content="4")]).match(request("sampling"))
    whole = AnswerRules([AnswerRule("accept", content={"model": "m", "content": []})]).match(request("sampling"))
    wrong = AnswerRules([AnswerRule("accept", content=4)]).match(request("sampling"))
    assert said and said.answer.content["content"] == {"type": "text", "text": "4"}
    assert whole and whole.answer.content == {"role": "assistant", "model": "m", "content": []}
    assert wrong and wrong.problem


async def test_the_rule_of_an_answer_fits_the_same_question_and_has_no_secrets() -> None:
    asked = request()
    given = Answer("accept", {"name": "Ada", "ok": False, "api_key": "hush"})
    for tool in (False, True):
        rule = rule_for(asked, given, tool=tool)
        assert rule.content == {"name": "Ada", "ok": False}
        assert AnswerRules([rule]).match(request())
    assert not AnswerRules([rule_for(asked, given)]).match(InputRequest("elicitation", "my.server", "m", schema={}))


async def test_names_with_pattern_characters_are_taken_literally() -> None:
    asked = InputRequest("elicitation", "s*[1]", "m", schema=SCHEMA, subject="s*[1].t?")
    rule = rule_for(asked, Answer("decline"), tool=True)
    assert AnswerRules([rule]).match(asked)
    assert not AnswerRules([rule]).match(InputRequest("elicitation", "sx1", "m", schema=SCHEMA, subject="sx1.tt"))


async def test_what_the_redactor_knows_gets_into_no_rule() -> None:
    redactor = Redactor()
    redactor.learn("known-to-be-secret")
    given = Answer("accept", {"name": "Ada known-to-be-secret", "ok": "Bearer abcdef123456"})
    assert rule_for(request(), given, redact=redactor.bytes).content == {}
    reply = Answer("accept", {"role": "assistant", "content": {"type": "text", "text": "known-to-be-secret"}})
    asked = InputRequest("sampling", "s", "m")
    assert rule_for(asked, reply, redact=redactor.bytes).content is None
    assert rule_for(asked, reply).content is not None

"""What a program of the SDK answers when the server asks: as in the recorded call, or by the rules that were given."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from mcp_studio.call.copying.python import Answers, literal, text, unsaid
from mcp_studio.call.copying.subject import Subject
from mcp_studio.call.replay.given import Given
from mcp_studio.config.rules import AnswerRule
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.protocol.versions import INTERNAL_ERROR, USER_REJECTED
from mcp_studio.session.rules import MODEL, message_result

_ELICITATION, _SAMPLING, _ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"
_SAID = '"".join(getattr(one.content, "text", "") for one in params.messages[-1:])'
"""What the last message of a sampling request says."""
_NEXT = '''

def following(answers: list[tuple[str, Any]], question: str) -> Any:
    """What the same question was answered, else the next answer; each is given once."""
    same = [one for one in answers if one[0] == question] or answers
    if not same:
        return ErrorData(code=-32603, message=f"No answer is known: {question}")
    answers.remove(same[0])
    return same[0][1]
'''
_FILLED = '''

def filled(schema: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """The values for the fields of a form, over its defaults."""
    fields = schema.get("properties", {})
    defaults = {name: field["default"] for name, field in fields.items() if "default" in field}
    return defaults | {name: value for name, value in content.items() if name in fields}
'''
_SCHEMA = '''

def fingerprint(schema: dict[str, Any]) -> str:
    """What a rule names a form by."""
    text = json.dumps(schema, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()[:16]
'''
_CALLBACKS = {
    _ELICITATION: ("elicit", ", params: ElicitRequestParams", "ElicitResult", ["elicitation_callback=elicit"]),
    _SAMPLING: (
        "sample", ", params: CreateMessageRequestParams", "CreateMessageResultWithTools",
        ["sampling_callback=sample", 'sampling_capabilities=SamplingCapability.model_validate({"tools": {}})'],
    ),
    _ROOTS: ("roots", "", "ListRootsResult", ["list_roots_callback=roots"]),
}  # fmt: skip


def answers_of(subject: Subject) -> Answers:
    """The answers that are known: those of the recorded call, else those of rules; roots of the server's entry."""
    rules = () if subject.given else tuple(rule for rule in subject.rules if _is_for(rule, subject))
    remarks = [remark for one in subject.given for remark in _missing(one)]
    bodies = {_ROOTS: ("", _roots(subject))}
    for method in (_ELICITATION, _SAMPLING):
        bodies[method] = _recorded(method, subject.given) if subject.given else ("", _by_rules(method, rules, remarks))
    setup, arguments, names = "", list[str](), set[str]()
    for method, (before, body) in bodies.items():
        if not body:
            continue
        name, params, result, own = _CALLBACKS[method]
        setup += f"{before}    async def {name}(context: object{params}) -> {result} | ErrorData:\n{body}\n"
        arguments += own
        names |= {result, "ErrorData", *params.split()[2:], *["SamplingCapability"] * (method == _SAMPLING)}
    helpers = [
        one for one, name in ((_NEXT, "following("), (_FILLED, "filled("), (_SCHEMA, "fingerprint(")) if name in setup
    ]
    imports = {"from typing import Any"} if helpers else set[str]()
    imports |= {"from fnmatch import fnmatchcase"} if "fnmatchcase(" in setup else set()
    imports |= {"import hashlib", "import json"} if _SCHEMA in helpers else set()
    imports |= {"import json"} if "json.loads(" in setup else set()
    return Answers(
        frozenset(imports), frozenset(names), "".join(helpers), setup, tuple(arguments), tuple(dict.fromkeys(remarks))
    )


# ---------------------------------------------------------------------- as in the recorded call


def _missing(one: Given) -> Iterator[str]:
    """What of an answer cannot be said."""
    question = _question(one)
    if one.method not in _CALLBACKS:
        yield f"{one.method} was asked, and the SDK has no answer to it."
    elif one.error is None and not isinstance(one.result, dict):
        yield f"What was answered to {question!r} is not known."
    elif problem := unsaid(one.result):
        yield f"What was answered to {question!r} is left out. {problem}"


def _recorded(method: str, given: tuple[Given, ...]) -> tuple[str, str]:
    """The list of answers, and what gives them."""
    name, result = "forms" if method == _ELICITATION else "messages", _CALLBACKS[method][2]
    rows = [
        f"        ({text(_question(one))}, {_answer(result, one)}),\n"
        for one in given
        if one.method == method and not [*_missing(one)]
    ]
    if not rows:
        return "", ""
    question = "params.message" if method == _ELICITATION else _SAID
    return f"    {name} = [\n{''.join(rows)}    ]\n\n", f"        return following({name}, {question})\n"


def _answer(result: str, one: Given) -> str:
    if one.error is not None:
        return _error(mapping(one.error))
    return f"{result}.model_validate({literal(one.result, 8, 60)})"


def _error(error: dict[str, Json]) -> str:
    code, message = error.get("code"), text(str(error.get("message", "")))
    return f"ErrorData(code={code if isinstance(code, int) else INTERNAL_ERROR}, message={message})"


def _question(one: Given) -> str:
    if one.method == _SAMPLING:
        content = mapping(next(reversed(items_of(one.params.get("messages"))), None)).get("content")
        said = mapping(content).get("text", "")
    else:
        said = one.params.get("message", "")
    return said if isinstance(said, str) else ""


def _roots(subject: Subject) -> str:
    recorded = [items_of(mapping(one.result).get("roots")) for one in subject.given if one.method == _ROOTS]
    entry = subject.server.roots if subject.server is not None else ()
    if not recorded and not entry:
        return ""
    known = recorded[0] if recorded else [{"uri": uri, "name": name} if name else {"uri": uri} for uri, name in entry]
    return f"        return ListRootsResult.model_validate({literal({'roots': known}, 8, 40)})\n"


# ---------------------------------------------------------------------- by rules


def _is_for(rule: AnswerRule, subject: Subject) -> bool:
    return fnmatchcase(subject.ref.server, rule.server) and fnmatchcase(subject.uri or subject.ref.name, rule.tool)


def _by_rules(method: str, rules: tuple[AnswerRule, ...], remarks: list[str]) -> str:
    """The first rule that fits answers; nothing where none is for such a question."""
    kinds = {_ELICITATION: ("elicitation", "url"), _SAMPLING: ("sampling",)}[method]
    make = _elicited if method == _ELICITATION else _sampled
    rows: list[str] = []
    for rule in rules:
        if rule.kind != "any" and rule.kind not in kinds:
            continue
        if problem := (unsaid(rule.content) or ("it is left to a person." if rule.action == "ask" else "")):
            remarks.append(f"{rule.source or 'A rule'} answers nothing here: {problem}")
            continue
        wanted = " and ".join(_conditions(rule, method))
        try:
            returned = make(rule, 12 if wanted else 8)
        except ValueError as wrong:
            remarks.append(f"{rule.source or 'A rule'} answers nothing here: {wrong}")
            continue
        rows.append(
            f"        if {wanted}:\n            return {returned}\n" if wanted else f"        return {returned}\n"
        )
        if not wanted:
            break
    else:
        if rows:
            rows.append(f"        return {_error({'code': USER_REJECTED, 'message': 'No answer is known'})}\n")
    return "".join(rows)


def _conditions(rule: AnswerRule, method: str) -> Iterator[str]:
    if method == _ELICITATION and (rule.kind != "any" or rule.schema):
        yield f'params.mode == "{"url" if rule.kind == "url" else "form"}"'
    if rule.message != "*":
        yield f"fnmatchcase({'params.message' if method == _ELICITATION else _SAID}, {text(rule.message)})"
    if rule.schema:
        yield f"fingerprint(params.requested_schema) == {text(rule.schema)}" if method == _ELICITATION else "False"


def _elicited(rule: AnswerRule, margin: int) -> str:
    if rule.action != "accept":
        return f'ElicitResult(action="{rule.action}")'
    if rule.kind == "url":
        return 'ElicitResult(action="accept")'
    if not isinstance(rule.content or {}, dict):
        raise ValueError("its content is no object.")
    form = f"filled(params.requested_schema, {literal(rule.content or {}, margin, 80)})"
    content = form if rule.kind == "elicitation" or rule.schema else f'{form} if params.mode == "form" else None'
    return f'ElicitResult(action="accept", content={content})'


def _sampled(rule: AnswerRule, margin: int) -> str:
    if rule.action != "accept":
        return _error({"code": USER_REJECTED, "message": "User rejected sampling request"})
    said: Json = message_result(rule.content) if isinstance(rule.content, str) else rule.content
    if not isinstance(said, dict) or "content" not in said:
        raise ValueError("its content is neither text nor a result with content.")
    whole = literal({"role": "assistant", "model": MODEL, **said}, margin, 60)
    return f"CreateMessageResultWithTools.model_validate({whole})"

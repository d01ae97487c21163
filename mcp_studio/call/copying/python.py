"""A call as Python writes it: its arguments as literals, a program with the official SDK, and a test of it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple, cast

from mcp_studio.call.copying.subject import Address, Subject, Variable, Words
from mcp_studio.call.replay.plan import Given
from mcp_studio.config.model import AnswerRule
from mcp_studio.jsontext import ExactFloat, Json, depth, dumps, items_of, mapping
from mcp_studio.protocol.versions import INTERNAL_ERROR, USER_REJECTED
from mcp_studio.safetext import safe
from mcp_studio.session.rules import MODEL, message_result

_WIDTH = 100
_DEEPEST = 60
"""Python refuses to read some 200 brackets inside one another, and less inside a program."""
_LONGEST = 4_300
"""Digits of a whole number that Python reads."""
_EXPECTED = 20_000
"""Bytes of a result that a test compares."""
_SAFE = re.compile(r"[^a-z0-9]+")


class Answers(NamedTuple):
    """The pieces of a program that answer what a server asks."""

    imports: frozenset[str] = frozenset()
    """Lines, of the standard library alone."""
    names: frozenset[str] = frozenset()
    """What is imported from `mcp_types`."""
    helpers: str = ""
    """Functions of the module."""
    setup: str = ""
    """What stands in front of the connection, inside the function that makes the call."""
    arguments: tuple[str, ...] = ()
    """Of the client."""
    remarks: tuple[str, ...] = ()
    """What could not be put in, in sentences."""


def literal(value: Json, margin: int = 0, before: int = 0) -> str:
    """A JSON value as a Python expression that gives the same value, over several lines where it is long.

    Args:
        margin: cells in front of its further lines.
        before: cells that stand on its first line already, besides the margin.
    """
    if depth(value, _DEEPEST) > _DEEPEST:
        return f"json.loads({text(dumps(value).decode())})"
    return _literal(value, margin, before)


def needs_json(value: Json) -> bool:
    """Whether its literal needs `import json`."""
    return depth(value, _DEEPEST) > _DEEPEST


def unsaid(value: Json) -> str:
    """Why Python reads another number than the one that stands there; empty where it reads all of them."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo += cast("dict[str, Json]", item).values()
        elif isinstance(item, list):
            todo += cast("list[Json]", item)
        elif isinstance(item, ExactFloat) and (item - item != 0.0 or len(item.text) > _LONGEST):
            return f"Python has no number {item.text[:20]}{'…' if len(item.text) > 20 else ''}: it is too large."
    return ""


def _literal(value: Json, margin: int, before: int) -> str:
    flat = _flat(value, _WIDTH - margin - before)
    if flat is not None:
        return flat
    inner = " " * (margin + 4)
    rows: list[str] = []
    if isinstance(value, dict):
        for key, item in cast("dict[str, Json]", value).items():
            name = text(key)
            rows.append(f"{inner}{name}: {_literal(item, margin + 4, len(name) + 3)},\n")
        return "{\n" + "".join(rows) + " " * margin + "}"
    if isinstance(value, list):
        for item in cast("list[Json]", value):
            rows.append(f"{inner}{_literal(item, margin + 4, 1)},\n")
        return "[\n" + "".join(rows) + " " * margin + "]"
    return _scalar(value)


def _flat(value: Json, room: int) -> str | None:
    """The value on one line, None where it does not fit."""
    if isinstance(value, (dict, list)):
        if not value:
            return "{}" if isinstance(value, dict) else "[]"
        if room < 2 * len(cast("list[Json]", value)):
            return None
        left = room
        parts: list[str] = []
        pairs = cast("dict[str, Json]", value).items() if isinstance(value, dict) else ((None, item) for item in value)
        for key, item in pairs:
            part = _flat(item, left)
            if part is None:
                return None
            parts.append(part if key is None else f"{text(str(key))}: {part}")
            left -= len(parts[-1]) + 2
            if left < 0:
                return None
        return ("{%s}" if isinstance(value, dict) else "[%s]") % ", ".join(parts)
    made = _scalar(value)
    return made if len(made) <= room else None


def _scalar(value: Json) -> str:
    # An ExactFloat is as it was written; `1E5` and `1.0` are Python too.
    if isinstance(value, ExactFloat):
        return value.text
    return text(value) if isinstance(value, str) else repr(value)


def text(value: str) -> str:
    """A string literal, in double quotes where that costs no backslash."""
    made = repr(value)
    return f'"{made[1:-1]}"' if made[0] == "'" and '"' not in value else made


def words(parts: Words) -> str:
    """A text with references as an expression."""
    return " + ".join(_variable(part) if isinstance(part, Variable) else text(part) for part in parts) or '""'


def _variable(variable: Variable) -> str:
    if variable.default is None:
        return f"os.environ[{text(variable.name)}]"
    return f"os.environ.get({text(variable.name)}, {text(variable.default)})"


def program(subject: Subject, address: Address, value: Json, answers: Answers) -> str:
    """A program that makes the call and prints its result."""
    imports, opening, indent = _opened(subject, address, answers)
    call = _call(subject, value, indent)
    margin = " " * indent
    shown = "result.model_dump_json(by_alias=True, exclude_none=True, indent=2)"
    body = f"{margin}result = {call}\n{margin}print({shown})\n"
    return (
        _head(address, value, imports, answers)
        + f"\n\nasync def main() -> None:\n{answers.setup}{opening}{body}\n\nasyncio.run(main())\n"
    )


def test(subject: Subject, address: Address, value: Json, answers: Answers) -> str:
    """A test that makes the call and looks at its outcome."""
    imports, opening, indent = _opened(subject, address, answers)
    kind = {"tool": "CallToolResult", "prompt": "GetPromptResult"}.get(subject.ref.kind, "ReadResourceResult")
    margin, call = " " * indent, _call(subject, value, indent)
    came, expected, _ = compared(subject)
    code = mapping(subject.outcome.get("error")).get("code")
    if isinstance(code, int):
        kind, imports = "MCPError", [*imports, "import pytest", "from mcp.shared.exceptions import MCPError"]
        body = f"{margin}with pytest.raises(MCPError) as failed:\n{margin}    {call}\n{margin}return failed.value\n"
        checks = f"    assert result.code == {code}, result.message\n"
    else:
        answers = answers._replace(names=answers.names | {kind})
        body = f"{margin}return {call}\n"
        failed = mapping(subject.outcome.get("result")).get("isError") is True
        checks = f"    assert {'' if failed else 'not '}result.is_error, result.content\n" if kind[0] == "C" else ""
        if came:
            checks += f"    assert {came} == {literal(expected, 4, len(came) + 11)}\n"
        elif not checks:
            checks = f"    assert result.{'messages' if subject.ref.kind == 'prompt' else 'contents'}\n"
    name = _SAFE.sub("_", subject.ref.name.lower()).strip("_")[:60] or subject.ref.kind
    return (
        _head(address, [value, expected], imports, answers)
        + f"\n\nasync def call() -> {kind}:\n{answers.setup}{opening}{body}"
        + f"\n\ndef test_{name}() -> None:\n    result = asyncio.run(call())\n{checks}"
    )


def compared(subject: Subject) -> tuple[str, Json, str]:
    """What of the result a test compares, and with what; else why it compares nothing, in words."""
    result = mapping(subject.outcome.get("result"))
    if "error" in subject.outcome or (subject.ref.kind == "tool" and result.get("isError") is True):
        return "", None, ""
    if subject.ref.kind == "tool" and "structuredContent" in result:
        came, value = "result.structured_content", result["structuredContent"]
    else:
        part = {"tool": "content", "prompt": "messages"}.get(subject.ref.kind, "contents")
        if not isinstance(result.get(part), list):
            return "", None, "no result is known"
        inner = "one.content" if part == "messages" else "one"
        items = [mapping(one).get("content") if part == "messages" else one for one in items_of(result[part])]
        came = f'[getattr({inner}, "text", None) for one in result.{part}]'
        value = [mapping(item).get("text") for item in items]
    if problem := unsaid(value):
        return "", None, f"the result cannot be written out. {problem}"
    return (came, value, "") if len(dumps(value)) <= _EXPECTED else ("", None, "the result is too large")


def commented(text: str, remarks: tuple[str, ...]) -> str:
    """A program with what is good to know about it below its imports; not above: a first line can name an encoding."""
    head, _, rest = text.partition("\n\n\n")
    lines = [f"# {line}" for remark in remarks for line in textwrap.wrap(safe(remark, 600), _WIDTH)]
    return "\n".join([head, *["", *lines] * bool(lines), "", "", rest])


def _head(address: Address, value: Json, imports: list[str], answers: Answers) -> str:
    standard = {"import asyncio", *["import json"] * needs_json(value), *["import os"] * bool(address.variables)}
    types = [f"from mcp_types import {', '.join(sorted(answers.names))}"] if answers.names else []
    if types and len(types[0]) > _WIDTH:
        types = ["from mcp_types import (\n" + "".join(f"    {name},\n" for name in sorted(answers.names)) + ")"]
    lines = [*sorted(standard | answers.imports, key=_order), "", *sorted([*imports, *types], key=_order)]
    return "\n".join(lines) + f"\n{answers.helpers}"


def _order(line: str) -> tuple[bool, str]:
    return line.startswith("from"), line.split()[1]


def _call(subject: Subject, value: Json, indent: int) -> str:
    if subject.ref.kind in ("resource", "template"):
        return f"await client.read_resource({text(subject.uri or subject.ref.name)})"
    method = "call_tool" if subject.ref.kind == "tool" else "get_prompt"
    start = f"await client.{method}({text(subject.ref.name)}, "
    return f"{start}{literal({} if value is None else value, indent, len(start) + 10)})"


def _opened(subject: Subject, address: Address, answers: Answers) -> tuple[list[str], str, int]:
    """Imports, the lines that connect, and how far what follows is indented."""
    mode = [] if subject.modern or not subject.sure else ['mode="legacy"']
    given = [*mode, *answers.arguments]
    if address.kind == "stdio":
        lines = [f"command={words(address.command[0])}", f"args=[{', '.join(map(words, address.command[1:]))}]"]
        if address.env:
            pairs = ", ".join(f"{text(name)}: {words(value)}" for name, value in address.env.items())
            lines.append(f"env={{{pairs}}}")
        if address.cwd:
            lines.append(f"cwd={text(address.cwd)}")
        made = "".join(f"        {line},\n" for line in lines)
        opening = f"    server = StdioServerParameters(\n{made}    )\n" + _client("server", given, 4)
        return ["from mcp import Client, StdioServerParameters"], opening, 8
    url = words(address.url)
    headers = ", ".join(f"{text(name)}: {words(value)}" for name, value in address.headers.items())
    if address.kind == "sse":
        sent = f", headers={{{headers}}}" if headers else ""
        opening = f"    server = sse_client({url}{sent})\n" + _client(
            "server", ['mode="legacy"', *answers.arguments], 4
        )
        return ["from mcp import Client", "from mcp.client.sse import sse_client"], opening, 8
    if not headers:
        return ["from mcp import Client"], _client(url, given, 4), 8
    opening = (
        f"    headers = {{{headers}}}\n"
        "    timeout = httpx2.Timeout(30, read=300)\n"
        "    async with httpx2.AsyncClient(headers=headers, timeout=timeout) as http:\n"
        f"        server = streamable_http_client({url}, http_client=http)\n"
    ) + _client("server", given, 8)
    more = ["import httpx2", "from mcp.client.streamable_http import streamable_http_client"]
    return ["from mcp import Client", *more], opening, 12


def _client(server: str, arguments: list[str], indent: int) -> str:
    margin = " " * indent
    line = f"{margin}async with Client({', '.join([server, *arguments])}) as client:\n"
    if len(line) <= _WIDTH:
        return line
    inner = "".join(f"{margin}    {one},\n" for one in (server, *arguments))
    return f"{margin}async with Client(\n{inner}{margin}) as client:\n"


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

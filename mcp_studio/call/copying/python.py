"""A call as Python writes it: its arguments as literals, a program with the official SDK, and a test of it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from pprint import pformat
from typing import NamedTuple, cast

from mcp_studio.call.copying.subject import Address, Subject, Variable, Words
from mcp_studio.call.replay.plan import Given
from mcp_studio.call.secrets import walk
from mcp_studio.config.model import AnswerRule
from mcp_studio.jsontext import ExactFloat, Json, depth, dumps, items_of, mapping
from mcp_studio.protocol.versions import INTERNAL_ERROR, USER_REJECTED
from mcp_studio.record import record
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


def literal(value: Json, margin: int = 0) -> str:
    """A JSON value as a Python expression that gives the same value; `margin` cells stand before its further lines."""
    if needs_json(value):
        return f"json.loads({dumps(value).decode()!r})"
    # No line break is inside a string: `repr` writes it as an escape.
    return pformat(value, width=_WIDTH - margin, sort_dicts=False).replace("\n", "\n" + " " * margin)


def needs_json(value: Json) -> bool:
    """Whether its literal needs `import json`."""
    return depth(value, _DEEPEST) > _DEEPEST


def unsaid(value: Json) -> str:
    """Why Python reads another number than the one that stands there; empty where it reads all of them."""
    for _, item in walk(value):
        if isinstance(item, ExactFloat) and (item - item != 0.0 or len(item.text) > _LONGEST):
            return f"Python has no number {item.text[:20]}{'…' if len(item.text) > 20 else ''}: it is too large."
    return ""


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


# ---------------------------------------------------------------------- programs and tests


def program(subject: Subject, address: Address, answers: Answers) -> str:
    """A program that makes the call and prints its result."""
    imports, opening, indent = _opened(subject, address, answers)
    margin = " " * indent
    shown = "result.model_dump_json(by_alias=True, exclude_none=True, indent=2)"
    body = f"{margin}result = {_call(subject, indent)}\n{margin}print({shown})\n"
    head = _head(address, subject.value, imports, answers)
    return f"{head}\n\nasync def main() -> None:\n{opening}{body}\n\nasyncio.run(main())\n"


def test(subject: Subject, address: Address, answers: Answers) -> str:
    """A test that makes the call and looks at its outcome."""
    imports, opening, indent = _opened(subject, address, answers)
    kind = {"tool": "CallToolResult", "prompt": "GetPromptResult"}.get(subject.ref.kind, "ReadResourceResult")
    margin, call = " " * indent, _call(subject, indent)
    came, expected, _ = compared(subject)
    code = mapping(subject.outcome.get("error")).get("code")
    if isinstance(code, int):
        kind, imports = "MCPError", [*imports, "import pytest", "from mcp.shared.exceptions import MCPError"]
        body = f"{margin}with pytest.raises(MCPError) as failed:\n{margin}    {call}\n{margin}return failed.value\n"
        checks = f"    assert result.code == {code}, result.message\n"
    else:
        answers = replace(answers, names=answers.names | {kind})
        body = f"{margin}return {call}\n"
        failed = mapping(subject.outcome.get("result")).get("isError") is True
        checks = f"    assert {'' if failed else 'not '}result.is_error, result.content\n" if kind[0] == "C" else ""
        if came:
            checks += f"    assert {came} == {literal(expected, 4)}\n"
        elif not checks:
            checks = f"    assert result.{'messages' if subject.ref.kind == 'prompt' else 'contents'}\n"
    name = _SAFE.sub("_", subject.ref.name.lower()).strip("_")[:60] or subject.ref.kind
    return (
        _head(address, [subject.value, expected], imports, answers)
        + f"\n\nasync def call() -> {kind}:\n{opening}{body}"
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
    standard = {"import asyncio", *answers.imports}
    standard |= {"import json"} if needs_json(value) or "json.loads(" in answers.functions else set()
    standard |= {"import os"} if address.variables else set()
    more = [*imports, *([f"from mcp_types import {', '.join(sorted(answers.names))}"] if answers.names else [])]
    return "\n".join([*sorted(standard, key=_order), "", *sorted(more, key=_order)]) + f"\n{answers.functions}"


def _order(line: str) -> tuple[bool, str]:
    return line.startswith("from"), line.split()[1]


def _call(subject: Subject, indent: int) -> str:
    if subject.ref.kind in ("resource", "template"):
        return f"await client.read_resource({text(subject.uri or subject.ref.name)})"
    method = "call_tool" if subject.ref.kind == "tool" else "get_prompt"
    given = literal({} if subject.value is None else subject.value, indent + 4)
    return f"await client.{method}(\n{' ' * (indent + 4)}{text(subject.ref.name)}, {given}\n{' ' * indent})"


def _opened(subject: Subject, address: Address, answers: Answers) -> tuple[list[str], str, int]:
    """Imports, the lines that connect, and how far what follows is indented."""
    mode = [] if subject.modern or not subject.sure else ['mode="legacy"']
    imports, lines = ["from mcp import Client"], list[str]()
    if address.kind == "stdio":
        imports = ["from mcp import Client, StdioServerParameters"]
        lines = [
            f"command = {words(address.command[0])}",
            f"args = [{', '.join(map(words, address.command[1:]))}]",
            f"env = {_pairs(address.env) if address.env else None}",
            f"cwd = {text(address.cwd) if address.cwd else None}",
            "server = StdioServerParameters(command=command, args=args, env=env, cwd=cwd)",
        ]
    elif address.kind == "sse":
        imports.append("from mcp.client.sse import sse_client")
        mode = ['mode="legacy"']
        lines = [f"server = sse_client({words(address.url)}, headers={_pairs(address.headers)})"]
    elif address.headers:
        imports += ["import httpx2", "from mcp.client.streamable_http import streamable_http_client"]
        lines = [
            f"http = httpx2.AsyncClient(headers={_pairs(address.headers)}, timeout=httpx2.Timeout(30, read=300))",
            f"server = streamable_http_client({words(address.url)}, http_client=http)",
        ]
    else:
        lines = [f"server = {words(address.url)}"]
    contexts = ["http"] * (lines[0].startswith("http =")) + [
        f"Client({', '.join(['server', *mode, *answers.arguments])}) as client"
    ]
    opening = "".join(f"    {line}\n" for line in [*lines, f"async with {', '.join(contexts)}:"])
    return imports, opening, 8


def _pairs(pairs: dict[str, Words] | object) -> str:
    known = cast("dict[str, Words]", pairs)
    return "{" + ", ".join(f"{text(name)}: {words(value)}" for name, value in known.items()) + "}"


# ---------------------------------------------------------------------- answers to what the server asks

_KINDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling"}
_ROOTS = "roots/list"
_UNKNOWN: dict[str, Json] = {"code": INTERNAL_ERROR, "message": "No answer is known"}
_RECORDED = f'''

def answer(kind: str, message: str) -> dict[str, Any]:
    """What the same question was answered, else the next of its kind; each answer is given once."""
    known = [one for one in ANSWERS if one[0] == kind]
    for one in [one for one in known if one[1] == message] or known:
        ANSWERS.remove(one)
        return one[2]
    return {_UNKNOWN}
'''
_BY_RULES = f'''

def answer(kind: str, message: str) -> dict[str, Any]:
    """What the first rule says that is for this question."""
    found = (one[2] for one in ANSWERS if one[0] == kind and fnmatchcase(message, one[1]))
    return next(found, {_UNKNOWN})
'''
_ELICIT = """

async def elicit(context: object, params: ElicitRequestParams) -> ElicitResult | ErrorData:
    found = answer("url" if params.mode == "url" else "elicitation", params.message)
    if found.get("defaults") and params.mode == "form":
        fields = params.requested_schema.get("properties", {})
        content = {name: field["default"] for name, field in fields.items() if "default" in field}
        content |= {name: value for name, value in found["content"].items() if name in fields}
        found = {"action": "accept", "content": content}
    return (ErrorData if "code" in found else ElicitResult).model_validate(found)
"""
_SAMPLE = """

async def sample(
    context: object, params: CreateMessageRequestParams
) -> CreateMessageResultWithTools | ErrorData:
    found = answer("sampling", "".join(getattr(one.content, "text", "") for one in params.messages[-1:]))
    return (ErrorData if "code" in found else CreateMessageResultWithTools).model_validate(found)
"""


@record(frozen=True)
class Answers:
    """The pieces of a program that answer what a server asks."""

    imports: frozenset[str] = frozenset()
    """Lines, of the standard library alone."""
    names: frozenset[str] = frozenset()
    """What is imported from `mcp_types`."""
    functions: str = ""
    arguments: tuple[str, ...] = ()
    """Of the client."""
    remarks: tuple[str, ...] = ()
    """What could not be put in, in sentences."""


class _Row(NamedTuple):
    kind: str
    """`elicitation`, `url` or `sampling`."""
    message: str
    """The question, or the pattern of a rule."""
    answer: dict[str, Json]
    """A result, or an error, which has a code."""


def answers_of(subject: Subject) -> Answers:
    """The answers that are known: those of the recorded call, else those of rules; roots of the server's entry."""
    remarks: list[str] = []
    rows = _recorded(subject.given, remarks) if subject.given else _by_rules(subject, remarks)
    imports, names, arguments, functions = {"from typing import Any"}, {"ErrorData"}, list[str](), ""
    if rows:
        functions = f"\n\nANSWERS: list[tuple[str, str, dict[str, Any]]] = {literal([tuple(row) for row in rows])}\n"
        functions += _RECORDED if subject.given else _BY_RULES
        imports |= set() if subject.given else {"from fnmatch import fnmatchcase"}
    if any(row.kind != "sampling" for row in rows):
        functions += _ELICIT
        names |= {"ElicitRequestParams", "ElicitResult"}
        arguments.append("elicitation_callback=elicit")
    if any(row.kind == "sampling" for row in rows):
        functions += _SAMPLE
        names |= {"CreateMessageRequestParams", "CreateMessageResultWithTools", "SamplingCapability"}
        capability = 'SamplingCapability.model_validate({"tools": {}})'
        arguments += ["sampling_callback=sample", f"sampling_capabilities={capability}"]
    if roots := _roots(subject):
        made = literal({"roots": roots}, 4)
        functions += f"\n\nasync def roots(context: object) -> ListRootsResult:\n    known = {made}\n"
        functions += "    return ListRootsResult.model_validate(known)\n"
        names = (names if rows else set[str]()) | {"ListRootsResult"}
        arguments.append("list_roots_callback=roots")
    if not functions:
        return Answers(remarks=tuple(dict.fromkeys(remarks)))
    return Answers(
        frozenset(imports if rows else ()), frozenset(names), functions, tuple(arguments), tuple(dict.fromkeys(remarks))
    )


def _roots(subject: Subject) -> list[Json]:
    recorded = [items_of(mapping(one.result).get("roots")) for one in subject.given if one.method == _ROOTS]
    entry = subject.server.roots if subject.server is not None else ()
    return recorded[0] if recorded else [{"uri": uri, "name": name} if name else {"uri": uri} for uri, name in entry]


def _recorded(given: tuple[Given, ...], remarks: list[str]) -> list[_Row]:
    rows: list[_Row] = []
    for one in given:
        question = _question(one)
        if one.method not in (*_KINDS, _ROOTS):
            remarks.append(f"{one.method} was asked, and the SDK has no answer to it.")
        elif one.error is None and not isinstance(one.result, dict):
            remarks.append(f"What was answered to {question!r} is not known.")
        elif problem := unsaid(one.result):
            remarks.append(f"What was answered to {question!r} is left out. {problem}")
        elif one.method != _ROOTS:
            error, kind = mapping(one.error), "url" if one.params.get("mode") == "url" else _KINDS[one.method]
            code = error.get("code")
            refused = {"code": code if isinstance(code, int) else INTERNAL_ERROR, "message": str(error.get("message"))}
            rows.append(_Row(kind, question, mapping(one.result) if one.error is None else refused))
    return rows


def _question(one: Given) -> str:
    said = one.params.get("message")
    if _KINDS.get(one.method) == "sampling":
        content = mapping(next(reversed(items_of(one.params.get("messages"))), None)).get("content")
        said = mapping(content).get("text")
    return said if isinstance(said, str) else ""


def _by_rules(subject: Subject, remarks: list[str]) -> list[_Row]:
    rows: list[_Row] = []
    for rule in subject.rules:
        if not fnmatchcase(subject.ref.server, rule.server):
            continue
        if not fnmatchcase(subject.uri or subject.ref.name, rule.tool):
            continue
        problem = unsaid(rule.content)
        if rule.action == "ask":
            problem = "it is left to a person."
        elif rule.schema:
            problem = "it names a form by its schema."
        found = [] if problem else list(_rows(rule))
        if not found:
            remarks.append(f"{rule.source or 'A rule'} answers nothing here: {problem or 'its content does not fit.'}")
        rows += found
    return rows


def _rows(rule: AnswerRule) -> Iterator[_Row]:
    """A rule's answers to each kind of question that it is for."""
    content = rule.content
    refused = {"code": USER_REJECTED, "message": "User rejected sampling request"}
    if rule.kind in ("elicitation", "any"):
        if rule.action != "accept":
            yield _Row("elicitation", rule.message, {"action": rule.action})
        elif isinstance(content or {}, dict):
            filled = {"action": "accept", "content": content or {}, "defaults": True}
            yield _Row("elicitation", rule.message, filled)
    if rule.kind in ("url", "any"):
        yield _Row("url", rule.message, {"action": rule.action})
    if rule.kind in ("sampling", "any"):
        said: Json = message_result(content) if isinstance(content, str) else content
        if rule.action != "accept":
            yield _Row("sampling", rule.message, refused)
        elif isinstance(said, dict) and "content" in said:
            made: dict[str, Json] = {"role": "assistant", "model": MODEL, **cast("dict[str, Json]", said)}
            yield _Row("sampling", rule.message, made)

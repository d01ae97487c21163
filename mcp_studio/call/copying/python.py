"""A call as Python writes it: its arguments as literals, a program with the official SDK, and a test of it."""

from __future__ import annotations

import re
from typing import cast

from mcp_studio.call.copying.address import Address, Variable, Words
from mcp_studio.call.copying.subject import ABSENT, Subject
from mcp_studio.jsontext import ExactFloat, Json, depth, dumps

_WIDTH = 100
_DEEPEST = 60
"""Python refuses to read some 200 brackets inside one another, and less inside a program."""
_LONGEST = 4_300
"""Digits of a whole number that Python reads."""
_EXPECTED = 20_000
"""Bytes of structured content that a test compares."""
_SAFE = re.compile(r"[^a-z0-9]+")


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


def program(subject: Subject, address: Address, value: Json) -> str:
    """A program that makes the call and prints its result."""
    imports, opening, indent = _opened(subject, address)
    call = _call(subject, value, indent)
    margin = " " * indent
    shown = "result.model_dump_json(by_alias=True, exclude_none=True, indent=2)"
    body = f"{margin}result = {call}\n{margin}print({shown})\n"
    return (
        _head(address, value, ("import asyncio",), imports)
        + f"\n\nasync def main() -> None:\n{opening}{body}\n\nasyncio.run(main())\n"
    )


def test(subject: Subject, address: Address, value: Json) -> str:
    """A test that makes the call and looks at its result."""
    imports, opening, indent = _opened(subject, address)
    kind, checks = _checks(subject)
    body = f"{' ' * indent}return {_call(subject, value, indent)}\n"
    name = _SAFE.sub("_", subject.ref.name.lower()).strip("_")[:60] or subject.ref.kind
    expected = None if subject.structured is ABSENT else subject.structured
    return (
        _head(address, [value, expected], ("import asyncio",), [*imports, f"from mcp_types import {kind}"])
        + f"\n\nasync def call() -> {kind}:\n{opening}{body}"
        + f"\n\ndef test_{name}() -> None:\n    result = asyncio.run(call())\n{checks}"
    )


def compared(subject: Subject) -> bool:
    """Whether a test compares the structured content that came last time."""
    known = subject.ref.kind == "tool" and subject.structured is not ABSENT
    return known and not unsaid(subject.structured) and len(dumps(subject.structured)) <= _EXPECTED


def _checks(subject: Subject) -> tuple[str, str]:
    if subject.ref.kind == "tool":
        expected = ""
        if compared(subject):
            expected = f"    assert result.structured_content == {literal(subject.structured, 4, 35)}\n"
        return "CallToolResult", f"    assert not result.is_error, result.content\n{expected}"
    if subject.ref.kind == "prompt":
        return "GetPromptResult", "    assert result.messages\n"
    return "ReadResourceResult", "    assert result.contents\n"


def _head(address: Address, value: Json, first: tuple[str, ...], imports: list[str]) -> str:
    standard = [*first, *["import json"] * needs_json(value), *["import os"] * bool(address.variables)]
    return "\n".join([*sorted(standard), "", *sorted(imports, key=_order)]) + "\n"


def _order(line: str) -> tuple[bool, str]:
    return line.startswith("from"), line.split()[1]


def _call(subject: Subject, value: Json, indent: int) -> str:
    if subject.ref.kind in ("resource", "template"):
        return f"await client.read_resource({text(subject.uri or subject.ref.name)})"
    method = "call_tool" if subject.ref.kind == "tool" else "get_prompt"
    start = f"await client.{method}({text(subject.ref.name)}, "
    return f"{start}{literal({} if value is None else value, indent, len(start) + 10)})"


def _opened(subject: Subject, address: Address) -> tuple[list[str], str, int]:
    """Imports, the lines that connect, and how far what follows is indented."""
    mode = "" if subject.modern or not subject.sure else ', mode="legacy"'
    if address.kind == "stdio":
        lines = [f"command={words(address.command[0])}", f"args=[{', '.join(map(words, address.command[1:]))}]"]
        if address.env:
            pairs = ", ".join(f"{text(name)}: {words(value)}" for name, value in address.env.items())
            lines.append(f"env={{{pairs}}}")
        if address.cwd:
            lines.append(f"cwd={text(address.cwd)}")
        made = "".join(f"        {line},\n" for line in lines)
        opening = f"    server = StdioServerParameters(\n{made}    )\n    async with Client(server{mode}) as client:\n"
        return ["from mcp import Client, StdioServerParameters"], opening, 8
    url = words(address.url)
    headers = ", ".join(f"{text(name)}: {words(value)}" for name, value in address.headers.items())
    if address.kind == "sse":
        given = f", headers={{{headers}}}" if headers else ""
        opening = f'    server = sse_client({url}{given})\n    async with Client(server, mode="legacy") as client:\n'
        return ["from mcp import Client", "from mcp.client.sse import sse_client"], opening, 8
    if not headers:
        return ["from mcp import Client"], f"    async with Client({url}{mode}) as client:\n", 8
    opening = (
        f"    headers = {{{headers}}}\n"
        "    timeout = httpx2.Timeout(30, read=300)\n"
        "    async with httpx2.AsyncClient(headers=headers, timeout=timeout) as http:\n"
        f"        server = streamable_http_client({url}, http_client=http)\n"
        f"        async with Client(server{mode}) as client:\n"
    )
    more = ["import httpx2", "from mcp.client.streamable_http import streamable_http_client"]
    return ["from mcp import Client", *more], opening, 12

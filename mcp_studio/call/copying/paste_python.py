"""Calls in Python: literals, and calls of an SDK client. The text is parsed and never run."""

from __future__ import annotations

import ast
from typing import cast

from mcp_studio.call.copying.pasted import Meant, Pasted, PasteProblem
from mcp_studio.jsontext import Json

_LARGEST = 1_000_000
"""Characters: Python's parser needs a hundred times the memory of a text."""
_METHODS: dict[str, Meant] = {
    "call_tool": "tool", "get_prompt": "prompt", "read_resource": "resource",
}  # fmt: skip


def is_code(text: str) -> bool:
    """Whether a text has a call of an SDK client in it."""
    return any(f"{name}(" in text for name in _METHODS)


def literal(text: str) -> Json:
    """The JSON value of a Python literal.

    Raises:
        PasteProblem: it is none.
    """
    return _value(_parsed(text.strip(), "eval").body)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def code(text: str) -> Pasted:
    """The first call of an SDK client in a piece of Python, its arguments written out in it.

    Raises:
        PasteProblem: there is none.
    """
    tree = _parsed(_dedented(text), "exec")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            return _call(_METHODS[node.func.attr], node)
    raise PasteProblem("There is no call of call_tool, get_prompt or read_resource in it.")


def _call(kind: Meant, node: ast.Call) -> Pasted:
    named = {word.arg: word.value for word in node.keywords}
    first = node.args[0] if node.args else named.get("uri" if kind == "resource" else "name")
    second = node.args[1] if len(node.args) > 1 else named.get("arguments")
    name = _value(first) if first is not None else ""
    arguments = _value(second) if second is not None and kind != "resource" else None
    if not isinstance(name, str):
        raise PasteProblem("What is called is not named by a text.", node.lineno)
    if arguments is not None and not isinstance(arguments, dict):
        raise PasteProblem("The arguments are no dictionary.", node.lineno)
    return Pasted("Python call", cast("dict[str, Json]", arguments or {}), kind, name)


def _parsed(text: str, mode: str) -> ast.AST:
    if len(text) > _LARGEST:
        raise PasteProblem(
            f"It is larger than {_LARGEST:,} characters, which is too much for Python; paste it as JSON."
        )
    try:
        return ast.parse(text, mode=mode)
    except SyntaxError as problem:
        raise PasteProblem(f"It is no Python: {problem.msg} (line {problem.lineno}).", problem.lineno or 0) from None
    except (ValueError, RecursionError, MemoryError, OverflowError):
        raise PasteProblem(
            "Python cannot read it: it is nested too deeply, or has characters that are not allowed."
        ) from None


def _dedented(text: str) -> str:
    """Lines from inside a function stand at the margin; `await` needs a function around it only to be run."""
    rows = text.strip("\n").splitlines()
    margin = min((len(row) - len(row.lstrip()) for row in rows if row.strip()), default=0)
    return "\n".join(row[margin:] for row in rows)


def _value(node: ast.expr) -> Json:
    """The JSON value that an expression writes out."""
    match node:
        case ast.Constant(value=str() | bool() | int() | float() | None):
            value = node.value
            if isinstance(value, float) and value - value != 0.0:
                raise PasteProblem("JSON has no number that is infinite.", node.lineno)
            return value
        case ast.Dict():
            made: dict[str, Json] = {}
            for key, item in zip(node.keys, node.values, strict=True):
                if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                    raise PasteProblem("A key of a dictionary is no text.", node.lineno)
                made[key.value] = _value(item)
            return made
        case ast.List() | ast.Tuple():
            items: list[Json] = []
            for item in node.elts:
                items.append(_value(item))
            return items
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return -_value(node.operand)
        case _:
            raise PasteProblem("It is computed by Python, which is not run: write the value out.", node.lineno)

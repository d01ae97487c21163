"""Schemas become signatures, functions become tools."""

from __future__ import annotations

import inspect
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from mcp_studio.errors import UsageError
from mcp_studio.registry.record import ToolRecord
from mcp_studio.toolset.function import FunctionTool, ToolFunction, function_of, tool_of


def made(schema: dict[str, Any], description: str = "Does it.") -> ToolFunction:
    async def call(arguments: dict[str, Any]) -> Any:
        return arguments

    return function_of(ToolRecord("s.do-it", "s", description, input_schema=schema), "do-it", call)


def properties(*required: str, **parts: Any) -> dict[str, Any]:
    return {"type": "object", "properties": parts, "required": list(required), "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "signature"),
    [
        (properties(), "() -> Any"),
        ({}, "(**others: Any) -> Any"),
        (properties("b", a={"type": "string"}, b={"type": "integer"}), "(b: int, a: str | None = None) -> Any"),
        (properties(a={"type": "number", "default": 1.5}), "(a: float = 1.5) -> Any"),
        (properties("a", a={"enum": ["x", "y"]}), "(a: Literal['x', 'y']) -> Any"),
        (properties("a", a={"type": "array", "items": {"type": "boolean"}}), "(a: list[bool]) -> Any"),
        (properties("a", a={"type": ["string", "null"]}), "(a: Any) -> Any"),
        (properties("from", "$x", **{"from": {"type": "string"}}), "(**others: Any) -> Any"),
        (properties("lost"), "(lost: Any) -> Any"),
        ({"$ref": "#/$defs/t", "$defs": {"t": properties("a", a={"type": "string"})}}, "(a: str) -> Any"),
        ({"type": "object", "properties": 7, "required": "x"}, "(**others: Any) -> Any"),
    ],
)
def test_a_signature_is_made_from_the_schema(schema: dict[str, Any], signature: str) -> None:
    assert str(inspect.signature(made(schema))).replace("typing.", "") == signature


async def test_a_tool_is_a_coroutine_function_with_name_and_docs() -> None:
    schema = properties("b", a={"type": "string", "description": "The first."}, b={}, **{"in": {"type": "string"}})
    tool = made(schema, "Does it.\u202e")
    assert inspect.iscoroutinefunction(made(schema))
    assert (tool.__name__, tool.name, str(tool.ref)) == ("do_it", "do-it", "s.do-it")
    assert tool.__doc__ == "Does it.⟦U+202E⟧\n\nArgs:\n    a: The first."
    assert await tool(1) == {"b": 1}
    assert await tool(b=1, a=None, **{"in": "x"}) == {"b": 1, "in": "x"}
    assert await tool.call({"in": 1}) == {"in": 1}
    with pytest.raises(TypeError, match="missing a required argument: 'b'"):
        await tool()


class Point(BaseModel):
    x: int
    y: int = 0


def place(point: Point, copy: Annotated[str, Field(description="how")] = "x", *, kind: Literal["a", "b"] = "a") -> str:
    """Place it."""
    return f"{point.x},{point.y} {copy} {kind}"


async def later(schema: list[int]) -> int:
    return sum(schema)


async def test_a_function_is_a_tool() -> None:
    tool = FunctionTool(place)
    assert (tool.name, tool.description) == ("place", "Place it.")
    parts = tool.input_schema["properties"]
    assert list(parts) == ["point", "copy", "kind"] and tool.input_schema["required"] == ["point"]
    assert parts["copy"]["description"] == "how" and parts["kind"]["enum"] == ["a", "b"]
    assert tool.call({"point": {"x": "1"}, "kind": "b"}) == "1,0 x b"
    assert await FunctionTool(later, "sum").call({"schema": [1, 2]}) == 3
    with pytest.raises(UsageError, match=r"'place' do not fit: point\.x: .*; kind: .*; other: "):
        tool.call({"point": {"x": "a"}, "kind": "c", "other": 1})


def takes_anything(*args: int) -> None: ...


def takes_a_socket(socket: Node) -> None: ...


class Node:
    pass


def takes_others(name: str, **others: int) -> dict[str, Any]:
    return {"name": name, **others}


def test_a_function_with_others_takes_arguments_of_any_name() -> None:
    tool = FunctionTool(takes_others)
    assert tool.input_schema["additionalProperties"] == {"type": "integer"}
    assert tool.call({"name": "a", "z": "1"}) == {"name": "a", "z": 1}
    with pytest.raises(UsageError, match="do not fit: z: "):
        tool.call({"name": "a", "z": "b"})


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (takes_anything, r"'takes_anything' cannot be a tool: callers cannot name 'args'"),
        (takes_a_socket, "'takes_a_socket' cannot be a tool: Unable to generate"),
        (7, "int has none"),
    ],
)
def test_what_cannot_be_a_tool_is_told(function: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        tool_of(function)

"""Conversions between JSON Schemas and Python signatures: a tool as a function, and a function as a tool."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from inspect import Parameter
from typing import Any, Literal, Protocol, cast

from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.registry.record import ToolRecord
from mcp_studio.safetext import safe
from mcp_studio.schema.resolve import Resolver
from mcp_studio.toolset.registry import Tool, check_tool

_SHOWN = 20_000
"""The most characters of a description that become the docstring."""
_SIMPLE: dict[str, Any] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "object": dict[str, Any], "null": None,
}  # fmt: skip


class ToolFunction(Protocol):
    """A tool of a toolset: a coroutine function with the tool's name, docstring and signature, and some attributes.

    `Registry.register` accepts it too.
    """

    __name__: str
    name: str
    """The name by which models call the tool."""
    description: str
    input_schema: dict[str, Json]
    output_schema: dict[str, Json] | None
    ref: Ref
    """The server, and the tool's name there."""
    call: Callable[[dict[str, Any]], Awaitable[Any]]
    """Calls the tool with arguments by their names in the schema, which need not be valid in Python."""

    def __call__(self, *args: Any, **kwargs: Any) -> Awaitable[Any]:
        """Call the tool with arguments by the signature."""
        ...


def function_of(record: ToolRecord, name: str, call: Callable[[dict[str, Any]], Awaitable[Any]]) -> ToolFunction:
    """Build the coroutine function of a tool.

    Args:
        name: the name by which models call the tool.
        call: calls the tool with arguments.
    """
    signature = signature_of(record.input_schema)
    optional = [one.name for one in signature.parameters.values() if one.default is None]
    open_ended = any(one.kind is Parameter.VAR_KEYWORD for one in signature.parameters.values())

    async def function(*args: Any, **kwargs: Any) -> Any:
        values = signature.bind(*args, **kwargs).arguments
        if open_ended:
            values |= values.pop("others", {})
        # None stands for an optional argument that is not passed.
        return await call({key: value for key, value in values.items() if value is not None or key not in optional})

    function.__name__ = function.__qualname__ = re.sub(r"\W|^(?=\d)", "_", name)
    function.__doc__ = str(safe(_docs(record, signature), _SHOWN, lines=True))
    function.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()} | {"return": Any}
    tool: Any = function
    tool.__signature__ = signature
    tool.name, tool.description, tool.ref, tool.call = name, record.description, record.ref, call
    tool.input_schema, tool.output_schema = record.input_schema or {"type": "object"}, record.output_schema
    return tool


def signature_of(schema: dict[str, Json]) -> inspect.Signature:
    """The parameters of an object schema, required ones first; names that are invalid in Python go into `**others`."""
    resolver = Resolver(schema)
    top = resolver.flat(schema)
    required = [name for name in items_of(top.get("required")) if isinstance(name, str)]
    props = mapping(top.get("properties"))
    names = [name for name in dict.fromkeys((*required, *props)) if name.isidentifier() and not keyword.iskeyword(name)]
    parameters: list[Parameter] = []
    for name in sorted(names, key=lambda one: one not in required):
        part = resolver.flat(props.get(name, {}))
        kind, default = annotation_of(part), Parameter.empty
        if name not in required:
            default = part.get("default")
            kind = kind | None if default is None and kind is not None else kind
        parameters.append(Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind))
    open_ended = top.get("additionalProperties", not props) or len(names) < len({*required, *props})
    if open_ended and "others" not in names:
        parameters.append(Parameter("others", Parameter.VAR_KEYWORD, annotation=Any))
    return inspect.Signature(parameters, return_annotation=Any)


def annotation_of(part: Mapping[str, Json]) -> Any:
    """The Python type of a schema; `Any` if no simple type fits."""
    values = items_of(part.get("enum"))
    if values and all(isinstance(value, str | int) for value in values):
        return Literal[tuple(values)]
    kind = part.get("type")
    if kind == "array":
        inner = annotation_of(mapping(part.get("items")))
        return list[inner]
    return _SIMPLE.get(kind, Any) if isinstance(kind, str) else Any


def _docs(record: ToolRecord, signature: inspect.Signature) -> str:
    parts = mapping(Resolver(record.input_schema).flat(record.input_schema).get("properties"))
    descriptions = {name: mapping(parts.get(name)).get("description") for name in signature.parameters}
    lines = [f"    {name}: {text}" for name, text in descriptions.items() if isinstance(text, str) and text]
    args = "\n".join(("", "", "Args:", *lines)) if lines else ""
    return f"{record.description or record.title or record.name}{args}"


class FunctionTool:
    """A Python function as a tool: its annotations check and convert the arguments.

    Raises:
        TypeError: the function takes `*args`, or has an annotation that no schema can express.
    """

    def __init__(self, function: Callable[..., Any], name: str = "") -> None:
        from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

        self.function = function
        self.name = name or function.__name__
        self.description = inspect.getdoc(function) or ""
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.POSITIONAL_ONLY):
                raise TypeError(f"The function {self.name!r} cannot be a tool: callers cannot name {parameter.name!r}.")

        @wraps(function)  # pydantic reads the signature, which this copies from the function
        def values(**arguments: Any) -> dict[str, Any]:
            return arguments

        try:
            self._values: TypeAdapter[dict[str, Any]] = TypeAdapter(cast("Any", values))
            self.input_schema: dict[str, Json] = self._values.json_schema()
        except (PydanticSchemaGenerationError, PydanticUserError) as problem:
            reason = str(problem).partition("\n")[0]
            raise TypeError(f"The function {self.name!r} cannot be a tool: {reason}") from None

    def call(self, arguments: dict[str, Any]) -> Any:
        """Call the function.

        Raises:
            UsageError: the arguments do not fit.
        """
        from pydantic import ValidationError

        try:
            values = self._values.validate_python(arguments)
        except ValidationError as problem:
            errors = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in problem.errors()[:10]]
            raise UsageError(f"The arguments of {self.name!r} do not fit: {'; '.join(errors)}.") from None
        return self.function(**values)


def tool_of(thing: object) -> Tool:
    """Make a tool of an object with `name` and `call`, or of a function.

    Raises:
        TypeError: the object is neither.
    """
    if inspect.isroutine(thing) and not hasattr(thing, "call"):
        return FunctionTool(cast("Callable[..., Any]", thing))
    return check_tool(thing)

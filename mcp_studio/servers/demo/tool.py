"""What a tool is: its entry in the list, and the function behind it."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from mcp_studio.servers.demo.turn import Turn

Block = dict[str, Any]
Result = dict[str, Any]


def text(words: str, **more: Any) -> Block:
    """A text block; `more` are further members such as `annotations`."""
    return {"type": "text", "text": words, **more}


def image(data: bytes, mime: str = "image/png") -> Block:
    """An image block."""
    return {"type": "image", "data": base64.b64encode(data).decode(), "mimeType": mime}


def audio(data: bytes, mime: str = "audio/wav") -> Block:
    """An audio block."""
    return {"type": "audio", "data": base64.b64encode(data).decode(), "mimeType": mime}


def embedded(uri: str, mime: str, body: str | bytes) -> Block:
    """A resource whose content travels inside the result."""
    return {"type": "resource", "resource": contents(uri, mime, body)}


def link(uri: str, name: str, description: str, mime: str) -> Block:
    """A pointer to a resource that the client may read."""
    return {"type": "resource_link", "uri": uri, "name": name, "description": description, "mimeType": mime}


def contents(uri: str, mime: str, body: str | bytes) -> Block:
    """The content of a resource: text, or bytes as Base64."""
    if isinstance(body, bytes):
        return {"uri": uri, "mimeType": mime, "blob": base64.b64encode(body).decode()}
    return {"uri": uri, "mimeType": mime, "text": body}


def result(*blocks: Block | str, structured: dict[str, Any] | None = None) -> Result:
    """The result of a tool; plain strings become text blocks."""
    made: Result = {"content": [text(block) if isinstance(block, str) else block for block in blocks]}
    if structured is not None:
        made["structuredContent"] = structured
    return made


def failure(words: str) -> Result:
    """A result that says that the tool failed (`isError`)."""
    return {"content": [text(words)], "isError": True}


Args = dict[str, Any]
Schema = dict[str, Any]
Function = Callable[[Turn, Args], Awaitable[Result]]

READ = {"readOnlyHint": True, "openWorldHint": False}
"""Changes nothing."""
READ_OUTSIDE = {"readOnlyHint": True, "openWorldHint": True}
"""Changes nothing, and looks beyond this server."""
WRITE = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False}
"""Adds something; twice is more than once."""
SET = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
"""Changes something; twice is the same as once."""
DESTROY = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False}
"""Takes something away for good."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool."""

    raw: dict[str, Any]
    """Its entry in `tools/list`."""
    run: Function

    @property
    def name(self) -> str:
        """Its name."""
        return self.raw["name"]


class Toolbox(list[Tool]):
    """The tools of one theme, in the order in which they are listed."""

    def tool(
        self,
        name: str,
        title: str,
        description: str,
        inputs: Schema,
        *,
        hints: dict[str, Any] | None = None,
        output: Schema | None = None,
        meta: dict[str, Any] | None = None,
        execution: dict[str, Any] | None = None,
    ) -> Callable[[Function], Function]:
        """Put the decorated function into the box as a tool."""
        raw: dict[str, Any] = {"name": name, "title": title, "description": description, "inputSchema": inputs}
        if output is not None:
            raw["outputSchema"] = output
        if hints is not None:
            raw["annotations"] = hints
        if meta is not None:
            raw["_meta"] = meta
        if execution is not None:
            raw["execution"] = execution

        def keep(function: Function) -> Function:
            self.append(Tool(raw, function))
            return function

        return keep


def inputs(properties: dict[str, Schema] | None = None, *required: str, **more: Any) -> Schema:
    """The schema of an object with these properties and no others; `more` are further keywords such as `$defs`."""
    made: Schema = {"type": "object", "properties": properties or {}, "additionalProperties": False, **more}
    if required:
        made["required"] = list(required)
    return made


def whole(minimum: int, maximum: int, default: int, description: str) -> Schema:
    """The schema of a bounded whole number with a default."""
    return {
        "type": "integer",
        "minimum": minimum,
        "maximum": maximum,
        "default": default,
        "description": description,
    }


def problems(schema: Schema, value: Args) -> list[str]:
    """What is wrong with arguments, one sentence each."""
    from jsonschema import Draft202012Validator

    found = Draft202012Validator(schema).iter_errors(value)
    return [f"{'.'.join(map(str, error.absolute_path)) or 'arguments'}: {error.message[:200]}" for error in found]

"""The parts of results, and `lists.json`: the entries of every list as they cross the wire."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

Args = dict[str, Any]
Block = dict[str, Any]
Result = dict[str, Any]
Schema = dict[str, Any]

LISTS: dict[str, Any] = json.loads(Path(__file__).with_name("lists.json").read_bytes())
QUESTIONS: dict[str, Schema] = LISTS["questions"]
"""The forms that tools ask a person to fill in."""
COLOUR = "Which colour should the cover have?"


def text(words: str, **more: Any) -> Block:
    """A text block; `more` are further members such as `annotations`."""
    return {"type": "text", "text": words, **more}


def media(kind: str, data: bytes, mime: str) -> Block:
    """An image or audio block."""
    return {"type": kind, "data": base64.b64encode(data).decode(), "mimeType": mime}


def embedded(uri: str, mime: str, body: str | bytes) -> Block:
    """A resource whose content is part of the result."""
    return {"type": "resource", "resource": contents(uri, mime, body)}


def link(uri: str, name: str, description: str, mime: str) -> Block:
    """A link to a resource that the client may read."""
    return {"type": "resource_link", "uri": uri, "name": name, "description": description, "mimeType": mime}


def contents(uri: str, mime: str, body: str | bytes) -> Block:
    """The content of a resource: text, or bytes as Base64."""
    if isinstance(body, bytes):
        return {"uri": uri, "mimeType": mime, "blob": base64.b64encode(body).decode()}
    return {"uri": uri, "mimeType": mime, "text": body}


def result(*blocks: Block | str, structured: dict[str, Any] | None = None) -> Result:
    """The result of a tool; plain strings become text blocks."""
    made: Result = {"content": [text(block) if isinstance(block, str) else block for block in blocks]}
    return made if structured is None else {**made, "structuredContent": structured}


def failure(words: str) -> Result:
    """A result that reports a failure of the tool (`isError`)."""
    return {"content": [text(words)], "isError": True}


def problems(schema: Schema, value: Any) -> list[str]:
    """The problems of arguments, one sentence each."""
    from jsonschema import Draft202012Validator

    found = Draft202012Validator(schema).iter_errors(value)
    return [f"{'.'.join(map(str, error.absolute_path)) or 'arguments'}: {error.message[:200]}" for error in found]

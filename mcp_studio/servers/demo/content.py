"""Raw results and content blocks, as the specification writes them (server/tools, server/prompts)."""

from __future__ import annotations

import base64
from typing import Any

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

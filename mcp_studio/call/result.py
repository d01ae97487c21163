"""What is wrong with a result, in words; a result with problems is shown all the same."""

from __future__ import annotations

from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.protocol.large import hint_at

_MOST = 20
_BLOCKS: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource": ("resource",),
    "resource_link": ("uri",),
}
"""Content block types (specification, server/tools) and the keys that they must have."""


def problems_of(method: str, result: Json) -> tuple[str, ...]:
    """What the result of tools/call, resources/read or prompts/get lacks or has wrong."""
    if not isinstance(result, dict):
        return ()
    known = cast("dict[str, Json]", result)
    check = {"tools/call": _tool, "resources/read": _resource, "prompts/get": _prompt}.get(method)
    return tuple(check(known)[:_MOST]) if check else ()


def _tool(result: dict[str, Json]) -> list[str]:
    found: list[str] = []
    if not isinstance(result.get("isError", False), bool):
        found.append("isError is neither true nor false.")
    content = result.get("content")
    if not isinstance(content, list):
        return [*found, "The result has no array content."]
    for index, block in enumerate(cast("list[Json]", content)):
        found += _block(f"content[{index}]", block)
    return found


def _prompt(result: dict[str, Json]) -> list[str]:
    messages = result.get("messages")
    if not isinstance(messages, list):
        return ["The result has no array messages."]
    found: list[str] = []
    for index, message in enumerate(cast("list[Json]", messages)):
        where = f"messages[{index}]"
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
            found.append(f"{where} has no role user or assistant.")
        else:
            found += _block(f"{where}.content", cast("dict[str, Json]", message).get("content"))
    return found


def _resource(result: dict[str, Json]) -> list[str]:
    contents = result.get("contents")
    if not isinstance(contents, list):
        return ["The result has no array contents."]
    found: list[str] = []
    for index, item in enumerate(cast("list[Json]", contents)):
        if not isinstance(item, dict) or not isinstance(item.get("uri"), str):
            found.append(f"contents[{index}] has no uri.")
        elif not any(isinstance(hint_at(cast("dict[str, Json]", item), key), str) for key in ("text", "blob")):
            found.append(f"contents[{index}] has neither text nor blob.")
    return found


def _block(where: str, block: Json) -> list[str]:
    if not isinstance(block, dict):
        return [f"{where} is not an object."]
    known = cast("dict[str, Json]", block)
    kind = known.get("type")
    if not isinstance(kind, str) or kind not in _BLOCKS:
        return [f"{where} has the unknown type {str(kind)[:40]!r}."]
    return [f"{where} of type {kind} has no {key}." for key in _BLOCKS[kind] if key not in known]

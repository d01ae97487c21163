"""A sampling request as text for a person: messages by role, all content, tools, and what is requested of the model.

Specification, client/sampling. Whatever comes from the server passes `safe` here; what is too long is cut and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from mcp_studio.jsontext import Json, pretty
from mcp_studio.present import blocks
from mcp_studio.safetext import safe
from mcp_studio.tui.views.glyphs import glyphs

Part = str | tuple[str, str]
_TEXT, _MESSAGES, _TOOLS = 10_000, 100, 50
_ALL = 50_000
"""Characters in all."""
_PRIORITIES = (("costPriority", "cost"), ("speedPriority", "speed"), ("intelligencePriority", "intelligence"))


def parts_of(params: dict[str, Json]) -> list[Part]:
    """The whole request."""
    found: list[Part] = []
    size = 0
    for part in (*_system(params), *_messages(params), *_tools(params), *_settings(params)):
        size += len(part if isinstance(part, str) else part[0])
        if size > _ALL:
            found.append(("\nThe rest is longer than can be shown; the trace has it all.", "$state-busy"))
            break
        found.append(part)
    return found


def offered(params: dict[str, Json]) -> dict[str, dict[str, Json]]:
    """The tools that the reply may use, by name."""
    return {str(tool["name"]): tool for tool in _objects(params.get("tools")) if isinstance(tool.get("name"), str)}


def _settings(params: dict[str, Json]) -> Iterator[Part]:
    lines = [*_preferences(params.get("modelPreferences"))]
    for key, word in (("maxTokens", "at most"), ("temperature", "temperature"), ("includeContext", "context of")):
        if key in params:
            unit = " tokens" if key == "maxTokens" else ""
            lines.append((word, f"{safe(params[key], 200)}{unit}"))
    if params.get("stopSequences"):
        lines.append(("stops at", safe(", ".join(map(_quoted, _list(params["stopSequences"]))), 400)))
    if "toolChoice" in params:
        mode = _mapping(params["toolChoice"]).get("mode", "auto")
        lines.append(("tools are", {"required": "required", "none": "not to be used"}.get(str(mode), safe(mode, 100))))
    if params.get("metadata"):
        lines.append(("metadata", safe(params["metadata"], 1_000)))
    if lines:
        yield ("\nRequested\n", "bold $accent")
    for word, text in lines:
        yield (f"{word:<13}", "$quiet")
        yield f"{text}\n"


def _preferences(value: Json) -> Iterator[tuple[str, str]]:
    known = _mapping(value)
    hints = [str(hint.get("name", "")) for hint in _objects(known.get("hints"))]
    if any(hints):
        yield "model", safe(", then ".join(filter(None, hints)), 400)
    wishes = [f"{word} {safe(known[key], 20)}" for key, word in _PRIORITIES if key in known]
    if wishes:
        yield "what matters", ", ".join(wishes)


def _system(params: dict[str, Json]) -> Iterator[Part]:
    if isinstance(params.get("systemPrompt"), str):
        yield ("system\n", "bold $accent")
        yield _said(params["systemPrompt"])


def _messages(params: dict[str, Json]) -> Iterator[Part]:
    messages = _list(params.get("messages"))
    for message in messages[:_MESSAGES]:
        known = _mapping(message)
        yield (f"{safe(known.get('role', 'no role'), 40)}\n", "bold $accent")
        content = known.get("content")
        for block in cast("list[Json]", content) if isinstance(content, list) else [content]:
            yield from _block(block)
    if len(messages) > _MESSAGES:
        yield (f"\nand {len(messages) - _MESSAGES} more messages\n", "$state-busy")


def _block(item: Json) -> Iterator[Part]:
    known = _mapping(item)
    match known.get("type"):
        case "text" if isinstance(known.get("text"), str):
            yield _said(known["text"])
        case "tool_use":
            yield (f"uses {safe(known.get('name'), 100)}", "bold")
            yield (f"  {safe(known.get('id'), 60)}\n", "$quiet")
            yield _said(pretty(known.get("input")))
        case "tool_result":
            failed = " failed" if known.get("isError") is True else ""
            yield (f"result{failed} of {safe(known.get('toolUseId'), 60)}\n", "bold")
            inner = known.get("content")
            for block in cast("list[Json]", inner) if isinstance(inner, list) else []:
                yield from _block(block)
            if "structuredContent" in known:
                yield _said(pretty(known["structuredContent"]))
        case _:
            yield from _other(item)


def _other(item: Json) -> Iterator[Part]:
    """Images, sounds, resources: what they are and how large; anything else as JSON."""
    for block in blocks.blocks_of({"content": [item]}):
        yield _said(blocks.plain(block))


def _tools(params: dict[str, Json]) -> Iterator[Part]:
    tools = offered(params)
    if not tools:
        return
    yield (f"\nTools that the completion may use  {len(tools)}\n", "bold $accent")
    for name, tool in list(tools.items())[:_TOOLS]:
        yield (safe(name, 100), "bold")
        yield f"  {safe(tool.get('description', ''), 600)}\n"
        arguments = _mapping(_mapping(tool.get("inputSchema")).get("properties"))
        if arguments:
            yield (f"  takes {safe(', '.join(arguments), 300)}\n", "$quiet")


def _said(text: str) -> str:
    """Foreign text behind a bar on every line: a server cannot write what looks like our words above it."""
    bar = f"{glyphs().bar} "
    return bar + safe(text, _TEXT, lines=True).replace("\n", f"\n{bar}") + "\n"


def _quoted(value: Json) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _mapping(value: Json) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return cast("list[Json]", value) if isinstance(value, list) else []


def _objects(value: Json) -> list[dict[str, Json]]:
    return [cast("dict[str, Json]", item) for item in _list(value) if isinstance(item, dict)]

"""A sampling request: the person reads the messages for an LLM, and fills in the reply.

Specification, client/sampling. Text from the server passes through `safe`; a text that is too long is cut, with a note.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from mcp_studio.jsontext import Json, items_of, mapping, pretty
from mcp_studio.present import blocks
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import InputRequest
from mcp_studio.session.rules import message_result
from mcp_studio.tui.screens.dialog import Choice, Widgets
from mcp_studio.tui.screens.elicitation import DECLINE, LATER, Elicitation

_LISTS_SINCE = "2025-11-25"
_TEXT, _MESSAGES, _TOOLS, _ALL = 10_000, 100, 50, 50_000
"""Characters of one text, messages, tools, and characters in all, that are shown."""


class Sampling(Elicitation):
    """Answers a `CreateMessageResult`; if declined, the server gets the refusal of the specification."""

    wants = "requests an LLM completion"
    DEFAULT_CLASSES = "-broad"
    choices = (Choice("accept", "Reply", "primary"), DECLINE, LATER)

    def schema_of(self, request: InputRequest) -> dict[str, Json]:
        version = self.app.studio.manager.status(request.server).version
        return reply_schema(offered(request.params), lists=not version or version >= _LISTS_SINCE)

    def question(self) -> Widgets:
        yield VerticalScroll(*self._request_widgets(), id="asked")
        yield self.view

    def _request_widgets(self) -> Widgets:
        size = 0
        for title, text in sections_of(self.request.params):
            yield Static(Content.styled(safe(title, 60), "bold $accent"))
            if text:
                yield self.foreign(text, _TEXT)
            if (size := size + len(text)) > _ALL:
                yield Static("The rest is longer than can be shown; the trace has it all.", classes="warn")
                return

    def start(self) -> Json:
        return {**message_result(""), "content": {"type": "text"}}

    def begin(self) -> None:
        self.view.focus_field("/content/text")


def reply_schema(tools: Iterable[str], *, lists: bool) -> dict[str, Json]:
    """What a reply must be: one block, or also several if `lists` is set. It may use `tools`, and is never empty."""
    filled: Json = {"type": "string", "minLength": 1}
    data: Json = {"type": "string", "minLength": 1, "contentEncoding": "base64"}
    kinds: list[Json] = [
        _block("text", text={"type": "string", "minLength": 1, "contentMediaType": "text/plain"}),
        _block("image", data=data, mimeType=filled),
        _block("audio", data=data, mimeType=filled),
    ]
    if names := [*tools]:
        kinds.append(_block("tool_use", id=filled, name={"enum": names}, input={"type": "object"}))
    several: Json = {"title": "several", "type": "array", "items": {"oneOf": kinds}, "minItems": 1}
    properties: dict[str, Json] = {
        "content": {"oneOf": [*kinds, several] if lists else kinds},
        "role": {"enum": ["assistant", "user"]},
        "model": filled,
        "stopReason": {"type": "string", "examples": ["endTurn", "stopSequence", "maxTokens", "toolUse"]},
    }
    return {"type": "object", "properties": properties, "required": ["content", "role", "model"]}


def _block(kind: str, **parts: Json) -> Json:
    properties = {"type": {"const": kind}, **parts}
    return {"title": kind, "type": "object", "properties": properties, "required": [*properties]}


# The request


def sections_of(params: dict[str, Json]) -> list[tuple[str, str]]:
    """The whole request: a title and a text for each part. Foreign text."""
    found = [("system", params["systemPrompt"])] if isinstance(params.get("systemPrompt"), str) else []
    messages = items_of(params.get("messages"))
    for message in messages[:_MESSAGES]:
        text = "".join(blocks.joined(map(blocks.plain, blocks.message_blocks(message))))
        found.append((str(mapping(message).get("role", "no role")), text))
    if len(messages) > _MESSAGES:
        found.append((f"and {len(messages) - _MESSAGES} more messages", ""))
    if tools := offered(params):
        found.append((f"Tools that the completion may use  {len(tools)}", "\n".join(map(_tool, tools.values()))))
    if wanted := {name: value for name, value in params.items() if name not in ("systemPrompt", "messages", "tools")}:
        found.append(("Requested of the model", pretty(wanted)))
    return found


def offered(params: dict[str, Json]) -> dict[str, dict[str, Json]]:
    """The tools that the reply may use, by name."""
    tools = map(mapping, items_of(params.get("tools"))[:_TOOLS])
    return {tool["name"]: tool for tool in tools if isinstance(tool.get("name"), str)}


def _tool(tool: dict[str, Json]) -> str:
    arguments = ", ".join(mapping(mapping(tool.get("inputSchema")).get("properties")))
    takes = f"\n  takes {arguments}" if arguments else ""
    return f"{tool['name']}  {str(tool.get('description', ''))[:600]}{takes}"

"""The reply to a sampling request: what to start with, how blocks are edited, and what keeps it from being sent.

`CreateMessageResult`, specification 2025-11-25 and 2026-07-28, client/sampling.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import build
from mcp_studio.session.rules import message_result
from mcp_studio.tui.form.joined import joined

STOPS = ("endTurn", "stopSequence", "maxTokens", "toolUse")
ROLES = ("assistant", "user")
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "text": ("text",), "image": ("data", "mimeType"), "audio": ("data", "mimeType"), "tool_use": ("id", "name"),
}  # fmt: skip
Block = dict[str, Json]


def start() -> dict[str, Json]:
    """An empty text of the assistant."""
    return message_result("")


def head_schema() -> Json:
    """What is edited besides the content."""
    return {
        "type": "object",
        "properties": {
            "role": {"enum": cast("Json", list(ROLES))},
            "model": {"type": "string", "minLength": 1},
            "stopReason": {"type": "string", "default": STOPS[0]},
        },
        "required": ["role", "model"],
    }


def tool_form(tools: Mapping[str, Mapping[str, Json]], name: Json) -> Form:
    """What is edited of a block that uses this tool: its arguments are the form that the tool itself has."""
    known = tools.get(name, {}) if isinstance(name, str) else {}
    head = build(
        {
            "type": "object",
            "properties": {
                "name": {"enum": cast("Json", list(tools))},
                "id": {"type": "string", "minLength": 1, "description": "by which its result is known"},
            },
            "required": ["name", "id"],
        }
    )
    return joined(head, "input", build(known.get("inputSchema", {"type": "object"})), at=1, required=True)


def blocks_of(reply: Json) -> list[Json]:
    """The content as a list, whichever way it is written."""
    content = cast("dict[str, Json]", reply).get("content") if isinstance(reply, dict) else None
    return list(cast("list[Json]", content)) if isinstance(content, list) else [content]


def editable(reply: Json) -> bool:
    """Whether the fields can show all of it; everything else is edited as JSON."""
    if not isinstance(reply, dict) or not reply.keys() <= {"role", "model", "stopReason", "content"}:
        return False
    if not all(isinstance(reply.get(key, ""), str) for key in ("role", "model", "stopReason")):
        return False
    return all(_editable(block) for block in blocks_of(cast("Json", reply)))


def _editable(block: Json) -> bool:
    if not isinstance(block, dict):
        return False
    if block.get("type") == "text":
        return block.keys() == {"type", "text"} and isinstance(block["text"], str)
    return block.get("type") == "tool_use" and block.keys() <= {"type", "name", "id", "input"}


def assembled(head: Json, blocks: list[Block]) -> dict[str, Json]:
    """The whole reply: one block stands alone, as every version has it; several are a list (2025-11-25)."""
    known = cast("dict[str, Json]", head) if isinstance(head, dict) else {}
    content: Json = cast("Json", blocks[0] if len(blocks) == 1 else blocks)
    reply: dict[str, Json] = {"role": known.get("role", ""), "content": content, "model": known.get("model", "")}
    return reply | ({"stopReason": known["stopReason"]} if known.get("stopReason") else {})


def following_stop(stop: Json, uses_tools: bool) -> Json:
    """The stop reason after blocks were added or removed: the usual one follows the content, any other stays."""
    if uses_tools and stop == "endTurn":
        return "toolUse"
    return "endTurn" if not uses_tools and stop == "toolUse" else stop


def uses_tools(blocks: list[Json]) -> bool:
    """Whether any block uses a tool."""
    return any(isinstance(block, dict) and block.get("type") == "tool_use" for block in blocks)


def problem_of(reply: Json, tools: Mapping[str, object]) -> str:
    """The first thing that keeps a reply from being sent, in a sentence; empty where there is none."""
    if not isinstance(reply, dict):
        return "The reply must be a JSON object."
    if reply.get("role") not in ROLES:
        return "role must be assistant or user."
    if not isinstance(reply.get("model"), str) or not reply["model"]:
        return "model is missing: the name of the model that answers."
    if "stopReason" in reply and not isinstance(reply["stopReason"], str):
        return "stopReason must be text."
    blocks = blocks_of(cast("Json", reply))
    if not blocks:
        return "The reply has no content."
    for number, block in enumerate(blocks, 1):
        if wrong := _block_problem(block, tools):
            return f"Block {number}: {wrong}" if len(blocks) > 1 else wrong[0].upper() + wrong[1:]
    if all(_is_blank(block) for block in blocks):
        return "The reply says nothing yet."
    return ""


def _block_problem(block: Json, tools: Mapping[str, object]) -> str:
    if not isinstance(block, dict):
        return "content must be an object with a type."
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in (*_NEEDS, "tool_result"):
        return "its type must be text, image, audio or tool_use."
    for key in _NEEDS.get(kind, ()):
        if not isinstance(block.get(key), str) or (kind != "text" and not block[key]):
            return f"{key} is missing, or is no text."
    if kind == "tool_use":
        return _tool_problem(block, tools)
    return ""


def _tool_problem(block: Mapping[str, Json], tools: Mapping[str, object]) -> str:
    if not tools:
        return "it uses a tool, and the server has offered none."
    if block["name"] not in tools:
        return "it uses a tool that was not offered."
    return "" if isinstance(block.get("input"), dict) else "input must be an object."


def _is_blank(block: Json) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and not str(block.get("text", "")).strip()

"""The tools that an agent is given instead of all others: it finds those, reads one, and calls it."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from mcp_studio.jsontext import Json

METHODS: list[Json] = ["auto", "regex", "bm25", "embedding", "hybrid"]
_LIMIT: Json = {"type": "integer", "minimum": 1, "maximum": 100}
_TEXT: Json = {"type": "string"}
_TOOL: dict[str, Json] = {"tool_name": {"type": "string", "description": "A name that search_tools has given."}}


def _schema(required: list[str], **properties: Json) -> dict[str, Json]:
    return {
        "type": "object", "properties": properties, "required": cast("Json", required), "additionalProperties": False,
    }  # fmt: skip


class SearchTool(NamedTuple):
    """One of them, as it is listed."""

    description: str
    schema: dict[str, Json]
    changes: bool = False
    """It is not only read."""


TOOLS: dict[str, SearchTool] = {
    "search_tools": SearchTool(
        "Find tools by what they do. The best comes first, with a score and why it matched.",
        _schema(
            ["query"], query={"type": "string", "description": "What the tool should do, or a pattern for regex."},
            search_method={"type": "string", "enum": METHODS, "default": "bm25"}, limit={**_LIMIT, "default": 5},
        ),
    ),
    "get_tool_definition": SearchTool(
        "The whole definition of a tool: its arguments, and what it gives back.", _schema(["tool_name"], **_TOOL)
    ),
    "list_categories": SearchTool("The categories of tools, and how many tools each has.", _schema([])),
    "list_tools_by_category": SearchTool(
        "The tools of a category, those used most first.",
        _schema(["category"], category=_TEXT, limit={**_LIMIT, "default": 20}),
    ),
    "call_tool": SearchTool(
        "Call a tool of a server.",
        _schema(["tool_name"], **_TOOL, arguments={"type": "object", "description": "As its definition says."}),
        changes=True,
    ),
    "register_tool": SearchTool(
        "Describe a tool of your own, so that you find it by search_tools later. Nobody can call it here.",
        _schema(
            ["name", "description"], name=_TEXT, description=_TEXT, category=_TEXT,
            tags={"type": "array", "items": _TEXT}, input_schema={"type": "object"},
        ),
        changes=True,
    ),
}  # fmt: skip
"""By their names."""


def definition_of(name: str) -> dict[str, Any]:
    """One of them as `tools/list` lists it."""
    tool = TOOLS[name]
    return {
        "name": name, "description": tool.description, "inputSchema": tool.schema,
        "annotations": {"readOnlyHint": not tool.changes, "openWorldHint": name == "call_tool"},
    }  # fmt: skip

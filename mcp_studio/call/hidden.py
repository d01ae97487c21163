"""Arguments that a tool's schema calls secret: the redactor is told of them before they are sent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.views import ToolView
from mcp_studio.redact import SHORTEST
from mcp_studio.session import late

_LIKELY = re.compile(r"pass|secret|token|key|credential", re.IGNORECASE)


def secret_arguments(tool: ToolView | None, arguments: Json) -> Iterator[str]:
    """The texts that stand in fields for passwords and the like: by their names, format, or `writeOnly`."""
    if tool is None or not isinstance(arguments, dict):
        return
    schema = mapping(tool.input_schema)
    properties = mapping(schema.get("properties"))
    texts = {name: value for name, value in arguments.items() if isinstance(value, str) and len(value) >= SHORTEST}
    # Reading a whole schema takes longer than most calls have to be looked at.
    if any(_may_be(name, mapping(properties.get(name))) for name in texts):
        secret = late.secrets(tool.input_schema)
        yield from (value for name, value in texts.items() if name in secret)


def _may_be(name: str, field: Mapping[str, Json]) -> bool:
    return bool(_LIKELY.search(name)) or any(key in field for key in ("writeOnly", "format", "$ref", "allOf", "anyOf"))

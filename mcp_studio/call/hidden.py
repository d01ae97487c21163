"""Arguments that a tool's schema calls secret: the redactor is told of them before they are sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from mcp_studio.call import late
from mcp_studio.jsontext import Json
from mcp_studio.protocol.views import ToolView
from mcp_studio.redact import SHORTEST
from mcp_studio.schema.place import found, path_of

_LOOKED_AT = 2_000
"""Parts of a schema, or of a value; of what is larger it is taken that it may hold a secret."""
_LIKELY = re.compile(r"pass|secret|token|key|credential", re.IGNORECASE)


def secret_arguments(tool: ToolView | None, arguments: Json) -> Iterator[str]:
    """The texts that stand in fields for passwords and the like, however deep: by name, format, or `writeOnly`."""
    if tool is None or not isinstance(arguments, dict) or not arguments:
        return
    # Reading a whole schema takes longer than most calls have to be looked at.
    if not _may_be(tool.input_schema):
        return
    for place in late.secret_places(tool.input_schema, arguments):
        yield from _texts(found(arguments, path_of(place, arguments)))


def _may_be(schema: Json) -> bool:
    """Whether a schema has something in it that makes a field secret."""
    todo = [schema]
    for _ in range(_LOOKED_AT):
        if not todo:
            return False
        item = todo.pop()
        if isinstance(item, dict):
            known = cast("dict[str, Json]", item)
            if known.get("writeOnly") is True or known.get("format") == "password":
                return True
            if isinstance(names := known.get("properties"), dict) and any(map(_LIKELY.search, names)):
                return True
            todo += known.values()
        elif isinstance(item, list):
            todo += cast("list[Json]", item)
    return True


def _texts(value: Json) -> Iterator[str]:
    """What of a secret can be recognised elsewhere: not what is as short as any word."""
    todo = [value]
    for _ in range(_LOOKED_AT):
        if not todo:
            return
        item = todo.pop()
        if isinstance(item, dict):
            todo += cast("dict[str, Json]", item).values()
        elif isinstance(item, list):
            todo += cast("list[Json]", item)
        elif isinstance(item, str) and len(item) >= SHORTEST:
            yield item

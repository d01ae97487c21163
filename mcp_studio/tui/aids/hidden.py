"""Whether a value holds something that is masked on screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.redact import is_secret_name
from mcp_studio.schema.field import Field, inner, is_secret, resolve_union

_MOST = 20_000
"""Places that are looked at; more than that is taken to hold one."""


def holds_secret(root: Field | None, value: Json) -> bool:
    """Whether any text in the value is secret: by its field, or by the name that it has."""
    todo: list[tuple[Field | None, str, Json]] = [(root, "", value)]
    seen = 0
    while todo:
        field, name, value = todo.pop()
        seen += 1
        if seen > _MOST:
            return True
        if isinstance(value, str):
            if value and (is_secret(field) or is_secret_name(name)):
                return True
            continue
        if isinstance(value, (dict, list)):
            there = resolve_union(field, value) if field is not None else None
            todo += [(inner(there, part) if there else None, str(part), item) for part, item in _parts(value)]
    return False


def _parts(value: Json) -> Iterable[tuple[str | int, Json]]:
    return cast("dict[str, Json]", value).items() if isinstance(value, dict) else enumerate(cast("list[Json]", value))

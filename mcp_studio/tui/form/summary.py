"""What a folded part of a value holds, in a few words on one line. Pure; secrets are masked."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_studio.jsontext import Json
from mcp_studio.redact import is_reference
from mcp_studio.schema.field import Field, inner, is_secret
from mcp_studio.schema.place import Path
from mcp_studio.schema.unions import label
from mcp_studio.tui.form.outline import Settle

_DEPTH = 3
MASK = "•••"


def summary(field: Field, value: Json, path: Path, settle: Settle, room: int) -> str:
    """A value on about `room` characters: `{product: Laptop, quantity: 1}`. Foreign text, not yet safe to draw."""
    made = ""
    for part in _parts(field, value, path, settle, room, _DEPTH):
        made += part
        if len(made) > room:
            break
    return made


def _parts(field: Field | None, value: Json, path: Path, settle: Settle, room: int, depth: int) -> Iterator[str]:
    if field is not None:
        field = settle(path, field, value)
    if isinstance(value, (dict, list)):
        yield from _inside(field, value, path, settle, room, depth)
    elif is_secret(field) and value and not is_reference(str(value)):
        yield MASK
    else:
        text = label(value)
        yield text if len(text) <= room else text[:room] + "…"


def _inside(
    field: Field | None, value: dict[str, Json] | list[Json], path: Path, settle: Settle, room: int, depth: int
) -> Iterator[str]:
    start, end = ("[", "]") if isinstance(value, list) else ("{", "}")
    if depth == 0 and value:
        yield f"{start}…{end}"
        return
    yield start
    pairs = enumerate(value) if isinstance(value, list) else value.items()
    for at, (key, item) in enumerate(pairs):
        if at:
            yield ", "
        if isinstance(key, str):
            yield f"{key}: "
        known = inner(field, key) if field is not None else None
        yield from _parts(known, item, (*path, key), settle, room, depth - 1)
    yield end

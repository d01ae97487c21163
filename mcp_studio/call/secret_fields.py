"""Where in a value the fields of a form call something secret, however deep."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import cast

from mcp_studio.call import late
from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.views import ToolView
from mcp_studio.redact import SHORTEST
from mcp_studio.schema.field import Field, Form, List, Map, Object, Text, Union, inner, settled
from mcp_studio.schema.place import Path, found, path_of, pointer

_FIELDS = 400
"""Fields that are looked at before any value is there."""
_MOST = 20_000
"""Places that are looked at: a value may be larger than its form is ever shown."""


def secret_places(form: Form, value: Json) -> frozenset[str]:
    """The pointers of what stands in fields for passwords and the like."""
    found: set[str] = set()
    todo: list[tuple[Field, Json, Path]] = [(form.top, value, ())]
    for _ in range(_MOST):
        if not todo:
            break
        outer, item, path = todo.pop()
        field = settled(outer, item)
        if (_secret(field) or _secret(outer)) and item not in (None, ""):
            found.add(pointer(*path))
        for part, below in _parts(item):
            if (next_field := inner(field, part)) is not None:
                todo.append((next_field, below, (*path, part)))
    return frozenset(found)


def may_hold_secrets(form: Form) -> bool:
    """Whether a value of this form could have a secret in it: looked up once, where values are many."""
    todo: list[Field] = [form.top]
    seen: dict[int, Field] = {}
    while todo:
        field = todo.pop()
        if id(field) in seen:
            continue
        seen[id(field)] = field
        if len(seen) > _FIELDS or isinstance(field, Map) or _secret(field):
            return True
        if isinstance(field, Object):
            todo += [*field.fields(), *([field.rest] if field.rest else [])]
        elif isinstance(field, List):
            todo += [*field.first(), *([items] if (items := field.items()) else [])]
        elif isinstance(field, Union):
            todo += [variant.field() for variant in field.variants]
    return False


def _secret(field: Field) -> bool:
    """Whether a field is for a secret: one that is masked, or one of another kind that its schema calls one."""
    if isinstance(field, Text):
        return field.secret
    schema = mapping(field.schema)
    return schema.get("writeOnly") is True or schema.get("format") == "password"


def _parts(value: Json) -> list[tuple[str | int, Json]]:
    if isinstance(value, dict):
        return list(cast("dict[str | int, Json]", value).items())
    return list(enumerate(cast("list[Json]", value))) if isinstance(value, list) else []


_LOOKED_AT = 2_000
"""Parts of a schema, or of a value; of what is larger it is taken that it may hold a secret."""
_LIKELY = re.compile(r"pass|secret|token|key|credential", re.IGNORECASE)


_TOOLS = 200
"""Tools of which it is remembered what of their arguments is secret."""

Places = Callable[[Json], frozenset[str]]
"""Gives the pointers of what is secret in a value."""


class SecretArguments:
    """What of the arguments of calls is secret; a tool's schema is read once, not with every call."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Json, Places | None]] = {}

    def of(self, tool: ToolView | None, arguments: Json) -> Iterator[str]:
        """The texts that stand in fields for passwords and the like, however deep: by name, format, or `writeOnly`."""
        if tool is None or not isinstance(arguments, dict) or not arguments:
            return
        places = self._places(tool.input_schema)
        for place in places(arguments) if places is not None else ():
            yield from _texts(found(arguments, path_of(place, arguments)))

    def _places(self, schema: Json) -> Places | None:
        # By identity: the schema is kept, so that its number is nobody else's.
        if (known := self._known.get(id(schema))) is None:
            while len(self._known) >= _TOOLS:
                del self._known[next(iter(self._known))]
            known = self._known[id(schema)] = schema, late.secret_places(schema) if _may_be(schema) else None
        return known[1]


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

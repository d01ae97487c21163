"""Secrets in a call's arguments: found by field, name or text, then left out or masked.

`redact` knows what secret names and secret texts look like.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple, cast

from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.views import ToolView
from mcp_studio.redact import MARK, SHORTEST, is_secret_name
from mcp_studio.schema.field import Field, Form, List, Map, Object, Text, Union, inner, resolve_union
from mcp_studio.schema.form import build
from mcp_studio.schema.place import Path, get_or_none, path_of, pointer

_FIELDS = 400
"""Fields that are examined without a value."""
_PLACES = 20_000
"""Places of a value that are examined: it may be larger than its form."""
_TOOLS = 200
"""Tools whose forms are cached."""


def walk(value: Json) -> Iterator[tuple[Path, Json]]:
    """All places of a value with their contents, in order."""
    todo: list[tuple[Path, Json]] = [((), value)]
    while todo:
        path, item = todo.pop()
        yield path, item
        todo += [((*path, part), below) for part, below in reversed(parts_of(item))]


def parts_of(value: Json) -> list[tuple[str | int, Json]]:
    """The members or items of a value, with their names or indexes."""
    if isinstance(value, dict):
        return list(cast("dict[str | int, Json]", value).items())
    return list(enumerate(cast("list[Json]", value))) if isinstance(value, list) else []


def secret_places(form: Form, value: Json) -> frozenset[str]:
    """The pointers of values in secret fields, at any depth."""
    places: set[str] = set()
    todo: list[tuple[Field, Json, Path]] = [(form.top, value, ())]
    for _ in range(_PLACES):
        if not todo:
            break
        outer, item, path = todo.pop()
        field = resolve_union(outer, item)
        if (_secret(field) or _secret(outer)) and item not in (None, ""):
            places.add(pointer(*path))
        for part, below in parts_of(item):
            if (next_field := inner(field, part)) is not None:
                todo.append((next_field, below, (*path, part)))
    return frozenset(places)


def may_hold_secrets(form: Form) -> bool:
    """Whether a value of this form may contain a secret; computed once for many values."""
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
    if isinstance(field, Text):
        return field.secret
    schema = mapping(field.schema)
    return schema.get("writeOnly") is True or schema.get("format") == "password"


class SecretArguments:
    """Finds secret texts in the arguments of calls; a tool's schema is read once, not for every call."""

    def __init__(self) -> None:
        self._forms: dict[int, tuple[Json, Form | None]] = {}

    def of(self, tool: ToolView | None, arguments: Json) -> Iterator[str]:
        """The texts in secret fields, except very short ones."""
        form = self._form(tool.input_schema) if tool is not None and isinstance(arguments, dict) and arguments else None
        for place in secret_places(form, arguments) if form is not None else ():
            for _, item in walk(get_or_none(arguments, path_of(place, arguments))):
                if isinstance(item, str) and len(item) >= SHORTEST:
                    yield item

    def _form(self, schema: Json) -> Form | None:
        # The cache holds the schema, so that no other object gets its id.
        if (known := self._forms.get(id(schema))) is None:
            if len(self._forms) >= _TOOLS:
                del self._forms[next(iter(self._forms))]
            form = build(schema)
            known = self._forms[id(schema)] = schema, form if may_hold_secrets(form) else None
        return known[1]


GONE: Any = object()
"""Marks a place to leave out."""


def changed(value: Json, change: Callable[[Path, Json], object], path: Path = ()) -> Any:
    """The value with every part replaced by `change`; `GONE` leaves a part out. One frame for each level."""
    made = change(path, value)
    if made is not value or not isinstance(value, (dict, list)):
        return made
    members: dict[str | int, object] = {}
    for part, below in parts_of(value):  # a comprehension would cost another frame
        if (new := changed(below, change, (*path, part))) is not GONE:
            members[part] = new
    return members if isinstance(value, dict) else [*members.values()]


class SecretFilter(NamedTuple):
    """Removes secrets from values that are written to disk."""

    redact: Callable[[str], str] = str
    """Removes secrets from a text; a text that it changes is not written."""
    hides: Callable[[str], bool] = is_secret_name
    """Whether values of a field of this name are secret."""

    def without(
        self, value: Json, hidden: Collection[str] = (), instead: object = GONE
    ) -> tuple[Json, tuple[str, ...]]:
        """The value without its secrets, and the pointers of their places.

        Args:
            hidden: secrets that their names do not tell: top-level members by name, other places by pointer.
            instead: the replacement of a secret.
        """
        places: list[str] = []

        def is_secret(path: Path, item: Json) -> bool:
            if hidden and (pointer(*path) in hidden or (len(path) == 1 and path[0] in hidden)):
                return True
            if item is None or isinstance(item, bool) or item == "":
                return False
            name = path[-1] if path else None
            if isinstance(name, str) and self.hides(name):
                return True
            return any(self.redact(text) != text for text in (name, item) if isinstance(text, str))

        def clean(path: Path, item: Json) -> object:
            if not is_secret(path, item):
                return item
            places.append(pointer(*path))
            return instead

        made = changed(value, clean)
        return (None if made is GONE else made if places else value), tuple(places)


def without_secrets(
    value: Json, places: Collection[str] = (), known: Collection[str] = ()
) -> tuple[Json, tuple[str, ...]]:
    """The value with `‹redacted›` in place of secrets, and the pointers of these places, in order.

    Args:
        places: pointers of secrets, whatever their names are.
        known: secret texts, wherever they occur; short ones count only as whole texts.
    """

    def redact(text: str) -> str:
        return "" if MARK in text or holds(text, known) else text

    return SecretFilter(redact).without(value, places, MARK)


def holds(text: str, known: Collection[str]) -> bool:
    """Whether a text contains a known secret."""
    return any(secret == text or (len(secret) >= SHORTEST and secret in text) for secret in known if secret)

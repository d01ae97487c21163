"""Arguments without what is secret in them, for texts that go to other programs and people."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, cast

from mcp_studio.call.secret_fields import secret_places
from mcp_studio.jsontext import Json
from mcp_studio.redact import MARK, SHORTEST, is_secret_name
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import build
from mcp_studio.schema.place import pointer


class Shown(NamedTuple):
    """A value as it may be shown."""

    value: Json
    hidden: tuple[str, ...] = ()
    """The pointers of what `‹redacted›` stands for, in the order of the value."""


def without_secrets(value: Json, places: Collection[str] = (), known: Collection[str] = ()) -> Shown:
    """The value with `‹redacted›` in the place of what is secret; the same object where nothing is.

    Args:
        places: pointers of what is secret whatever it is called.
        known: texts that are secret wherever they stand; too short ones count only as a whole.
    """
    hidden: list[str] = []
    made = _inner(value, "", "", frozenset(places), tuple(filter(None, known)), hidden)
    return Shown(made if hidden else value, tuple(hidden))


def places_of(tool: Mapping[str, Json], value: Json) -> frozenset[str]:
    """What the schema of a tool calls secret in its arguments."""
    schema = tool.get("inputSchema")
    form: Form = build(schema) if schema is not None else Form()
    return secret_places(form, value)


def holds(text: str, known: Collection[str]) -> bool:
    """Whether a known secret is in a text."""
    return any(secret == text or (len(secret) >= SHORTEST and secret in text) for secret in known if secret)


def _inner(value: Json, at: str, name: str, places: frozenset[str], known: tuple[str, ...], hidden: list[str]) -> Json:
    # One frame for each level: values are nested as deep as the limit on depth allows.
    if isinstance(value, dict):
        members: dict[str, Json] = {}
        for key, item in cast("dict[str, Json]", value).items():
            members[key] = _inner(item, at + pointer(key), key, places, known, hidden)
        return members
    if isinstance(value, list):
        items: list[Json] = []
        for index, item in enumerate(cast("list[Json]", value)):
            items.append(_inner(item, at + pointer(index), name, places, known, hidden))
        return items
    named = isinstance(value, str) and value != "" and (is_secret_name(name) or MARK in value or holds(value, known))
    if named or (at in places and value not in (None, "")):
        hidden.append(at)
        return MARK
    return value

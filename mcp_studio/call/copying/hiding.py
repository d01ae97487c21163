"""Arguments without what is secret in them, for texts that go to other programs and people."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, cast

from mcp_studio.call.secret_fields import secret_places
from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import build
from mcp_studio.schema.place import Path, pointer
from mcp_studio.secret_forms import MARK, SHORTEST
from mcp_studio.secret_names import is_secret_name


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
    hider = _Hider(frozenset(places), tuple(filter(None, known)))
    made = hider.shown(value, (), secret=False)
    return Shown(made if hider.hidden else value, tuple(hider.hidden))


def places_of(tool: Mapping[str, Json], value: Json) -> frozenset[str]:
    """What the schema of a tool calls secret in its arguments."""
    schema = tool.get("inputSchema")
    form: Form = build(schema) if schema is not None else Form()
    return secret_places(form, value)


def holds(text: str, known: Collection[str]) -> bool:
    """Whether a known secret is in a text."""
    return any(secret == text or (len(secret) >= SHORTEST and secret in text) for secret in known if secret)


class _Hider:
    """Goes through one value."""

    def __init__(self, places: frozenset[str], known: tuple[str, ...]) -> None:
        self._places = places
        self._known = known
        self._names: dict[str, bool] = {}
        self.hidden: list[str] = []

    def shown(self, value: Json, path: Path, *, secret: bool) -> Json:
        """The value without secrets; `secret` is what stands under the name of a secret, however deep."""
        # One frame for each level: values are nested as deep as the limit on depth allows.
        secret = secret or (bool(self._places) and pointer(*path) in self._places)
        if isinstance(value, dict):
            members: dict[str, Json] = {}
            for key, item in cast("dict[str, Json]", value).items():
                members[key] = self.shown(item, (*path, key), secret=secret or self._named(key))
            return members
        if isinstance(value, list):
            items: list[Json] = []
            for index, item in enumerate(cast("list[Json]", value)):
                items.append(self.shown(item, (*path, index), secret=secret))
            return items
        if value is None or isinstance(value, bool) or value == "" or not (secret or self._known_secret(value)):
            return value
        self.hidden.append(pointer(*path))
        return MARK

    def _named(self, name: str) -> bool:
        if name not in self._names:
            self._names[name] = is_secret_name(name)
        return self._names[name]

    def _known_secret(self, value: Json) -> bool:
        return isinstance(value, str) and (MARK in value or bool(self._known and holds(value, self._known)))

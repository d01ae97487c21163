"""A form without widgets: what a JSON Schema asks for, as a tree of fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from mcp_studio.jsontext import Json


@dataclass(frozen=True, slots=True)
class Field:
    """One place for a value. `pointer` is the JSON pointer of that place inside the whole value."""

    name: str
    pointer: str
    title: str = ""
    description: str = ""
    required: bool = False
    has_default: bool = False
    default: Json = None
    schema: Json = None
    """The sub-schema it was made from."""


@dataclass(frozen=True, slots=True)
class Text(Field):
    """A string; `format` and lengths as in the schema."""

    format: str = ""
    min_length: int | None = None
    max_length: int | None = None
    secret: bool = False
    """Looks like a password or token: masked on screen."""
    multiline: bool = False


@dataclass(frozen=True, slots=True)
class Number(Field):
    """An integer or any number."""

    integer: bool = False
    minimum: float | int | None = None
    maximum: float | int | None = None


@dataclass(frozen=True, slots=True)
class Flag(Field):
    """A boolean."""


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a choice."""

    value: Json
    label: str


@dataclass(frozen=True, slots=True)
class Choice(Field):
    """One of a fixed set of values (`enum`, `const`, or titled `oneOf` of constants)."""

    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Choices(Field):
    """Any number out of a fixed set of values (array of an enum)."""

    options: tuple[Option, ...] = ()
    min_items: int | None = None
    max_items: int | None = None


@dataclass(frozen=True, slots=True)
class JsonField(Field):
    """Anything else: edited as JSON text."""

    hint: str = ""
    """The shape in a few characters, such as `object {start, end}` or `string[]`."""


@dataclass(frozen=True, slots=True)
class Form:
    """All fields of one object value."""

    fields: tuple[Field, ...] = ()
    whole: bool = False
    """The schema is not an object with properties: the whole value is edited as JSON."""
    schema: Json = field(default=None)


Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """One thing wrong with a value, at a JSON pointer."""

    pointer: str
    message: str
    severity: Severity = "error"

"""A form without widgets: what a JSON Schema asks for, as a tree of fields."""

from __future__ import annotations

from mcp_studio.jsontext import Json
from mcp_studio.record import record
from mcp_studio.schema.problem import SchemaProblem as SchemaProblem


@record(frozen=True)
class Field:
    """One place for a value. `pointer` is the JSON pointer of that place inside the whole value."""

    name: str
    pointer: str
    title: str = ""
    description: str = ""
    required: bool = False
    has_default: bool = False
    default: Json = None
    nullable: bool = False
    """Whether null is a value, besides what the kind of field holds."""
    hint: str = ""
    """The shape or the bounds in a few words, such as `object {start, end}`, `string[]` or `1 to 50`."""
    schema: Json = None
    """The sub-schema it was made from, references followed and parts merged."""


@record(frozen=True)
class Text(Field):
    """A string; `format` and lengths as in the schema."""

    format: str = ""
    min_length: int | None = None
    max_length: int | None = None
    secret: bool = False
    """Looks like a password or token: masked on screen."""
    multiline: bool = False


@record(frozen=True)
class Number(Field):
    """An integer or any number."""

    integer: bool = False
    minimum: float | int | None = None
    maximum: float | int | None = None
    above_minimum: bool = False
    """The minimum itself is excluded."""
    below_maximum: bool = False
    """The maximum itself is excluded."""


@record(frozen=True)
class Flag(Field):
    """A boolean."""


@record(frozen=True)
class Option:
    """One value of a choice."""

    value: Json
    label: str


@record(frozen=True)
class Choice(Field):
    """One of a fixed set of values (`enum`, `const`, or titled `oneOf` of constants)."""

    options: tuple[Option, ...] = ()


@record(frozen=True)
class Choices(Field):
    """Any number out of a fixed set of values (array of an enum)."""

    options: tuple[Option, ...] = ()
    min_items: int | None = None
    max_items: int | None = None


@record(frozen=True)
class JsonField(Field):
    """Anything else: edited as JSON text."""

    types: tuple[str, ...] = ()
    """The JSON types it may have besides null; empty when the schema does not say."""

    @property
    def words(self) -> bool:
        """Whether text that is no JSON may stand for itself."""
        return not self.types or "string" in self.types


@record(frozen=True)
class Form:
    """All fields of one object value."""

    fields: tuple[Field, ...] = ()
    whole: bool = False
    """The schema is not an object with properties: the whole value is edited as JSON."""
    schema: Json = None
    more: int = 0
    """How many properties are not among the fields, for there are too many: they are edited as JSON."""
    problems: tuple[str, ...] = ()
    """What is wrong with the schema itself, in sentences."""
    strict: bool = False
    """Formats are demanded, as in elicitation; otherwise a wrong one is a warning."""

    def field(self, name: str) -> Field | None:
        """The field of a property."""
        return next((field for field in self.fields if field.name == name), None)

"""A form without widgets: what a JSON Schema asks for, as a tree of fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from mcp_studio.jsontext import Json
from mcp_studio.record import record
from mcp_studio.schema.kinds import type_of
from mcp_studio.schema.problem import SchemaProblem as SchemaProblem

T = TypeVar("T")


class Lazy(Generic[T]):
    """Something made when it is first asked for: a schema may contain itself, so its tree has no end."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make
        self._made: T | None = None

    def __call__(self) -> T:
        """The thing itself, the same every time."""
        if self._make is not None:
            self._made, self._make = self._make(), None
        return self._made  # pyright: ignore[reportReturnType]


@record(frozen=True)
class Field:
    """What belongs into one place of a value. It does not know the place: a list's items share one field."""

    name: str
    """The key in its object; empty for the whole value and for items of lists."""
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
    implied: bool = False
    """The schema speaks of this type without asking for it: a value of another one is allowed all the same."""
    examples: tuple[Json, ...] = ()
    """Values that the schema gives as examples."""
    deprecated: bool = False
    """The server asks not to use it any more."""
    read_only: bool = False
    """The server says that it alone sets this."""
    remark: str = ""
    """What of its schema the field does not show, in a sentence; the check of the whole schema may still know it."""


@record(frozen=True)
class Text(Field):
    """A string; `format` and lengths as in the schema."""

    format: str = ""
    pattern: str = ""
    """The regular expression (ECMA-262) that is to be found in it; left to the check of the whole schema."""
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
    multiple_of: float | int | None = None


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
class Const(Field):
    """A value that can only be one."""

    value: Json = None


@record(frozen=True)
class Map(Field):
    """An object whose keys the person chooses."""

    of: Callable[[str], Field] = lambda key: JsonField(key)
    """The field of the value under a key, by `patternProperties` and `additionalProperties`."""
    wrong_key: Callable[[str], str] = lambda key: ""
    """Why a key is not allowed (`propertyNames`, no pattern fits), as a sentence; empty when it is."""
    min_entries: int | None = None
    max_entries: int | None = None


@record(frozen=True)
class Object(Field):
    """An object with known properties."""

    fields: Lazy[tuple[Field, ...]] = Lazy(tuple[Field, ...])
    """Its properties in the order of the schema."""
    rest: Map | None = None
    """What further properties may be, where the schema describes any; None when it says nothing of them, or no."""
    more: int = 0
    """How many properties are not among the fields, for there are too many: they are edited as JSON."""
    min_entries: int | None = None
    max_entries: int | None = None


@record(frozen=True)
class List(Field):
    """A list. The first items may each have a field of their own (`prefixItems`), the others share one."""

    first: Lazy[tuple[Field, ...]] = Lazy(tuple[Field, ...])
    items: Lazy[Field | None] = Lazy(lambda: None)
    """None: there are no more items than the first ones."""
    min_items: int | None = None
    max_items: int | None = None
    unique: bool = False

    def item(self, index: int) -> Field | None:
        """The field of the item at an index; None where there can be none."""
        first = self.first()
        return first[index] if index < len(first) else self.items()


@record(frozen=True)
class Variant:
    """One kind of value that a union can have."""

    label: str
    field: Lazy[Field]


@record(frozen=True)
class Union(Field):
    """One of several kinds of values, of which the person chooses one."""

    variants: tuple[Variant, ...] = ()
    by_value: bool = False
    """The value itself decides (`if`, `dependentSchemas`): nothing is chosen, the form follows."""
    choose: Callable[[Json], int] = lambda value: -1
    """The variant that a value is of, the best one where several could be meant; -1 for none."""
    types: tuple[str, ...] = ()
    """The JSON types it may have besides null; empty when some variant does not say."""


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
class Scalar(JsonField):
    """Text, or a number, or true or false: one line, read as what it looks like.

    What looks like another kind is typed in quotes: `"5"` is text where numbers are allowed too.
    """

    parts: tuple[Field, ...] = ()
    """A field for each kind of value it may have: `Text`, `Number`, `Flag`, `Choice`."""


def is_secret(field: Field | None) -> bool:
    """Whether what stands in a field is masked on screen."""
    return isinstance(field, Text) and field.secret


AS_JSON = (JsonField, Object, List, Map, Union)
"""The kinds of fields whose text is JSON: those with fields inside, and the one for anything else."""


def json_types(field: Field) -> tuple[str, ...]:
    """The JSON types of values of a field, besides null where it is nullable; empty when any will do."""
    if isinstance(field, (JsonField, Union)):
        return field.types
    if isinstance(field, (Choice, Const)):
        values = [field.value] if isinstance(field, Const) else [option.value for option in field.options]
        return tuple(dict.fromkeys(type_of(value) for value in values))
    if isinstance(field, Number):
        return ("integer" if field.integer else "number",)
    if isinstance(field, (Object, Map)):
        return ("object",)
    return ("string" if isinstance(field, Text) else "boolean" if isinstance(field, Flag) else "array",)


@record(frozen=True)
class Form:
    """The fields of one value."""

    fields: tuple[Field, ...] = ()
    """The properties at the top."""
    whole: bool = False
    """Nothing of the schema can be drawn: the whole value is edited as JSON."""
    schema: Json = None
    more: int = 0
    """How many properties are not among the fields, for there are too many: they are edited as JSON."""
    problems: tuple[str, ...] = ()
    """What is wrong with the schema itself, in sentences."""
    strict: bool = False
    """Formats are demanded, as in elicitation; otherwise a wrong one is a warning."""
    root: Field | None = None
    """The field of the whole value: mostly an `Object`, but a schema may want anything."""

    @property
    def top(self) -> Field:
        """The field of the whole value, also of a form that is made of fields alone."""
        if self.root is not None:
            return self.root
        if self.whole and not self.fields:
            return JsonField("", hint="any JSON")
        return Object("", required=True, schema=self.schema, fields=Lazy(lambda: self.fields), more=self.more)

    def field(self, name: str) -> Field | None:
        """The field of a property."""
        return next((field for field in self.fields if field.name == name), None)

"""A form without widgets: what a JSON Schema asks for, as a tree of fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from mcp_studio.jsontext import Json
from mcp_studio.record import record
from mcp_studio.schema.keywords import type_of
from mcp_studio.schema.place import Path, get_or_none

Severity = Literal["error", "warning"]


class SchemaProblem(NamedTuple):
    """One problem of a value, at a JSON pointer."""

    pointer: str
    message: str
    severity: Severity = "error"

    @property
    def place(self) -> str:
        """The place in readable form: `a/b` for `/a~1b`, `list › 0` for `/list/0`; foreign text."""
        parts = (part.replace("~1", "/").replace("~0", "~") for part in self.pointer.split("/")[1:])
        return " › ".join(parts)

    @property
    def sentence(self) -> str:
        """Place and message in one line; foreign text."""
        return f"{self.place} {self.message}".strip()


def errors(problems: Iterable[SchemaProblem]) -> list[SchemaProblem]:
    """The problems that are not mere warnings."""
    return [problem for problem in problems if problem.severity == "error"]


@record(frozen=True)
class Field:
    """The description of one place of a value. A field does not know its place: the items of a list share one field."""

    name: str
    """The key in its object; empty for the whole value and for items of lists."""
    title: str = ""
    description: str = ""
    required: bool = False
    has_default: bool = False
    default: Json = None
    nullable: bool = False
    """Whether null is allowed, besides the values of this kind of field."""
    hint: str = ""
    """The type or the bounds in a few words, such as `object {start, end}`, `string[]` or `1 to 50`."""
    schema: Json = None
    """The sub-schema of the field, with references followed and parts merged."""
    implied: bool = False
    """The schema describes this type without demanding it, so values of other types are allowed."""
    examples: tuple[Json, ...] = ()
    """Values that the schema gives as examples."""
    deprecated: bool = False
    """The server asks clients not to use the value any more."""
    read_only: bool = False
    """The server says that it alone sets the value."""
    remark: str = ""
    """A sentence on what the field does not show of its schema; the check of the whole schema may still cover it."""


@record(frozen=True)
class Text(Field):
    """A string; `format` and lengths as in the schema."""

    format: str = ""
    pattern: str = ""
    """The regular expression (ECMA-262) that must match somewhere; only the check of the whole schema tests it."""
    min_length: int | None = None
    max_length: int | None = None
    secret: bool = False
    """Whether the text looks like a password or token, so that screens mask it."""
    multiline: bool = False


@record(frozen=True)
class Number(Field):
    """An integer or any number."""

    integer: bool = False
    minimum: float | int | None = None
    maximum: float | int | None = None
    above_minimum: bool = False
    """The minimum itself is not allowed."""
    below_maximum: bool = False
    """The maximum itself is not allowed."""
    multiple_of: float | int | None = None


@record(frozen=True)
class Flag(Field):
    """A boolean."""


@record(frozen=True)
class Option:
    """One value of a choice, with its label."""

    value: Json
    label: str


@record(frozen=True)
class Choice(Field):
    """One of a fixed set of values (`enum`, `const`, or titled `oneOf` of constants)."""

    options: tuple[Option, ...] = ()


@record(frozen=True)
class Choices(Field):
    """Several values out of a fixed set (an array of an enum)."""

    options: tuple[Option, ...] = ()
    min_items: int | None = None
    max_items: int | None = None


@record(frozen=True)
class Const(Field):
    """A single allowed value."""

    value: Json = None


@record(frozen=True)
class Map(Field):
    """An object whose keys the person chooses."""

    of: Callable[[str], Field] = lambda key: JsonField(key)
    """The field of the value under a key, by `patternProperties` and `additionalProperties`."""
    wrong_key: Callable[[str], str] = lambda key: ""
    """Why a key is not allowed (`propertyNames`, or no pattern matches), as a sentence; empty when it is allowed."""
    min_entries: int | None = None
    max_entries: int | None = None


@record(frozen=True)
class Object(Field):
    """An object with known properties."""

    fields: Callable[[], tuple[Field, ...]] = tuple[Field, ...]
    """The properties in the order of the schema; created at the first use, because a schema may contain itself."""
    rest: Map | None = None
    """The field of further properties; None when the schema does not describe them, or forbids them."""
    more: int = 0
    """The number of properties without a field, because there are too many; they are edited as JSON."""
    min_entries: int | None = None
    max_entries: int | None = None


@record(frozen=True)
class List(Field):
    """A list. The first items may have fields of their own (`prefixItems`); the others share one field."""

    first: Callable[[], tuple[Field, ...]] = tuple[Field, ...]
    items: Callable[[], Field | None] = lambda: None
    """The field of all further items; None when the list ends after the first items."""
    min_items: int | None = None
    max_items: int | None = None
    unique: bool = False

    def item(self, index: int) -> Field | None:
        """The field of the item at an index; None where the list cannot have such an item."""
        first = self.first()
        return first[index] if index < len(first) else self.items()


@record(frozen=True)
class Variant:
    """One kind of value that a union allows."""

    label: str
    field: Callable[[], Field]


@record(frozen=True)
class Union(Field):
    """Several kinds of values, of which the person chooses one."""

    variants: tuple[Variant, ...] = ()
    by_value: bool = False
    """The value decides between the variants (`if`, `dependentSchemas`): the person chooses nothing."""
    choose: Callable[[Json], int] = lambda value: -1
    """The index of the variant that fits a value, of the best one where several fit; -1 for none."""
    types: tuple[str, ...] = ()
    """The JSON types besides null; empty when some variant does not name its types."""


@record(frozen=True)
class JsonField(Field):
    """Any other schema: edited as JSON text."""

    types: tuple[str, ...] = ()
    """The JSON types besides null; empty when the schema does not name any."""

    @property
    def words(self) -> bool:
        """Whether text that is not JSON may stand for itself."""
        return not self.types or "string" in self.types


@record(frozen=True)
class Scalar(JsonField):
    """Text, a number, or true or false in one line, whose type follows from its form.

    A text that looks like another type is typed in quotes: `"5"` is text where numbers are allowed too.
    """

    parts: tuple[Field, ...] = ()
    """A field for each kind of value: `Text`, `Number`, `Flag`, `Choice`."""


def is_secret(field: Field | None) -> bool:
    """Whether screens mask the content of a field."""
    return isinstance(field, Text) and field.secret


AS_JSON = (JsonField, Object, List, Map, Union)
"""The kinds of fields whose text is JSON: those that contain fields, and `JsonField`."""


def json_types(field: Field) -> tuple[str, ...]:
    """The JSON types that a field allows, besides null if it is nullable; empty when it allows any."""
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
    """The top-level properties."""
    whole: bool = False
    """No part of the schema can be drawn, so the whole value is edited as JSON."""
    schema: Json = None
    more: int = 0
    """The number of properties without a field, because there are too many; they are edited as JSON."""
    problems: tuple[str, ...] = ()
    """Sentences on what is wrong with the schema itself."""
    strict: bool = False
    """A wrong format is an error, as in elicitation, instead of a warning."""
    root: Field | None = None
    """The field of the whole value: usually an `Object`, but a schema may describe anything."""

    @property
    def top(self) -> Field:
        """The field of the whole value; a form that has only `fields` gets an object of these."""
        if self.root is not None:
            return self.root
        if self.whole and not self.fields:
            return JsonField("", hint="any JSON")
        return Object("", required=True, schema=self.schema, fields=lambda: self.fields, more=self.more)

    def field(self, name: str) -> Field | None:
        """The field of a top-level property, or None."""
        return next((field for field in self.fields if field.name == name), None)


NONE_CHOSEN: Mapping[Path, int] = MappingProxyType({})


def resolve_union(field: Field, value: Json, chosen: int | None = None) -> Field:
    """The field itself; for a union the chosen variant, else the variant that fits the value.

    A union without a choice that no variant fits is returned unchanged.
    """
    for _ in range(_UNIONS):
        if not isinstance(field, Union):
            break
        own = chosen if not field.by_value else None
        at = field.choose(value) if own is None else own
        if not 0 <= at < len(field.variants):
            break
        field, chosen = field.variants[at].field(), chosen if field.by_value else None
    return field


def inner(field: Field, part: str | int) -> Field | None:
    """The field under a key or index of a value; None where the schema does not describe it."""
    if isinstance(field, Object) and isinstance(part, str):
        known = next((one for one in field.fields() if one.name == part), None)
        return known or (inner(field.rest, part) if field.rest else None)
    if isinstance(field, Map) and isinstance(part, str):
        return field.of(part)
    if isinstance(field, List) and isinstance(part, int):
        return field.item(part)
    return None


def field_at(root: Field, path: Path, value: Json, chosen: Mapping[Path, int] = NONE_CHOSEN) -> Field | None:
    """The field of a place in a value; None where the schema does not describe it.

    Args:
        chosen: the variants of unions that the person chose, by place; for other unions the value decides.
    """
    field: Field | None = root
    for depth, part in enumerate(path):
        field = inner(resolve_union(field, get_or_none(value, path[:depth]), chosen.get(path[:depth])), part)
        if field is None:
            return None
    return field


_UNIONS = 48
"""Nested unions that are followed."""

_DEPTH = 8
"""Nested objects that are started; deeper ones are left to the person."""


def defaults(form: Form) -> dict[str, Json]:
    """The value that a form starts with: all defaults, as in elicitation, and all values without an alternative.

    Required objects are included if something inside them is known. Defaults that a condition of the schema adds are
    included too.
    """
    value = _known_values(form.fields, _DEPTH)
    for _ in range(_DEPTH if isinstance(form.root, Union) and form.root.by_value else 0):
        root = resolve_union(form.root, value) if form.root else None
        more = _known_values(root.fields(), _DEPTH) if isinstance(root, Object) else {}
        if more.keys() <= value.keys():
            break
        value = {**more, **value}
    return value


def starter(field: Field) -> Json:
    """The value that a new item of a list, entry of a map or chosen variant starts with.

    This is the default or the only value; for an object its known required properties; `""`, `false`, `[]` or `{}` for
    fields of these kinds; the first variant of a union; a number within its bounds; null otherwise.
    """
    return _starter(field, _DEPTH)


def _starter(field: Field, depth: int) -> Json:
    if field.has_default:
        return field.default
    match field:
        case Const():
            return field.value
        case Object():
            return _known_values(field.fields(), depth)
        case List():
            return [_starter(item, depth - 1) for item in field.first()] if depth > 0 else []
        case Choices():
            return []
        case Map():
            return {}
        case Text():
            return ""
        case Flag():
            return False
        case Choice() if len(field.options) == 1:
            return field.options[0].value
        case Union() if field.variants and depth > 0:
            return _starter(field.variants[max(0, field.choose(None) if field.by_value else 0)].field(), depth - 1)
        case Number():
            low = field.minimum or 0
            return low if low > 0 else min(field.maximum or 0, 0)
        case _:
            return None


def _known_values(fields: Iterable[Field], depth: int) -> dict[str, Json]:
    """The known values of properties: defaults, and required values without an alternative."""
    value: dict[str, Json] = {}
    for field in fields if depth > 0 else ():
        resolved = resolve_union(field, None) if isinstance(field, Union) and field.by_value else field
        if field.has_default:
            value[field.name] = field.default
        elif not field.required:
            continue
        elif isinstance(resolved, Const) or (isinstance(resolved, Choice) and len(resolved.options) == 1):
            value[field.name] = _starter(resolved, depth)
        elif isinstance(resolved, Object):
            members = _known_values(resolved.fields(), depth - 1)
            if members or (resolved.rest is None and not resolved.fields()):  # {} is the only possible value
                value[field.name] = members
    return value

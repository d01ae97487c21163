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
    """One thing wrong with a value, at a JSON pointer."""

    pointer: str
    message: str
    severity: Severity = "error"

    @property
    def place(self) -> str:
        """Where it is, by names: the property `a/b` for `/a~1b`, `list › 0` for `/list/0`; foreign text."""
        parts = (part.replace("~1", "/").replace("~0", "~") for part in self.pointer.split("/")[1:])
        return " › ".join(parts)

    @property
    def sentence(self) -> str:
        """Where and what, in a line; foreign text."""
        return f"{self.place} {self.message}".strip()


def errors(problems: Iterable[SchemaProblem]) -> list[SchemaProblem]:
    """Those that are more than warnings."""
    return [problem for problem in problems if problem.severity == "error"]


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

    fields: Callable[[], tuple[Field, ...]] = tuple[Field, ...]
    """Its properties in the order of the schema; made when they are first asked for, as a schema may contain itself."""
    rest: Map | None = None
    """What further properties may be, where the schema describes any; None when it says nothing of them, or no."""
    more: int = 0
    """How many properties are not among the fields, for there are too many: they are edited as JSON."""
    min_entries: int | None = None
    max_entries: int | None = None


@record(frozen=True)
class List(Field):
    """A list. The first items may each have a field of their own (`prefixItems`), the others share one."""

    first: Callable[[], tuple[Field, ...]] = tuple[Field, ...]
    items: Callable[[], Field | None] = lambda: None
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
    field: Callable[[], Field]


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
        return Object("", required=True, schema=self.schema, fields=lambda: self.fields, more=self.more)

    def field(self, name: str) -> Field | None:
        """The field of a property."""
        return next((field for field in self.fields if field.name == name), None)


NONE_CHOSEN: Mapping[Path, int] = MappingProxyType({})


def resolve_union(field: Field, value: Json, chosen: int | None = None) -> Field:
    """The field itself; of a union the variant that was chosen, or else the one that the value is of.

    It stays a union where neither says anything.
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
    """The field of what lies under a key or index of a value of this field; None where the schema says nothing."""
    if isinstance(field, Object) and isinstance(part, str):
        known = next((one for one in field.fields() if one.name == part), None)
        return known or (inner(field.rest, part) if field.rest else None)
    if isinstance(field, Map) and isinstance(part, str):
        return field.of(part)
    if isinstance(field, List) and isinstance(part, int):
        return field.item(part)
    return None


def field_at(root: Field, path: Path, value: Json, chosen: Mapping[Path, int] = NONE_CHOSEN) -> Field | None:
    """The field of a place in a value; None where the schema says nothing of it.

    Args:
        chosen: the variants of unions that the person chose, by their places; else the value says which is meant.
    """
    field: Field | None = root
    for depth, part in enumerate(path):
        field = inner(resolve_union(field, get_or_none(value, path[:depth]), chosen.get(path[:depth])), part)
        if field is None:
            return None
    return field


_UNIONS = 48
"""Unions of unions that are followed."""

_DEPTH = 8
"""Objects in objects that are begun; further ones are left to the person."""


def defaults(form: Form) -> dict[str, Json]:
    """The value to start with: all defaults, as elicitation wants them, and what can only be one thing.

    Required objects are begun where there is something to be known inside; where the schema has conditions, so is what
    they add.
    """
    value = _begun(form.fields, _DEPTH)
    for _ in range(_DEPTH if isinstance(form.root, Union) and form.root.by_value else 0):
        root = resolve_union(form.root, value) if form.root else None
        more = _begun(root.fields(), _DEPTH) if isinstance(root, Object) else {}
        if more.keys() <= value.keys():
            break
        value = {**more, **value}
    return value


def starter(field: Field) -> Json:
    """The value with which a new item of a list, entry of a map or chosen variant begins.

    Its default or only value; an object with what is known of its required properties; `""`, `false`, `[]` or `{}`
    where the kind of field says no more; the first variant of a union; null where nothing can be said, as for a number.
    """
    return _starter(field, _DEPTH)


def _starter(field: Field, depth: int) -> Json:
    if field.has_default:
        return field.default
    match field:
        case Const():
            return field.value
        case Object():
            return _begun(field.fields(), depth)
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


def _begun(fields: Iterable[Field], depth: int) -> dict[str, Json]:
    """What is known of properties: their defaults, and of required ones what can only be one thing."""
    value: dict[str, Json] = {}
    for field in fields if depth > 0 else ():
        meant = resolve_union(field, None) if isinstance(field, Union) and field.by_value else field
        if field.has_default:
            value[field.name] = field.default
        elif not field.required:
            continue
        elif isinstance(meant, Const) or (isinstance(meant, Choice) and len(meant.options) == 1):
            value[field.name] = _starter(meant, depth)
        elif isinstance(meant, Object):
            begun = _begun(meant.fields(), depth - 1)
            if begun or (meant.rest is None and not meant.fields()):  # {} is all that it can be
                value[field.name] = begun
    return value

"""What the proofs have in common: walking the fields of a form, typing a value anew, and asking the library."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import getcontext, setcontext
from typing import Any

from mcp_studio.jsontext import dumps
from mcp_studio.schema.check import is_type
from mcp_studio.schema.field import (
    AS_JSON,
    Choice,
    Choices,
    Const,
    Field,
    Flag,
    Form,
    JsonField,
    List,
    Map,
    Number,
    Object,
    Scalar,
    Text,
    Union,
    inner,
    json_types,
    resolve_union,
)
from mcp_studio.schema.keywords import spell
from mcp_studio.schema.place import put
from mcp_studio.schema.text import from_text, to_text
from mcp_studio.schema.validator import Validator, loads

MOST_FIELDS = 3_000


def tree(form: Form, most: int = MOST_FIELDS) -> Iterator[tuple[str, Field]]:
    """All fields with their places in words, each sub-schema once: recursive schemas come to an end."""
    todo: list[tuple[str, Field]] = [("", form.top)]
    seen: set[tuple[int, str, str]] = set()
    count = 0
    while todo and count < most:
        place, field = todo.pop(0)
        key = (id(field.schema), field.name, type(field).__name__)
        if key in seen and isinstance(field.schema, dict):
            continue
        seen.add(key)
        count += 1
        yield place, field
        todo += [(f"{place}/{name}", one) for name, one in below(field)]


def below(field: Field) -> Iterator[tuple[str, Field]]:
    """The fields right inside a field."""
    if isinstance(field, Object):
        yield from ((one.name, one) for one in field.fields())
        if field.rest is not None:
            yield from (("*", one) for _, one in below(field.rest) if not isinstance(one, JsonField) or one.schema)
    elif isinstance(field, Map):
        yield "*", field.of("any key")
    elif isinstance(field, List):
        yield from ((str(index), one) for index, one in enumerate(field.first()))
        if (items := field.items()) is not None:
            yield "*", items
    elif isinstance(field, Union):
        yield from ((f"?{index}", variant.field()) for index, variant in enumerate(field.variants))


def leaves(form: Form) -> Iterator[tuple[str, Field]]:
    """The fields into which something is typed."""
    return ((place, field) for place, field in tree(form) if not any(True for _ in below(field)))


def as_json(field: Field) -> str:
    """Why a leaf is edited as JSON, in a word; empty when it is not."""
    if not isinstance(field, JsonField) or isinstance(field, Scalar):
        return ""
    schema = field.schema if isinstance(field.schema, dict) else {}
    plain = {key for key in schema if key not in _SAYS_NOTHING}
    if field.remark:
        return f"remark: {field.remark[:60]}"
    if not plain or not schema:
        return "any value: the schema says nothing"
    if schema == {"not": {}} or plain == {"not"}:
        return "not"
    return "schema with " + ", ".join(sorted(plain)[:6])


_SAYS_NOTHING = frozenset(
    ("description", "title", "default", "examples", "example", "$comment", "deprecated", "optional")
)


def typed(field: Field | None, value: Any) -> Any:
    """The value, made anew from what its fields show: every text is shown and typed again, keys one after the other."""
    own = resolve_union(field, value) if field is not None else JsonField("")
    made: Any = None
    if isinstance(value, dict) and value and isinstance(own, (Object, Map)):
        for key, item in value.items():
            made = put(made, (key,), typed(inner(own, key), item), tuple(made or ()))
        return made
    if isinstance(value, list) and value and isinstance(own, List):
        for index, item in enumerate(value):
            made = put(made if made is not None else [], (index,), typed(inner(own, index), item))
        return made
    if value is None or not fitting(own, value):
        return value  # shown as what it is, with a remark; nothing is typed that could stand for it
    return from_text(own, to_text(own, value))


def fitting(field: Field, value: Any) -> bool:
    """Whether a value is of the kind that a field is for, so that it can be typed into it."""
    if isinstance(field, AS_JSON):
        kinds = json_types(field)
        return not kinds or (value is None and field.nullable) or any(is_type(kind, value) for kind in kinds)
    if isinstance(field, Text):
        return isinstance(value, str)
    if isinstance(field, Number):
        return is_type("integer" if field.integer else "number", value)
    if isinstance(field, Flag):
        return isinstance(value, bool)
    if isinstance(field, Choice):
        return any(same(option.value, value) for option in field.options)
    if isinstance(field, Const):
        return same(field.value, value)
    if isinstance(field, Choices):
        return isinstance(value, list) and all(any(same(one.value, item) for one in field.options) for item in value)
    return True


def same(one: Any, two: Any) -> bool:
    """The same JSON text: order, digits and all."""
    return spell(one) == spell(two)


class Library:
    """What jsonschema says of values of one schema."""

    def __init__(self, schema: Any) -> None:
        before = getcontext()
        try:
            self._checked = Validator(loads(dumps(schema)))
        finally:
            setcontext(before)

    @property
    def flaw(self) -> str:
        """Why the schema cannot be used."""
        return self._checked.flaw

    def found(self, value: Any) -> list[tuple[str, str, str]]:
        """Pointers, messages, severities."""
        before = getcontext()
        try:
            setcontext(_exact())
            return self._checked.findings(loads(dumps(value)))
        finally:
            setcontext(before)

    def errors(self, value: Any) -> list[str]:
        """What is wrong, in words."""
        return [
            f"{pointer or 'whole'} {message}" for pointer, message, severity in self.found(value) if severity == "error"
        ]

    def accepts(self, value: Any) -> bool:
        """Whether the value was checked whole, and nothing is wrong with it."""
        return not self.found(value)


def _exact() -> Any:
    from decimal import Context

    return Context(prec=1_000, traps=[])

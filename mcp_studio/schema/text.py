"""Conversion between the text that a person types into a field and the JSON value. Nothing is rounded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from mcp_studio.errors import LimitExceeded, nearest
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads
from mcp_studio.safetext import escape_live
from mcp_studio.schema.check import is_any_type, is_type
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
    Number,
    Object,
    Option,
    Scalar,
    Text,
    Union,
    inner,
    json_types,
    resolve_union,
)
from mcp_studio.schema.keywords import got, not_among, spell, wrong_type
from mcp_studio.schema.place import NoPlace, Path, get_or_none, put
from mcp_studio.schema.unions import label

_NUMBER = r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?"
_TRUE = frozenset(("true", "yes", "on", "1", "y"))
_FALSE = frozenset(("false", "no", "off", "0", "n"))


def from_text(field: Field, text: str) -> Json:
    """The value that a typed text means in this field.

    Numbers keep every digit (`jsontext.ExactFloat`). The bounds are tested by `check`.

    Raises:
        ValueError: the text means nothing here; the message is a sentence such as `must be a whole number, got 'two'`.
    """
    bare = text.strip()
    if isinstance(field, AS_JSON):
        return _json(field, text)
    if not isinstance(field, (Number, Flag, Choice, Choices, Const)):
        return text
    if field.nullable and bare == "null":
        return None
    if isinstance(field, Number):
        return _number(field, bare)
    if isinstance(field, Flag):
        return _flag(bare)
    if isinstance(field, Const):
        return _option((Option(field.value, label(field.value)),), bare)
    return _option(field.options, bare) if isinstance(field, Choice) else _list(field, bare)


def to_text(field: Field, value: Json) -> str:
    """The text that shows a value for editing; `from_text` returns the same value.

    JSON becomes one line with live characters escaped. Text stays as it is: foreign, and possibly of many lines.
    """
    if isinstance(value, str):
        if isinstance(field, AS_JSON) and not _stands_for_itself(field, value):
            return escape_live(spell(value))
        return value
    if isinstance(field, Choice):
        return _label(field, value)
    return escape_live(spell(value))


def _label(field: Choice, value: Json) -> str:
    """The option's label, unless the label would mean another option."""
    written = spell(value)
    for option in field.options:
        if spell(option.value) == written and spell(_option(field.options, option.label)) == written:
            return option.label
    return written


def _number(field: Number, text: str) -> Json:
    wanted = "integer" if field.integer else "number"
    if not re.fullmatch(_NUMBER, text):
        raise ValueError(wrong_type(wanted, text))
    value = loads(text, exact=True)
    if field.integer and not is_type("integer", value):
        raise ValueError(wrong_type(wanted, text))
    return value


def _flag(text: str) -> bool:
    if text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    raise ValueError(wrong_type("boolean", text))


def _option(options: tuple[Option, ...], text: str) -> Json:
    """Compare with the value's text, then its JSON, then its label: `1` and `"1"` can both be options."""
    for same in (
        lambda option: option.value == text,
        lambda option: spell(option.value) == text,
        lambda option: option.label == text,
    ):
        for option in options:
            if same(option):
                return option.value
    raise ValueError(not_among([option.value for option in options], text))


def _list(field: Choices, text: str) -> Json:
    if not text:
        return []
    if not text.startswith("["):
        return [_option(field.options, part.strip()) for part in text.split(",")]
    value = _strict(text, "a list")
    if not isinstance(value, list):
        raise ValueError(wrong_type("array", value))
    return value


def _json(field: Field, text: str) -> Json:
    bare = text.strip()
    if _stands_for_itself(field, text):
        return text
    if isinstance(field, Scalar):
        try:
            return loads(bare, exact=True)
        except JsonProblem:
            raise ValueError(wrong_type(list(field.types), bare)) from None
    return _strict(bare, field.hint if field.hint != "any JSON" else "")


def _stands_for_itself(field: Field, text: str) -> bool:
    """Whether a text in a field that allows text means itself, and not the JSON that it looks like."""
    kinds = json_types(field)
    if (kinds and "string" not in kinds) or not text or text != text.strip() or "\n" in text or text[0] in '{["':
        return False
    try:
        value = loads(text)
    except JsonProblem:
        return True
    except LimitExceeded:
        return False
    meant = not kinds or (field.nullable and value is None) or is_any_type(kinds, value)
    return not meant


def _strict(text: str, kind: str) -> Json:
    try:
        return loads(text, exact=True)
    except JsonProblem as problem:
        raise ValueError(f"must be {kind} as JSON: {problem}" if kind else f"must be JSON: {problem}") from None
    except LimitExceeded as problem:
        raise ValueError(problem.message) from None


_STEP = r"\.[^.\[\]]+|\[\d{0,6}\]"
_VARIANTS = 100
"""Variants that are examined where the value does not decide between them."""


def set_pair(form: Form, value: Json, text: str) -> Json:
    """Apply one `key=value`, typed by the form, to the value; `key:=JSON` sets any JSON value.

    A key may lead inside: `a.b=1`, `list[0]=x`, and `list[]=x` to append an item. A top-level property that has exactly
    this key takes precedence.

    Raises:
        ValueError: the `=` is missing, the key leads nowhere, or the value means nothing there; says which.
    """
    key, sign, typed = text.partition("=")
    if not sign:
        raise ValueError(f"{got(text)} is not of the form key=value")
    as_json = key.endswith(":")
    key = key.removesuffix(":")
    path, field = _place(form, value, key)
    try:
        return put(value, path, loads(typed, exact=True) if as_json else _value_of(field, typed))
    except NoPlace:
        raise ValueError(f"{key}: there is no such place; lists are filled from [0] on") from None
    except JsonProblem as problem:
        raise ValueError(f"{key}: must be JSON: {problem}") from None
    except (ValueError, LimitExceeded) as problem:
        raise ValueError(f"{key}: {problem}") from None


def _value_of(field: Field, text: str) -> Json:
    """The value of a text; in a text field the word null means null, and null in quotes means text."""
    if isinstance(field, Text) and text in ("null", '"null"'):
        return None if field.nullable and text == "null" else "null"
    return from_text(field, text)


def _place(form: Form, value: Json, key: str) -> tuple[Path, Field]:
    """The place of a key, and its field.

    Raises:
        ValueError: the form has no such place.
    """
    names = [field.name for field in form.fields]
    known = [name for name in names if key == name or key.startswith((f"{name}.", f"{name}["))]
    name = max(known, key=len) if known else re.split(r"[.\[]", key)[0]
    steps = re.findall(_STEP, key[len(name) :])
    if not steps or name + "".join(steps) != key:
        return (key,), _argument(form, value, key)
    field = _argument(form, value, name)
    if not isinstance(field, (*AS_JSON, Choices)) or (not known and isinstance(field, JsonField)):
        return (key,), _argument(form, value, key)
    path: Path = (name,)
    for step in steps:
        path, field = _inside(field, get_or_none(value, path), path, step)
    return path, field


def _inside(field: Field, value: Json, path: Path, step: str) -> tuple[Path, Field]:
    """The place one step below a place with this field and value, and its field.

    Raises:
        ValueError: there is no member of that name.
    """
    field = resolve_union(field, value)
    if step.startswith("["):
        if not isinstance(field, (List, Choices, JsonField, Union)):
            raise ValueError(f"{key_of(path)} is no list")
        index = int(step[1:-1]) if step != "[]" else len(items_of(value))
        return (*path, index), _member(field, index) or JsonField("")
    name = step[1:]
    one = _member(field, name)
    if one is None and not any(isinstance(kind, JsonField) for kind in _kinds(field)):
        names = [one.name for kind in _kinds(field) if isinstance(kind, Object) for one in kind.fields()]
        raise ValueError(f"{key_of(path)} has no {got(name)}{_there(names)}")
    return (*path, name), one or JsonField(name)


def _argument(form: Form, value: Json, name: str) -> Field:
    """The field of a top-level property; a JSON field where the schema allows but does not describe it.

    Raises:
        ValueError: the schema forbids such a property.
    """
    root = form.top
    if known := form.field(name) or _member(resolve_union(root, value), name) or _member(root, name):
        return known
    schema = form.schema if isinstance(form.schema, dict) else {}
    # `{"type": "object"}` does not restrict its content, so any property is allowed.
    extra = schema.get("additionalProperties", bool(schema) and "properties" not in schema)
    if form.whole or form.more or extra or "patternProperties" in schema:
        return JsonField(name)
    names = [field.name for field in form.fields]
    near = nearest(name, names)
    hint = (f". {near}" if near else _there(names)) if names else ": none are taken"
    raise ValueError(f"there is no argument {got(name)}{hint}")


def _member(field: Field, part: str | int) -> Field | None:
    """The field under a key or index, from the first variant that has one."""
    return next((one for kind in _kinds(field) if (one := inner(kind, part)) is not None), None)


def _kinds(field: Field) -> list[Field]:
    """The field, or its variants where the value does not decide between them."""
    return list(islice(_variants(field, 3), _VARIANTS))


def _variants(field: Field, depth: int) -> Iterator[Field]:
    if isinstance(field, Union) and depth:
        for variant in field.variants:
            yield from _variants(variant.field(), depth - 1)
    else:
        yield field


def key_of(path: Path) -> str:
    """The key of a place as in `key=value`: `a.b`, `list[0]`."""
    words = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return words.removeprefix(".")


def _there(names: list[str]) -> str:
    return f"; there are {', '.join(names[:12])}{' …' if len(names) > 12 else ''}" if names else ""

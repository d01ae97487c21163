"""Between what a person types into a field and the JSON value it stands for. Nothing is rounded on the way."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads
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
    Map,
    Number,
    Object,
    Option,
    Scalar,
    Text,
    Union,
    inner,
    json_types,
    settled,
)
from mcp_studio.schema.kinds import got, not_among, spell, wrong_type
from mcp_studio.schema.place import NoPlace, Path, found, put
from mcp_studio.schema.unions import label

_NUMBER = r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?"
_TRUE = frozenset(("true", "yes", "on", "1", "y"))
_FALSE = frozenset(("false", "no", "off", "0", "n"))


def from_text(field: Field, text: str) -> Json:
    """The value that typed text stands for in this field.

    Numbers keep every digit (`jsontext.ExactFloat`). Whether the value keeps the schema's bounds is for `check`.

    Raises:
        ValueError: the text has no meaning here; the message is a sentence such as
            `must be a whole number, got 'two'`.
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
    """How a value is shown for editing; `from_text` gives the same value back.

    JSON is on one line, live characters in it are escapes. Text is as it is: foreign, and possibly of many lines.
    """
    if isinstance(value, str):
        if isinstance(field, AS_JSON) and not _stands_for_itself(field, value):
            return escape_live(spell(value))
        return value
    if isinstance(field, Choice):
        return _label(field, value)
    return escape_live(spell(value))


def _label(field: Choice, value: Json) -> str:
    """The option's title, unless another option would be meant by it."""
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
    """The value's own text first, then its JSON, then its title: `1` and `"1"` can both be options."""
    for same in (
        lambda option: option.value == text,
        lambda option: not isinstance(option.value, str) and spell(option.value) == text,
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
    """Whether text in a field that takes text means itself, and not the JSON it looks like."""
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


def _strict(text: str, wanted: str) -> Json:
    try:
        return loads(text, exact=True)
    except JsonProblem as problem:
        raise ValueError(f"must be {wanted} as JSON: {problem}" if wanted else f"must be JSON: {problem}") from None
    except LimitExceeded as problem:
        raise ValueError(problem.message) from None


_INDEX = r"\[(\d{0,6})\]"
_VARIANTS = 100
_KEY = r"[^.\[\]=:]+"


def parse_pair(form: Form, text: str, value: Json = None) -> tuple[str, Json]:
    """One `key=value`, typed by the form; `key:=JSON` gives any JSON value as it is.

    Args:
        value: what is known so far, where the schema has conditions and alternatives.

    Raises:
        ValueError: there is no `=`, no such field, or the value has no meaning in it; a sentence.
    """
    if "=" not in text:
        raise ValueError(f"{got(text)} is not of the form key=value")
    field = _named(form, text)
    if field is not None:
        raw = text[len(field.name) :]
    else:
        key, _, rest = text.partition("=")
        field = _undrawn(form, key.removesuffix(":"), {} if value is None else value)
        raw = f":={rest}" if key.endswith(":") else f"={rest}"
    return field.name, _read(field, field.name, raw)


def set_pair(form: Form, value: Json, text: str) -> Json:
    """The value with what one `key=value` says, also inside of it: `a.b=1`, `list[0]=x`, and `list[]=x` for one more.

    A property at the top that has exactly this key is meant first.

    Raises:
        ValueError: as `parse_pair`, or the key leads nowhere.
    """
    place = None if _named(form, text) or "=" not in text else _place(form, value, text)
    if place is None:
        name, item = parse_pair(form, text, value)
        return put(value, (name,), item, tuple(value) if isinstance(value, dict) else ())
    path, field, raw = place
    words = text[: len(text) - len(raw)]
    try:
        return _put(value, path, _read(field, words, raw))
    except NoPlace:
        raise ValueError(f"{words}: there is no such place; lists are filled from [0] on") from None


def _put(value: Json, path: Path, item: Json) -> Json:
    """The value with something at a place; lists on the way that are missing are made."""
    for depth in range(1, len(path)):
        if isinstance(path[depth], int) and found(value, path[:depth]) is None:
            value = put(value, path[:depth], [], _keys(value, path[: depth - 1]))
    return put(value, path, item, _keys(value, path[:-1]))


def _keys(value: Json, path: Path) -> tuple[str, ...]:
    holder = found(value, path)
    return tuple(holder) if isinstance(holder, dict) else ()


def _read(field: Field, words: str, raw: str) -> Json:
    if isinstance(field, Text) and raw in ("=null", '="null"'):
        return None if field.nullable and raw == "=null" else "null"
    try:
        return loads(raw[2:], exact=True) if raw.startswith(":=") else from_text(field, raw[1:])
    except JsonProblem as problem:
        raise ValueError(f"{words}: must be JSON: {problem}") from None
    except (ValueError, LimitExceeded) as problem:
        raise ValueError(f"{words}: {problem}") from None


def _named(form: Form, text: str) -> Field | None:
    """The property at the top whose name the text begins with, the longest one."""
    known = [field for field in form.fields if text.startswith((f"{field.name}=", f"{field.name}:="))]
    return max(known, key=lambda field: len(field.name), default=None)


def _place(form: Form, value: Json, text: str) -> tuple[Path, Field, str] | None:
    """The nested place that a key means, its field, and the text from `=` on; None where the key is no such one."""
    field: Field = form.top
    path: Path = ()
    rest = text
    while path == () or not rest.startswith(("=", ":=")):
        step = _step(field, found(value, path), rest, path)
        if step is None:
            return None
        part, field, rest = step
        path = (*path, part)
    return (path, field, rest) if len(path) > 1 else None


def _step(field: Field, value: Json, rest: str, path: Path) -> tuple[str | int, Field, str] | None:
    """The next key or index, the field of what is there, and the text after it; None where the key is none at the top.

    Raises:
        ValueError: there is nothing of that name in this place.
    """
    field = settled(field, value)
    if path and (index := re.match(_INDEX, rest)):
        if not isinstance(field, (List, Choices, JsonField, Union)):
            raise ValueError(f"{key_of(path)} is no list")
        at = int(index[1]) if index[1] else len(cast("list[Json]", value)) if isinstance(value, list) else 0
        return at, _inside(field, at) or JsonField(""), rest[index.end() :]
    if path and not rest.startswith("."):
        return None
    rest = rest.removeprefix(".") if path else rest
    known = [one for kind in _kinds(field) if isinstance(kind, Object) for one in kind.fields()]
    names = [one.name for one in known]
    fitting = [one for one in known if rest.startswith(one.name) and _leads(one, rest[len(one.name) :])]
    if fitting:
        name = max(fitting, key=lambda one: len(one.name)).name
    else:
        free = any(isinstance(kind, (Map, JsonField)) or getattr(kind, "rest", None) for kind in _kinds(field))
        key = re.match(_KEY, rest)
        if key is None or (not path and not isinstance(_inside(field, key[0]), (Object, List, Map, Choices, Union))):
            return None
        if not free:
            raise ValueError(f"{key_of(path)} has no {got(key[0])}{_there(names)}")
        name = key[0]
    return name, _inside(field, name) or JsonField(name), rest[len(name) :]


def _leads(field: Field, after: str) -> bool:
    """Whether the key of a field ends here: a value follows, or a place inside of what can have some."""
    return after.startswith(("=", ":=")) or (after[:1] in (".", "[") and isinstance(field, (*AS_JSON, Choices)))


def _kinds(field: Field) -> list[Field]:
    """The field, or its variants where the value does not say yet which is meant."""
    found: list[Field] = []
    todo: list[Iterator[Field]] = [iter((field,))]
    # Depth first, and each variant made when its turn comes: of forty conditions there are a million million ends.
    for _ in range(4 * _VARIANTS):
        one = next(todo[-1], None)
        if one is None:
            todo.pop()
        elif isinstance(one, Union):
            todo.append(variant.field() for variant in one.variants[:_VARIANTS])
        else:
            found.append(one)
        if not todo or len(found) == _VARIANTS:
            break
    return found


def _inside(field: Field, part: str | int) -> Field | None:
    return next((one for kind in _kinds(field) if (one := inner(kind, part)) is not None), None)


def key_of(path: Path) -> str:
    """The key of a place as `key=value` names it: `a.b`, `list[0]`."""
    words = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return words.removeprefix(".")


def _there(names: list[str]) -> str:
    return f"; there are {', '.join(names[:12])}{' …' if len(names) > 12 else ''}" if names else ""


def _undrawn(form: Form, name: str, value: Json) -> Field:
    """A place for a property that has no field, where the schema leaves room for such."""
    if form.root is not None and (known := _inside(settled(form.root, value), name) or _inside(form.root, name)):
        return known
    schema = form.schema if isinstance(form.schema, dict) else {}
    extra = schema.get("additionalProperties")
    # `{"type": "object"}` says nothing of what is in it, so anything may be.
    silent = bool(schema) and "properties" not in schema and extra is not False
    if form.whole or form.more or extra or silent or "patternProperties" in schema:
        return JsonField(name)
    names = [field.name for field in form.fields]
    near = difflib.get_close_matches(name, names, 1)
    hint = (f"; did you mean {near[0]}?" if near else _there(names)) if names else ": none are taken"
    raise ValueError(f"there is no argument {got(name)}{hint}")

"""`key=value` of a command line, typed by a form; keys go into nested values too: `a.b=1`, `list[0]=x`, `list[]=x`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads
from mcp_studio.schema.field import AS_JSON, Choices, Field, Form, JsonField, List, Map, Object, Text, Union
from mcp_studio.schema.place import NoPlace, Path, found, put
from mcp_studio.schema.text import from_text
from mcp_studio.schema.walk import inner, settled
from mcp_studio.schema.wording import got

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
    if not names:
        raise ValueError(f"there is no argument {got(name)}: none are taken")
    raise ValueError(
        f"there is no argument {got(name)}; did you mean {near[0]}?"
        if near
        else f"there is no argument {got(name)}{_there(names)}"
    )

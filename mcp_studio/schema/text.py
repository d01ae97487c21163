"""Between what a person types into a field and the JSON value it stands for. Nothing is rounded on the way."""

from __future__ import annotations

import difflib
import re

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import ExactFloat, Json, JsonProblem, loads
from mcp_studio.safetext import escape_live
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
    Number,
    Option,
    json_types,
)
from mcp_studio.schema.options import label
from mcp_studio.schema.wording import got, not_among, spell, wrong_type

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
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


def parse_pair(form: Form, text: str) -> tuple[str, Json]:
    """One `key=value` of a command line, typed by the form; `key:=JSON` gives any JSON value as it is.

    Raises:
        ValueError: there is no `=`, no such field, or the value has no meaning in it; a sentence.
    """
    if "=" not in text:
        raise ValueError(f"{got(text)} is not of the form key=value")
    known = [field for field in form.fields if text.startswith((f"{field.name}=", f"{field.name}:="))]
    if known:
        field = max(known, key=lambda field: len(field.name))
        raw = text[len(field.name) :]
    else:
        key, _, rest = text.partition("=")
        field = _undrawn(form, key.removesuffix(":"))
        raw = f":={rest}" if key.endswith(":") else f"={rest}"
    try:
        return field.name, loads(raw[2:], exact=True) if raw.startswith(":=") else from_text(field, raw[1:])
    except JsonProblem as problem:
        raise ValueError(f"{field.name}: must be JSON: {problem}") from None
    except (ValueError, LimitExceeded) as problem:
        raise ValueError(f"{field.name}: {problem}") from None


def _undrawn(form: Form, name: str) -> Field:
    """A place for a property that has no field, where the schema leaves room for such."""
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
        else f"there is no argument {got(name)}; there are {', '.join(names[:12])}{' …' if len(names) > 12 else ''}"
    )


def _number(field: Number, text: str) -> Json:
    wanted = "integer" if field.integer else "number"
    if not _NUMBER.fullmatch(text):
        raise ValueError(wrong_type(wanted, text))
    value = loads(text, exact=True)
    if field.integer and isinstance(value, ExactFloat) and not _whole(value):
        raise ValueError(wrong_type(wanted, text))
    return value


def _whole(value: ExactFloat) -> bool:
    # A number too long or too large for a float is written out in digits, or with an exponent.
    return value.is_integer() or value.text.lstrip("-").isdecimal()


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
    return _strict(bare, field.hint if field.hint and field.hint != "any JSON" else "JSON")


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
    meant = not kinds or (field.nullable and value is None) or any(is_type(kind, value) for kind in kinds)
    return not meant


def _strict(text: str, wanted: str) -> Json:
    try:
        return loads(text, exact=True)
    except JsonProblem as problem:
        raise ValueError(f"must be {wanted} as JSON: {problem}") from None
    except LimitExceeded as problem:
        raise ValueError(problem.message) from None

"""Between what a person types into a field and the JSON value it stands for. Nothing is rounded on the way."""

from __future__ import annotations

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
    Number,
    Option,
    Scalar,
    json_types,
)
from mcp_studio.schema.options import label
from mcp_studio.schema.wording import not_among, spell, wrong_type

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
    meant = not kinds or (field.nullable and value is None) or any(is_type(kind, value) for kind in kinds)
    return not meant


def _strict(text: str, wanted: str) -> Json:
    try:
        return loads(text, exact=True)
    except JsonProblem as problem:
        raise ValueError(f"must be {wanted} as JSON: {problem}" if wanted else f"must be JSON: {problem}") from None
    except LimitExceeded as problem:
        raise ValueError(problem.message) from None

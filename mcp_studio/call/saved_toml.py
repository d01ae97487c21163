"""JSON values as TOML, exactly: what TOML cannot say as it is, is refused here and written as JSON text instead."""

from __future__ import annotations

import re
import tomllib
from typing import Any, cast

from mcp_studio.config import toml
from mcp_studio.jsontext import ExactFloat, Json, dumps, pretty

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")
_SPECIAL = re.compile('[\x00-\x1f"\\\\\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]')
"""What stands as an escape in a string: what TOML wants so, and what nobody could see."""
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_DEEPEST = 16


class Unsayable(ValueError):
    """TOML has no such value."""


def read_toml(text: str) -> dict[str, Any]:
    """A document whose numbers are as they were typed.

    Raises:
        tomllib.TOMLDecodeError: it is none; also a number of absurd length, and absurd nesting.
    """
    try:
        return toml.read(text, _float)
    except RecursionError:
        raise tomllib.TOMLDecodeError("It is nested too deeply") from None


def not_json(value: Any, where: str) -> str:
    """Where in a value something stands that JSON does not have; empty where nothing does."""
    if isinstance(value, dict):
        inner = ((f"{where}.{key}", item) for key, item in cast("dict[str, Any]", value).items())
    elif isinstance(value, list):
        inner = ((f"{where}[{index}]", item) for index, item in enumerate(cast("list[Any]", value)))
    elif isinstance(value, float):
        return "" if isinstance(value, ExactFloat) or value - value == 0.0 else where
    else:
        return "" if value is None or isinstance(value, str | int) else where
    return next((found for place, item in inner if (found := not_json(item, place))), "")


def key_text(key: str) -> str:
    """A key as it stands in a file.

    Raises:
        Unsayable: it has half a character in it.
    """
    return key if _BARE.match(key) else _string(key)


def value_text(value: Json, depth: int = 0) -> str:
    """A value on one line, objects as inline tables, which keeps the order of their keys.

    Raises:
        Unsayable: TOML cannot say it without loss.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if value is None or depth > _DEEPEST:
        raise Unsayable("null" if value is None else "depth")
    if isinstance(value, list):
        return "[" + ", ".join(value_text(item, depth + 1) for item in cast("list[Json]", value)) + "]"
    members = cast("dict[str, Json]", value).items()
    inner = ", ".join(f"{key_text(key)} = {value_text(item, depth + 1)}" for key, item in members)
    return f"{{ {inner} }}" if inner else "{}"


def long_text(value: Json) -> str:
    """The same, but a text of several lines stands on several lines."""
    if not isinstance(value, str) or "\n" not in value.strip("\n") or "\r" in value:
        return value_text(value)
    body = _escaped(value, keep='\n\t"').replace('"""', '""\\"')
    body = f'{body[:-1]}\\"' if body.endswith('"') else body
    return f'"""\n{body}"""'


def json_text(value: Json) -> str:
    """A value as JSON inside a literal string of several lines."""
    text = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", pretty(value))
    text = text.replace("'''", "\\u0027" * 3).replace("\x7f", "\\u007f")
    return f"'''\n{text}\n'''"


def same(one: Json, other: Json) -> bool:
    """Whether two values are written the same: `1`, `1.0` and `true` are three things."""
    return dumps(one) == dumps(other)


def _float(text: str) -> float:
    plain = text.replace("_", "").removeprefix("+")
    # What JSON does not have stays a float that is none.
    return ExactFloat(plain) if _FLOAT.match(plain) else float(plain)


def _number(value: float) -> str:
    text = value.text if isinstance(value, ExactFloat) else repr(float(value))
    if not _FLOAT.match(text) or text.lstrip("-").isdecimal():
        raise Unsayable("number")
    return text


def _string(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str, keep: str = "") -> str:
    if _SURROGATE.search(text):
        raise Unsayable("half a character")

    def escape(found: re.Match[str]) -> str:
        char = found[0]
        return char if char in keep else _SHORT.get(char, f"\\u{ord(char):04x}")

    return _SPECIAL.sub(escape, text)

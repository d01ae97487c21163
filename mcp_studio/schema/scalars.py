"""Fields of one line: text, numbers, true or false; and what every field takes over from its schema."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Flag, Number, Text
from mcp_studio.schema.kinds import Schema, amount, count
from mcp_studio.schema.shape import span
from mcp_studio.secret_names import is_secret_name

_SECRET = re.compile(
    r"passw(or)?d|passphrase|secret|credential|private_?key|api_?key|access_?key|(?<!page)(?<!next)(?<!page_)(?<!next_)token$",
    re.I,
)
_LONG = frozenset(("content", "contents", "body", "code", "script", "sql", "markdown", "html"))
_EXAMPLES = 20
_PATTERN = 40
"""Characters of a pattern that is told in the hint."""


def common(name: str, schema: Schema, required: bool) -> dict[str, Any]:
    """What every kind of field has, by its attributes."""
    found: dict[str, Any] = {
        "name": name,
        "title": words(schema.get("title")),
        "description": words(schema.get("description")),
        "required": required,
    }
    if "default" in schema:
        found["has_default"], found["default"] = True, schema["default"]
    listed = schema.get("examples")
    if isinstance(listed, list):
        found["examples"] = tuple(listed[:_EXAMPLES])
    elif "example" in schema:  # OpenAPI
        found["examples"] = (schema["example"],)
    if schema.get("deprecated") is True:
        found["deprecated"] = True
    if schema.get("readOnly") is True:
        found["read_only"] = True
    return found


def words(value: Json) -> str:
    """The value where it is text."""
    return value if isinstance(value, str) else ""


def looks_secret(name: str) -> bool:
    """Whether what stands under this name is masked on screen."""
    return _SECRET.search(name) is not None or is_secret_name(name)


def text(common: dict[str, Any], schema: Schema) -> Text:
    """A field of text."""
    name: str = common["name"]
    low, high = count(schema, "minLength"), count(schema, "maxLength")
    form = schema.get("format")
    form = form if isinstance(form, str) and len(form) < 40 else ""
    media = schema.get("contentMediaType")
    pattern = words(schema.get("pattern"))
    said = f"matching {pattern}" if 0 < len(pattern) <= _PATTERN else ""
    hint = ", ".join(part for part in (form, span(low or None, high, unit="characters"), said) if part)
    return Text(
        **common,
        format=form,
        pattern=pattern,
        min_length=low,
        max_length=high,
        secret=form == "password" or schema.get("writeOnly") is True or looks_secret(name),
        multiline=form in ("multiline", "textarea", "markdown")
        or isinstance(media, str)
        or (not form and name.lower() in _LONG and "pattern" not in schema and (high is None or high > 200)),
        hint=hint,
    )


def number(common: dict[str, Any], schema: Schema, *, integer: bool) -> Number:
    """A field of a number."""
    low, above = _bound(schema, "minimum", "exclusiveMinimum", max)
    high, below = _bound(schema, "maximum", "exclusiveMaximum", min)
    step = amount(schema.get("multipleOf"))
    step = step if step is not None and step > 0 else None
    kind = "integer" if integer else "number"
    parts = [f"{kind} {span(low, high, above=above, below=below)}".strip()]
    if step is not None and not (integer and step == 1):
        parts.append(f"a multiple of {step}")
    return Number(
        **common,
        integer=integer,
        minimum=low,
        maximum=high,
        above_minimum=above,
        below_maximum=below,
        multiple_of=step,
        hint=", ".join(parts),
    )


def flag(common: dict[str, Any]) -> Flag:
    """A field of true or false."""
    return Flag(**common, hint="true or false")


def _bound(
    schema: Schema, key: str, exclusive: str, tighter: Callable[[Any, Any], Any]
) -> tuple[float | int | None, bool]:
    """One bound and whether it is excluded; older drafts say the latter with a boolean."""
    limit, excluded = amount(schema.get(key)), schema.get(exclusive)
    if isinstance(excluded, bool):
        return limit, excluded and limit is not None
    strict = amount(excluded)
    if strict is None:
        return limit, False
    return (strict, True) if limit is None or tighter(strict, limit) == strict else (limit, False)

"""The forms that servers ask to be filled in, as far as rules and secrets need to know them."""

from __future__ import annotations

from mcp_studio.jsontext import Json
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import is_secret
from mcp_studio.schema.form import build, defaults
from mcp_studio.schema.problem import errors


def filled(schema: Json, given: Json) -> tuple[Json, str]:
    """A value over the defaults of a form, without fields that the form does not have, and what is wrong with it."""
    form = build(schema, strict=True)
    content = given
    if given is None or isinstance(given, dict):
        names = {field.name for field in form.fields}
        content = {**defaults(form), **{name: value for name, value in (given or {}).items() if name in names}}
    wrong = errors(quick(form, content))
    return content, wrong[0].said if wrong else ""


def secrets(schema: Json) -> frozenset[str]:
    """The names of the fields that look like passwords or tokens."""
    return frozenset(field.name for field in build(schema).fields if is_secret(field))

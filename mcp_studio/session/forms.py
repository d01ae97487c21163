"""The forms that servers ask to be filled in, as far as rules and secrets need to know them."""

from __future__ import annotations

from mcp_studio.jsontext import Json
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import Text
from mcp_studio.schema.form import build, defaults


def filled(schema: Json, given: Json) -> tuple[Json, str]:
    """A value over the defaults of a form, without fields that the form does not have, and what is wrong with it."""
    form = build(schema, strict=True)
    content = given
    if given is None or isinstance(given, dict):
        names = {field.name for field in form.fields}
        content = {**defaults(form), **{name: value for name, value in (given or {}).items() if name in names}}
    wrong = [problem for problem in quick(form, content) if problem.severity == "error"]
    return content, f"{wrong[0].place} {wrong[0].message}" if wrong else ""


def secrets(schema: Json) -> frozenset[str]:
    """The names of the fields that look like passwords or tokens."""
    return frozenset(field.name for field in build(schema).fields if isinstance(field, Text) and field.secret)

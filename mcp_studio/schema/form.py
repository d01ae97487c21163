"""JSON Schema to a form: the properties of an object as fields. Total: any JSON gives some form, in bounded time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Choice, Choices, Field, Flag, Form, JsonField, Number, Option, Text
from mcp_studio.schema.options import many_options, options
from mcp_studio.schema.resolve import Resolver, Schema, implied, types
from mcp_studio.schema.shape import shape, span
from mcp_studio.schema.uritemplate import TemplateError, variables
from mcp_studio.schema.wording import noun

MAX_FIELDS = 300
"""Fields drawn for one form; further properties are edited as JSON."""
_SECRET = re.compile(
    r"passw(or)?d|passphrase|secret|credential|private_?key|api_?key|access_?key|(?<!page)(?<!next)(?<!page_)(?<!next_)token$",
    re.I,
)
_LONG = frozenset(("content", "contents", "body", "code", "script", "sql", "markdown", "html"))


def build(schema: Json, *, strict: bool = False) -> Form:
    """The form of a tool's `inputSchema` or of an elicitation's `requestedSchema`.

    Args:
        strict: wrong formats (email, uri, date, date-time) are errors, as in elicitation.
    """
    resolver = Resolver(schema)
    problems = [] if isinstance(schema, dict) else [f"The schema is {noun(schema)}, not an object."]
    top, _ = resolver.without_null(resolver.flat(schema))
    properties, required = top.get("properties"), top.get("required")
    if properties is not None and not isinstance(properties, dict):
        problems.append(f"`properties` of the schema is {noun(properties)}, not an object.")
        properties = None
    if required is not None and not (isinstance(required, list) and all(isinstance(name, str) for name in required)):
        problems.append("`required` of the schema is not a list of names.")
    names = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set[str]()
    known: dict[str, Json] = properties or {}
    fields = tuple(_field(name, known[name], name in names, resolver) for name in list(known)[:MAX_FIELDS])
    fields += tuple(_unknown(name) for name in sorted(names - known.keys())[: MAX_FIELDS - len(fields)])
    if resolver.exhausted:
        problems.append("The schema is too large or refers to itself too often: parts of it are not drawn.")
    return Form(
        fields,
        not fields and (bool(problems) or _open(top)),
        schema,
        max(0, len(known) - MAX_FIELDS),
        tuple(problems),
        strict=strict,
    )


def prompt_fields(arguments: Json) -> Form:
    """The form of a prompt's `arguments`: text fields all of them (server/prompts)."""
    fields: dict[str, Field] = {}
    problems: list[str] = []
    for argument in arguments[:MAX_FIELDS] if isinstance(arguments, list) else ():
        name = argument.get("name") if isinstance(argument, dict) else None
        if not isinstance(name, str) or name in fields:
            problems.append("An argument of the prompt has no name, or the name of another: it is left out.")
            continue
        fields[name] = Text(**_common(name, argument, argument.get("required") is True), schema=argument)
    if arguments is not None and not isinstance(arguments, list):
        problems.append(f"The prompt's arguments are {noun(arguments)}, not a list.")
    return Form(tuple(fields.values()), problems=tuple(dict.fromkeys(problems)))


def template_fields(uri_template: str) -> Form:
    """The form of a URI template's variables; a variable of a list (`*`) takes JSON or a single word."""
    try:
        found = variables(uri_template)
    except TemplateError as problem:
        return Form(problems=(f"The URI template cannot be used: {problem}.",))
    fields: dict[str, Field] = {}
    for variable in found[:MAX_FIELDS]:
        common = _common(variable.name, {}, variable.operator in ("", "+"))
        fields.setdefault(
            variable.name,
            JsonField(**common, hint="text, list or object", types=("string", "array", "object"))
            if variable.explode
            else Text(**common),
        )
    return Form(tuple(fields.values()))


def defaults(form: Form) -> dict[str, Json]:
    """The value to start with: all defaults, as elicitation wants them, and what can only be one thing."""
    value: dict[str, Json] = {}
    for field in form.fields:
        if field.has_default:
            value[field.name] = field.default
        elif isinstance(field, Choice) and field.required and len(field.options) == 1:
            value[field.name] = field.options[0].value
    return value


def _field(name: str, schema: Json, required: bool, resolver: Resolver) -> Field:
    flat = resolver.flat(schema)
    plain, nullable = resolver.without_null(flat)
    common: dict[str, Any] = {**_common(name, plain, required), "nullable": nullable, "schema": flat}
    if found := options(plain, resolver):
        if nullable and not flat.keys() & {"enum", "const"} and all(option.value is not None for option in found):
            found = (*found, Option(None, "null"))
        common["nullable"] = any(option.value is None for option in found)
        return Choice(**common, options=found, hint=f"one of {len(found)}")
    if found := many_options(plain, resolver):
        low, high = _count(plain, "minItems"), _count(plain, "maxItems")
        hint = f"any of {len(found)}" + (f", {words}" if (words := span(low or None, high)) else "")
        return Choices(**common, options=found, min_items=low, max_items=high, hint=hint)
    kinds = set(types(plain)) or {implied(plain)}
    if kinds == {"string"} or (kinds == {""} and _all_text(plain, resolver)):
        return _text(common, name, plain)
    if kinds <= {"integer", "number"}:
        return _number(common, plain, integer=kinds == {"integer"})
    if kinds == {"boolean"}:
        return Flag(**common, hint="true or false")
    return JsonField(**common, hint=shape(plain, resolver), types=_json_types(plain, resolver))


def _text(common: dict[str, Any], name: str, schema: Schema) -> Text:
    low, high = _count(schema, "minLength"), _count(schema, "maxLength")
    form = schema.get("format")
    form = form if isinstance(form, str) and len(form) < 40 else ""
    media = schema.get("contentMediaType")
    hint = ", ".join(part for part in (form, span(low or None, high, unit="characters")) if part)
    return Text(
        **common,
        format=form,
        min_length=low,
        max_length=high,
        secret=form == "password" or schema.get("writeOnly") is True or _SECRET.search(name) is not None,
        multiline=form in ("multiline", "textarea", "markdown")
        or isinstance(media, str)
        or (not form and name.lower() in _LONG and "pattern" not in schema and (high is None or high > 200)),
        hint=hint,
    )


def _number(common: dict[str, Any], schema: Schema, *, integer: bool) -> Number:
    low, above = _bound(schema, "minimum", "exclusiveMinimum", max)
    high, below = _bound(schema, "maximum", "exclusiveMaximum", min)
    hint = f"{'integer' if integer else 'number'} {span(low, high, above=above, below=below)}".strip()
    return Number(
        **common,
        integer=integer,
        minimum=low,
        maximum=high,
        above_minimum=above,
        below_maximum=below,
        hint=hint,
    )


def _bound(
    schema: Schema, key: str, exclusive: str, tighter: Callable[[Any, Any], Any]
) -> tuple[float | int | None, bool]:
    """One bound and whether it is excluded; older drafts say the latter with a boolean."""
    limit, excluded = _amount(schema.get(key)), schema.get(exclusive)
    if isinstance(excluded, bool):
        return limit, excluded and limit is not None
    strict = _amount(excluded)
    if strict is None:
        return limit, False
    return (strict, True) if limit is None or tighter(strict, limit) == strict else (limit, False)


def _amount(value: Json) -> float | int | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _count(schema: Schema, key: str) -> int | None:
    value = schema.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _json_types(schema: Schema, resolver: Resolver) -> tuple[str, ...]:
    """The types among which a JSON field's value is; empty when any will do."""
    found: list[str] = []
    for key in ("anyOf", "oneOf"):
        for branch in resolver.branches(schema, key):
            kinds = types(branch)
            if not kinds:
                return ()
            found.extend(kinds)
    spoken = implied(schema)
    return tuple(dict.fromkeys(types(schema) or found or ([spoken] if spoken else [])))


def _all_text(schema: Schema, resolver: Resolver) -> bool:
    branches = [branch for key in ("anyOf", "oneOf") for branch in resolver.branches(schema, key)]
    return bool(branches) and all(types(branch) == ("string",) for branch in branches)


def _common(name: str, schema: Schema, required: bool) -> dict[str, Any]:
    return {
        "name": name,
        "title": _words(schema.get("title")),
        "description": _words(schema.get("description")),
        "required": required,
        "has_default": "default" in schema,
        "default": schema.get("default"),
    }


def _words(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _unknown(name: str) -> JsonField:
    """A required property that the schema does not describe."""
    return JsonField(name, required=True, hint="any JSON")


def _open(schema: Schema) -> bool:
    """Whether values may have something in them that no field would show."""
    kinds = types(schema)
    if kinds and kinds != ("object",):
        return True
    if isinstance(schema.get("properties"), dict) and not schema["properties"]:
        return False
    extra: Iterable[str] = ("patternProperties", "anyOf", "oneOf", "not", "$ref", "$dynamicRef")
    return any(key in schema for key in extra) or schema.get("additionalProperties") not in (None, False)

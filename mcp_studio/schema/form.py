"""JSON Schema to a form: the properties of an object as fields. Total: any JSON gives some form, in bounded time."""

from __future__ import annotations

from mcp_studio.jsontext import Json
from mcp_studio.schema.building import Builder
from mcp_studio.schema.composites import MAX_FIELDS as MAX_FIELDS
from mcp_studio.schema.composites import object_field
from mcp_studio.schema.field import Field, Form, JsonField, Object, Text
from mcp_studio.schema.kinds import REMARK, Schema, required_names, says_more, types
from mcp_studio.schema.scalars import common, looks_secret
from mcp_studio.schema.starting import defaults as defaults
from mcp_studio.schema.uritemplate import TemplateError, variables
from mcp_studio.schema.wording import noun

_MORE = frozenset("anyOf oneOf allOf not const enum if dependentSchemas dependentRequired items prefixItems".split())

_EXPLODED: Json = {
    "anyOf": [
        {"title": "text", "type": "string"},
        {"title": "list", "type": "array", "items": {"type": "string"}},
        {"title": "map", "type": "object", "additionalProperties": {"type": "string"}},
    ]
}
"""What a variable of a URI template with `*` can be (RFC 6570, 2.4.2)."""


def build(schema: Json, *, strict: bool = False) -> Form:
    """The form of a tool's `inputSchema` or of an elicitation's `requestedSchema`.

    Args:
        strict: wrong formats (email, uri, date, date-time) are errors, as in elicitation.
    """
    builder = Builder(schema)
    resolver = builder.resolver
    problems = [] if isinstance(schema, dict) else [f"The schema is {noun(schema)}, not an object."]
    top, _ = resolver.without_null(resolver.flat(schema))
    properties, required = top.get("properties"), top.get("required")
    if properties is not None and not isinstance(properties, dict):
        problems.append(f"`properties` of the schema is {noun(properties)}, not an object.")
        top = {key: item for key, item in top.items() if key != "properties"}
    if required is not None and not (isinstance(required, list) and all(isinstance(name, str) for name in required)):
        problems.append("`required` of the schema is not a list of names.")
    root = _root(builder, schema, top, bool(problems))
    fields = root.fields() if isinstance(root, Object) else _known(builder, top)
    if resolver.exhausted:
        problems.append("The schema is too large or refers to itself too often: parts of it are not drawn.")
    known = top.get("properties")
    return Form(
        fields,
        isinstance(root, JsonField),
        schema,
        root.more if isinstance(root, Object) else max(0, len(known) - MAX_FIELDS) if isinstance(known, dict) else 0,
        tuple(problems),
        strict=strict,
        root=root,
    )


def _root(builder: Builder, schema: Json, top: Schema, wrong: bool) -> Field:
    """The field of the whole value. Arguments are an object also where the schema does not say so."""
    if wrong and not top.get("properties") and not required_names(top):
        return JsonField("", required=True, hint="any JSON", schema=top)
    if _closed(top):
        known = {key: item for key, item in top.items() if key is not REMARK}
        base = {**common("", top, True), "schema": {"type": "object", **known}, "remark": top.get(REMARK, "")}
        return object_field(builder, base, known)
    return builder.field("", schema, required=True)


def _known(builder: Builder, top: Schema) -> tuple[Field, ...]:
    """The properties that a schema of alternatives names besides them."""
    if not isinstance(top.get("properties"), dict):
        return ()
    drawn = object_field(builder, {**common("", top, True), "schema": top}, top)
    return drawn.fields()


def _closed(top: Schema) -> bool:
    """Whether the schema is one of an object with known properties, or none: nothing else is said of the value."""
    kinds = types(top)
    return (not kinds or kinds == ("object",)) and _MORE.isdisjoint(top) and not says_more(top)


def prompt_fields(arguments: Json) -> Form:
    """The form of a prompt's `arguments`: text fields all of them (server/prompts)."""
    fields: dict[str, Field] = {}
    problems: list[str] = []
    for argument in arguments[:MAX_FIELDS] if isinstance(arguments, list) else ():
        name = argument.get("name") if isinstance(argument, dict) else None
        if not isinstance(name, str) or name in fields:
            problems.append("An argument of the prompt has no name, or the name of another: it is left out.")
            continue
        fields[name] = Text(
            **common(name, argument, argument.get("required") is True), schema=argument, secret=looks_secret(name)
        )
    if arguments is not None and not isinstance(arguments, list):
        problems.append(f"The prompt's arguments are {noun(arguments)}, not a list.")
    return Form(tuple(fields.values()), problems=tuple(dict.fromkeys(problems)))


def template_fields(uri_template: str) -> Form:
    """The form of a URI template's variables: text, and with `*` a list or a map, too; required in a path."""
    try:
        found = variables(uri_template)
    except TemplateError as problem:
        return Form(problems=(f"The URI template cannot be used: {problem}.",))
    fields: dict[str, Field] = {}
    builder = Builder(_EXPLODED)
    needed = {variable.name for variable in found if variable.operator in ("", "+", "/", ".")}
    for variable in found[:MAX_FIELDS]:
        name, required = variable.name, variable.name in needed
        fields.setdefault(
            name,
            builder.field(name, _EXPLODED, required)
            if variable.explode
            else Text(**common(name, {}, required), secret=looks_secret(name)),
        )
    return Form(tuple(fields.values()))

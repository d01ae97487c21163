"""JSON Schema to a form: the properties of an object as fields. Total: any JSON gives some form, in bounded time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, cast

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.redact import is_secret_name
from mcp_studio.schema.check import Judge, is_any_type, problems_here
from mcp_studio.schema.field import (
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
    Text,
    Union,
    Variant,
)
from mcp_studio.schema.keywords import (
    NOT_ALLOWED,
    REMARK,
    Schema,
    amount,
    count,
    got,
    impossible,
    kinds_of,
    noun,
    required_names,
    says_more,
    types,
)
from mcp_studio.schema.patterns import Match, matcher
from mcp_studio.schema.resolve import Resolver
from mcp_studio.schema.unions import label, many_options, options, shape, span, union
from mcp_studio.schema.uritemplate import TemplateError, variables

MAX_CONDITIONS = 40
"""Conditions of one place that the form evaluates."""
KEYS = frozenset(("if", "dependentSchemas", "dependentRequired"))
_IF = ("if", "then", "else")
_TOO_MANY_CONDITIONS = "There are too many conditions for the form to follow."


Condition = tuple[Json, Json, Json]
"""A schema, the schema that applies to the values that it allows, and the schema for all other values."""


def conditional(builder: Builder, base: dict[str, Any], schema: Schema) -> Field | None:
    """The field of a schema with conditions: a union that follows the value; None when the schema has no condition."""
    if KEYS.isdisjoint(schema) and "allOf" not in schema:
        return None
    rest, conditions = _conditions(schema)
    if not conditions:
        return None
    if len(conditions) > MAX_CONDITIONS:
        rest = {**rest, REMARK: _TOO_MANY_CONDITIONS}
    return _following(builder, base, rest, conditions[:MAX_CONDITIONS])


def _following(builder: Builder, base: dict[str, Any], rest: Schema, conditions: list[Condition]) -> Field:
    """A union over the first condition, whose variants contain the other conditions."""
    if not conditions:
        return builder.drawn(base["name"], rest, base["required"])
    test, then, otherwise = conditions[0]

    def drawn(besides: Json) -> Field:
        builder.resolver.fresh()
        merged = builder.resolver.merge(rest, builder.resolver.flat(besides))
        return _following(builder, base, merged, conditions[1:])

    kinds = kinds_of(rest)

    def choose(value: Json) -> int:
        if value is None and kinds == frozenset(("object",)):  # a missing object counts as an empty one
            value = {}
        return 1 if Judge(builder.resolver).wrong(test, value) else 0

    return Union(
        **base,
        hint=shape(rest, builder.resolver),
        variants=(Variant("then", cache(lambda: drawn(then))), Variant("else", cache(lambda: drawn(otherwise)))),
        by_value=True,
        choose=choose,
        types=tuple(sorted(kinds - {"null"})),
    )


def _conditions(schema: Schema) -> tuple[Schema, list[Condition]]:
    """The schema without its conditions and those of its parts, and these conditions."""
    found: list[Condition] = []
    if "if" in schema and ("then" in schema or "else" in schema):
        found.append((schema["if"], schema.get("then", True), schema.get("else", True)))
    for name, inner in mapping(schema.get("dependentSchemas")).items():
        found.append(({"type": "object", "required": [name]}, inner, True))
    for name, names in mapping(schema.get("dependentRequired")).items():
        found.append(({"type": "object", "required": [name]}, {"required": names}, True))
    rest = {key: item for key, item in schema.items() if key not in KEYS and key not in _IF and key != "allOf"}
    parts: list[Json] = []
    for part in items_of(schema.get("allOf")):
        left, more = _conditions(cast("Schema", part)) if isinstance(part, dict) else (part, [])
        found += more
        parts += [left] if left != {} else []
    return ({**rest, "allOf": parts} if parts else rest), found


_LONG = frozenset(("content", "contents", "body", "code", "script", "sql", "markdown", "html"))
_EXAMPLES = 20
_PATTERN = 40
"""Characters of the longest pattern that a hint quotes."""


def common(name: str, schema: Schema, required: bool) -> dict[str, Any]:
    """The attributes that every kind of field has."""
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
    """The value if it is text, else an empty text."""
    return value if isinstance(value, str) else ""


def text(common: dict[str, Any], schema: Schema) -> Text:
    name: str = common["name"]
    low, high = count(schema, "minLength"), count(schema, "maxLength")
    form = schema.get("format")
    form = form if isinstance(form, str) and len(form) < 40 else ""
    media = schema.get("contentMediaType")
    pattern = words(schema.get("pattern"))
    rule = f"matching {pattern}" if 0 < len(pattern) <= _PATTERN else ""
    hint = ", ".join(part for part in (form, span(low or None, high, unit="characters"), rule) if part)
    return Text(
        **common,
        format=form,
        pattern=pattern,
        min_length=low,
        max_length=high,
        secret=form == "password" or schema.get("writeOnly") is True or is_secret_name(name),
        multiline=form in ("multiline", "textarea", "markdown")
        or isinstance(media, str)
        or (not form and name.lower() in _LONG and "pattern" not in schema and (high is None or high > 200)),
        hint=hint,
    )


def number(common: dict[str, Any], schema: Schema, *, integer: bool) -> Number:
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


def _bound(
    schema: Schema, key: str, exclusive: str, tighter: Callable[[Any, Any], Any]
) -> tuple[float | int | None, bool]:
    """One bound, and whether the bound itself is excluded."""
    limit, strict = amount(schema.get(key)), amount(schema.get(exclusive))
    if strict is None:
        return limit, False
    return (strict, True) if limit is None or tighter(strict, limit) == strict else (limit, False)


MAX_FIELDS = 300
"""Fields that are drawn for one object; further properties are edited as JSON."""
_PATTERNS = 100
"""Patterns of keys that are examined."""
_KEYS = 20_000
"""Keys of a map whose fields are cached."""


def object_or_map(builder: Builder, base: dict[str, Any], schema: Schema) -> Field:
    """An object if the schema names properties or forbids others; else a map."""
    known = schema.get("properties")
    closed = schema.get("additionalProperties", schema.get("unevaluatedProperties", True)) is False
    if known or required_names(schema) or (closed and "patternProperties" not in schema):
        return object_field(builder, base, schema)
    return map_field(builder, base, schema)


def object_field(builder: Builder, base: dict[str, Any], schema: Schema) -> Object:
    """The field of an object with known properties."""
    known = schema.get("properties")
    known = known if isinstance(known, dict) else {}
    names = required_names(schema)
    free = map_field(builder, common("", {}, False), schema)

    def fields() -> tuple[Field, ...]:
        builder.resolver.fresh()
        allowed = [name for name in known if name in names or not _forbidden(known[name])]
        drawn = [builder.field(name, known[name], name in names) for name in allowed[:MAX_FIELDS]]
        unknown = sorted(names - known.keys())[: MAX_FIELDS - len(drawn)]
        return (*drawn, *(_with_name(free.of(name), name, required=True) for name in unknown))

    low, high = count(schema, "minProperties"), count(schema, "maxProperties")
    return Object(
        **base,
        hint=_entries(builder, schema, low, high),
        fields=cache(fields),
        rest=free if says_more(schema) else None,
        more=max(0, len(known.keys() | names) - MAX_FIELDS),
        min_entries=low,
        max_entries=high,
    )


def _forbidden(schema: Json) -> bool:
    """Whether a property with this schema can never be present."""
    return schema is False or (isinstance(schema, dict) and len(cast("Schema", schema)) == 1 and impossible(schema))


def _entries(builder: Builder, schema: Schema, low: int | None, high: int | None) -> str:
    parts = (shape(schema, builder.resolver), span(low or None, high, unit="entries"))
    return ", ".join(part for part in parts if part)


def map_field(builder: Builder, base: dict[str, Any], schema: Schema) -> Map:
    """The field of an object with free keys."""
    listed = schema.get("patternProperties")
    patterns: list[tuple[str, Match, Json]] = []
    for pattern, inner in list((listed if isinstance(listed, dict) else {}).items())[:_PATTERNS]:
        patterns.append((pattern, matcher(pattern), inner))
    rest = schema.get("additionalProperties", schema.get("unevaluatedProperties", True))

    @lru_cache(_KEYS)
    def of(key: str) -> Field:
        builder.resolver.fresh()
        found = [(fits(key), inner) for _, fits, inner in patterns]
        fitting = [inner for fit, inner in found if fit] or [inner for fit, inner in found if fit is None][:1]
        if rest is False and patterns and not fitting:
            fitting = [patterns[0][2]]  # the key is wrong, and its correction will match this pattern
        inner: Json = rest if not fitting else True
        for one in fitting:
            inner = builder.resolver.both(inner, one)
        return _with_name(builder.field("", inner if inner is not False else True), key)

    names = builder.resolver.flat(schema.get("propertyNames"))
    named = builder.drawn("", {**names, "type": "string"}, False)

    def wrong_key(key: str) -> str:
        # The messages equal those of the whole check, so that no problem is reported twice.
        if isinstance(named, Text) and named.pattern and matcher(named.pattern)(key) is False:
            return f"must match the pattern {named.pattern}, got {got(key)}"
        if found := problems_here(named, key):
            return found[0][0]
        return NOT_ALLOWED if rest is False and all(fits(key) is False for _, fits, _ in patterns) else ""

    low, high = count(schema, "minProperties"), count(schema, "maxProperties")
    hint = _entries(builder, schema, low, high)
    return Map(**base, of=of, wrong_key=wrong_key, min_entries=low, max_entries=high, hint=hint)


def list_field(builder: Builder, base: dict[str, Any], schema: Schema) -> List:
    """The field of a list."""
    places, others = schema.get("prefixItems"), schema.get("items")
    if others is None and "contains" not in schema:
        others = schema.get("unevaluatedItems")
    starts: list[Json] = places[:MAX_FIELDS] if isinstance(places, list) else []
    if isinstance(places, list) and len(cast("list[Json]", places)) > MAX_FIELDS:
        others = True
        base["remark"] = "It describes too many items one by one: the further ones are not checked here."
    low, high = count(schema, "minItems"), count(schema, "maxItems")

    def first() -> tuple[Field, ...]:
        builder.resolver.fresh()
        return tuple(builder.field("", place) for place in starts)

    def items() -> Field | None:
        if others is False or (high is not None and 0 < high <= len(starts)):
            return None
        builder.resolver.fresh()
        return builder.field("", True if others is None else others)

    unique = schema.get("uniqueItems") is True
    hint = [shape(schema, builder.resolver), span(low or None, high, unit="items"), "no two alike" if unique else ""]
    return List(
        **base,
        hint=", ".join(part for part in hint if part),
        first=cache(first),
        items=cache(items),
        min_items=low,
        max_items=high,
        unique=unique,
    )


def _with_name(field: Field, name: str, *, required: bool = False) -> Field:
    """The field with another name."""
    secret = {"secret": True} if isinstance(field, Text) and is_secret_name(name) else {}
    return replace(field, name=name, required=required, **secret)


_CONTRADICTS = "The schema lists values that are not of the type it asks for."
_TOO_MANY = "There are too many values to choose from: they are not listed."


class Builder:
    """Builds the fields of one root schema; the same sub-schema gives the same field."""

    def __init__(self, root: Json) -> None:
        self.resolver = Resolver(root)
        self._fields: dict[tuple[int, str, bool], tuple[Json, Field]] = {}

    def field(self, name: str, schema: Json, required: bool = False) -> Field:
        """The field for a sub-schema."""
        key = (id(schema), name, required)
        known = self._fields.get(key)
        if known is None:
            flat = self.resolver.flat(schema)
            # The cache holds the schema, so that no other object gets its id.
            known = self._fields[key] = (schema, self.drawn(name, flat, required))
        return known[1]

    def drawn(self, name: str, flat: Schema, required: bool) -> Field:
        """The field of a schema whose references have been followed."""
        plain, nullable = self.resolver.without_null(flat)
        base: dict[str, Any] = {**common(name, plain, required), "nullable": nullable, "schema": flat}
        if REMARK in plain or REMARK in flat:
            base["remark"] = plain.get(REMARK) or flat[REMARK]
            base["schema"] = {key: item for key, item in flat.items() if key != REMARK}
        if impossible(plain):
            base["remark"] = base.get("remark") or "The schema allows no value here."
            plain = {key: item for key, item in plain.items() if key != "not"}
        if "const" in plain:
            base["nullable"] = plain["const"] is None or (nullable and "const" not in flat)
            return Const(**base, value=plain["const"], hint=label(plain["const"]))
        if found := options(plain, self.resolver):
            return self._choice(base, plain, found, nullable and not flat.keys() & {"enum", "const"})
        if found := many_options(plain, self.resolver):
            base["implied"] = not types(plain)
            low, high = count(plain, "minItems"), count(plain, "maxItems")
            hint = f"any of {len(found)}" + (f", {words}" if (words := span(low or None, high)) else "")
            return Choices(**base, options=found, min_items=low, max_items=high, hint=hint)
        return conditional(self, base, plain) or union(self, base, plain) or self.plain(base, plain)

    def plain(self, base: dict[str, Any], schema: Schema) -> Field:
        """The field of a schema that is neither a choice nor a union."""
        kinds = set(types(schema) or kinds_of(schema)) or {""}
        if "enum" in schema:
            base.setdefault("remark", _TOO_MANY)
        elif not types(schema):
            base["implied"] = True
        if kinds == {"string"}:
            return text(base, schema)
        if kinds <= {"integer", "number"}:
            return number(base, schema, integer=kinds == {"integer"})
        if kinds == {"boolean"}:
            return Flag(**base, hint="true or false")
        if kinds == {"object"}:
            return object_or_map(self, base, schema)
        if kinds == {"array"}:
            return list_field(self, base, schema)
        return JsonField(**base, hint=shape(schema, self.resolver), types=tuple(kind for kind in kinds if kind))

    def _choice(self, base: dict[str, Any], plain: Schema, found: tuple[Option, ...], add_null: bool) -> Field:
        kinds = types(plain)
        if kinds and not any(is_any_type(kinds, option.value) for option in found):
            base.setdefault("remark", _CONTRADICTS)
            if kinds == ("array",):
                return Choices(**base, options=found, hint=f"any of {len(found)}")
        elif kinds:
            found = tuple(option for option in found if option.value is None or is_any_type(kinds, option.value))
        if add_null and all(option.value is not None for option in found):
            found = (*found, Option(None, "null"))
        base["nullable"] = any(option.value is None for option in found)
        return Choice(**base, options=found, hint=f"one of {len(found)}")


_MORE = frozenset("anyOf oneOf allOf not const enum if dependentSchemas dependentRequired items prefixItems".split())

_EXPLODED = ("string", "array", "object")
"""The types of a URI template's variable with `*` (RFC 6570, 2.4.2)."""


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
    fields = root.fields() if isinstance(root, Object) else _own_fields(builder, top)
    if resolver.exhausted:
        problems.append("The schema is too large or refers to itself too often: parts of it are not drawn.")
    return Form(
        fields,
        whole=isinstance(root, JsonField),
        schema=schema,
        more=root.more if isinstance(root, Object) else 0,
        problems=tuple(problems),
        strict=strict,
        root=root,
    )


def _root(builder: Builder, schema: Json, top: Schema, wrong: bool) -> Field:
    """The field of the whole value. Arguments are an object even if the schema does not say so."""
    if wrong and not top.get("properties") and not required_names(top):
        return JsonField("", required=True, hint="any JSON", schema=top)
    if _is_closed(top):
        known = {key: item for key, item in top.items() if key != REMARK}
        base = {**common("", top, True), "schema": {"type": "object", **known}, "remark": top.get(REMARK, "")}
        return object_field(builder, base, known)
    return builder.field("", schema, required=True)


def _own_fields(builder: Builder, top: Schema) -> tuple[Field, ...]:
    """The properties that a schema names besides its alternatives."""
    if not isinstance(top.get("properties"), dict):
        return ()
    drawn = object_field(builder, {**common("", top, True), "schema": top}, top)
    return drawn.fields()


def _is_closed(top: Schema) -> bool:
    """Whether a schema describes nothing but an object with known properties."""
    kinds = types(top)
    return (not kinds or kinds == ("object",)) and _MORE.isdisjoint(top) and not says_more(top)


def prompt_fields(arguments: Json) -> Form:
    """The form of a prompt's `arguments`, which are all text fields (server/prompts)."""
    fields: dict[str, Field] = {}
    problems: list[str] = []
    for argument in arguments[:MAX_FIELDS] if isinstance(arguments, list) else ():
        name = argument.get("name") if isinstance(argument, dict) else None
        if not isinstance(name, str) or name in fields:
            problems.append("An argument of the prompt has no name, or the name of another: it is left out.")
            continue
        fields[name] = Text(
            **common(name, argument, argument.get("required") is True), schema=argument, secret=is_secret_name(name)
        )
    if arguments is not None and not isinstance(arguments, list):
        problems.append(f"The prompt's arguments are {noun(arguments)}, not a list.")
    return Form(tuple(fields.values()), problems=tuple(dict.fromkeys(problems)))


def template_fields(uri_template: str) -> Form:
    """The form of a URI template's variables: text, or a list or a map for `*`; required in a path."""
    try:
        found = variables(uri_template)
    except TemplateError as problem:
        return Form(problems=(f"The URI template cannot be used: {problem}.",))
    fields: dict[str, Field] = {}
    needed = {variable.name for variable in found if variable.operator in ("", "+", "/", ".")}
    for variable in found[:MAX_FIELDS]:
        name, required = variable.name, variable.name in needed
        fields.setdefault(
            name,
            JsonField(name, required=required, hint="text, a list or a map", types=_EXPLODED)
            if variable.explode
            else Text(**common(name, {}, required), secret=is_secret_name(name)),
        )
    return Form(tuple(fields.values()))

"""From sub-schemas to fields, each made when it is asked for: a schema may contain itself, or be immense."""

from __future__ import annotations

from typing import Any, cast

from mcp_studio.jsontext import Json
from mcp_studio.schema.conditions import conditional
from mcp_studio.schema.field import Choice, Choices, Const, Field, JsonField, Lazy, List, Map, Object, Option, Text
from mcp_studio.schema.keys import Match, key_rule, matcher
from mcp_studio.schema.kinds import REMARK, Schema, count, impossible, kinds_of, required_names, says_more, types
from mcp_studio.schema.options import label, many_options, options
from mcp_studio.schema.own import is_type
from mcp_studio.schema.resolve import Resolver
from mcp_studio.schema.scalars import common, flag, looks_secret, number, text
from mcp_studio.schema.shape import shape, span
from mcp_studio.schema.unions import union

MAX_FIELDS = 300
"""Fields drawn for one object; further properties are edited as JSON."""
_CONTRADICTS = "The schema lists values that are not of the type it asks for."
_TOO_MANY = "There are too many values to choose from: they are not listed."
_PATTERNS = 100
"""Patterns of keys that are looked at."""
_KEYS = 2_000
"""Keys of a map whose fields are kept."""


class Builder:
    """Makes the fields of one root schema; the same sub-schema gives the same field."""

    def __init__(self, root: Json) -> None:
        self.resolver = Resolver(root)
        self._made: dict[tuple[int, str, bool], tuple[Json, Field]] = {}

    def field(self, name: str, schema: Json, required: bool = False) -> Field:
        """The field of a place with this schema."""
        key = (id(schema), name, required)
        known = self._made.get(key)
        if known is None:
            flat = self.resolver.flat(schema)
            # The schema is kept, so that no other one ever has its id.
            known = self._made[key] = (schema, self.drawn(name, flat, required))
        return known[1]

    def drawn(self, name: str, flat: Schema, required: bool) -> Field:
        """The field of a schema whose references are followed."""
        plain, nullable = self.resolver.without_null(flat)
        base: dict[str, Any] = {**common(name, plain, required), "nullable": nullable, "schema": flat}
        if REMARK in plain or REMARK in flat:
            base["remark"] = plain.get(REMARK) or flat[REMARK]
            base["schema"] = {key: item for key, item in flat.items() if key is not REMARK}
        if impossible(plain):
            base["remark"] = base.get("remark") or "The schema allows no value here."
            plain = {key: item for key, item in plain.items() if key != "not"}
        if "const" in plain:
            base["nullable"] = plain["const"] is None or (nullable and "const" not in flat)
            return Const(**base, value=plain["const"], hint=label(plain["const"]))
        if found := options(plain, self.resolver):
            return self._choice(base, plain, found, nullable and not flat.keys() & {"enum", "const"})
        if found := many_options(plain, self.resolver):
            low, high = count(plain, "minItems"), count(plain, "maxItems")
            hint = f"any of {len(found)}" + (f", {words}" if (words := span(low or None, high)) else "")
            return Choices(**base, options=found, min_items=low, max_items=high, hint=hint)
        return conditional(self, base, plain) or union(self, base, plain) or self.plain(base, plain)

    def plain(self, base: dict[str, Any], schema: Schema) -> Field:
        """The field of a schema that is neither a choice nor a union."""
        kinds = set(types(schema) or kinds_of(schema)) or {""}
        if "enum" in schema:
            base.setdefault("remark", _TOO_MANY)
        if kinds == {"string"}:
            return text(base, schema)
        if kinds <= {"integer", "number"}:
            return number(base, schema, integer=kinds == {"integer"})
        if kinds == {"boolean"}:
            return flag(base)
        if kinds == {"object"}:
            return self._object_or_map(base, schema)
        if kinds == {"array"}:
            return self._list(base, schema)
        return JsonField(**base, hint=shape(schema, self.resolver), types=tuple(kind for kind in kinds if kind))

    def _choice(self, base: dict[str, Any], plain: Schema, found: tuple[Option, ...], add_null: bool) -> Field:
        kinds = types(plain)
        if kinds and not any(is_type(kind, option.value) for kind in kinds for option in found):
            base.setdefault("remark", _CONTRADICTS)
            if kinds == ("array",):
                return Choices(**base, options=found, hint=f"any of {len(found)}")
        elif kinds:
            found = tuple(
                option for option in found if any(is_type(kind, option.value) for kind in kinds) or option.value is None
            )
        if add_null and all(option.value is not None for option in found):
            found = (*found, Option(None, "null"))
        base["nullable"] = any(option.value is None for option in found)
        return Choice(**base, options=found, hint=f"one of {len(found)}")

    # Objects and maps

    def _object_or_map(self, base: dict[str, Any], schema: Schema) -> Field:
        known = schema.get("properties")
        closed = schema.get("additionalProperties", schema.get("unevaluatedProperties")) is False
        if known or required_names(schema) or (closed and "patternProperties" not in schema):
            return self.object(base, schema)
        return self._map(base, schema)

    def object(self, base: dict[str, Any], schema: Schema) -> Object:
        """The field of an object with known properties."""
        known = schema.get("properties")
        known = known if isinstance(known, dict) else {}
        names = required_names(schema)
        free = self._map(common("", {}, False), schema)

        def fields() -> tuple[Field, ...]:
            self.resolver.fresh()
            allowed = [name for name in known if name in names or not self._forbidden(known[name])]
            drawn = [self.field(name, known[name], name in names) for name in allowed[:MAX_FIELDS]]
            unknown = sorted(names - known.keys())[: MAX_FIELDS - len(drawn)]
            return (*drawn, *(_named(free.of(name), name, required=True) for name in unknown))

        low, high = count(schema, "minProperties"), count(schema, "maxProperties")
        return Object(
            **base,
            hint=self._entries(schema, low, high),
            fields=Lazy(fields),
            rest=free if says_more(schema) else None,
            more=max(0, len(known.keys() | names) - MAX_FIELDS),
            min_entries=low,
            max_entries=high,
        )

    def _forbidden(self, schema: Json) -> bool:
        """Whether a property with this schema cannot be there at all."""
        return schema is False or (isinstance(schema, dict) and len(cast("Schema", schema)) == 1 and impossible(schema))

    def _entries(self, schema: Schema, low: int | None, high: int | None) -> str:
        parts = (shape(schema, self.resolver), span(low or None, high, unit="entries"))
        return ", ".join(part for part in parts if part)

    def _map(self, base: dict[str, Any], schema: Schema) -> Map:
        listed = schema.get("patternProperties")
        patterns: list[tuple[str, Match, Json]] = []
        for pattern, inner in list((listed if isinstance(listed, dict) else {}).items())[:_PATTERNS]:
            patterns.append((pattern, matcher(pattern), inner))
        rest = schema.get("additionalProperties", schema.get("unevaluatedProperties", True))
        made: dict[str, Field] = {}

        def of(key: str) -> Field:
            if key not in made:
                if len(made) > _KEYS:
                    made.clear()
                self.resolver.fresh()
                found = [(fits(key), inner) for _, fits, inner in patterns]
                fitting = [inner for fit, inner in found if fit] or [inner for fit, inner in found if fit is None][:1]
                if rest is False and patterns and not fitting:
                    fitting = [patterns[0][2]]  # the key is wrong, and will be one that fits
                inner: Json = rest if not fitting else True
                for one in fitting:
                    inner = self.resolver.both(inner, one)
                made[key] = _named(self.field("", inner if inner is not False else True), key)
            return made[key]

        names = self.resolver.flat(schema.get("propertyNames"))
        rule = key_rule(names, [(pattern, fits) for pattern, fits, _ in patterns], rest is False)
        low, high = count(schema, "minProperties"), count(schema, "maxProperties")
        hint = self._entries(schema, low, high)
        return Map(**base, of=of, wrong_key=rule, min_entries=low, max_entries=high, hint=hint)

    # Lists

    def _list(self, base: dict[str, Any], schema: Schema) -> List:
        places, others = schema.get("prefixItems"), schema.get("items")
        if others is None and "contains" not in schema:
            others = schema.get("unevaluatedItems")
        starts: list[Json] = places[:MAX_FIELDS] if isinstance(places, list) else []
        if isinstance(places, list) and len(cast("list[Json]", places)) > MAX_FIELDS:
            others = True
            base["remark"] = "It describes too many items one by one: the further ones are not checked here."
        low, high = count(schema, "minItems"), count(schema, "maxItems")

        def first() -> tuple[Field, ...]:
            self.resolver.fresh()
            return tuple(self.field("", place) for place in starts)

        def items() -> Field | None:
            if others is False or (high is not None and 0 < high <= len(starts)):
                return None
            self.resolver.fresh()
            return self.field("", True if others is None else others)

        unique = schema.get("uniqueItems") is True
        hint = [shape(schema, self.resolver), span(low or None, high, unit="items"), "no two alike" if unique else ""]
        return List(
            **base,
            hint=", ".join(part for part in hint if part),
            first=Lazy(first),
            items=Lazy(items),
            min_items=low,
            max_items=high,
            unique=unique,
        )


def _named(field: Field, name: str, *, required: bool = False) -> Field:
    """The same field at another key."""
    kind = type(field)
    copy = object.__new__(kind)
    copy.__setstate__(field.__getstate__())  # pyright: ignore
    object.__setattr__(copy, "name", name)
    object.__setattr__(copy, "required", required)
    if isinstance(copy, Text) and looks_secret(name):
        object.__setattr__(copy, "secret", True)
    return copy

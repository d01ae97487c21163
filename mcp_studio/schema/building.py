"""From sub-schemas to fields, each made when it is asked for: a schema may contain itself, or be immense."""

from __future__ import annotations

from typing import Any

from mcp_studio.jsontext import Json
from mcp_studio.schema.composites import list_field, object_or_map
from mcp_studio.schema.conditions import conditional
from mcp_studio.schema.field import Choice, Choices, Const, Field, JsonField, Option
from mcp_studio.schema.kinds import REMARK, Schema, count, impossible, kinds_of, types
from mcp_studio.schema.options import label, many_options, options
from mcp_studio.schema.own import is_type
from mcp_studio.schema.resolve import Resolver
from mcp_studio.schema.scalars import common, flag, number, text
from mcp_studio.schema.shape import shape, span
from mcp_studio.schema.unions import union

_CONTRADICTS = "The schema lists values that are not of the type it asks for."
_TOO_MANY = "There are too many values to choose from: they are not listed."


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
            return flag(base)
        if kinds == {"object"}:
            return object_or_map(self, base, schema)
        if kinds == {"array"}:
            return list_field(self, base, schema)
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

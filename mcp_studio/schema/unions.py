"""Several kinds of values at one place: `anyOf`, `oneOf`, lists of types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Field, JsonField, Lazy, Scalar, Union, Variant, type_of
from mcp_studio.schema.fits import misfits
from mcp_studio.schema.options import label
from mcp_studio.schema.resolve import Schema, implied, types
from mcp_studio.schema.shape import shape
from mcp_studio.schema.wording import spell

if TYPE_CHECKING:
    from mcp_studio.schema.building import Builder

MAX_VARIANTS = 200
_SIMPLE = frozenset(("string", "integer", "number", "boolean"))


def union(builder: Builder, base: dict[str, Any], schema: Schema) -> Field | None:
    """The field of a schema with alternatives; None when it has none."""
    branches = _branches(builder, schema)
    if len(branches) < 2:
        return None
    kinds = [_kinds(branch) for branch, _ in branches]
    if all(kind and kind <= _SIMPLE for kind in kinds):
        return _scalar(builder, base, schema, [branch for branch, _ in branches])
    if len(branches) > MAX_VARIANTS:
        remark = "There are too many alternatives to be drawn."
        return JsonField(**base, hint=shape(schema, builder.resolver), remark=remark)
    flat = [branch for branch, _ in branches]
    known = _discriminators(flat)
    variants = tuple(
        Variant(_label(builder, branch, name, known), Lazy(_maker(builder, base, branch))) for branch, name in branches
    )
    variants = _distinct(variants)
    return Union(
        **base,
        hint=shape(schema, builder.resolver),
        variants=variants,
        types=tuple(dict.fromkeys(kind for one in kinds for kind in one)) if all(kinds) else (),
        choose=lambda value: _choose(flat, known, value),
    )


def _branches(builder: Builder, schema: Schema) -> list[tuple[Schema, str]]:
    """The alternatives, each with what is said besides them, and the name by which it was referred to."""
    resolver = builder.resolver
    for key in ("anyOf", "oneOf"):
        found = list(resolver.branches(schema, key))
        if not found:
            continue
        rest = {name: item for name, item in schema.items() if name not in (key, "discriminator")}
        raw = schema[key]
        rest = {name: item for name, item in rest.items() if name not in _OF_THE_WHOLE}
        named = [(resolver.merge(branch, rest), _ref_name(one)) for branch, one in zip(found, raw, strict=False)]
        return [part for branch, name in named for part in (_branches(builder, branch) or [(branch, name)])]
    kinds = types(schema)
    if len(kinds) > 1 and set(kinds) != {"integer", "number"}:
        kinds = tuple(kind for kind in kinds if kind != "integer" or "number" not in kinds)
        rest = {name: item for name, item in schema.items() if name not in _OF_THE_WHOLE}
        return [({**rest, "type": kind}, "") for kind in kinds]
    return []


_OF_THE_WHOLE = frozenset(("title", "description", "default", "examples", "example", "deprecated", "readOnly"))


def _maker(builder: Builder, base: dict[str, Any], branch: Schema) -> Any:
    def make() -> Field:
        builder.resolver.fresh()
        return builder.drawn(base["name"], branch, base["required"])

    return make


def _scalar(builder: Builder, base: dict[str, Any], schema: Schema, branches: list[Schema]) -> Field:
    kinds: set[str] = set().union(*(_kinds(branch) for branch in branches))
    if kinds == {"string"} or kinds <= {"integer", "number"} or kinds == {"boolean"}:
        same = {key: item for key, item in branches[0].items() if all(one.get(key, ...) == item for one in branches)}
        kind = "string" if kinds == {"string"} else "boolean" if kinds == {"boolean"} else "number"
        kind = "integer" if kinds == {"integer"} else kind
        return builder.plain(base, {**same, "type": kind})
    bare = {**base, "has_default": False, "default": None, "title": "", "description": "", "nullable": False}
    parts = tuple(builder.drawn(base["name"], branch, False) for branch in branches)
    del bare
    order = ("string", "integer", "number", "boolean")
    named = tuple(kind for kind in order if kind in kinds and not (kind == "integer" and "number" in kinds))
    return Scalar(**base, hint=shape({"type": list(named)}, builder.resolver), types=named, parts=parts)


def _kinds(schema: Schema) -> set[str]:
    """The types of values; empty when that is not known."""
    named = types(schema)
    if named:
        return set(named)
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list) and values:
        return {type_of(value) for value in values}
    kind = implied(schema)
    return {kind} if kind else set()


# Which variant a value is of


def _discriminators(branches: list[Schema]) -> tuple[str, ...]:
    """The properties of which each alternative has its own constant."""
    seen: dict[str, list[str]] = {}
    for branch in branches:
        for name, value in _constants(branch).items():
            seen.setdefault(name, []).append(spell(value))
    return tuple(
        name for name, values in seen.items() if len(values) == len(branches) and len(set(values)) == len(values)
    )


def _constants(branch: Schema) -> dict[str, Json]:
    """The properties that can only have one value."""
    known = branch.get("properties")
    found: dict[str, Json] = {}
    for name, inner in known.items() if isinstance(known, dict) else ():
        if isinstance(inner, dict):
            if "const" in inner:
                found[name] = inner["const"]
            elif isinstance(listed := inner.get("enum"), list) and len(listed) == 1:
                found[name] = listed[0]
    return found


def _choose(branches: list[Schema], known: tuple[str, ...], value: Json) -> int:
    best, least = -1, 1_000_000
    for index, branch in enumerate(branches):
        kinds = _kinds(branch)
        if kinds and type_of(value) not in kinds and not (type_of(value) == "integer" and "number" in kinds):
            continue
        found = misfits(branch, value, known)
        if found < least:
            best, least = index, found
    return best


# Labels


def _label(builder: Builder, branch: Schema, name: str, known: tuple[str, ...]) -> str:
    title = branch.get("title")
    if isinstance(title, str) and title:
        return title
    constants = _constants(branch)
    if known and known[0] in constants:
        return label(constants[known[0]])
    if name:
        return name
    if "const" in branch:
        return label(branch["const"])
    return shape(branch, builder.resolver)


def _ref_name(schema: Json) -> str:
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    return reference.rsplit("/", 1)[-1].lstrip("#") if isinstance(reference, str) else ""


def _distinct(variants: tuple[Variant, ...]) -> tuple[Variant, ...]:
    """Labels that are there more than once get numbers."""
    labels = [variant.label for variant in variants]
    if len(set(labels)) == len(labels):
        return variants
    seen: dict[str, int] = {}
    found: list[Variant] = []
    for variant in variants:
        seen[variant.label] = seen.get(variant.label, 0) + 1
        more = labels.count(variant.label) > 1
        found.append(Variant(f"{variant.label} {seen[variant.label]}" if more else variant.label, variant.field))
    return tuple(found)

"""What an entry takes, in one line: `path: string* · encoding: string · range: object | null`. Pure and bounded."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple, cast

from mcp_studio.catalog.listing import Entry
from mcp_studio.jsontext import Json, items_of, mapping, printable
from mcp_studio.present.units import size_text
from mcp_studio.protocol.views import PromptView, ResourceView, TemplateView, ToolView
from mcp_studio.schema.keywords import Schema, kinds_of, listed, required_names
from mcp_studio.schema.place import get_or_none, path_of
from mcp_studio.schema.uritemplate import TemplateError, variables

MOST = 24
"""Parameters that are shown."""
_CHOICES = 4
"""Values of an enumeration, and alternatives, that are shown."""
_DEEPEST = 3
_VALUE = 24
"""Characters of one value."""
_ORDER = ("string", "integer", "number", "boolean", "array", "object")


class Parameter(NamedTuple):
    """One thing that can be given. Foreign text."""

    name: str
    type: str = ""
    required: bool = False


class Signature(NamedTuple):
    """What an entry takes."""

    parameters: tuple[Parameter, ...] = ()
    """Those that have to be given come first."""
    more: int = 0
    """How many are not among them."""
    note: str = ""
    """What is said in their place, or besides them. Foreign text."""


def signature(entry: Entry) -> Signature:
    """What an entry takes, whatever it is and however large its schema."""
    match entry.view:
        case ToolView() as tool:
            return _tool(tool.input_schema)
        case PromptView() as prompt:
            return _cut(
                Parameter(str(one.get("name", "")), "string", one.get("required") is True) for one in prompt.arguments
            )
        case TemplateView() as template:
            return _template(template)
        case ResourceView() as resource:
            size = "" if resource.size is None else size_text(resource.size)
            return Signature(note=" · ".join(filter(None, (resource.uri[:300], resource.mime_type[:100], size))))
        case _:
            return Signature()


def _template(template: TemplateView) -> Signature:
    try:
        found = variables(template.uri_template[:4_000])
    except TemplateError as problem:
        return Signature(note=f"its URI template cannot be used: {problem}")
    return _cut(Parameter(one.name, "string", one.operator in ("", "+")) for one in found)._replace(
        note=template.uri_template[:300]
    )


def _tool(schema: Json) -> Signature:
    top = _flat(schema, schema)
    properties = top.get("properties")
    if not isinstance(properties, dict) or not properties:
        return Signature(note="no parameters" if isinstance(schema, dict) and "properties" in top else "any JSON")
    known = cast("dict[str, Json]", properties)
    required = required_names(top)
    first = [name for name in islice(known, 4_000) if name in required]
    rest = (name for name in known if name not in required)
    names = list(islice((name for names in (first, rest) for name in names), MOST))
    shown = tuple(Parameter(name, type_text(known[name], schema), name in required) for name in names)
    return Signature(shown, max(0, len(known) - len(shown)))


def _cut(parameters: Iterable[Parameter]) -> Signature:
    found = sorted(islice(parameters, 1_000), key=lambda one: not one.required)
    return Signature(tuple(found[:MOST]), max(0, len(found) - MOST), "" if found else "no parameters")


def type_text(schema: Json, root: Json, depth: int = 0) -> str:
    """The type of a value in a few words: `string`, `"a" | "b"`, `integer[]`, `object | null`. Foreign text."""
    if not isinstance(schema, dict):
        return "any"
    flat = _flat(schema, root)
    values = listed(flat)
    if values is not None and len(values) > 0:
        shown = [printable(value, indent=None)[:_VALUE] for value in values[:_CHOICES]]
        return " | ".join([*shown, *([f"{len(values) - _CHOICES:,} more"] if len(values) > _CHOICES else [])])
    ways = items_of(flat.get("anyOf")) or items_of(flat.get("oneOf"))
    if ways and depth < _DEEPEST:
        texts = list(dict.fromkeys(type_text(way, root, depth + 1) for way in ways[:12]))
        more = ["…"] if len(texts) > _CHOICES or len(ways) > 12 else []
        return " | ".join((*texts[:_CHOICES], *more))
    kinds = kinds_of(flat)
    names = [kind for kind in _ORDER if kind in kinds] + (["null"] if "null" in kinds else [])
    return " | ".join(_array(flat, root, depth) if name == "array" else name for name in names) or "any"


def _array(schema: Schema, root: Json, depth: int) -> str:
    inner = schema.get("items")
    if not isinstance(inner, dict) or depth >= _DEEPEST:
        return "array"
    text = type_text(inner, root, depth + 1)
    return "array" if text == "any" else f"({text})[]" if " " in text else f"{text}[]"


def _flat(schema: Json, root: Json) -> Schema:
    """The schema with what it refers to, and with the first part of `allOf`, where that is all it says."""
    flat = mapping(schema)
    for _ in range(_DEEPEST):
        reference, parts = flat.get("$ref"), items_of(flat.get("allOf"))
        if isinstance(reference, str) and reference.startswith("#") and len(reference) < 400:
            path = path_of(reference[1:], root)
            flat = {**mapping(get_or_none(root, path)), **{key: item for key, item in flat.items() if key != "$ref"}}
        elif parts and not flat.keys() & {"type", "properties", "enum", "const"}:
            rest = {key: item for key, item in flat.items() if key != "allOf"}
            flat = {**mapping(parts[0]), **rest}
        else:
            break
    return flat

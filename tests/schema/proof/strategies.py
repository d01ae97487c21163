"""Random schemas with every keyword, nested, with references and recursion; and random values."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from mcp_studio.jsontext import ExactFloat

NAMES = st.sampled_from(["a", "b", "name", "kind", "x-1", "a/b", "~", ""])
TEXTS = st.sampled_from(
    ["", "a", "b", "abc", "null", "1", "true", " x ", "é", '"q"', "{}", "2027-01-31", "a@example.com"]
)
NUMBERS = st.one_of(
    st.integers(-3, 12),
    st.sampled_from([2**53 + 1, 10**30, -1, 0.5, -0.0, 1e-9]),
    st.sampled_from(["1.0", "1e400", "0.10", "-0.0", "1E5"]).map(ExactFloat),
)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=8
)
"""Any JSON value, with numbers as they are written."""

PATTERNS = st.sampled_from(["^a", "^[a-z]+$", "b", r"^\d+$", "^x-", "."])
FORMATS = st.sampled_from(["email", "date", "date-time", "uri", "made-up"])
TYPES = st.sampled_from("string integer number boolean array object null".split())
REFERENCES = st.sampled_from(["#", "#/$defs/one", "#/$defs/two", "#anchored", "#/$defs/none"])
COUNTS = st.integers(0, 3)


def _optional(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={key.rstrip("_"): part for key, part in parts.items()})


TEXT = _optional(minLength=COUNTS, maxLength=COUNTS, pattern=PATTERNS, format=FORMATS).map(
    lambda found: {"type": "string", **found}
)
BOUNDS = st.integers(-2, 5) | st.sampled_from([0.5, 2.5])
NUMBER = st.builds(
    lambda kind, found: {"type": kind, **found},
    st.sampled_from(["integer", "number"]),
    _optional(
        minimum=BOUNDS,
        maximum=BOUNDS,
        exclusiveMinimum=BOUNDS,
        exclusiveMaximum=BOUNDS,
        multipleOf=st.sampled_from([1, 2, 0.5, 0.01]),
    ),
)
FIXED = st.one_of(
    st.builds(lambda values: {"enum": values}, st.lists(VALUES, min_size=1, max_size=4)),
    st.builds(lambda value: {"const": value}, VALUES),
)
OTHERS = st.one_of(
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.just({}),
    st.booleans(),
    st.builds(lambda kinds: {"type": kinds}, st.lists(TYPES, min_size=1, max_size=3, unique=True)),
    st.builds(lambda reference: {"$ref": reference}, REFERENCES),
    st.just({"$dynamicRef": "#node"}),
)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    names = st.lists(NAMES, max_size=2, unique=True)
    return _optional(
        type=st.just("object"),
        properties=st.dictionaries(NAMES, inner, max_size=3),
        required=names,
        additionalProperties=st.booleans() | inner,
        patternProperties=st.dictionaries(PATTERNS, inner, max_size=2),
        propertyNames=TEXT | st.builds(lambda found: {"enum": found}, st.lists(NAMES, min_size=1, max_size=3)),
        minProperties=COUNTS,
        maxProperties=COUNTS,
        dependentRequired=st.dictionaries(NAMES, names, max_size=2),
        dependentSchemas=st.dictionaries(NAMES, inner, max_size=1),
        unevaluatedProperties=st.booleans(),
    )


def _lists(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return _optional(
        type=st.just("array"),
        items=inner,
        prefixItems=st.lists(inner, min_size=1, max_size=2),
        minItems=COUNTS,
        maxItems=COUNTS,
        uniqueItems=st.booleans(),
        contains=inner,
        minContains=st.integers(0, 2),
    )


def _unions(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    some = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.builds(lambda parts: {"anyOf": parts}, some),
        st.builds(lambda parts: {"oneOf": parts}, some),
        st.builds(lambda parts: {"allOf": parts}, some),
        st.builds(lambda part: {"not": part}, inner),
        st.builds(lambda cond, then, other: {"if": cond, "then": then, "else": other}, inner, inner, inner),
        st.builds(lambda part: {"anyOf": [part, {"type": "null"}]}, inner),
        st.builds(
            lambda parts: {"oneOf": [_tagged(index, part) for index, part in enumerate(parts)]},
            st.lists(_objects(inner), min_size=2, max_size=3),
        ),
    )


def _tagged(index: int, part: dict[str, Any]) -> dict[str, Any]:
    known = part.get("properties", {})
    return {**part, "type": "object", "properties": {**known, "kind": {"const": f"k{index}"}}, "required": ["kind"]}


def _mixed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    both = st.builds(lambda one, two: {**one, **two}, _objects(inner) | _lists(inner), _unions(inner))
    said = _optional(
        title=TEXTS, description=TEXTS, default=VALUES, examples=st.lists(VALUES, max_size=2), deprecated=st.booleans()
    )
    made = _objects(inner) | _lists(inner) | _unions(inner) | both
    return st.builds(lambda one, two: {**two, **one}, made, said)


PLAIN = st.one_of(TEXT, NUMBER, FIXED, OTHERS)
PARTS = st.recursive(PLAIN, _mixed, max_leaves=10)
"""Sub-schemas."""


def _whole(part: Any, one: Any, two: Any) -> dict[str, Any]:
    two = {**two, "$anchor": "anchored", "$dynamicAnchor": "node"} if isinstance(two, dict) else two
    return {"properties": {"it": part}, "$defs": {"one": one, "two": two}}


SCHEMAS = st.builds(_whole, PARTS, PARTS, PARTS)
"""Schemas of arguments: everything is in their property `it`."""

KEYWORDS = """
    type properties required items enum const title description default examples anyOf oneOf allOf not if then else
    $ref $dynamicRef $defs definitions $anchor $id $schema format pattern minimum maximum exclusiveMinimum multipleOf
    minLength maxLength minItems maxItems uniqueItems contains prefixItems additionalItems additionalProperties
    patternProperties propertyNames minProperties maxProperties dependencies dependentRequired dependentSchemas
    unevaluatedProperties unevaluatedItems deprecated readOnly writeOnly discriminator enumNames nullable
    contentMediaType a
"""
NONSENSE = st.recursive(
    SCALARS | TYPES | REFERENCES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYWORDS.split()), inner, max_size=5),
    max_leaves=25,
)
"""Any JSON as a schema, with keywords in the wrong places."""

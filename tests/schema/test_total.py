"""No schema whatever breaks or hangs the form: everything that can be opened is opened, checked and begun."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.schema.check import quick
from mcp_studio.schema.field import Form, Union, defaults, resolve_union, starter
from mcp_studio.schema.form import build
from tests.schema.proof.support import tree

TYPES = "string integer number boolean array object null".split()
NAMES = st.sampled_from(["a", "b", "kind", "^a", ""])
SIMPLE = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.sampled_from([*TYPES, "a", "#"])
)


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas out of smaller ones: mostly as they should be, sometimes not."""
    many = st.lists(inner, max_size=3)
    named = st.dictionaries(NAMES, inner, max_size=3)
    names = st.lists(NAMES, max_size=3)
    counts = st.integers(0, 3) | SIMPLE
    words: dict[str, st.SearchStrategy[Any]] = {
        **dict.fromkeys("anyOf oneOf allOf prefixItems".split(), many),
        **dict.fromkeys("properties patternProperties dependentSchemas $defs".split(), named),
        **dict.fromkeys("items additionalProperties not if then else contains propertyNames".split(), inner),
        **dict.fromkeys("minItems maxItems minLength maxLength minimum exclusiveMaximum multipleOf".split(), counts),
        **dict.fromkeys("const default title format pattern uniqueItems $dynamicRef discriminator".split(), SIMPLE),
        "dependencies": named | st.dictionaries(NAMES, names, max_size=2),
        "dependentRequired": st.dictionaries(NAMES, names, max_size=2),
        "required": names,
        "enum": st.lists(SIMPLE, max_size=3),
        "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), max_size=3),
        "$ref": st.sampled_from(["#", "#/$defs/a", "#/properties/a", "#/$defs/b/items", "#a", "http://x.example/y"]),
        "$id": st.sampled_from(["x", "http://x.example/y", "#a"]),
        "$anchor": st.just("a"),
        "$dynamicAnchor": st.just("a"),
    }
    right = st.fixed_dictionaries({}, optional=words)
    return right | st.dictionaries(st.sampled_from(sorted(words)), inner | SIMPLE, max_size=4)


SCHEMAS = st.recursive(SIMPLE, schemas, max_leaves=12)
VALUES = st.recursive(SIMPLE, lambda v: st.lists(v, max_size=3) | st.dictionaries(NAMES, v, max_size=3), max_leaves=8)


def use(form: Form, value: Any) -> None:
    """Everything that is done with a form."""
    assert form.root is not None
    for _ in tree(form):
        pass
    begun = starter(form.root)
    for one in (value, begun, defaults(form)):
        for problem in quick(form, one):
            assert problem.message
        field = resolve_union(form.root, one)
        assert not (isinstance(field, Union) and field.by_value)


@settings(max_examples=150)
@given(SCHEMAS, VALUES)
def test_any_schema_is_opened_to_its_ends(schema: Any, value: Any) -> None:
    use(build(schema), value)
    use(build({"properties": {"a": schema}, "$defs": {"a": schema, "b": True}}), {"a": value})


def deep(levels: int, step: Any) -> Any:
    """A schema in a schema, many times."""
    schema: Any = {"type": "string"}
    for level in range(levels):
        schema = step(schema, level)
    return schema


def chain(count: int) -> dict[str, Any]:
    """References that lead to the next one."""
    return {"$ref": "#/$defs/r0", "$defs": {f"r{n}": {"$ref": f"#/$defs/r{n + 1}"} for n in range(count)}}


def doubling(keyword: str) -> dict[str, Any]:
    """References that double forty times, each time with something of their own."""
    defs: dict[str, Any] = {"s40": {"required": ["a"]}}
    for n in range(40):
        below = {"allOf": [{"$ref": f"#/$defs/s{n + 1}"}]}
        defs[f"s{n}"] = {keyword: [{"properties": {f"{side}{n}": {}}, **below} for side in "xy"]}
    return {"$ref": "#/$defs/s0", "$defs": defs}


HOSTILE: dict[str, Any] = {
    "properties in properties": deep(5_000, lambda s, _: {"type": "object", "properties": {"a": s}}),
    "allOf in allOf": deep(5_000, lambda s, _: {"allOf": [s]}),
    "anyOf in anyOf": deep(5_000, lambda s, n: {"anyOf": [s, {"properties": {f"p{n}": {}}}]}),
    "conditions in conditions": deep(
        1_000, lambda s, n: {"if": {"required": [f"a{n}"]}, "then": s, "else": {"properties": {"b": {}}}}
    ),
    "not in not": deep(5_000, lambda s, _: {"not": s}),
    "a chain of references": chain(5_000),
    "doubling allOf": doubling("allOf"),
    "doubling anyOf": doubling("anyOf"),
    "many conditions": {
        "allOf": [{"if": {"properties": {"k": {"const": n}}}, "then": {"required": [f"p{n}"]}} for n in range(300)]
    },
    "alternatives of alternatives": {
        "allOf": [{"anyOf": [{"properties": {f"a{n}_{m}": {}}} for m in range(10)]} for n in range(10)]
    },
    "many patterns of keys": {
        "patternProperties": {f"^(a+)+{n}$": {"type": "string"} for n in range(2_000)},
        "additionalProperties": False,
    },
    "many anchors": {
        "$defs": {f"d{n}": {"$anchor": f"a{n}", "$ref": f"#a{n + 1}"} for n in range(5_000)},
        "$ref": "#a0",
    },
    "many values": {"properties": {"a": {"enum": list(range(100_000))}}},
    "many names": {"properties": {f"p{n}": {"type": "string"} for n in range(10_000)}},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_schemas_cost_little(name: str) -> None:
    start = time.process_time()
    form = build(HOSTILE[name])
    quick(form, {"a": {"a": "a" * 100}, "k": 3})
    defaults(form)
    assert time.process_time() - start < 1


def test_what_is_not_drawn_of_them_is_said() -> None:
    for name in ("allOf in allOf", "a chain of references", "doubling anyOf"):
        root = build(HOSTILE[name]).root
        assert root is not None and root.remark
    (field,) = build(HOSTILE["many values"]).fields
    assert "too many" in field.remark
    assert build(HOSTILE["many names"]).more > 9_000

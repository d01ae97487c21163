"""Schemas made to hurt: each costs little time and memory, is marked where it is not drawn, and stays callable."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import pytest

from mcp_studio.jsontext import dumps
from mcp_studio.schema.check import quick
from mcp_studio.schema.examples import valid
from mcp_studio.schema.field import Field, Form, Object
from mcp_studio.schema.form import MAX_FIELDS, build
from mcp_studio.tui.form.model import FormModel
from tests.schema.proof.support import same, tree, typed

SECONDS = 4.0
"""A collection of garbage in the middle takes up to one of them."""
MEGABYTES = 150


def _nested(levels: int, wrap: Any, inmost: Any) -> Any:
    for _ in range(levels):
        inmost = wrap(inmost)
    return inmost


def _doubling() -> dict[str, Any]:
    """Thirty levels, each of which needs the one below twice."""
    parts = {f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(30)}
    return {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**parts, "d30": {"type": "string"}}}


def _branching() -> dict[str, Any]:
    parts = {
        f"d{level}": {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}, {"properties": {f"p{level}": {}}}] * 4}
        for level in range(20)
    }
    return {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**parts, "d20": {"type": "string"}}}


LOOPS: dict[str, Any] = {
    "itself": {"$ref": "#"},
    "two": {
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    },
    "mutual": {
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {
            "a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}, "required": ["b"]},
            "b": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]},
        },
    },
    "dynamic": {
        "$dynamicAnchor": "n",
        "properties": {"a": {"$dynamicRef": "#n"}, "b": {"$dynamicRef": "#/$defs/x"}},
        "$defs": {"x": {"$dynamicRef": "#n", "$dynamicAnchor": "x"}},
    },
    "union": {
        "properties": {"a": {"$ref": "#/$defs/u"}},
        "$defs": {"u": {"anyOf": [{"$ref": "#/$defs/u"}, {"type": "null"}]}},
    },
    "all": {"properties": {"a": {"$ref": "#/$defs/u"}}, "$defs": {"u": {"allOf": [{"$ref": "#/$defs/u"}]}}},
    "not": {"properties": {"a": {"$ref": "#/$defs/u"}}, "$defs": {"u": {"not": {"$ref": "#/$defs/u"}}}},
    "if": {
        "properties": {"a": {"$ref": "#/$defs/u"}},
        "$defs": {"u": {"if": {"$ref": "#/$defs/u"}, "then": {"$ref": "#"}}},
    },
    "items": {"properties": {"a": {"type": "array", "items": {"$ref": "#/properties/a"}}}},
    "required": {"properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    "many": {
        "properties": {f"p{index}": {"$ref": "#"} for index in range(40)},
        "required": [f"p{index}" for index in range(40)],
    },
    "variants": {
        "anyOf": [{"properties": {f"v{index}": {"$ref": "#"}}, "required": [f"v{index}"]} for index in range(150)]
    },
}
LARGE: dict[str, Any] = {
    "properties": {"properties": {f"p{index}": {"type": "string"} for index in range(10_000)}},
    "required": {"required": [f"p{index}" for index in range(10_000)]},
    "enum": {"properties": {"a": {"enum": [f"{index:08}" for index in range(100_000)]}}},
    "one option": {"properties": {"a": {"enum": ["x" * 1_000_000]}}},
    "variants": {"properties": {"a": {"oneOf": [{"properties": {f"p{index}": {}}} for index in range(5_000)]}}},
    "parts": {"properties": {"a": {"allOf": [{"properties": {f"p{index}": {}}} for index in range(5_000)]}}},
    "prefix": {"properties": {"a": {"prefixItems": [{"type": "string"}] * 10_000}}},
    "patterns": {"properties": {"a": {"patternProperties": {f"^p{index}$": {} for index in range(5_000)}}}},
    "definitions": {
        "$defs": {f"d{index}": {"$anchor": f"x{index}"} for index in range(20_000)},
        "properties": {"a": {"$ref": "#x19999"}},
    },
    "title": {
        "properties": {"a": {"title": "t" * 1_000_000, "description": "d" * 1_000_000, "pattern": "p" * 1_000_000}}
    },
    "anchors": {
        "$defs": {f"d{index}": {"$anchor": f"a{index}", "$ref": f"#a{index + 1}"} for index in range(5_000)},
        "$ref": "#a0",
    },
    "conditions": {
        "allOf": [{"if": {"properties": {"a": {"const": n}}}, "then": {"required": [f"p{n}"]}} for n in range(50)]
    },
    "alternatives": {"allOf": [{"anyOf": [{"properties": {f"a{n}_{m}": {}}} for m in range(10)]} for n in range(10)]},
    "default": {"properties": {"a": {"default": ["x" * 1_000] * 1_000}}, "required": ["a"]},
    "doubling": _doubling(),
    "branching": _branching(),
}
DEEP: dict[str, Any] = {
    "objects": {"properties": {"a": _nested(5_000, lambda one: {"type": "object", "properties": {"x": one}}, {})}},
    "required objects": {
        "properties": {
            "a": _nested(400, lambda one: {"type": "object", "properties": {"x": one}, "required": ["x"]}, {})
        }
    },
    "lists": {"properties": {"a": _nested(5_000, lambda one: {"type": "array", "items": one}, {})}},
    "all": {"properties": {"a": _nested(5_000, lambda one: {"allOf": [one]}, {})}},
    "any": {"properties": {"a": _nested(2_000, lambda one: {"anyOf": [one, {"type": "null"}]}, {})}},
    "not": {"properties": {"a": _nested(5_000, lambda one: {"not": one}, {})}},
    "if": {"properties": {"a": _nested(2_000, lambda one: {"if": one, "then": one}, {})}},
    "references": {
        "properties": {"a": {"$ref": "#/$defs/r0"}},
        "$defs": {f"r{index}": {"$ref": f"#/$defs/r{index + 1}"} for index in range(5_000)},
    },
}
STRANGE: dict[str, Any] = {
    "remote": {"properties": {"a": {"$ref": "http://127.0.0.1:1/schema"}, "b": {"$ref": "file:///etc/passwd"}}},
    "pattern": {
        "properties": {"a": {"type": "string", "pattern": "^(((a+)+)+)+$"}},
        "patternProperties": {"^(((a+)+)+)+$": {}},
    },
    "names": {"propertyNames": {"pattern": "^(((a+)+)+)+$"}, "additionalProperties": {"type": "string"}},
    "slow patterns": {
        "patternProperties": {f"^(a+)+{index}$": {"type": "string"} for index in range(2_000)},
        "additionalProperties": False,
    },
    "slow and long": {
        "properties": {"a": {"type": "string", "pattern": "^(((a+)+)+)+$", "minLength": 50}},
        "required": ["a"],
    },
    "counted pattern": {"properties": {"a": {"type": "string", "pattern": "((a{999}){999}){999}"}}, "required": ["a"]},
    "many items": {
        "properties": {"a": {"type": "array", "minItems": 10**9, "items": {"type": "string"}}},
        "required": ["a"],
    },
    "many letters": {"properties": {"a": {"type": "string", "minLength": 10**9}}, "required": ["a"]},
    "many entries": {"type": "object", "minProperties": 10**9, "additionalProperties": {}},
    "unique flags": {
        "properties": {"a": {"type": "array", "uniqueItems": True, "minItems": 150, "items": {"type": "boolean"}}}
    },
    "numbers": {"properties": {"a": {"type": "number", "minimum": 10**4_000, "maximum": -1e308, "multipleOf": 5e-324}}},
    "counts": {"properties": {"a": {"type": "array", "minItems": 10**18, "maxItems": -5}, "b": {"minLength": 1e300}}},
    "infinite": {"properties": {"a": {"minimum": float("inf"), "maxLength": float("inf"), "multipleOf": float("inf")}}},
    "types": {
        "properties": {
            "a": {"type": {"type": "string"}, "enum": "x", "items": 5, "properties": [1], "required": {"a": 1}}
        }
    },
    "properties": {"properties": [1, 2], "required": "a", "$defs": 5, "additionalProperties": "no"},
    "live": {"properties": {"\x1b]0;x\x07": {"title": "\x1b[2J", "enum": ["\x1b[31m", "‮"], "default": "\x00"}}},
    "surrogate": {"properties": {"\ud800": {"const": "\udfff", "pattern": "\ud800"}}},
    "same names": {"properties": {"a/b": {}, "a~1b": {}, "": {}, "~": {"properties": {"/": {}}}}},
}
HOSTILE = {
    f"{name} {key}": schema
    for name, group in (("loop", LOOPS), ("large", LARGE), ("deep", DEEP), ("strange", STRANGE))
    for key, schema in group.items()
}  # fmt: skip
MARKED = {
    "large properties", "large required", "large variants", "large prefix", "deep all",
    "deep references", "strange properties", "strange remote",
}  # fmt: skip
VALUES = (
    {}, {"a": None}, {"a": [[], {}, 1]}, {"a": "a" * 40 + "!", "b": 1e300}, {"a" * 60 + "!": {"x": {"x": {}}}},
    {"a": {"x": {"x": [1]}, "a": {"b": {"a": {}}}}},
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_costs_little_and_the_tool_stays_callable(name: str) -> None:
    schema = HOSTILE[name]
    start = time.process_time()
    form = build(schema)
    assert time.process_time() - start < SECONDS and len(form.fields) <= MAX_FIELDS
    start = time.process_time()
    fields = list(tree(form, 2_000))
    assert time.process_time() - start < SECONDS
    for value in VALUES:
        start = time.process_time()
        quick(form, value)
        model = FormModel(form, value)
        assert isinstance(model.rows, list) and model.value is value
        assert time.process_time() - start < SECONDS
        # Whatever is drawn: the value goes out as it is, and can be typed as JSON.
        assert same(typed(form.root, value), value) and dumps(model.value)
    start = time.process_time()
    made = valid(form)
    assert time.process_time() - start < SECONDS
    assert made and max(len(dumps(one.value)) for one in made) < 2_000_000
    assert name not in MARKED or marked(form, [field for _, field in fields])


def marked(form: Form, fields: list[Field]) -> bool:
    """Whether something says that not everything is drawn."""
    return bool(form.problems or form.more) or any(
        field.remark or (isinstance(field, Object) and field.more) for field in fields
    )


@pytest.mark.parametrize(
    "name", ["large properties", "large enum", "large doubling", "large branching", "deep objects"]
)
def test_a_hostile_schema_takes_little_memory(name: str) -> None:
    schema = HOSTILE[name]
    tracemalloc.start()
    try:
        list(tree(build(schema), 500))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MEGABYTES * 1e6

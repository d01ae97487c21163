"""What a change of a server breaks, and what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_studio.catalog.surface import compare, schema_changes


def members(required: str = "", **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required.split()}


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


@pytest.mark.parametrize(
    ("old", "new", "said", "breaks", "breaks_results"),
    [
        (members(), members("a", a=TEXT), "a is new and required", True, False),
        (members(), members(a=TEXT), "a is new", False, False),
        (members(a=TEXT), members(), "a is gone", True, True),
        (members(a=TEXT), members("a", a=TEXT), "a is required now", True, False),
        (members("a", a=TEXT), members(a=TEXT), "a is optional now", False, True),
        (members(a=TEXT), members(a=WHOLE), 'a: type "string" → "integer"', True, True),
        (members(a={"type": "number"}), members(a=WHOLE), 'a: type "number" → "integer"', True, False),
        (TEXT, {"type": ["string", "null"]}, 'type "string" → ["string", "null"]', False, True),
        ({"enum": ["x", "y"]}, {"enum": ["y"]}, 'enum ["x", "y"] → ["y"]', True, False),
        ({"enum": ["x"]}, {"enum": ["x", "z"]}, 'enum ["x"] → ["x", "z"]', False, True),
        (TEXT, {**TEXT, "enum": ["x"]}, 'enum none → ["x"]', True, False),
        ({"minimum": 1}, {"minimum": 2}, "minimum 1 → 2", True, False),
        ({"maxLength": 9}, {"maxLength": 10}, "maxLength 9 → 10", False, True),
        ({"exclusiveMaximum": 9}, {}, "exclusiveMaximum 9 → none", False, True),
        ({"pattern": "a"}, {"pattern": "b"}, 'pattern "a" → "b"', True, True),
        ({"items": TEXT}, {"items": WHOLE}, '[]: type "string" → "integer"', True, True),
        ({}, {"additionalProperties": False}, "additionalProperties none → false", True, False),
        ({"description": "a"}, {"description": "b"}, "description", False, False),
        ({"anyOf": [TEXT, WHOLE]}, TEXT, None, True, False),
        ({**TEXT, "title": "A"}, {"anyOf": [TEXT, WHOLE], "title": "A", "default": None}, None, False, True),
        ({"anyOf": [TEXT, {"type": "null"}]}, {"anyOf": [WHOLE, {"type": "null"}]}, None, True, True),
    ],
)
def test_what_fits_no_more_breaks_callers_and_what_is_new_breaks_readers(
    old: Any, new: Any, said: str | None, breaks: bool, breaks_results: bool
) -> None:
    (found,), (result,) = list(schema_changes(old, new)), list(schema_changes(old, new, "r", output=True))
    assert said in (None, found[1]) and (found[0], result[0]) == (breaks, breaks_results)


def test_references_are_followed_and_may_go_round() -> None:
    def tree(leaf: Any) -> Any:
        node = members(value=leaf, next={"$ref": "#/$defs/node"})
        return {**members(top={"$ref": "#/$defs/node"}), "$defs": {"node": node}}

    assert list(schema_changes(tree(TEXT), tree(WHOLE))) == [(True, 'top.value: type "string" → "integer"')]
    assert list(schema_changes(tree(TEXT), tree(dict(TEXT)))) == []


def test_all_that_a_server_lists_is_compared() -> None:
    prompt = {"name": "p", "arguments": [{"name": "who"}]}
    tool = {"name": "t", "inputSchema": members(a=TEXT), "outputSchema": members(n=WHOLE)}
    before = {
        "tool": {"t": tool, "gone": {"name": "gone"}},
        "resource": {"u:a": {"uri": "u:a", "mimeType": "text/plain"}},
        "prompt": {"p": prompt},
    }
    now = {
        "tool": {"t": {**tool, "outputSchema": members(), "title": "T"}, "new": {"name": "new"}},
        "resource": {"u:a": {"uri": "u:a", "mimeType": "text/html"}},
        "prompt": {"p": {**prompt, "arguments": [{"name": "who", "required": True}]}},
    }
    assert [(str(one), len(one.breaking)) for one in compare(before, now)] == [
        ("tool t: result.n is gone; title is new", 1),
        ("tool gone: gone", 1),
        ("tool new: new", 0),
        ("resource u:a: mimeType is another", 1),
        ("prompt p: who is required now", 1),
    ]
    assert compare(now, now) == ()

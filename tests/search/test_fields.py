"""What of an entry is searched: bounded, and read out of whatever a server lists."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.catalog.listing import EntryKind, Ref
from mcp_studio.search.fields import (
    LONGEST_NAME,
    LONGEST_PARAMETER,
    LONGEST_TEXT,
    MOST_PARAMETERS,
    MOST_VALUES,
    fields,
    first_sentence,
)
from mcp_studio.search.method import Document

KEYS = "name title description inputSchema properties items anyOf enum arguments annotations $ref $defs type".split()
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("#/$defs/items"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=30,
)


def tool(**raw: Any) -> Document:
    return Document(Ref("tool", "files", "read_file"), {"name": "read_file", **raw})


@given(st.dictionaries(st.sampled_from(KEYS), json, max_size=8), st.sampled_from(["tool", "resource", "prompt"]))
@settings(max_examples=40, deadline=None)
def test_nothing_a_server_lists_is_too_odd(raw: dict[str, Any], kind: EntryKind) -> None:
    read = fields(Document(Ref(kind, "files", "file:///a/b.txt"), raw))
    assert read.name
    assert len(read.parameters) <= MOST_PARAMETERS


def test_large_things_are_cut() -> None:
    many = {f"p{n}": {"description": "y" * 9_999, "enum": ["z" * 999] * 999} for n in range(999)}
    read = fields(tool(title="t" * 9_999, description="x" * 1_000_000, inputSchema={"properties": many}))
    assert (len(read.title), len(read.description)) == (LONGEST_NAME, LONGEST_TEXT)
    assert len(read.parameters) == MOST_PARAMETERS
    assert len(read.parameters[0].description) == LONGEST_PARAMETER
    assert len(read.parameters[0].values) == MOST_VALUES


def test_schemas_within_schemas_and_references_are_read() -> None:
    schema = {
        "$defs": {"place": {"description": "Where", "properties": {"city": {"type": "string"}}}},
        "properties": {
            "from": {"$ref": "#/$defs/place"},
            "days": {"type": "array", "items": {"properties": {"date": {"description": "Which day"}}}},
            "unit": {"enum": ["celsius", "kelvin", 3]},
        },
    }
    read = fields(tool(inputSchema=schema)).parameters
    assert [one.name for one in read] == ["from", "days", "unit", "city", "date"]
    assert read[0].description == "Where"
    assert read[2].values == ("celsius", "kelvin")


def test_a_schema_that_holds_itself_ends() -> None:
    schema: dict[str, Any] = {
        "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}},
        "$ref": "#/$defs/node",
    }
    schema["properties"] = {"root": {"$ref": "#/$defs/node"}}
    assert [one.name for one in fields(tool(inputSchema=schema)).parameters] == ["root", "next", "next", "next"]


def test_resources_and_prompts_have_their_own() -> None:
    resource = fields(Document(Ref("resource", "files", "file:///a/notes.md"), {"description": "Notes"}))
    assert (resource.name, resource.uri) == ("notes.md", "file:///a/notes.md")
    prompt = fields(Document(Ref("prompt", "code", "review"), {"arguments": [{"name": "diff"}, 7]}, ("work",)))
    assert [one.name for one in prompt.parameters] == ["diff", ""]
    assert prompt.tags == ("work",)


def test_a_description_begins_with_its_first_letter() -> None:
    read = fields(Document(Ref("tool", "s", "t"), {"description": "\n    Tells the forecast.\n    Of any place."}))
    assert (read.head, read.description[len(read.head) :].split()) == ("Tells the forecast.", ["Of", "any", "place."])


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Reads a file. Then more.", "Reads a file."),
        ("Reads v1.2 files\nof all kinds", "Reads v1.2 files\nof all kinds"),
        ("读取文件。然后", "读取文件。"),
        ("\n  Lists\n\nArgs:", "Lists"),
        ("", ""),
    ],
)
def test_the_first_sentence(text: str, first: str) -> None:
    assert first_sentence(text) == first

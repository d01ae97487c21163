"""Salvaging lists: nothing is thrown away, everything malformed says why."""

from __future__ import annotations

from mcp_studio.catalog.listing import Listing, salvage
from mcp_studio.catalog.ref import Ref

GOOD = {"name": "good", "inputSchema": {"type": "object"}}


def test_one_bad_tool_costs_no_other() -> None:
    entries = salvage(
        "s", "tool", [GOOD, {"name": "bad"}, 7, {"inputSchema": {}}, {"name": "worse", "inputSchema": []}]
    )
    assert [entry.ref.name for entry in entries] == ["good", "bad", "", "", "worse"]
    assert [bool(entry.problem) for entry in entries] == [False, True, True, True, True]
    assert len(Listing("s", "tool", entries).problems) == 4


def test_duplicates_survive() -> None:
    entries = salvage("s", "tool", [GOOD, {**GOOD, "title": "again"}])
    assert [entry.ref for entry in entries] == [Ref("tool", "s", "good")] * 2


def test_a_tool_with_invalid_header_annotations_is_excluded_on_modern_http_only() -> None:
    tool = {
        "name": "t",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
    }
    (entry,) = salvage("s", "tool", [tool], headers=True)
    assert entry.excluded and "x-mcp-header" in entry.problem
    (entry,) = salvage("s", "tool", [tool])
    assert not entry.excluded and not entry.problem


def test_resources_go_by_uri_templates_by_template_prompts_by_name() -> None:
    assert salvage("s", "resource", [{"uri": "a://b", "name": "n"}])[0].ref.name == "a://b"
    assert salvage("s", "template", [{"uriTemplate": "a://{x}"}])[0].ref.name == "a://{x}"
    assert salvage("s", "prompt", [{"name": "p"}])[0].ref.name == "p"

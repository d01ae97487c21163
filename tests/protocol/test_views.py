"""Views over raw JSON: wrong types read as absent."""

from __future__ import annotations

from mcp_studio.protocol.views import PromptView, ResourceView, ToolView


def test_wrong_types_read_as_absent() -> None:
    tool = ToolView({"name": 5, "title": [], "description": None, "annotations": "x", "inputSchema": 7})
    assert (tool.name, tool.title, tool.description, tool.annotations) == ("", "", "", {})
    assert tool.input_schema == 7
    assert PromptView({"arguments": "x"}).arguments == ()
    assert ResourceView({"size": True}).size is None and ResourceView({"size": -1}).size is None
    assert ResourceView({"size": 10**400}).size is None  # no size of a file, and no float either


def test_the_title_may_stand_among_the_annotations() -> None:
    assert ToolView({"annotations": {"title": "T"}}).title == "T"


def test_risk_follows_the_hints() -> None:
    assert ToolView({}).risk == "write"
    assert ToolView({"annotations": {"readOnlyHint": True, "destructiveHint": True}}).risk == "read"
    assert ToolView({"annotations": {"destructiveHint": True}}).risk == "destructive"

"""Calls as the steps of a workflow: what it holds is what was called, whatever stood in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_studio.errors import UsageError
from mcp_studio.trace.export.item import Item
from mcp_studio.workflow import Workflow
from mcp_studio.workflow.expression import Template
from tests.trace.export.recorded import exported, item, morning, recorded

ODD: dict[str, Any] = {
    "price": "$5",
    "sum": "$$",
    "code": "a ${b} $c",
    "in": ["${x}", None, 12345678901234567890, 1.50],
}


def call(number: int, tool: str, arguments: Any, result: Any = None, **known: Any) -> list[Item]:
    params = {"name": tool, "arguments": arguments}
    asked = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()
    answer = json.dumps({"jsonrpc": "2.0", "id": number, "result": {"structuredContent": result}}).encode()
    both: dict[str, Any] = {"method": "tools/call", "target": tool, "outcome": "ok"}
    return [
        item(number, "request", "out", asked, link=number + 1, **both, **known),
        item(number + 1, "result", "in", answer, link=number, **both),
    ]


def test_calls_become_steps_and_what_an_earlier_result_gave_is_a_reference(tmp_path: Path) -> None:
    found = {"books": [{"id": "lamp-in-reeds", "genre": "poetry", "is": {"in": "shelf-7", "an odd": "place"}}]}
    items = [
        *call(1, "find.books", {"genre": "poetry"}, found),
        *call(3, "get-1", {"id": "lamp-in-reeds", "genre": "poetry", "at": ["shelf-7", "place"]}),
        *call(5, "get-1", {"id": "next round"}, follows=3),
        *call(7, "pay", ODD),
    ]
    file = tmp_path / "made.json"
    file.write_bytes(exported(recorded(items), "workflow"))
    workflow = Workflow.load(str(file))
    assert workflow.problems == () and workflow.name == "a morning"
    first, second, third = workflow.steps
    assert (first.id, first.raw["call"], first.raw["arguments"]) == (
        "find_books_1", "shop.find.books", {"genre": "poetry"},
    )  # fmt: skip
    book = "$find_books_1.books[0]"
    at = [f"{book}.is.in", f"{book}.is['an odd']"]
    assert second.raw["arguments"] == {"id": f"{book}.id", "genre": "poetry", "at": at}
    assert second.value is not None and second.value.value({"find_books_1": found}) == {
        "id": "lamp-in-reeds", "genre": "poetry", "at": ["shelf-7", "place"],
    }  # fmt: skip
    assert Template(third.raw["arguments"]).value({}) == ODD


def test_a_server_with_a_dot_in_its_name_is_named_apart(tmp_path: Path) -> None:
    file = tmp_path / "made.json"
    file.write_bytes(exported(recorded(call(1, "get.it", {}, server="my.shop")), "workflow"))
    (step,) = Workflow.load(str(file)).steps
    assert (step.raw["server"], step.raw["call"]) == ("my.shop", "get.it")


def test_what_has_no_call_is_no_workflow() -> None:
    items = [*morning()[:3], item(4, "request", "in", b"{}", method="tools/call", target="theirs", outcome="lost")]
    with pytest.raises(UsageError, match="No tool is called"):
        exported(recorded(items), "workflow")

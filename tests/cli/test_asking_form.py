"""A nested form, filled in line by line: what is no line of text as JSON, with an example."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_studio.cli.questions import fill
from mcp_studio.cli.terminal import Left, Lines
from mcp_studio.redact import Redactor
from mcp_studio.session.inbox import InputRequest

SCHEMA = {
    "type": "object",
    "properties": {
        "note": {"type": "string"},
        "who": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "login": {"type": "object", "properties": {"password": {"type": "string"}}},
            },
            "required": ["name"],
        },
        "points": {
            "type": "array",
            "items": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
            "minItems": 1,
        },
        "free": {
            "type": "object",
            "properties": {"deep": {"type": "object", "properties": {}, "additionalProperties": False}},
        },
        "password": {"type": "string"},
    },
    "required": ["who", "points"],
}


class Typed(Lines):
    """A person who types these lines."""

    def __init__(self, *lines: str) -> None:
        super().__init__()
        self._lines = iter(lines)

    async def read(self, *, hidden: bool = False) -> str:
        return next(self._lines)


async def answered(*lines: str) -> Any:
    request = InputRequest("elicitation", "s", "Fill in", SCHEMA)
    await fill(request, Typed(*lines), Redactor())
    return await request.reply


async def test_what_is_no_line_of_text_is_typed_as_json_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    who = '{"name": "Ada", "login": {"password": "hunter2"}}'
    reply = await answered("", who, "[{}]", "nonsense", '[{"x": 1}]', "", "s3cret", "y")
    assert reply.action == "accept"
    assert reply.content == {"who": json.loads(who), "points": [{"x": 1}], "password": "s3cret"}
    shown = capsys.readouterr().err
    assert "as JSON: object {x}[], at least 1 item" in shown
    assert "points 0 › x is required" in shown and "must be" in shown
    assert "s3cret" not in shown and '"password": "(hidden)"' in shown


async def test_giving_up_is_possible_at_every_line() -> None:
    with pytest.raises(Left):
        await answered("", ":cancel")

"""A nested form, filled in line by line: known parts by their own names, all else as JSON with an example."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mcp_studio.cli.questions import fill
from mcp_studio.cli.terminal import Left
from mcp_studio.session.inbox import InputRequest
from tests.support import run

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
    },
    "required": ["who", "points"],
}


class Typed:
    """A person who types these lines."""

    def __init__(self, *lines: str) -> None:
        self._lines: Iterator[str] = iter(lines)

    async def read(self, hidden: bool = False) -> str:
        return next(self._lines)


def answered(*lines: str) -> tuple[Any, InputRequest]:
    async def main() -> Any:
        request = InputRequest("elicitation", "s", "Fill in", SCHEMA)
        await fill(request, Typed(*lines), None)  # type: ignore[arg-type]
        return await request.reply, request

    return run(main())


def test_what_is_in_a_required_object_is_asked_for_by_its_own_name(capsys: pytest.CaptureFixture[str]) -> None:
    reply, _ = answered("", "Ada", '{"password": "hunter2"}', "[{}]", "nonsense", '[{"x": 1}]', "", "y")
    assert reply.action == "accept"
    assert reply.content == {"who": {"name": "Ada", "login": {"password": "hunter2"}}, "points": [{"x": 1}]}
    told = capsys.readouterr().err
    assert "who.name: " in told and "who.login: " in told and "points: " in told
    assert "as JSON: object {x}[], at least 1 item" in told and 'such as [{"x":' in told
    assert "points 0 › x is required" in told and "must be" in told
    assert "hunter2" not in told and "(hidden)" in told


def test_a_required_object_without_values_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    schema = SCHEMA["properties"]["who"] | {"required": []}  # type: ignore[index,operator]

    async def main() -> Any:
        request = InputRequest("elicitation", "s", "", {"properties": {"who": schema}, "required": ["who"]})
        await fill(request, Typed("", "", "y"), None)  # type: ignore[arg-type]
        return await request.reply

    assert run(main()).content == {"who": {}}


def test_giving_up_is_possible_at_every_line() -> None:
    with pytest.raises(Left):
        answered("", ":cancel")

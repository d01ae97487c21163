"""Arguments that a schema calls secret are known to be that before they are sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_studio.call.secrets import SecretArguments
from mcp_studio.catalog.listing import Ref
from mcp_studio.protocol.views import ToolView
from tests.studio_support import opened, stdio
from tests.support import python_server, run


def found(properties: dict[str, Any], **arguments: Any) -> list[str]:
    schema = {"type": "object", "properties": properties, "$defs": {"hidden": {"type": "string", "writeOnly": True}}}
    return list(SecretArguments().of(ToolView({"name": "t", "inputSchema": schema}), arguments))


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ({"type": "string", "format": "password"}, "word"),
        ({"type": "string", "writeOnly": True}, "word"),
        ({"$ref": "#/$defs/hidden"}, "word"),
        ({"type": "string"}, "my_secret_word"),
    ],
)
def test_a_field_is_secret_by_name_format_or_because_it_is_only_written(field: Any, name: str) -> None:
    assert found({name: field}, **{name: "hush-hush"}) == ["hush-hush"]


def test_other_fields_short_values_and_what_is_no_text_are_not() -> None:
    field = {"type": "string", "format": "password"}
    assert found({"a": {"type": "string"}, "b": field, "c": field}, a="hush-hush", b="short", c=123_456) == []
    assert list(SecretArguments().of(None, {"password": "hush-hush"})) == []


def test_a_typed_secret_is_nowhere_in_the_trace(home: Path) -> None:
    async def main() -> None:
        async with opened(stdio(python_server("raw_poison_asks"))) as studio:
            call = studio.call_tool(Ref("tool", "s", "vault"), {"word": "hush-hush-hush"}, approved=True)
            await call.wait()
            bodies = [entry.body for entry in studio.trace]
            assert any(b"vault" in body and "\u2039redacted\u203a".encode() in body for body in bodies)
            assert not any(b"hush-hush" in body for body in bodies)

    run(main())
    assert not any(b"hush-hush" in file.read_bytes() for file in home.rglob("*") if file.is_file())

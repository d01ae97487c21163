"""A recording as a whole morning of debugging leaves one, made by hand."""

from __future__ import annotations

import io

from opentelemetry.sdk.trace import ReadableSpan

from mcp_studio.redact import Redactor
from mcp_studio.trace import message as bits
from mcp_studio.trace.disk.session import Bundle
from mcp_studio.trace.export.bundle import made_of
from mcp_studio.trace.export.collector import spans_of
from mcp_studio.trace.export.formats import export
from mcp_studio.trace.export.item import Item, Source
from mcp_studio.trace.export.item import run as run_export
from mcp_studio.trace.lint.rules import Finding
from mcp_studio.trace.message import Recording
from tests.support import run

HELLO = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}'
WELCOME = (
    b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"serverInfo":{"name":"shop","version":"1.2"}}}'
)
CALL = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"order","arguments":{"n":1.0}}}'
ASK = b'{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Sure?"}}'
YES = b'{"jsonrpc":"2.0","id":"q","result":{"action":"accept"}}'
ANSWER = b'{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"done"}],"big":12345678901234567890}}'
FINDING = Finding("warning", "number-size", "The number is too large for many clients.", "basic#x", "/result/big", 8)


def item(number: int, kind: str, direction: str, body: bytes, **known: object) -> Item:
    """One entry of the server `shop`, at its number in milliseconds after 1,000 s."""
    given = {"server": "shop", "size": len(body), "time": 1_000 + number / 1000, **known}
    return Item(number, kind=kind, direction=direction, body=body, **given)  # type: ignore[arg-type]


def morning() -> list[Item]:
    """A handshake and a call over stdio, with all that can stand around them."""
    return [
        item(1, "request", "out", HELLO, method="initialize", link=2, outcome="ok"),
        item(2, "result", "in", WELCOME, method="initialize", link=1, outcome="ok"),
        item(3, "stderr", "in", "l\u00e4uft \u202e".encode()),
        item(4, "request", "out", CALL, method="tools/call", target="order", link=8, outcome="ok", flags=bits.ASKED),
        item(5, "request", "in", ASK, method="elicitation/create", link=6, outcome="ok", under=4),
        item(6, "result", "out", YES, method="elicitation/create", link=5, outcome="ok"),
        item(7, "stray", "in", b"half a line \xff\xfe\x00"),
        item(
            8, "result", "in", ANSWER, method="tools/call", target="order", link=4, outcome="ok",
            flags=bits.MARKED, findings=(FINDING,), comment="look at *this*",
        ),
        item(9, "note", "none", b"the server exited with code 3"),
    ]  # fmt: skip


def recorded(items: list[Item]) -> Bundle:
    """The recording that has these entries."""
    return made_of(items)


def exported(
    recording: Recording, format: str, numbers: list[int] | None = None, redactor: Redactor | None = None
) -> bytes:
    """What an export writes."""
    out = io.BytesIO()
    run(export(recording, numbers, format, out, redactor or Redactor(), title="a morning"))
    return out.getvalue()


def spans(
    recording: Recording, numbers: list[int] | None = None, redactor: Redactor | None = None
) -> list[ReadableSpan]:
    """What goes to a collector."""
    found: list[ReadableSpan] = []

    def consume(source: Source) -> None:
        found.extend(spans_of(source))

    run(run_export(recording, numbers, redactor or Redactor(), consume))
    return found

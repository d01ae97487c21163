"""Whatever a recording holds, no secret leaves with an export; nor does a foreign bundle bring one through."""

from __future__ import annotations

import base64
import gzip
import json

import pytest

from mcp_studio.redact import Redactor
from mcp_studio.trace.export.formats import FORMATS
from mcp_studio.trace.export.item import Item
from mcp_studio.trace.lint.rules import Finding
from tests.trace.export.recorded import exported, item, recorded, spans

TOLD = "hunter2/hunter2=é"
"""A secret that the redactor was told; it changes when it is escaped, quoted or encoded."""
SHAPED = "ghp_0123456789abcdefghij0123456789abcdef"
NAMED = "s3cr3t-by-its-name-77"
SECRETS = (TOLD, SHAPED, NAMED)


def planted() -> list[Item]:
    """Secrets in every place that an entry has."""
    head = (
        f"POST https://user:{NAMED}@h.example/mcp?token={NAMED}\nAuthorization: Bearer {NAMED}\n"
        f"Cookie: a={NAMED}\nX-Other: {TOLD}\nContent-Type: application/json"
    )
    arguments = {"password": NAMED, "text": f"it is {TOLD}", "other": SHAPED, "url": f"https://u:{NAMED}@x/"}
    meta = {"traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-01", "baggage": f"k={TOLD}", "tracestate": SHAPED}
    asked = {"jsonrpc": "2.0", "id": TOLD, "method": "tools/call", "params": {"arguments": arguments, "_meta": meta}}
    answer = {"jsonrpc": "2.0", "id": TOLD, "error": {"code": 1, "message": f"{TOLD} {SHAPED} password={NAMED}"}}
    info = {"name": TOLD, "version": SHAPED}
    hello = {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25", "serverInfo": info}}
    finding = Finding("error", "rule", f"it quotes {TOLD} and {SHAPED}", "x", f"/{SHAPED}")
    ends = {"method": f"tools/{TOLD}", "target": SHAPED, "outcome": "error", "exchange": 3, "server": f"s {TOLD}"}
    welcome = {"method": "initialize", "link": 1, "outcome": "ok"}
    return [
        item(1, "request", "out", b'{"id":1}', method="initialize", link=2, outcome="ok"),
        item(2, "result", "in", json.dumps(hello).encode(), **welcome),
        item(3, "http", "out", head.encode(), exchange=3, method="POST", server=f"s {TOLD}"),
        item(4, "request", "out", json.dumps(asked).encode(), link=6, comment=f"see {TOLD}", **ends),
        item(5, "http", "in", f"200 OK\nSet-Cookie: {NAMED}".encode(), exchange=3, server=f"s {TOLD}"),
        item(6, "error", "in", json.dumps(answer, ensure_ascii=False).encode(), link=4,
             findings=(finding,), comment=SHAPED, **ends),
        item(7, "stderr", "in", f"TOKEN={NAMED} {TOLD} {SHAPED}".encode()),
        item(8, "stray", "in", f"\udcff {TOLD} {SHAPED}".encode("utf-8", "surrogateescape")),
        item(9, "note", "none", f"exited: api_key: {NAMED} {base64.b64encode(TOLD.encode()).decode()}".encode()),
    ]  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_no_format_carries_a_secret(format: str) -> None:
    redactor = Redactor()
    redactor.learn(TOLD)
    items = [one._replace(method="tools/call") if one.number == 4 else one for one in planted()]
    made = exported(recorded(items if format == "workflow" else planted()), format, redactor=redactor)
    whole = gzip.decompress(made) if made[:2] == b"\x1f\x8b" else made
    assert "‹redacted›".encode() in whole or b"\\u2039redacted" in whole
    unpacked = whole + b"".join(decoded(whole))
    for secret in (*SECRETS, base64.b64encode(TOLD.encode()).decode(), json.dumps(TOLD)[1:-1], "hunter2"):
        assert secret.encode() not in unpacked, secret


def test_no_span_carries_a_secret() -> None:
    redactor = Redactor()
    redactor.learn(TOLD)
    text = "".join(span.to_json() for span in spans(recorded(planted()), redactor=redactor))
    assert "redacted" in text
    for secret in (*SECRETS, json.dumps(TOLD)[1:-1], "hunter2"):
        assert secret not in text, secret


def decoded(whole: bytes) -> list[bytes]:
    """What stands in the lines as base64."""
    found: list[bytes] = []
    for line in whole.splitlines():
        if b'"base64":' in line:
            found.append(base64.b64decode(json.loads(line)["base64"]))
    return found

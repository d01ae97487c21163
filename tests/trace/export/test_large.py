"""What has just come is exported whole, however large it is."""

from __future__ import annotations

from pathlib import Path

from mcp_studio.redact import Redactor
from mcp_studio.trace.export.bundle import open_file
from mcp_studio.trace.export.formats import export
from mcp_studio.trace.store import TraceStore
from tests.support import run


def test_a_large_body_that_is_still_being_redacted_is_waited_for(tmp_path: Path) -> None:
    redactor = Redactor()
    redactor.learn("very-secret-1")
    body = b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * 1_100_000 + b' very-secret-1"}'
    file = tmp_path / "large.mcptrace"

    async def main() -> None:
        store = TraceStore(redactor)
        store.add("s", "in", "result", body)
        await export(store, None, "bundle", file, redactor)

    run(main())
    kept = open_file(file).reader().body(1)
    assert kept == body.replace(b"very-secret-1", "‹redacted›".encode())

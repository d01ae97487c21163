"""Cases of the rules about frames, envelopes, correlation and progress."""

from __future__ import annotations

import json

from tests.trace.lint.acts import DEEP, Case, envelope, new, old, progress, refused, reply, stray, twice, typed
from tests.trace.lint.kit import Talk, text

MESSAGES = [
    Case("not-json", lambda: old().hear(b'{"jsonrpc":'), lambda: old().hear(envelope())),
    Case("too-deep", lambda: old().hear(DEEP), lambda: old().hear(envelope())),
    Case(
        "invalid-utf8",
        lambda: old().hear(
            b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"\xff"}}'
        ),
        lambda: old().hear(envelope(params={"level": "info", "data": "漢"})),
    ),
    Case(
        "byte-order-mark",
        lambda: old().hear(b"\xef\xbb\xbf" + json.dumps(envelope()).encode()),
        lambda: old().hear(envelope()),
    ),
    Case(
        "duplicate-key",
        lambda: typed(b'{"result":{"content":[],"content":[]}}'),
        lambda: typed(b'{"result":{"content":[]}}'),
    ),
    Case("stdout-noise", lambda: stray(b"Listening on port 3000"), lambda: stray(b"# Listening")),
    Case("batch", lambda: old().hear([envelope()]), lambda: Talk("2025-03-26").hear([envelope()])),
    Case("not-a-message", lambda: old().hear({"jsonrpc": "2.0"}), lambda: old().hear(envelope())),
    Case("not-a-message", lambda: old().hear(b"7"), lambda: old().hear(envelope())),
    Case("jsonrpc-version", lambda: old().hear(envelope(jsonrpc="1.0")), lambda: old().hear(envelope())),
    Case("jsonrpc-version", lambda: old().hear(envelope(jsonrpc=None)), lambda: old().hear(envelope())),
    *(
        Case("id-type", lambda bad=bad: old().asked("ping", bad), lambda: old().asked("ping", 7))
        for bad in (None, 1.5, True, ["a"])
    ),
    Case("id-long", lambda: old().asked("ping", "x" * 1_001), lambda: old().asked("ping", "x" * 1_000)),
    Case("params-type", lambda: old().hear(envelope(params=[1])), lambda: old().hear(envelope())),
    Case("method-type", lambda: old().hear(envelope(method=7)), lambda: old().hear(envelope())),
    Case("notification-id", lambda: old().hear(envelope(id=1)), lambda: old().hear(envelope())),
    Case(
        "result-and-error", lambda: reply(result=text(), error={"code": 1, "message": ""}), lambda: reply(result=text())
    ),
    Case("result-object", lambda: reply(result=None), lambda: reply(result=text())),
    Case("error-object", lambda: reply(error="broken"), lambda: reply(error={"code": 1, "message": ""})),
    Case("error-object", lambda: reply(error={"code": 1}), lambda: reply(error={"code": 1, "message": ""})),
    Case(
        "error-code", lambda: reply(error={"code": "1", "message": ""}), lambda: reply(error={"code": 1, "message": ""})
    ),
    Case("error-code-reserved", lambda: reply(error={"code": -32500, "message": ""}), lambda: refused(old(), -32602)),
    *(
        Case("error-code-reserved", lambda code=code: refused(new(), code), lambda right=right: refused(new(), right))
        for code, right in ((-32002, -32602), (-32042, -32020), (-32050, -31050))
    ),
    Case("error-code-legacy", lambda: refused(new(), -32001), lambda: refused(old(), -32001)),
    Case("unknown-member", lambda: old().hear(envelope(extra=1)), lambda: old().hear(envelope())),
    Case("orphan-response", lambda: old().answer({}, id=99), lambda: old().called("ping", {})),
    Case(
        "duplicate-response",
        lambda: twice(*[{"jsonrpc": "2.0", "id": 2, "result": text()}] * 2),
        lambda: twice(envelope(), {"jsonrpc": "2.0", "id": 2, "result": text()}),
    ),
    Case(
        "response-id-type", lambda: [*(t := old()).ask("ping"), *t.answer({}, id="2")], lambda: old().called("ping", {})
    ),
    Case(
        "response-without-id",
        lambda: old().hear({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "?"}}),
        lambda: reply(error={"code": -32700, "message": "?"}),
    ),
    Case(
        "request-id-reused",
        lambda: [*(t := old()).asked("ping", 1), *t.asked("ping", 1)],
        lambda: [*(t := old()).asked("ping", 1), *t.asked("ping", 2)],
    ),
    *(
        Case("progress-type", lambda bad=bad: progress(bad), lambda: progress(0.5))
        for bad in ("5", None, True, 10**400, [1])
    ),
    Case("progress-type", lambda: progress(1, total="10"), lambda: progress(1, total=10)),
    Case("progress-without-token", lambda: progress(1, token=False), lambda: progress(1)),
    Case("progress-after-end", lambda: progress(1, end=True), lambda: progress(1)),
    Case("progress-not-increasing", lambda: progress(5, 3), lambda: progress(3, 5)),
    Case("progress-not-increasing", lambda: progress(5, 5), lambda: progress(5, 5.1)),
    Case("progress-beyond-total", lambda: progress(11, total=10), lambda: progress(10, total=10)),
]

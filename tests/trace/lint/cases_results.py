"""Cases of the rules about results and about HTTP."""

from __future__ import annotations

from tests.trace.lint.acts import (
    BAD_HEADER,
    BLOCK,
    CACHED,
    FORM,
    GOOD,
    HEADER,
    RIGHT,
    Case,
    headers,
    http,
    input_required,
    judged,
    new,
    old,
    schema,
    structured,
    typed,
    unknown_method,
    unread_event,
)
from tests.trace.lint.kit import MODERN, text, tool

RESULTS = [
    Case("missing-field", lambda: old().called("tools/call", {}), lambda: old().called("tools/call", text())),
    Case("missing-field", lambda: old().called("tools/list", {}), lambda: old().called("tools/list", tool())),
    Case(
        "missing-field",
        lambda: old().called("resources/read", {"contents": [{"uri": "a://b"}]}),
        lambda: old().called("resources/read", {"contents": [{"uri": "a://b", "blob": ""}]}),
    ),
    Case(
        "wrong-type",
        lambda: old().called("tools/call", text(isError="no")),
        lambda: old().called("tools/call", text(isError=False)),
    ),
    Case(
        "wrong-type",
        lambda: old().called("prompts/get", {"messages": [{"role": "system", "content": BLOCK}]}),
        lambda: old().called("prompts/get", {"messages": [{"role": "user", "content": BLOCK}]}),
    ),
    Case("wrong-type", lambda: old().called("resources/list", {"resources": {}}), lambda: schema(title="T")),
    Case(
        "not-in-schema",
        lambda: typed(b'{"result":{"content":[],"isError":null}}'),
        lambda: typed(b'{"result":{"content":[]}}'),
    ),
    *(
        Case(
            "result-type",
            lambda bad=bad: new().called("tools/call", text(resultType=bad)),
            lambda: new().called("tools/call", text()),
        )
        for bad in ("hologram", 7, "task")
    ),
    Case(
        "result-type",
        lambda: [
            *(t := new()).ask("tools/call", {"name": "t"}),
            *t.hear({"jsonrpc": "2.0", "id": 2, "result": text()}),
        ],
        lambda: new().called("tools/call", text()),
    ),
    *(
        Case(
            "cache-hints",
            lambda bad=bad: new().called("tools/list", {**tool(), **bad}),
            lambda: new().called("tools/list", {**tool(), **CACHED}),
        )
        for bad in ({}, {"ttlMs": 0}, {**CACHED, "ttlMs": -1}, {**CACHED, "cacheScope": "mine"})
    ),
    Case(
        "input-required", lambda: input_required("tools/call"), lambda: input_required("tools/call", requestState="s")
    ),
    Case(
        "input-required",
        lambda: input_required("tools/list", requestState="s"),
        lambda: input_required("prompts/get", requestState="s"),
    ),
    Case(
        "input-required",
        lambda: input_required("tools/call", inputRequests={"a": {"method": "ping"}}),
        lambda: input_required("tools/call", inputRequests={"a": FORM}),
    ),
    Case(
        "cursor-type",
        lambda: old().called("tools/list", {**tool(), "nextCursor": {}}),
        lambda: old().called("tools/list", {**tool(), "nextCursor": ""}),
    ),
    *(
        Case("tool-name", lambda bad=bad: schema(name=bad), lambda: schema(name="a.B_c-9"))
        for bad in ("a b", "", "x" * 129)
    ),
    Case("tool-schema", lambda: schema(inputSchema=None), lambda: schema(inputSchema=GOOD)),
    Case("tool-schema", lambda: schema(inputSchema={"type": "string"}), lambda: schema(inputSchema=GOOD)),
    Case("output-schema", lambda: schema(outputSchema=7), lambda: schema(outputSchema=GOOD)),
    Case("output-schema", lambda: schema(outputSchema={"type": "array"}), lambda: schema(outputSchema=GOOD)),
    Case(
        "header-annotation",
        lambda: new().called("tools/list", {**tool(inputSchema=BAD_HEADER), **CACHED}),
        lambda: new().called("tools/list", {**tool(inputSchema=HEADER), **CACHED}),
    ),
    Case(
        "duplicate-name",
        lambda: old().called("tools/list", {"tools": tool()["tools"] * 2}),
        lambda: [*(t := old()).called("tools/list", tool()), *t.called("tools/list", tool())],
    ),
    Case(
        "duplicate-name",
        lambda: [
            *(t := old()).called("tools/list", {**tool(), "nextCursor": "2"}),
            *t.called("tools/list", tool(), {"cursor": "2"}),
        ],
        lambda: [*(t := old()).called("tools/list", tool()), *t.called("tools/list", tool(), {"cursor": "2"})],
    ),
    Case("output-mismatch", lambda: judged(("/a", "must be text")), judged),
    Case("structured-content", lambda: structured("2025-06-18", [1], BLOCK), lambda: structured(MODERN, [1], BLOCK)),
    Case("structured-text", lambda: structured("2025-11-25", {}), lambda: structured("2025-11-25", {}, BLOCK)),
    *(
        Case(
            "content-block",
            lambda bad=bad: old().called("tools/call", text(bad)),
            lambda: old().called("tools/call", text({"type": "audio", "data": "", "mimeType": "audio/wav"})),
        )
        for bad in ({"type": "hologram"}, {"text": "x"})
    ),
    Case(
        "completion-values",
        lambda: old().called("completion/complete", {"completion": {"values": ["x"] * 101}}),
        lambda: old().called("completion/complete", {"completion": {"values": ["x"] * 100}}),
    ),
    Case(
        "completion-values",
        lambda: old().called("completion/complete", {"completion": {"values": [1]}}),
        lambda: old().called("completion/complete", {"completion": {"values": []}}),
    ),
    Case(
        "resource-uri",
        lambda: old().called("resources/list", {"resources": [{"uri": "b.txt", "name": "b"}]}),
        lambda: old().called("resources/list", {"resources": [{"uri": "file:///b.txt", "name": "b"}]}),
    ),
    *(
        Case(
            "icon-source",
            lambda bad=bad: schema(icons=[{"src": bad}]),
            lambda: schema(icons=[{"src": "https://h/i.png"}]),
        )
        for bad in ("javascript:alert(1)", "http://h/i.png", "i.png")
    ),
    Case("meta-key", lambda: schema(_meta={"1x/y": 1}), lambda: schema(_meta={"com.example/y": 1, "z": 2})),
    *(
        Case(
            "wrong-type",
            lambda bad=bad: old().called("tools/call", text({**BLOCK, "annotations": bad})),
            lambda: old().called("tools/call", text({**BLOCK, "annotations": {"audience": ["user"], "priority": 1}})),
        )
        for bad in ({"audience": ["cat"]}, {"priority": 2}, {"priority": "high"})
    ),
    Case("own-meta", lambda: new().ask("tools/list", stamped=False), lambda: new().ask("tools/list")),
    Case("http-header-mismatch", lambda: headers(*RIGHT[1:]), lambda: headers(*RIGHT)),
    Case("http-header-mismatch", lambda: headers(*RIGHT, ("Mcp-Name", "u")), lambda: headers(*RIGHT)),
    Case(
        "http-header-mismatch",
        lambda: headers(*RIGHT, ("Mcp-Method", "=?base64?eA==?=")),
        lambda: headers(*RIGHT, ("Mcp-Name", "=?base64?dA==?=")),
    ),
    Case("http-content-type", lambda: http(200, "text/html"), lambda: http(200, "application/json; charset=utf-8")),
    Case("http-content-type", lambda: http(200), lambda: http(200, "text/event-stream")),
    Case("http-accepted", lambda: http(202), lambda: http(202, told=True)),
    Case("http-accepted", lambda: http(200, told=True), lambda: http(202, told=True)),
    Case(
        "http-session",
        lambda: http(200, "application/json", Mcp_Session_Id="a b"),
        lambda: http(200, "application/json", Mcp_Session_Id="a-b"),
    ),
    Case(
        "http-session",
        lambda: http(200, "application/json", modern=True, Mcp_Session_Id="a"),
        lambda: http(200, "application/json", modern=True),
    ),
    Case("http-status", lambda: unknown_method(200), lambda: unknown_method(404)),
    Case("sse-event", lambda: unread_event(b'{"jsonrpc":"2.0"}'), lambda: unread_event(b"/messages?id=1")),
]

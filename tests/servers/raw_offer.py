"""Faults in a server's lists and in its introduction."""

from __future__ import annotations

import itertools
import time

from raw_server import MODERN, TOOLS, Refusal, tool

HOSTILE = (
    "\x1b[31m\x1b[2J\x1b[5;5H\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\"
    "\x1bP+q544e\x1b\\\x9b31m\x9d0;c1\x9c\x00\x07\x08\x7f\r\n\tFORGED LINE\u2028\u202egnp.exe\u2066\u200b\ufeff"
    "\U000e0041\U000e0042\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301"
    "[@click=app.quit]click me[/] [/ [/nope] [bold red]not bold ${x} {0} %s \\[ [[ ]"
)
"""All that must not get from a string to a terminal or markup parser."""
_KEEP = {
    "type",
    "uri",
    "uriTemplate",
    "protocolVersion",
    "role",
    "mode",
    "resultType",
    "cursor",
    "nextCursor",
    "method",
}
_KEEP |= {"mimeType", "requestState", "supportedVersions", "requested", "supported", "cacheScope", "level"}


def poison(value, key=""):
    """The value with hostile text in all strings and property names that are only for people."""
    if isinstance(value, str):
        return value if key in _KEEP or "/" in key else value + HOSTILE
    if isinstance(value, list):
        return [poison(item, key) for item in value]
    if isinstance(value, dict):
        named = key == "properties"
        return {name + HOSTILE if named else name: poison(item, "" if named else name) for name, item in value.items()}
    return value


def _numbered(count):
    return [
        tool(f"tool_{number:05}", f"Tool number {number} of many.", text=("string", "Anything"))
        for number in range(count)
    ]


def _bad(_server, _params):
    wrong = [
        {"description": "no name"},
        {"name": "no_schema"},
        {"name": "schema_is_text", "inputSchema": "object"},
        {"name": 7, "inputSchema": {"type": "object"}},
        {"name": "", "inputSchema": {"type": "object"}},
        {"name": "title_is_list", "title": ["x"], "inputSchema": {"type": "object"}, "annotations": "none"},
        "just text",
        None,
    ]
    return {"tools": [TOOLS[0], *wrong, TOOLS[1]]}


def _evil_schemas(_server, _params):
    text = {"type": "string", "pattern": "^(a+)+$"}
    deep = {"type": "object"}
    for _ in range(200):
        deep = {"type": "object", "properties": {"x": deep}}
    doubling = {f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(30)}
    schemas = {
        "redos": {"type": "object", "properties": {"text": text}},
        "remote_ref": {"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1:9/schema.json"}}},
        "file_ref": {"type": "object", "properties": {"x": {"$ref": "file:///etc/passwd"}}},
        "self_ref": {"type": "object", "properties": {"x": {"$ref": "#"}}},
        "dangling_ref": {"type": "object", "properties": {"x": {"$ref": "#/$defs/none"}}},
        "deep": deep,
        "exponential": {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": doubling | {"d30": {}}},
        "not_a_schema": {"type": "hologram", "properties": [], "required": "x"},
        "boolean": True,
    }
    return {"tools": [{"name": name, "inputSchema": schema} for name, schema in schemas.items()]}


def _mismatch(_server, _params):
    output = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}
    return {"tools": [{**definition, "outputSchema": output} for definition in TOOLS]}


_pages = itertools.count()


def _endless(_server, _params):
    number = next(_pages)
    return {"tools": [tool(f"page_{number}", "One of endless pages.")], "nextCursor": f"cursor-{number}"}


def _slow_pages(server, params):
    time.sleep(0.1)
    return _endless(server, params)


def _slow_bytes(server, _params):
    for _ in range(200):
        server.write(b" ")
        time.sleep(0.05)


def _empty_cursor(_server, params):
    page = {"tools": TOOLS[3:]} if params.get("cursor") == "" else {"tools": TOOLS[:3], "nextCursor": ""}
    return page


def _error(_server, _params):
    raise Refusal(-32603, "The tools are out of order", {"why": "dust"})


LISTS = {
    "bad-tool": _bad,
    "bad-list": lambda server, params: {"tools": "none"},
    "missing-list": lambda server, params: {},
    "list-error": _error,
    "endless-cursors": _endless,
    "slow-pages": _slow_pages,
    "slow-bytes": _slow_bytes,
    "cursor-loop": lambda server, params: {"tools": TOOLS, "nextCursor": "again"},
    "bad-cursor": lambda server, params: {"tools": TOOLS, "nextCursor": {"page": 2}},
    "empty-cursor": _empty_cursor,
    "duplicate-names": lambda server, params: {"tools": TOOLS + TOOLS},
    "many-tools": lambda server, params: {"tools": _numbered(server.tools_offered)},
    "evil-schemas": _evil_schemas,
    "schema-mismatch": _mismatch,
}
"""Called for `tools/list` instead of the good list: `(server, params)`."""


def _refuse_init(_server, _request):
    raise Refusal(-32603, "This server is not in the mood")


NEGOTIATION = {
    "silent-discover": ("server/discover", lambda server, request: None),
    "dies-on-discover": ("server/discover", lambda server, request: server.die("unknown method, bye", 1)),
    "discover-garbage": ("server/discover", lambda server, request: {}),
    "discover-disjoint": (
        "server/discover",
        lambda server, request: server.refuse(
            request, -32022, "Unsupported protocol version", {"supported": ["2099-01-01"], "requested": MODERN}
        ),
    ),
    "unknown-version": ("initialize", lambda server, request: server.initialize_as("1999-01-01")),
    "old-version": ("initialize", lambda server, request: server.initialize_as("2024-11-05")),
    "init-error": ("initialize", _refuse_init),
    "init-garbage": ("initialize", lambda server, request: {"hello": "world"}),
    "silent": ("", lambda server, request: None),
}
"""The method (any, if empty) and what answers it instead: `(server, request)` gives the result, or None for silence."""

"""The answers of the MCP server behind the tests' authorization server, for all versions and transports."""

from __future__ import annotations

import asyncio
import json
from typing import Any

MODERN = "2026-07-28"
OLDER = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
META = "io.modelcontextprotocol/protocolVersion"
ABOUT = {
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "protected", "title": "Protected notes", "version": "1.0"},
}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
SECONDS = {"type": "object", "properties": {"seconds": {"type": "number", "default": 1}}}
NOTHING = {"type": "object"}
TOOLS = [
    {"name": "echo", "description": "Says what it was told", "inputSchema": TEXT},
    {"name": "wait", "description": "Answers after a while", "inputSchema": SECONDS},
    {"name": "whoami", "description": "Tells whose token came", "inputSchema": NOTHING},
    {"name": "read_notes", "description": "Needs the scope notes:read", "inputSchema": NOTHING},
    {"name": "write_notes", "description": "Needs the scope notes:write", "inputSchema": TEXT},
    {"name": "purge", "description": "Needs the scope admin", "inputSchema": NOTHING},
]
FREE = ("initialize", "server/discover", "notifications/initialized", "ping")
"""The methods that need no token if handshakes need none."""


def is_modern(message: Any) -> bool:
    """Whether a message is of the stateless era."""
    params = message.get("params") or {}
    return isinstance(params, dict) and (params.get("_meta") or {}).get(META) == MODERN


async def answer(message: Any, told: str) -> Any:
    """The response to a message, or None; `told` is the result of `whoami`."""
    if "id" not in message or "method" not in message:
        return None
    method, params, modern = message["method"], message.get("params") or {}, is_modern(message)
    caching = {"ttlMs": 0, "cacheScope": "private"} if modern else {}
    match method:
        case "initialize":
            wanted = params.get("protocolVersion")
            result = {"protocolVersion": wanted if wanted in OLDER else OLDER[-1], **ABOUT}
        case "server/discover" if modern:
            result = {"supportedVersions": [MODERN], **ABOUT, **caching}
        case "tools/list":
            result = {"tools": TOOLS, **caching}
        case "tools/call":
            result = {"content": [{"type": "text", "text": await _call(params, told)}]}
        case "ping":
            result = {}
        case _:
            return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "Method not found"}}
    result |= {"resultType": "complete"} if modern else {}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


async def _call(params: Any, told: str) -> str:
    arguments = params.get("arguments") or {}
    match params.get("name"):
        case "echo":
            return str(arguments.get("text"))
        case "wait":
            await asyncio.sleep(float(arguments.get("seconds", 1)))
            return "waited"
        case "whoami":
            return told
        case name:
            return f"{name}: done"


def tool_of(message: Any) -> str:
    """The tool that a message calls, or an empty text."""
    return str((message.get("params") or {}).get("name", "")) if message.get("method") == "tools/call" else ""


def dumped(message: Any) -> bytes:
    """A message as JSON text."""
    return json.dumps(message).encode()

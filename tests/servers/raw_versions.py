"""A server that speaks a single protocol version, and notes all messages that this version forbids.

    raw_versions.py VERSION [--refuse]

If a client asks for another version, it answers with its own, as the specification says; with `--refuse` it answers
with an error that names its own. The tool `wrongs` returns the notes.
"""

from __future__ import annotations

import json
import sys
from typing import Any

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
TOOL = {"name": "wrongs", "description": "What was wrong so far", "inputSchema": {"type": "object"}}
ABOUT = {"capabilities": {"tools": {}}, "serverInfo": {"name": "one-version", "version": "1"}}
NAMED = {"tools/call": "name"}


class OneVersion:
    """The server without its transport."""

    def __init__(self, version: str, *, refuse: bool = False) -> None:
        self.version = version
        self.refuse = refuse
        self.ready = False
        self.offered: list[str] = []
        self.wrongs: list[str] = []

    @property
    def modern(self) -> bool:
        return self.version == MODERN

    def take(self, message: dict[str, Any], headers: dict[str, str] | None = None) -> dict[str, Any] | None:
        """The answer to a message, or None; `headers` are those of its HTTP request."""
        method = message.get("method", "")
        if headers is not None:
            self._headers(message, headers)
        if "id" not in message:
            self.ready = self.ready or method == "notifications/initialized"
            if self.modern:
                self.wrongs.append(f"sent {method}")
            return None
        result = self._result(method, message.get("params", {}))
        return {"jsonrpc": "2.0", "id": message["id"], **result}

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            return self._initialize(params)
        meta = params.get("_meta", {})
        if method == "server/discover" and not self.modern:
            return {"error": {"code": -32601, "message": "Method not found"}}
        self._stamp(method, meta)
        if method == "server/discover":
            if meta.get(META + "protocolVersion") != self.version:
                return self._unsupported(meta.get(META + "protocolVersion"))
            return self._done({"supportedVersions": [self.version], "ttlMs": 0, "cacheScope": "private", **ABOUT})
        if method == "tools/list":
            caching = {"ttlMs": 0, "cacheScope": "private"} if self.modern else {}
            return self._done({"tools": [TOOL], **caching})
        if method == "tools/call":
            return self._done({"content": [{"type": "text", "text": json.dumps(self.wrongs)}]})
        self.wrongs.append(f"asked for {method}, which was not offered")
        return {"error": {"code": -32601, "message": "Method not found"}}

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        offered = params.get("protocolVersion")
        self.offered.append(offered)
        if self.modern:
            if self.refuse:
                return self._unsupported(offered)
            return {"error": {"code": -32601, "message": "Method not found"}}
        if not isinstance(params.get("capabilities"), dict) or not params.get("clientInfo", {}).get("version"):
            self.wrongs.append("initialize without capabilities or clientInfo")
        if offered != self.version and self.refuse:
            data = {"supported": [self.version], "requested": offered}
            return {"error": {"code": -32602, "message": "Unsupported protocol version", "data": data}}
        return {"result": {"protocolVersion": self.version, **ABOUT}}

    def _unsupported(self, requested: Any) -> dict[str, Any]:
        data = {"supported": [self.version], "requested": requested}
        return {"error": {"code": -32022, "message": "Unsupported protocol version", "data": data}}

    def _stamp(self, method: str, meta: dict[str, Any]) -> None:
        ours = {key.removeprefix(META) for key in meta if key.startswith(META)}
        if self.modern:
            wanted = {"protocolVersion", "clientCapabilities", "clientInfo"}
            if not wanted <= ours:
                self.wrongs.append(f"{method} lacks {sorted(wanted - ours)}")
        else:
            if not self.ready:
                self.wrongs.append(f"{method} before notifications/initialized")
            if ours:
                self.wrongs.append(f"{method} has {sorted(ours)}")

    def _headers(self, message: dict[str, Any], headers: dict[str, str]) -> None:
        method = message.get("method", "")
        wanted: dict[str, str] = {}
        if self.modern and method != "initialize":
            wanted = {"mcp-protocol-version": self.version, "mcp-method": method}
            if method in NAMED:
                wanted["mcp-name"] = message["params"][NAMED[method]]
        elif self.version >= "2025-06-18" and method not in ("initialize", "server/discover"):
            wanted = {"mcp-protocol-version": self.version, "mcp-session-id": "one"}
        for name, value in wanted.items():
            if headers.get(name) != value:
                self.wrongs.append(f"{method}: {name} is {headers.get(name)!r}, not {value!r}")
        if not {"application/json", "text/event-stream"} <= {part.strip() for part in headers["accept"].split(",")}:
            self.wrongs.append(f"{method}: accept is {headers['accept']}")

    def _done(self, result: dict[str, Any]) -> dict[str, Any]:
        return {"result": {"resultType": "complete", **result} if self.modern else result}


def main() -> None:
    server = OneVersion(sys.argv[1], refuse="--refuse" in sys.argv)
    for line in sys.stdin:
        if answer := server.take(json.loads(line)):
            # In 2025-03-26 all responses may be in batches, which clients must accept.
            batch = server.version == "2025-03-26" and "result" in answer and server.ready
            print(json.dumps([answer] if batch else answer), flush=True)


if __name__ == "__main__":
    main()

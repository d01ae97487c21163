"""A server for workflows: small tools, some of them repeatable, that write what they do to a file.

`python -m tests.servers.plan_tools [FILE]`; each call runs in its own thread.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

READ, AGAIN, ONCE = {"readOnlyHint": True}, {"idempotentHint": True, "destructiveHint": False}, {}
NUMBER, TEXT = {"type": "number"}, {"type": "string"}
TOOLS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "add": (READ, {"a": NUMBER, "b": NUMBER}, ["a", "b"]),
    "echo": (READ, {"value": {}}, []),
    "text": (READ, {"text": TEXT}, ["text"]),
    "fail": (READ, {"why": TEXT}, []),
    "flaky": (AGAIN, {"key": TEXT, "times": NUMBER}, ["key"]),
    "slow": (READ, {"seconds": NUMBER, "value": {}}, ["seconds"]),
    "again": (AGAIN, {"key": TEXT, "seconds": NUMBER}, ["key"]),
    "once": (ONCE, {"key": TEXT, "seconds": NUMBER}, ["key"]),
}
"""By name: annotations, properties, required properties."""
LOCK = threading.Lock()
failed: dict[str, int] = {}


def note(line: str) -> None:
    """Append a line at once, so that lines of several servers do not mix."""
    if len(sys.argv) > 1:
        handle = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(handle, f"{line}\n".encode())
        os.close(handle)


def call(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The result of a tool."""
    time.sleep(given.get("seconds", 0))
    if name == "add":
        value: Any = given["a"] + given["b"]
        return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": {"sum": value}}
    if name == "text":
        return {"content": [{"type": "text", "text": given["text"]}]}
    if name == "fail":
        return {"content": [{"type": "text", "text": given.get("why", "it is meant to fail")}], "isError": True}
    if name == "flaky":
        failed[given["key"]] = failed.get(given["key"], 0) + 1
        if failed[given["key"]] <= given.get("times", 1):
            return {"content": [{"type": "text", "text": f"failure {failed[given['key']]}"}], "isError": True}
    if name in ("again", "once"):
        note(f"{name} {given['key']}")
    value = given.get("value", given.get("key"))
    return {"content": [{"type": "text", "text": json.dumps(value)}]}


def answer(request: dict[str, Any]) -> None:
    """Answer one request."""
    method, params = request["method"], request.get("params") or {}
    if method == "initialize":
        info, version = {"name": "plan-tools", "version": "1"}, params["protocolVersion"]
        result: Any = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        result = {
            "tools": [
                {
                    "name": name,
                    "description": f"The tool {name}.",
                    "inputSchema": {"type": "object", "properties": properties, "required": required},
                    "annotations": annotations,
                }
                for name, (annotations, properties, required) in TOOLS.items()
            ]
        }
    elif method == "tools/call" and params["name"] in TOOLS:
        result = call(params["name"], params.get("arguments") or {})
    elif method == "ping":
        result = {}
    else:
        return send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "there is no such"}})
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def send(message: dict[str, Any]) -> None:
    with LOCK:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request and "method" in request:
            threading.Thread(target=answer, args=(request,), daemon=True).start()


def lines(file: Path) -> list[str]:
    """The lines that were written so far."""
    return file.read_text().split("\n")[:-1] if file.exists() else []


if __name__ == "__main__":
    main()

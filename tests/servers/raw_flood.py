"""A server that sends messages thousands of times before it answers a call. Standard library only.

    raw_flood.py [--modern]

Each tool sends what its name says: `logs`, `updated`, `status` (of tasks), `changed` (lists), `forms`, `pings`, 10,000
of each (`forms` 1,000); `pages` (-32042 with 10,000 of them), `rounds` (10,000 questions at once), `endless` (rounds of
questions), `state` (20 MB).
"""

from __future__ import annotations

import json
import sys

from raw_server import RawServer, Refusal, text_result, tool

MANY = 10_000
FORM = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
TASK = {"status": "working", "createdAt": "x", "lastUpdatedAt": "x", "ttl": 60_000, "pollInterval": 0}


def notice(method, **params):
    """One notification."""
    return {"method": f"notifications/{method}", "params": params}


FLOODS = {
    "logs": lambda: [notice("message", level="info", logger="l", data={"number": n}) for n in range(MANY)],
    "updated": lambda: [notice("resources/updated", uri=f"raw://{n % 5_000}") for n in range(MANY)],
    "status": lambda: [notice("tasks/status", taskId=f"t{n % 3_000}", **TASK) for n in range(MANY)],
    "changed": lambda: [notice(f"{kind}/list_changed") for _ in range(MANY // 2) for kind in ("tools", "prompts")],
    "forms": lambda: [{"id": f"f{n}", "method": "elicitation/create", "params": FORM} for n in range(MANY // 10)],
    "pings": lambda: [{"id": f"p{n}", "method": "ping"} for n in range(MANY)],
}


class FloodingServer(RawServer):
    """The correct server, with tools that flood."""

    def __init__(self, modern):
        super().__init__(modern)
        self.answers = 0
        self.tools = [
            *self.tools,
            *(tool(name, "Floods.") for name in (*FLOODS, "pages", "rounds", "endless", "state")),
        ]

    def on_response(self, message):
        """Count the answers."""
        self.answers += 1

    def call(self, request, params):
        """Flood, then answer."""
        name = params["name"]
        if name in FLOODS:
            self.write(b"".join(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in FLOODS[name]()))
            return text_result("done")
        if name == "pages":
            page = {"mode": "url", "message": "m", "elicitationId": "e"}
            pages = [{**page, "url": f"https://b.example/{n}" if n % 2 else "javascript:x"} for n in range(MANY)]
            raise Refusal(-32042, "Pages", {"elicitations": pages})
        if name == "rounds":
            wanted = {f"k{n}": {"method": "roots/list"} for n in range(MANY)}
            return {"resultType": "input_required", "inputRequests": wanted}
        if name == "state":
            return {"resultType": "input_required", "requestState": "s" * 20_000_000}
        if name == "endless":
            return {"resultType": "input_required", "requestState": "s"}
        return super().call(request, params)


if __name__ == "__main__":
    FloodingServer("--modern" in sys.argv[1:]).run()

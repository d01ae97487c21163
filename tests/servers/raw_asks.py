"""A raw server of the handshake era that asks for everything a server may ask for; standard library only.

    raw_asks.py [--version 2025-11-25]

Tools: `form` (elicitation), `page` (URL elicitation), `locked` (-32042 until its page is done), `sample` (with `more`
parameters), `roots`, `storm` (elicitations and sampling requests at once, and whether each was answered exactly once).
"""

from __future__ import annotations

import json
import sys
import threading

VERSION = sys.argv[sys.argv.index("--version") + 1] if "--version" in sys.argv else "2025-11-25"
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "approve": {"type": "boolean", "default": False},
        "password": {"type": "string"},
    },
    "required": ["name"],
}
SAMPLE = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "What is 2 + 2?"}}],
    "systemPrompt": "Be short.",
    "maxTokens": 100,
    "modelPreferences": {"hints": [{"name": "small"}], "costPriority": 0.9},
}
ARGUMENTS = {
    "url": {"type": "string"}, "count": {"type": "integer"},
    "forever": {"type": "boolean"}, "tells": {"type": "boolean"}, "more": {"type": "object"},
}  # fmt: skip
PAGE = "https://bank.example/authorize?id=7"


class Server:
    def __init__(self):
        self.lock = threading.Lock()
        self.next = 0
        self.waiting = {}
        self.answers = {}
        self.done = False
        self.roots_changed = 0

    def write(self, message):
        with self.lock:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()

    def ask(self, method, params):
        """Send a request; returns an event and the slot of its answer."""
        with self.lock:
            self.next += 1
            identity = f"q{self.next}"
        self.waiting[identity] = threading.Event()
        self.write({"id": identity, "method": method, "params": params})
        return identity

    def wait(self, identity):
        self.waiting[identity].wait(60)
        return self.answers.get(identity, [None])[0]

    def text(self, identity, value):
        self.write({"id": identity, "result": {"content": [{"type": "text", "text": json.dumps(value)}]}})

    def call(self, identity, name, arguments):
        if name == "form":
            self.text(identity, self.wait(self.ask("elicitation/create", {"message": "Who?", "requestedSchema": FORM})))
        elif name == "page":
            params = {"mode": "url", "message": "Link it", "url": arguments.get("url", PAGE), "elicitationId": "e1"}
            self.text(identity, self.wait(self.ask("elicitation/create", params)))
            self.write({"method": "notifications/elicitation/complete", "params": {"elicitationId": "e1"}})
        elif name == "locked":
            self.locked(identity, arguments)
        elif name == "sample":
            self.text(identity, self.wait(self.ask("sampling/createMessage", {**SAMPLE, **arguments.get("more", {})})))
        elif name == "roots":
            self.text(identity, {"answer": self.wait(self.ask("roots/list", {})), "changed": self.roots_changed})
        elif name == "storm":
            self.storm(identity, arguments.get("count", 200))

    def locked(self, identity, arguments):
        if self.done:
            self.text(identity, "open")
            return
        asked = {"mode": "url", "message": "Sign in first", "url": arguments.get("url", PAGE), "elicitationId": "e2"}
        error = {"code": -32042, "message": "A page has to be opened", "data": {"elicitations": [asked]}}
        self.write({"id": identity, "error": error})
        self.done = not arguments.get("forever")
        if arguments.get("tells"):
            self.write({"method": "notifications/elicitation/complete", "params": {"elicitationId": "e2"}})

    def storm(self, identity, count):
        forms = [self.ask("elicitation/create", {"message": f"{n}?", "requestedSchema": FORM}) for n in range(count)]
        samples = [self.ask("sampling/createMessage", SAMPLE) for _ in range(count)]
        for one in forms + samples:
            self.waiting[one].wait(60)
        got = [self.answers.get(one, []) for one in forms + samples]
        self.text(identity, {"answered": sum(map(bool, got)), "twice": sum(len(one) > 1 for one in got),
                             "accepted": sum("result" in one[0] for one in got if one)})  # fmt: skip

    def handle(self, message):
        method, identity = message.get("method"), message.get("id")
        if method is None:
            self.answers.setdefault(identity, []).append(message)
            if identity in self.waiting:
                self.waiting[identity].set()
        elif method == "initialize":
            self.declared = message["params"]["capabilities"]
            info = {"name": "asks", "version": "1"}
            result = {"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": info}
            self.write({"id": identity, "result": result})
        elif method == "tools/list":
            names = ("form", "page", "locked", "sample", "roots", "storm")
            tools = [{"name": name, "inputSchema": {"type": "object", "properties": ARGUMENTS}} for name in names]
            self.write({"id": identity, "result": {"tools": tools}})
        elif method == "tools/call":
            params = message["params"]
            args = (identity, params["name"], params.get("arguments") or {})
            threading.Thread(target=self.call, args=args, daemon=True).start()
        elif method == "notifications/roots/list_changed":
            self.roots_changed += 1
        elif identity is not None:
            self.write({"id": identity, "error": {"code": -32601, "message": "No such method"}})


if __name__ == "__main__":
    server = Server()
    for line in sys.stdin:
        server.handle(json.loads(line))

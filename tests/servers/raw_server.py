"""A small well-behaved MCP server, standard library only; `raw_faults.py` adds single faults to it.

    raw_server.py [--modern]

Speaks 2025-11-25, or an older version that the client asks for; with `--modern` 2026-07-28 only. Offers tools
`echo`, `add`, `wait`, `count` (progress), `fail`, `ask` (elicitation), a resource, a template, a prompt, completion.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
INFO = {"name": "raw", "title": "Raw server", "version": "1.0.0"}
CAPABILITIES = {
    "tools": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "prompts": {"listChanged": True},
    "completions": {},
    "logging": {},
}


def tool(name, description, required=(), annotations=None, **properties):
    """The definition of a tool; properties are given as `name=(type, description)`."""
    shaped = {key: {"type": kind, "description": text} for key, (kind, text) in properties.items()}
    schema = {"type": "object", "properties": shaped, "required": list(required)}
    extra = {"annotations": annotations} if annotations else {}
    return {"name": name, "title": name.title(), "description": description, "inputSchema": schema, **extra}


TOOLS = [
    tool("echo", "Gives back what it gets.", ["text"], {"readOnlyHint": True}, text=("string", "What to say")),
    tool("add", "Adds two numbers.", ["a", "b"], a=("number", "First"), b=("number", "Second")),
    tool("wait", "Answers after some seconds.", seconds=("number", "How long")),
    tool("count", "Counts with progress.", steps=("integer", "How far"), pause=("number", "Seconds between")),
    tool("fail", "Ends in a tool error.", [], {"destructiveHint": True}),
    tool("ask", "Asks for a name first."),
]
RESOURCE = {"uri": "raw://note", "name": "note", "title": "A note", "description": "Text.", "mimeType": "text/plain"}
TEMPLATE = {"uriTemplate": "raw://notes/{name}", "name": "notes", "title": "Notes", "description": "Notes by name."}
PROMPT = {
    "name": "greet",
    "title": "Greet",
    "description": "A greeting.",
    "arguments": [{"name": "who", "description": "Whom", "required": True}],
}
FORM = {
    "type": "object",
    "properties": {"name": {"type": "string", "title": "Name", "description": "Your name"}},
    "required": ["name"],
}


class Refusal(Exception):
    """A JSON-RPC error as the answer: code, message, data."""


class RawServer:
    """Reads requests line by line and answers them; subclasses override the places where their faults belong."""

    def __init__(self, modern=False):
        self.modern = modern
        self.tools = list(TOOLS)
        self.lock = threading.Lock()
        self.cancelled = set()
        self.asked = {}

    # -------------------------------------------------------------- output

    def write(self, data):
        """Write raw bytes to standard output."""
        with self.lock:
            view = memoryview(data)
            while view:
                view = view[os.write(1, view) :]

    def send(self, message):
        """Send a message."""
        self.write(json.dumps(message).encode() + b"\n")

    def notify(self, method, **params):
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, request, result):
        """Answer a request with `result`, in the form of the era."""
        if self.modern:
            result = {"resultType": "complete", **result, "_meta": {META + "serverInfo": INFO}}
            if request["method"].endswith("/list") or request["method"] in ("server/discover", "resources/read"):
                result |= {"ttlMs": 0, "cacheScope": "private"}
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def refuse(self, request, code, message, data=None):
        """Answer a request with an error."""
        error = {"code": code, "message": message} | ({"data": data} if data else {})
        self.send({"jsonrpc": "2.0", "id": request["id"], "error": error})

    # --------------------------------------------------------------- input

    def run(self):
        """Serve until standard input ends."""
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if "method" not in message:
                self.on_response(message)
            elif "id" in message:
                self.on_request(message)
            else:
                self.on_notification(message)

    def on_notification(self, message):
        """Handle a notification of the client."""
        if message["method"] == "notifications/cancelled":
            self.cancelled.add(message["params"].get("requestId"))

    def on_response(self, message):
        """Handle the client's response to a request of this server."""
        if request := self.asked.pop(message["id"], None):
            self.answer(request, text_result(json.dumps(message.get("result", message.get("error")))))

    def on_request(self, request):
        """Handle a request of the client."""
        try:
            result = self.result(request, request["method"], request.get("params", {}))
        except Refusal as refusal:
            self.refuse(request, *refusal.args)
        else:
            if result is not None:
                self.answer(request, result)

    def result(self, request, method, params):
        """The result of a request; None if it is answered elsewhere. Raises Refusal."""
        if self.modern:
            version = params.get("_meta", {}).get(META + "protocolVersion")
            if version != MODERN:
                raise Refusal(
                    -32022, "Unsupported protocol version", {"supported": [MODERN], "requested": version or ""}
                )
        known = {
            "tools/list": self.list_tools,
            "tools/call": lambda params: self.call(request, params),
            "resources/list": lambda _: {"resources": [RESOURCE]},
            "resources/templates/list": lambda _: {"resourceTemplates": [TEMPLATE]},
            "resources/read": lambda params: {"contents": [{"uri": params["uri"], "text": "A note."}]},
            "prompts/list": lambda _: {"prompts": [PROMPT]},
            "prompts/get": self.get_prompt,
            "completion/complete": lambda _: {"completion": {"values": ["Ada", "Grace"], "total": 2}},
        }
        known |= self.modern_methods(request) if self.modern else self.legacy_methods()
        if method not in known:
            raise Refusal(-32601, "Method not found")
        return known[method](params)

    def legacy_methods(self):
        """The results of methods that only the handshake era has."""
        empty = dict.fromkeys(
            ("ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"), lambda _: {}
        )
        return {"initialize": self.initialize, **empty}

    def modern_methods(self, request):
        """The results of methods that only the stateless era has."""
        discovered = {"supportedVersions": [MODERN], "capabilities": CAPABILITIES, "instructions": "A raw server."}
        return {
            "server/discover": lambda _: discovered,
            "subscriptions/listen": lambda params: self.listen(request, params),
        }

    def initialize(self, params):
        """The handshake."""
        asked = params["protocolVersion"]
        version = asked if asked in LEGACY else LEGACY[-1]
        shown = {"serverInfo": INFO, "instructions": "A raw server."}
        return {"protocolVersion": version, "capabilities": CAPABILITIES, **shown}

    def listen(self, request, params):
        """Acknowledge a subscription and leave it open."""
        meta = {META + "subscriptionId": request["id"]}
        wanted = params.get("notifications", {})
        self.notify("notifications/subscriptions/acknowledged", _meta=meta, notifications=wanted)

    def list_tools(self, params):
        """List all tools on one page."""
        return {"tools": self.tools}

    def get_prompt(self, params):
        """The one prompt."""
        text = f"Greet {params.get('arguments', {}).get('who', 'nobody')}."
        return {"description": "A greeting.", "messages": [{"role": "user", "content": {"type": "text", "text": text}}]}

    def call(self, request, params):
        """Call a tool."""
        name, arguments = params.get("name", ""), params.get("arguments", {})
        if name.startswith(("wait", "count")):
            threading.Thread(target=self.slowly, args=(request, name, arguments), daemon=True).start()
            return None
        if name.startswith("ask"):
            return self.ask(request, params)
        if name.startswith("add"):
            return text_result(str(sum(value for value in arguments.values() if isinstance(value, int | float))))
        if name.startswith("fail"):
            return {**text_result("It went wrong."), "isError": True}
        if name.startswith("echo"):
            return text_result(str(arguments.get("text", "")))
        raise Refusal(-32602, f"Unknown tool: {name}")

    def slowly(self, request, name, arguments):
        """Run a tool that takes time, in its own thread."""
        if name.startswith("wait"):
            time.sleep(arguments.get("seconds", 1))
        else:
            token = request["params"].get("_meta", {}).get("progressToken")
            steps = arguments.get("steps", 5)
            for done in range(1, steps + 1):
                time.sleep(arguments.get("pause", 0.01))
                if token is not None:
                    self.notify(
                        "notifications/progress", progressToken=token, progress=done, total=steps, message=f"{done}"
                    )
        if request["id"] not in self.cancelled:
            self.answer(request, text_result("done"))

    def ask(self, request, params):
        """Ask the person for a name, in the way of the era."""
        question = {"mode": "form", "message": "What is your name?", "requestedSchema": FORM}
        if not self.modern:
            self.asked[f"ask-{request['id']}"] = request
            self.send(
                {"jsonrpc": "2.0", "id": f"ask-{request['id']}", "method": "elicitation/create", "params": question}
            )
            return None
        if "inputResponses" in params:
            return text_result(json.dumps(params["inputResponses"]))
        wanted = {"who": {"method": "elicitation/create", "params": question}}
        return {"resultType": "input_required", "inputRequests": wanted, "requestState": "1"}


def text_result(text):
    """A tool result of one text."""
    return {"content": [{"type": "text", "text": text}]}


if __name__ == "__main__":
    RawServer(modern="--modern" in sys.argv[1:]).run()

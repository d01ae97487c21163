"""The hostile server of `raw_faults.py` with more hostile text: in all contents, fields, notifications and errors.

    raw_poison.py [--modern] [--plain] [--how NAME]

Hostile text is in names for machines, too: URIs, MIME types, schema types, methods, levels, roles. Further tools:
`data` (structured), `rich` (every block), `page` (Markdown), `refuse` (a JSON-RPC error), `form` (every field), `nudge`
(asks after its answer, in the older era), `die` (ends in the middle of the call). `--plain` leaves the names of tools
and prompts as they are, so that they can be typed. `--how` makes it fail early:

    refuses     answers the handshake with an error
    version     settles on a version that is hostile text
    dies        ends at once
    stray       prints to standard output before it serves
    lists       answers every list with an error
    malformed   offers tools that are none
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

from raw_faults import FaultyServer
from raw_offer import HOSTILE, poison
from raw_process import say
from raw_server import TOOLS, RawServer, Refusal, text_result, tool

MARKDOWN = (
    "# A heading\n\n[a link](http://evil.example/click) and <http://evil.example/auto>, ![an image](http://evil.example/i)\n"
    "\n| a | b |\n|---|---|\n| `code` | **bold** |\n\n```html\n<script>\n```\n\n- one\n\n> quoted\n\n"
)
KINDS = {
    "words": {"type": "string", "default": "by default", "examples": ["like this"], "pattern": "^."},
    "one": {"type": "string", "enum": ["red", "green"], "title": "One of two"},
    "named": {"oneOf": [{"const": "a", "title": "The first"}, {"const": "b", "title": "The second"}]},
    "several": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
    "flag": {"type": "boolean", "description": "Yes or no"},
    "count": {"type": "integer", "minimum": 1, "description": "How many"},
    "thing": {"type": "object", "properties": {"inner": {"type": "string"}}},
    "odd": {"type": HOSTILE, "format": HOSTILE},
    "far": {"$ref": "#/$defs/" + HOSTILE},
}
EXTRA = [
    {**tool("data", "Gives structured content."), "outputSchema": {"type": "object", "required": ["missing"]}},
    tool("rich", "Gives every block."),
    tool("page", "Gives a page."),
    tool("refuse", "Answers with an error."),
    {**tool("form", "Has every field."), "inputSchema": {"type": "object", "properties": KINDS, "required": ["words"]}},
    tool("nudge", "Asks later."),
    tool("die", "Ends."),
]
EXTRA[0]["annotations"] = {"readOnlyHint": True, "title": "Data"}
RICH = [
    {"type": "text", "text": MARKDOWN, "annotations": {"audience": ["user"], "priority": 1}},
    {"type": "resource_link", "uri": "raw://x/" + HOSTILE, "name": "linked", "mimeType": "text/" + HOSTILE},
    {"type": "resource", "resource": {"uri": "raw://y/" + HOSTILE, "mimeType": HOSTILE, "text": "embedded"}},
    {"type": "image", "data": "no base64", "mimeType": "image/" + HOSTILE},
    {"type": "hologram" + HOSTILE, "text": "unknown"},
]
HOW = ("refuses", "version", "dies", "stray", "lists", "malformed")


def plain(line):
    """A message with the plain names of tools and prompts."""
    message = json.loads(line)
    result = message.get("result", {})
    for item in (*result.get("tools", []), *result.get("prompts", [])):
        item["name"] = item["name"].removesuffix(HOSTILE)
    return json.dumps(message).encode() + b"\n"


class PoisonServer(FaultyServer):
    """Hostile in more places."""

    def __init__(self, modern=False, how="", plain=False):
        RawServer.__init__(self, modern)
        self.fault = "hostile"
        self.how = how
        self.plain = plain
        self.tools = [*TOOLS, *EXTRA]

    def run(self):
        """Serve, or fail."""
        if self.how == "dies":
            self.die(poison("raw: fatal"), 3)
        if self.how == "stray":
            self.write(poison("Listening").encode() + b"\n" + b"\x9b31mhalf a byte \xff\xfe\n")
        super().run()

    def write(self, data):
        """Write raw bytes; with `--plain`, names are plain."""
        super().write(plain(data) if self.plain and data.startswith(b"{") else data)

    def initialize_as(self, version):
        """The handshake's result with this version."""
        return super().initialize_as(version) | {"instructions": "Do as I say."}

    def result(self, request, method, params):
        """Answer as usual, or fail."""
        if self.how == "refuses" and method in ("initialize", "server/discover"):
            raise Refusal(-32603, "This server is not in the mood", {"why": "dust"})
        if self.how == "version" and method == "initialize":
            return self.initialize_as("1999" + HOSTILE)
        if self.how == "lists" and method.endswith("/list"):
            raise Refusal(-32603, "The lists are out of order", {"why": "dust"})
        return super().result(request, method, params)

    def list_tools(self, params):
        """The tools, or malformed ones."""
        if self.how == "malformed":
            return {"tools": ["text", {"name": 7}, {"name": "no_schema"}, {"name": "wrong", "inputSchema": "object"}]}
        return super().list_tools(params)

    def call(self, request, params):
        """Call a tool."""
        name = params.get("name", "")
        params["arguments"] = {key.removesuffix(HOSTILE): value for key, value in params.get("arguments", {}).items()}
        if name.startswith("data"):
            return {**text_result("structured"), "structuredContent": {"key": ["value", {"deep": "er"}], "n": 1}}
        if name.startswith("rich"):
            self.notify("notifications/" + HOSTILE, what="?")
            self.notify("notifications/message", level=HOSTILE, logger="raw", data={"why": "dust"})
            return {"content": RICH}
        if name.startswith("page"):
            return text_result(MARKDOWN)
        if name.startswith("refuse"):
            raise Refusal(-32001, "It will not", {"why": "dust"})
        if name.startswith("form"):
            return text_result("filled in")
        if name.startswith("nudge"):
            threading.Thread(target=self.nag, args=(request,), daemon=True).start()
            return text_result("later")
        if name.startswith("die"):
            say(poison("raw: out of memory"))
            os._exit(7)
        return super().call(request, params)

    def nag(self, request):
        """Ask the client after the call."""
        time.sleep(4)
        if not self.modern:
            self.ask({"id": f"nag-{request['id']}"}, {})


if __name__ == "__main__":
    told = sys.argv[1:]
    PoisonServer("--modern" in told, told[told.index("--how") + 1] if "--how" in told else "", "--plain" in told).run()

"""A server whose lists have pages, lifetimes, changes, completions and all that a definition can contain.

    raw_lists.py [--modern] [--ttl MS] [--scope SCOPE] [--pages] [--restless] [--completions KIND]

With LISTS_VERSION=2 the lists are as the tool `change` makes them. `--restless` notifies of changes all the time.
Completions: `many` (100 of 250), `slow` (after the text `slow`), `refused`. Reading `raw://fragile` asks a question
first, `raw://bad` is refused, `raw://count` says how often it was read, and `raw://moving` changes while it is read.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time

from raw_server import CAPABILITIES, FORM, META, RESOURCE, TEMPLATE, RawServer, Refusal, text_result, tool

ICON = {"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48", "any"]}
NOTE = {"audience": ["user", "assistant"], "priority": 0.8, "lastModified": "2026-01-02T03:04:05Z"}
PROMPT = {
    "name": "visit",
    "title": "Plan a visit",
    "description": "Completes both arguments; the city depends on the country.",
    "arguments": [{"name": "country", "required": True}, {"name": "city", "title": "The city"}],
    "icons": [ICON],
}
CITIES = {"france": ["Lyon", "Nice", "Paris"], "": ["Berlin", "Bern", "Lyon"]}


def full():
    """A tool with all members that a definition can have."""
    made = tool("full", "Says everything.", ["region"], region=("string", "Where"), deep=("object", "More"))
    made["inputSchema"]["properties"]["region"]["x-mcp-header"] = "Region"
    made["inputSchema"]["properties"]["deep"]["properties"] = {"tag": {"type": "string", "x-mcp-header": "Tag"}}
    return made | {
        "annotations": {"readOnlyHint": True, "openWorldHint": False, "title": "Everything"},
        "outputSchema": {"type": "object"},
        "execution": {"taskSupport": "optional"},
        "icons": [ICON],
        "_meta": {"example.com/team": "lists"},
    }


def twice():
    """A tool with two arguments for the same header; it must not be used over HTTP."""
    made = tool("twice", "Excluded.", a=("string", ""), b=("string", ""))
    for name in "ab":
        made["inputSchema"]["properties"][name]["x-mcp-header"] = "Same"
    return made


class Lists(RawServer):
    """The lists at first, and after `change`."""

    def __init__(self, options):
        super().__init__(options.modern)
        self.options = options
        self.reads = 0
        self.version = int(os.environ.get("LISTS_VERSION", "1"))
        self.completed = []
        self.read_once = threading.Event()
        if options.without_completions:
            CAPABILITIES.pop("completions")

    @property
    def tools(self):
        first = [
            tool("change", "Changes the lists."),
            tool("words", "Old words.", text=("string", "")),
            full(),
            twice(),
        ]
        if self.version == 1:
            return [*first, tool("old", "It goes.")]
        first[1] = tool("words", f"New words, version {self.version}.", ["text"], text=("string", ""))
        return [*first, tool("fresh", "It is new.")]

    @tools.setter
    def tools(self, _):
        pass

    def answer(self, request, result):
        """Add the lifetime of the options."""
        method = request["method"]
        if self.modern and (method.endswith("/list") or method in ("server/discover", "resources/read")):
            result = {**result, "ttlMs": self.options.ttl, "cacheScope": self.options.scope}
        if not self.modern:
            super().answer(request, result)
        else:
            result = {"resultType": "complete", **result, "_meta": {META + "serverInfo": {"name": "lists"}}}
            self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def list_tools(self, params):
        """With `--pages`: pages of two items, with blanks in the cursors."""
        self.read_once.set()
        if not self.options.pages:
            return {"tools": self.tools}
        start = int(params.get("cursor", "after 0").split()[1])
        page = {"tools": self.tools[start : start + 2]}
        return page | ({"nextCursor": f"after {start + 2}"} if start + 2 < len(self.tools) else {})

    def result(self, request, method, params):
        """The results that differ from those of the base server."""
        if method == "resources/list":
            listed = {**RESOURCE, "size": 1234, "annotations": NOTE, "icons": [ICON], "_meta": {"a": {"b": 1}}}
            names = ("raw://count", "raw://fragile", "raw://bad")
            return {"resources": [listed, *({"uri": name, "name": name[6:]} for name in names)]}
        if method == "resources/templates/list":
            return {"resourceTemplates": [{**TEMPLATE, "annotations": {"audience": ["user"]}}]}
        if method == "prompts/list":
            return {"prompts": [PROMPT]}
        if method == "resources/read":
            return self.read(params)
        if method == "completion/complete":
            return self.complete(request, params)
        return super().result(request, method, params)

    def read(self, params):
        """Count the reads."""
        self.reads += 1
        if params["uri"] == "raw://bad":
            raise Refusal(-32602, "No such resource")
        if params["uri"] == "raw://fragile" and "inputResponses" not in params:
            question = {"mode": "form", "message": "May I?", "requestedSchema": FORM}
            wanted = {"may": {"method": "elicitation/create", "params": question}}
            return {"resultType": "input_required", "inputRequests": wanted}
        if params["uri"] == "raw://moving":
            changed = {"uri": params["uri"]}
            self.send({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": changed})
        return {"contents": [{"uri": params["uri"], "text": f"read {self.reads}"}]}

    def complete(self, request, params):
        """Complete a text, with its context."""
        self.completed.append(params)
        name, value = params["argument"]["name"], params["argument"]["value"]
        kind = self.options.completions
        if kind == "refused":
            raise Refusal(-32603, "No completions today")
        if kind == "many":
            values = [f"{value}{number:03}" for number in range(100)]
            return {"completion": {"values": values, "total": 250, "hasMore": True}}
        if value == "slow":
            return threading.Thread(target=self.later, args=(request,), daemon=True).start()
        known = params.get("context", {}).get("arguments", {})
        if name == "country":
            values = [one for one in ("france", "finland", "ghana") if one.startswith(value)]
        else:
            values = [one for one in CITIES.get(known.get("country", ""), []) if one.lower().startswith(value.lower())]
        return {"completion": {"values": values}}

    def later(self, request):
        """Answer so late that the client does not need it any more."""
        time.sleep(0.4)
        self.answer(request, {"completion": {"values": ["slow and late"]}})

    def call(self, request, params):
        """Change the lists, or return the completions so far."""
        if params["name"] == "change":
            self.version += 1
            self.answer(request, text_result("changed"))
            return self.changed()
        if params["name"] == "old":
            return text_result(json.dumps(self.completed))
        return text_result(json.dumps(params.get("arguments")))

    def changed(self):
        """Notify that the lists have changed."""
        for kind in ("tools", "resources"):
            self.notify(f"notifications/{kind}/list_changed")

    def run(self):
        """Serve, and notify all the time with `--restless`."""
        if self.options.restless:
            threading.Thread(target=self.rest_never, daemon=True).start()
        super().run()

    def rest_never(self):
        """Change the lists twenty times a second, once a client has read them."""
        self.read_once.wait()
        while True:
            time.sleep(0.05)
            self.version += 1
            self.changed()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for flag in ("--modern", "--pages", "--restless", "--without-completions"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--ttl", type=json.loads, default=0)
    parser.add_argument("--scope", default="private")
    parser.add_argument("--completions", default="")
    Lists(parser.parse_args(sys.argv[1:])).run()

"""A raw server that sends notifications of changes and log messages when a test calls its tools.

    raw_changes.py [--modern] [--record FILE] [--ticks] [--greet] [--lists] [--honour URI,URI] [--refuse MESSAGE]
                   [--one] [--mute] [--drop N] [--no-capability]

Tools: `updated` (uri, count, stream), `notify` (method, params), `end` (how: response, cancelled), `log` (level, data,
logger, count), `heard` (the received methods and parameters, as JSON), `leave` (ends the process).
`--record` writes the received methods to a file. `--ticks` sends an update as soon as a resource is watched, `--greet`
a log message as soon as a level is set, `--lists` a change of each list as soon as the client can receive it. `--one`
allows one listen request at a time, `--mute` never acknowledges it, `--drop N` ends the first N at once.
"""

from __future__ import annotations

import argparse
import json

from raw_server import META, RawServer, Refusal, text_result, tool

NOTE, OTHER = "raw://note", "raw://other"
TOOLS = [tool(name, f"Does {name}.") for name in ("updated", "notify", "end", "log", "heard", "leave")]


class ChangingServer(RawServer):
    """Remembers its requests, and does what its tools are told."""

    def __init__(self, given):
        super().__init__(given.modern)
        self.given = given
        self.tools = TOOLS
        self.heard = []
        self.streams = {}
        self.drops = given.drop

    def result(self, request, method, params):
        """Remember every request."""
        self.heard.append([method, {key: value for key, value in params.items() if key != "_meta"}])
        self.heard[-1].append(params.get("_meta", {}).get(META + "logLevel"))
        self.record(method)
        if method == "resources/list":
            names = ("note", "other")
            return {"resources": [{"uri": f"raw://{name}", "name": name, "title": name.title()} for name in names]}
        if method in ("resources/subscribe", "logging/setLevel") and self.given.refuse:
            raise Refusal(-32603, self.given.refuse)
        found = super().result(request, method, params)
        if method == "logging/setLevel" and self.given.greet:
            self.notify("notifications/message", level=params["level"], logger="set", data=params["level"])
        if method == "resources/subscribe" and self.given.ticks:
            self.answer(request, {})
            self.updated({"uri": params["uri"]})
            self.notify("notifications/message", level="warning", logger="ticks", data={"told": params["uri"]})
            return None
        if self.given.no_capability and isinstance(found, dict) and "capabilities" in found:
            found["capabilities"] = {"tools": {}, "resources": {}}
        return found

    def on_notification(self, message):
        """End a cancelled listen request."""
        super().on_notification(message)
        self.record(message["method"])
        self.heard.append([message["method"], message.get("params", {}), None])
        if message["method"] == "notifications/initialized":
            self.changed()
        if message["method"] == "notifications/cancelled":
            self.streams.pop(message["params"].get("requestId"), None)

    def listen(self, request, params):
        """Acknowledge what is honoured, or behave badly."""
        if self.given.refuse or (self.given.one and self.streams):
            raise Refusal(-32603, self.given.refuse or "Only one subscription at a time")
        wanted = dict(params.get("notifications", {}))
        if self.given.honour is not None and "resourceSubscriptions" in wanted:
            wanted["resourceSubscriptions"] = [u for u in wanted["resourceSubscriptions"] if u in self.given.honour]
        self.streams[request["id"]] = wanted
        if not self.given.mute:
            meta = {META + "subscriptionId": request["id"]}
            self.notify("notifications/subscriptions/acknowledged", _meta=meta, notifications=wanted)
        if "toolsListChanged" in wanted:
            self.changed(_meta={META + "subscriptionId": request["id"]})
        if self.given.ticks:
            for uri in wanted.get("resourceSubscriptions", ()):
                self.updated({"uri": uri})
        if self.drops > 0 and "resourceSubscriptions" in wanted:
            self.drops -= 1
            self.end("cancelled", [request["id"]])

    def changed(self, **params):
        """Notify that each list has changed."""
        for kind in ("tools", "resources", "prompts") if self.given.lists else ():
            self.notify(f"notifications/{kind}/list_changed", **params)

    def end(self, how, streams):
        """End streams, with a response or without."""
        for stream in streams:
            self.streams.pop(stream, None)
            if how == "response":
                meta = {META + "subscriptionId": stream}
                self.send({"jsonrpc": "2.0", "id": stream, "result": {"resultType": "complete", "_meta": meta}})
            else:
                self.notify("notifications/cancelled", requestId=stream)

    def call(self, request, params):
        """Do what a test wants."""
        given = params.get("arguments", {})
        match params.get("name"):
            case "updated":
                self.updated(given)
            case "notify":
                self.notify(given["method"], **given.get("params", {}))
            case "end":
                watching = [one for one, asked in self.streams.items() if "resourceSubscriptions" in asked]
                self.end(given.get("how", "response"), watching if given.get("resources") else list(self.streams))
            case "log":
                said = {"level": given.get("level", "info"), "data": given.get("data", "hello")}
                said |= {"logger": given["logger"]} if "logger" in given else {}
                for _ in range(given.get("count", 1)):
                    self.notify("notifications/message", **said)
            case "leave":
                self.die()
            case _:
                return text_result(json.dumps(self.heard))
        return text_result("done")

    def updated(self, given):
        """Notify of a change, on each stream that wants it or on the named one."""
        uri, count = given.get("uri", NOTE), given.get("count", 1)
        for _ in range(count):
            if not self.modern:
                self.notify("notifications/resources/updated", uri=uri)
            elif "stream" in given:
                meta = {META + "subscriptionId": given["stream"]}
                self.notify("notifications/resources/updated", uri=uri, _meta=meta)
            for stream, wanted in () if "stream" in given else list(self.streams.items()):
                if uri in wanted.get("resourceSubscriptions", ()):
                    meta = {META + "subscriptionId": stream}
                    self.notify("notifications/resources/updated", uri=uri, _meta=meta)

    def record(self, method):
        """Write the received methods to the file, for after the end."""
        if self.given.record:
            with open(self.given.record, "a") as file:
                file.write(method + "\n")

    def die(self):
        """End the process at once."""
        import os

        os._exit(3)


def main():
    """Serve as the options say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--modern", action="store_true")
    parser.add_argument("--record", default="")
    parser.add_argument("--ticks", action="store_true")
    parser.add_argument("--greet", action="store_true")
    parser.add_argument("--lists", action="store_true")
    parser.add_argument("--honour", type=lambda text: text.split(","))
    parser.add_argument("--refuse", default="")
    parser.add_argument("--one", action="store_true")
    parser.add_argument("--mute", action="store_true")
    parser.add_argument("--no-capability", action="store_true")
    parser.add_argument("--drop", type=int, default=0)
    ChangingServer(parser.parse_args()).run()


if __name__ == "__main__":
    main()

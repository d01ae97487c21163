"""A server of 2025-11-25 whose questions become tasks of the client.

    raw_asking_tasks.py [--ttl MS]

Tools: `ask` waits for the answer, `regret` cancels its question. The result is a JSON object of all responses.
"""

from __future__ import annotations

import copy
import json
import queue
import sys
import threading

from raw_server import FORM, RawServer, text_result, tool

TTL = int(sys.argv[2]) if sys.argv[1:2] == ["--ttl"] else 60_000
PARAMS = {"mode": "form", "message": "Who?", "requestedSchema": FORM, "task": {"ttl": TTL}}


class AskingServer(RawServer):
    """Each tool runs in its own thread, so that it can wait for answers."""

    def __init__(self):
        super().__init__()
        self.tools = [tool("ask", "Asks as a task."), tool("regret", "Asks, and takes it back.")]
        self.answers = {}
        self.told = []
        self.count = 0

    def call(self, request, params):
        threading.Thread(target=self.go, args=(request, params["name"]), daemon=True).start()

    def on_response(self, message):
        self.answers[message["id"]].put(message.get("result", message.get("error")))

    def on_notification(self, message):
        if message["method"] == "notifications/tasks/status":
            self.told.append(message["params"]["status"])
        super().on_notification(message)

    def request(self, method, **params):
        """Ask the client and wait for its answer."""
        self.count += 1
        identity = f"q{self.count}"
        self.answers[identity] = queue.Queue()
        self.send({"jsonrpc": "2.0", "id": identity, "method": method, "params": copy.deepcopy(params)})
        return self.answers[identity].get(timeout=20)

    def go(self, request, name):
        said = {"created": self.request("elicitation/create", **PARAMS)}
        task = said["created"].get("task")
        if task and name == "regret":
            said["cancel"] = self.request("tasks/cancel", taskId=task["taskId"])
            said["result"] = self.request("tasks/result", taskId=task["taskId"])
        elif task:
            said["get"] = self.request("tasks/get", taskId=task["taskId"])
            said["list"] = self.request("tasks/list")
            said["unknown"] = self.request("tasks/get", taskId="no-such")
            said["result"] = self.request("tasks/result", taskId=task["taskId"])
            said["cancel"] = self.request("tasks/cancel", taskId=task["taskId"])
        self.answer(request, text_result(json.dumps({**said, "told": self.told})))


if __name__ == "__main__":
    AskingServer().run()

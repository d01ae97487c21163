"""A server whose tools become tasks, of both kinds, well-behaved and hostile; standard library only.

    raw_tasks.py [--modern] [--state FILE] [--poll MS] [--steps N]

Each `tasks/get` moves a task on, so that nothing depends on time; the first state lasts for `--steps` of them. With
`--state` tasks outlive the process. The tool `die` ends it.
"""

from __future__ import annotations

import copy
import json
import os
import sys

import raw_server
from raw_server import FORM, META, RawServer, Refusal, text_result, tool

CREATED = "2026-11-21T12:00:00Z"
ASK = {"method": "elicitation/create", "params": {"mode": "form", "message": "Who?", "requestedSchema": FORM}}
SAMPLE = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 10}}
ENDED = ("completed", "failed", "cancelled")

PLANS = {
    "work": ["working", "working", "completed"],
    "ask": ["working", "input_required"],
    "ask_twice": ["input_required"],
    "sample": ["input_required"],
    "fail": ["working", "failed"],
    "error": ["working", "completed"],
    "forever": ["working"],
    "stubborn": ["working"],
    "expire": ["working"],
    "vanish": ["working", "gone"],
    "hologram": ["hologram"],
    "crooked": ["working", "completed"],
    "reuse": ["working", "completed"],
    "early": ["input_required"],
    "noid": ["working"],
    "pushed": ["working"],
    "progress": ["working", "completed"],
}
"""By tool: the states of its task, one for each `tasks/get`; the last one stays."""


def option(name, default=""):
    """The value of an option of the command line."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


class TaskServer(RawServer):
    """The tools `work`, `ask`, … become tasks. `plain` does not, `die` ends the process."""

    def __init__(self, modern):
        super().__init__(modern)
        self.state = option("--state")
        self.poll = int(option("--poll", "250"))
        self.steps = int(option("--steps", "1"))
        self.tasks = json.load(open(self.state)) if self.state and os.path.exists(self.state) else {}
        self.results = {}
        self.tools = [
            {**tool(name, f"Becomes a task: {name}.", text=("string", "Echoed")), "execution": {"taskSupport": support}}
            for name in PLANS
            for support in ["optional" if name == "work" else "required"]
        ]
        self.tools += [tool("plain", "Is no task."), tool("die", "Ends the server.")]

    def legacy_methods(self):
        more = {
            "tasks/get": self.get,
            "tasks/cancel": self.cancel,
            "tasks/list": lambda params: {"tasks": [self.shape(task) for task in self.tasks.values()]},
        }
        return {**super().legacy_methods(), **more}

    def modern_methods(self, request):
        return {
            **super().modern_methods(request),
            "tasks/get": self.get,
            "tasks/cancel": self.cancel,
            "tasks/update": self.update,
        }

    def result(self, request, method, params):
        if method == "tasks/result" and not self.modern:
            return self.payload(request, params)
        return super().result(request, method, params)

    # ------------------------------------------------------------- creation

    def call(self, request, params):
        name = params.get("name", "")
        if name == "die":
            os._exit(1)
        declared = params.get("_meta", {}).get(META + "clientCapabilities", {}).get("extensions", {})
        wanted = META + "tasks" in declared if self.modern else "task" in params
        if name == "plain":
            return text_result("plain task" if wanted and not self.modern else "plain")
        if not wanted:
            if name == "work":
                return text_result("at once")
            raise Refusal(-32601, "This tool must be called as a task")
        task = {
            "id": "same" if name == "reuse" else f"task-{len(self.tasks) + 1}-{os.getpid()}",
            "plan": PLANS[name][:1] * self.steps + PLANS[name][1:],
            "name": name,
            "asked": 0,
            "text": params.get("arguments", {}).get("text", ""),
            "ttl": params.get("task", {}).get("ttl", 60_000),
            "answers": {},
            "token": params.get("_meta", {}).get("progressToken"),
        }
        self.tasks[task["id"]] = task
        if name == "expire":
            task["ttl"] = 300
        self.keep()
        shown = self.shape({**task, "plan": ["working"]})
        if name == "noid":
            del shown["taskId"]
        self.answer(request, {"resultType": "task", **shown} if self.modern else {"task": shown})
        if name == "pushed" and not self.modern:
            task["plan"] = ["completed"]
            self.notify("notifications/tasks/status", **self.shape(task))
        return None

    def listen(self, request, params):
        super().listen(request, params)
        meta = {META + "subscriptionId": request["id"]}
        for task in map(self.tasks.get, params.get("notifications", {}).get("taskIds", [])):
            task["plan"] = ["completed"]
            self.notify("notifications/tasks", **self.shape(task), **self.inlined(task), _meta=meta)

    def keep(self):
        if self.state:
            with open(self.state, "w") as file:
                json.dump(self.tasks, file)

    # --------------------------------------------------------------- states

    def status(self, task):
        return task["plan"][0]

    def shape(self, task):
        ttl, poll = ("ttlMs", "pollIntervalMs") if self.modern else ("ttl", "pollInterval")
        shown = {"taskId": task["id"], "status": self.status(task), "createdAt": CREATED, "lastUpdatedAt": CREATED}
        shown |= {ttl: task["ttl"], poll: 30_000 if task["name"] == "pushed" else self.poll}
        shown["statusMessage"] = f"step {task['asked']} of {task['name']}"
        if task["name"] == "crooked":
            shown |= {ttl: "soon", poll: -5, "statusMessage": ["no", "text"], "createdAt": 7}
        return shown

    def known(self, params):
        task = self.tasks.get(params.get("taskId"))
        if task is None or self.status(task) == "gone":
            raise Refusal(-32602, "Failed to retrieve task: Task not found")
        return task

    def get(self, params):
        task = self.known(params)
        task["asked"] += 1
        if len(task["plan"]) > 1:
            task["plan"].pop(0)
            self.keep()
        if task["name"] == "progress" and task["token"] is not None:
            self.notify("notifications/progress", progressToken=task["token"], progress=1, total=2, message="half way")
        task = self.known(params)
        if self.status(task) in ENDED:
            self.release(task)
        return {**self.shape(task), **(self.inlined(task) if self.modern else {})}

    def inlined(self, task):
        """The further members of an extension task."""
        status = self.status(task)
        if status == "input_required":
            open_keys = [key for key in self.keys(task) if key not in task["answers"]]
            asked = SAMPLE if task["name"] == "sample" else ASK
            return {"inputRequests": {key: copy.deepcopy(asked) for key in open_keys}}
        if status == "completed":
            return {"result": self.outcome(task)}
        error = {"code": -32603, "message": "It broke", "data": {"why": "tests"}}
        return {"error": error} if status == "failed" else {}

    def keys(self, task):
        return ["first", "second"] if task["name"] == "ask_twice" else ["who"]

    def outcome(self, task):
        text = json.dumps(task["answers"]) if task["answers"] else f"{task['name']} is done {task['text']}".strip()
        failed = {"isError": True} if task["name"] == "error" else {}
        return {**text_result(text), **failed}

    def cancel(self, params):
        task = self.known(params)
        if task["name"] == "stubborn":
            raise Refusal(-32603, "Not now")
        task["plan"] = ["cancelled"]
        self.keep()
        self.release(task)
        return {} if self.modern else self.shape(task)

    def update(self, params):
        task = self.known(params)
        task["answers"] |= params["inputResponses"]
        if all(key in task["answers"] for key in self.keys(task)):
            task["plan"] = ["working", "completed"]
            self.keep()
        return {}

    # ------------------------------------------------- results of core tasks

    def payload(self, request, params):
        """`tasks/result`: ask the task's questions; the answer comes when the task has ended."""
        task = self.known(params)
        if task["name"] == "early":
            return text_result("too early")
        self.results.setdefault(task["id"], []).append(request)
        if self.status(task) == "input_required" and not task["answers"]:
            for key in self.keys(task):
                body = copy.deepcopy(ASK)
                body["params"]["_meta"] = {META + "related-task": {"taskId": task["id"]}}
                self.asked[f"{task['id']}:{key}"] = task
                self.send({"jsonrpc": "2.0", "id": f"{task['id']}:{key}", **body})
        if self.status(task) in ENDED:
            self.release(task)
        return None

    def on_response(self, message):
        task = self.asked.pop(message["id"], None)
        if task is not None:
            answer = message.get("result", message.get("error"))
            task["answers"][message["id"].split(":")[1]] = answer
            if answer.get("_meta") != {META + "related-task": {"taskId": task["id"]}}:
                task["answers"]["wrong"] = "the answer does not say to which task it belongs"
            if all(key in task["answers"] for key in self.keys(task)):
                task["plan"] = ["working", "completed"]
                self.keep()

    def release(self, task):
        """Answer the requests that wait for the result."""
        for request in self.results.pop(task["id"], []):
            if self.status(task) == "completed":
                related = {META + "related-task": {"taskId": task["id"]}}
                self.answer(request, {**self.outcome(task), "_meta": related})
            else:
                self.refuse(request, -32603, "It broke", {"why": "tests"})


def main():
    """Declare tasks, and serve."""
    modern = "--modern" in sys.argv
    if modern:
        raw_server.CAPABILITIES["extensions"] = {META + "tasks": {}}
    else:
        cancel = {} if "--no-cancel" in sys.argv else {"cancel": {}}
        raw_server.CAPABILITIES["tasks"] = {"list": {}, **cancel, "requests": {"tools": {"call": {}}}}
    TaskServer(modern).run()


if __name__ == "__main__":
    main()

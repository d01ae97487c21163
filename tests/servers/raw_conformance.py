"""A raw server of 2026-07-28 with all that the official conformance suite needs; standard library only."""

from __future__ import annotations

import json
import time

from raw_server import META, RawServer, Refusal, text_result, tool

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": SOUND, "mimeType": "audio/wav"}
CREATED = "2026-11-21T12:00:00Z"
STATE = "state-of-the-raw-server"


def text(value):
    return {"type": "text", "text": value}


def embedded(uri, body="An embedded resource."):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": "text/plain", "text": body}}


def form(message, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def sampling(prompt):
    messages = [{"role": "user", "content": text(prompt)}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 100}}


STRING, ROOTS = {"type": "string"}, {"method": "roots/list", "params": {}}
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
TITLED = [{"const": f"value{number}", "title": f"Choice {number}"} for number in (1, 2, 3)]
PLAIN = ["option1", "option2", "option3"]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": PLAIN},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": PLAIN}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}
CONTENTS = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [AUDIO],
    "test_embedded_resource": [embedded("test://embedded-resource")],
    "test_multiple_content_types": [text("Several:"), IMAGE, embedded("test://mixed-content-resource")],
    "test_x_mcp_header": [text("The headers fit.")],
    "json_schema_2020_12_tool": [text("Done.")],
}
ASKS = {
    "test_sampling": {"answer": sampling("Test prompt")},
    "test_missing_capability": {"answer": sampling("Needed")},
    "test_elicitation": {"answer": form("Who are you?", username=STRING, email=STRING)},
    "test_elicitation_sep1034_defaults": {"answer": form("Please fill it in.", **DEFAULTS)},
    "test_elicitation_sep1330_enums": {"answer": form("Please choose.", **ENUMS)},
    "test_streaming_elicitation": {"answer": form("Go on?", ok={"type": "boolean"})},
    "test_input_required_result_elicitation": {"user_name": form("What is your name?", name=STRING)},
    "test_input_required_result_sampling": {"capital": sampling("What is the capital of France?")},
    "test_input_required_result_list_roots": {"client_roots": ROOTS},
    "test_input_required_result_request_state": {"confirm": form("Please confirm", ok={"type": "boolean"})},
    "test_input_required_result_tampered_state": {"confirm": form("Please confirm", ok={"type": "boolean"})},
    "test_input_required_result_capabilities": {"sampled": sampling("Hello")},
    "test_input_required_result_multiple_inputs": {
        "user_name": form("What is your name?", name=STRING), "greeting": sampling("Greet"), "client_roots": ROOTS,
    },
    "test_input_required_result_prompt": {"user_context": form("What context?", context=STRING)},
}  # fmt: skip
STEPS = [form("Step 1: What is your name?", name=STRING), form("Step 2: Which color?", color=STRING)]
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": STRING, "city": STRING}}},
    "properties": {
        "name": STRING, "address": {"$ref": "#/$defs/address"}, "phone": STRING, "email": STRING,
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}  # fmt: skip
OTHERS = (
    "test_tool_with_logging", "test_logging_tool", "test_tool_with_progress", "test_error_handling",
    "test_trigger_tool_change", "test_trigger_prompt_change", "test_input_required_result_multi_round",
    "test_one_key_for_two_questions",
)  # fmt: skip
CONFIRM = {"confirmation": form("Delete it?", confirm={"type": "boolean"})}
JOBS = {
    "slow_compute": {}, "failing_job": {}, "protocol_error_job": {}, "confirm_delete": CONFIRM,
    "multi_input": {"first": form("First?", name=STRING), "second": form("Second?", name=STRING)},
    "test_tool_with_task": {},
}  # fmt: skip
"""By tool that becomes a task: the questions of the task."""
PROMPTS = {
    "test_simple_prompt": (), "test_prompt_with_arguments": ("arg1", "arg2"), "test_prompt_with_image": (),
    "test_prompt_with_embedded_resource": ("resourceUri",), "test_input_required_result_prompt": (),
}  # fmt: skip


class ConformanceServer(RawServer):
    """Answers as the scenarios of the suite require."""

    def __init__(self):
        super().__init__(modern=True)
        self.streams = {}
        self.added = {"tools": 0, "prompts": 0}
        self.jobs = {}
        names = (*CONTENTS, *(name for name in ASKS if "prompt" not in name), *OTHERS, *JOBS, "greet")
        self.tools = [tool(name, f"Does {name}.", annotations={"readOnlyHint": True}) for name in names]
        for one in self.tools:
            if one["name"] == "json_schema_2020_12_tool":
                one["inputSchema"] = SCHEMA
            elif one["name"] == "test_x_mcp_header":
                one["inputSchema"]["properties"] = {"region": {"type": "string", "x-mcp-header": "Region"}}

    def list_tools(self, params):
        return {"tools": [*self.tools, *(tool(f"added_{n}", "New.") for n in range(self.added["tools"]))]}

    def result(self, request, method, params):
        if method == "server/discover":
            found = super().result(request, method, params)
            return {**found, "capabilities": {**found["capabilities"], "extensions": {META + "tasks": {}}}}
        if method.startswith("tasks/"):
            return self.job(method, params)
        if method == "resources/list":
            names = ("static-text", "static-binary", "watched-resource")
            return {"resources": [{"uri": f"test://{name}", "name": name} for name in names]}
        if method == "resources/templates/list":
            return {"resourceTemplates": [{"uriTemplate": "test://template/{id}/data", "name": "template"}]}
        if method == "resources/read":
            uri = params["uri"]
            binary = {"uri": uri, "mimeType": "image/png", "blob": PIXEL}
            return {
                "contents": [
                    binary if "binary" in uri else {"uri": uri, "mimeType": "text/plain", "text": f"This is {uri}."}
                ]
            }
        if method == "prompts/list":
            added = [{"name": f"added_{number}", "description": "New."} for number in range(self.added["prompts"])]
            known = [
                {
                    "name": name,
                    "description": "One.",
                    "arguments": [{"name": one, "required": True} for one in arguments],
                }
                for name, arguments in PROMPTS.items()
            ]
            return {"prompts": [*known, *added]}
        return super().result(request, method, params)

    def listen(self, request, params):
        super().listen(request, params)
        self.streams[request["id"]] = params.get("notifications", {})

    def get_prompt(self, params):
        name, given = params["name"], params.get("arguments", {})
        if name in ASKS and (asked := self.asks(name, params)):
            return asked
        parts = [text(f"{name}: {json.dumps(given)}")]
        parts += [IMAGE] * (name == "test_prompt_with_image")
        parts += [embedded(given["resourceUri"])] if "resourceUri" in given else []
        return {"messages": [{"role": "user", "content": part} for part in parts]}

    def asks(self, name, params, questions=None):
        """`input_required` until all questions are answered; the client must return the state unchanged."""
        answers, questions = params.get("inputResponses") or {}, questions or ASKS[name]
        if answers and params.get("requestState") != STATE:
            raise Refusal(-32602, "The state is not ours")
        missing = {key: one for key, one in questions.items() if key not in answers}
        return {"resultType": "input_required", "inputRequests": missing, "requestState": STATE} if missing else None

    def call(self, request, params):
        name, meta = params["name"], params.get("_meta", {})
        if name in CONTENTS:
            return {"content": CONTENTS[name]}
        if name in ASKS:
            return self.asks(name, params) or text_result(f"state-ok {json.dumps(params.get('inputResponses'))}")
        if name == "greet":
            return text_result(f"Hello, {params['arguments'].get('name')}!")
        if name in JOBS:
            return self.begin(name, params)
        if name == "test_error_handling":
            return {**text_result("This tool intentionally returns an error for testing"), "isError": True}
        if name == "test_input_required_result_multi_round":
            return self.rounds(params, ("step1", "step2"))
        if name == "test_one_key_for_two_questions":
            return self.rounds(params, ("step", "step"))
        if name.startswith("test_trigger_"):
            self.change("tools" if "tool_change" in name else "prompts")
        for step in range(3):
            if "progress" in name and "progressToken" in meta:
                self.notify(
                    "notifications/progress", progressToken=meta["progressToken"], progress=50 * step, total=100
                )
            if "logging" in name and META + "logLevel" in meta:
                self.notify("notifications/message", level="info", data=f"step {step}")
            time.sleep(0.05)
        return text_result(f"{name} is done.")

    def begin(self, name, params):
        """Make a call a task, unless it is done at once."""
        seconds = params["arguments"].get("seconds", 0.3)
        if name == "test_tool_with_task" and (asked := self.asks("test_input_required_result_elicitation", params)):
            return asked
        if not seconds:
            return text_result("Done at once.")
        task = {"name": name, "id": f"job-{len(self.jobs)}", "until": time.monotonic() + seconds, "answers": {}}
        task["done"] = f"Done. {json.dumps(params.get('inputResponses'))}"
        self.jobs[task["id"]] = task
        return {"resultType": "task", **self.shape(task)}

    def job(self, method, params):
        """`tasks/get`, `tasks/update`, `tasks/cancel`."""
        if (task := self.jobs.get(params["taskId"])) is None:
            raise Refusal(-32602, "Task not found")
        if method == "tasks/get":
            return self.shape(task)
        if method == "tasks/update":
            task["answers"] |= params["inputResponses"]
        elif self.shape(task)["status"] in ("working", "input_required"):
            task["cancelled"] = True
        return {}

    def shape(self, task):
        """A task as it crosses the wire."""
        name, missing = (
            task["name"],
            {key: one for key, one in JOBS[task["name"]].items() if key not in task["answers"]},
        )
        fixed = {"taskId": task["id"], "createdAt": CREATED, "lastUpdatedAt": CREATED, "ttlMs": 600_000}
        fixed |= {"pollIntervalMs": 100}
        if task.get("cancelled"):
            return {**fixed, "status": "cancelled"}
        if missing:
            return {**fixed, "status": "input_required", "inputRequests": missing}
        if time.monotonic() < task["until"]:
            return {**fixed, "status": "working"}
        if name == "protocol_error_job":
            return {**fixed, "status": "failed", "error": {"code": -32603, "message": "It broke."}}
        return {
            **fixed,
            "status": "completed",
            "result": {**text_result(task["done"]), "isError": name == "failing_job"},
        }

    def rounds(self, params, keys):
        """Two questions, one after the other."""
        done, answers = int((params.get("requestState") or "0")[-1]), params.get("inputResponses") or {}
        done += keys[done] in answers
        if done == len(STEPS):
            return text_result(f"All steps are done: {json.dumps(answers)}")
        asked = {keys[done]: STEPS[done]}
        return {"resultType": "input_required", "inputRequests": asked, "requestState": f"round {done}"}

    def change(self, kind):
        """Add an item to a list, and notify listeners."""
        self.added[kind] += 1
        for stream, wanted in self.streams.items():
            if wanted.get(f"{kind}ListChanged"):
                self.notify(f"notifications/{kind}/list_changed", _meta={META + "subscriptionId": stream})


if __name__ == "__main__":
    ConformanceServer().run()

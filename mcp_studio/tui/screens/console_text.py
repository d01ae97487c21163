"""Texts of the console: frames to start from, what a text will be sent as, frames of the trace to edit. Pure."""

from __future__ import annotations

from typing import NamedTuple, cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, printable
from mcp_studio.protocol.events import NONE, request
from mcp_studio.protocol.message import Malformed, Notification, Request, parse
from mcp_studio.protocol.versions import LATEST_HANDSHAKE
from mcp_studio.trace.lint.methods import CLIENT_REQUESTS, Availability
from mcp_studio.trace.message import WireMessage

_HIDDEN = "‹redacted›"
_PARAMS: dict[str, Json] = {
    "initialize": {
        "protocolVersion": LATEST_HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"},
    },
    "tools/call": {"name": "", "arguments": {}},
    "prompts/get": {"name": "", "arguments": {}},
    "resources/read": {"uri": ""},
    "resources/subscribe": {"uri": ""},
    "resources/unsubscribe": {"uri": ""},
    "completion/complete": {"ref": {"type": "ref/prompt", "name": ""}, "argument": {"name": "", "value": ""}},
    "logging/setLevel": {"level": "debug"},
    "subscriptions/listen": {"notifications": {"toolsListChanged": True}},
    "tasks/get": {"taskId": ""},
    "tasks/result": {"taskId": ""},
    "tasks/cancel": {"taskId": ""},
    "tasks/update": {"taskId": "", "inputResponses": {}},
    "notifications/cancelled": {"requestId": 0, "reason": "by hand"},
    "notifications/progress": {"progressToken": 0, "progress": 1},
}  # fmt: skip

_TOLD = {
    "notifications/initialized": Availability(last=LATEST_HANDSHAKE),
    "notifications/cancelled": Availability(),
    "notifications/progress": Availability(last=LATEST_HANDSHAKE),
    "notifications/roots/list_changed": Availability(last=LATEST_HANDSHAKE),
    "notifications/tasks/status": Availability(LATEST_HANDSHAKE, LATEST_HANDSHAKE),
}
"""What a client may say (specification, schema, ClientNotification)."""


class Template(NamedTuple):
    """Something to start from."""

    name: str
    kind: str
    """`request`, `notification`, `answer` or `broken`."""


def templates(version: str) -> list[Template]:
    """What there is to start from in a version; in all of them where none is agreed on."""
    found = [Template(name, "request") for name, span in CLIENT_REQUESTS.items() if not version or span.has(version)]
    found.sort()
    told = [Template(name, "notification") for name, span in _TOLD.items() if not version or span.has(version)]
    return [
        *found, *told, Template("result", "answer"), Template("error", "answer"),
        Template("not JSON", "broken"), Template("id null", "broken"), Template("no method", "broken"),
        Template("batch", "broken"),
    ]  # fmt: skip


def text_of(template: Template, identity: int, stamp: dict[str, Json]) -> str:
    """The text to start from."""
    params = _PARAMS.get(template.name, NONE)
    head: dict[str, Json] = {"jsonrpc": "2.0", "id": identity}
    match template.kind, template.name:
        case "request", name:
            return printable(request(name, params, identity=identity, meta=stamp))
        case "notification", name:
            return printable(request(name, params))
        case _, "result":
            return printable({**head, "result": {}})
        case _, "error":
            return printable({**head, "error": {"code": -32603, "message": "by hand"}})
        case _, "id null":
            return printable(request("ping", identity=None, meta=stamp))
        case _, "no method":
            return printable(head)
        case _, "batch":
            both = [request("ping", identity=f"{identity}{letter}", meta=stamp) for letter in "ab"]
            return printable(both)
        case _:
            return f'{{"jsonrpc": "2.0", "id": {identity}, "method": '


def frame_of(text: str) -> tuple[bytes, bool]:
    """What is sent for a text, and whether its newlines have to go through.

    To JSON a newline is white space, and on standard input the end of the frame: there JSON goes on one line. What is
    no JSON is sent as it was typed.
    """
    try:
        loads(text)
    except (JsonProblem, LimitExceeded):
        return text.encode("utf-8", "surrogatepass"), "\n" in text
    return " ".join(line.strip() for line in text.splitlines()).encode("utf-8", "surrogatepass"), False


def verdict(text: str) -> tuple[bool, str]:
    """Whether a text is a message, and what it is, in words."""
    if not text.strip():
        return False, "empty"
    try:
        loads(text)
    except JsonProblem as problem:
        return False, f"no JSON: {problem}; it is sent as it stands"
    except LimitExceeded as problem:
        return False, problem.message
    parsed = parse(text.encode("utf-8", "surrogatepass"))
    first = parsed.messages[0]
    if parsed.batch:
        return True, f"a batch of {len(parsed.messages)}"
    if isinstance(first, Malformed):
        return False, f"no message: {first.reason.partition(';')[0]}; it is sent as it stands"
    hidden = f"; {_HIDDEN} stands for a secret that the trace does not keep" if _HIDDEN in text else ""
    if isinstance(first, Request):
        return not hidden, f"request {first.method}, id {printable(first.id)}{hidden}"
    if isinstance(first, Notification):
        return not hidden, f"notification {first.method}{hidden}"
    return not hidden, f"answer to {printable(first.id)}{hidden}"


def text_of_entry(entry: WireMessage) -> str:
    """The text to edit for a message of the trace: what we sent, or the answer to what the server asks."""
    if entry.direction == "in" and entry.span is not None and entry.kind != "request":
        entry = entry.span.request
    if entry.direction == "in" and entry.kind == "request":
        return printable({"jsonrpc": "2.0", "id": entry.id, "result": {}})
    body = entry.body.decode("utf-8", "replace")
    try:
        return printable(loads(body, exact=True))
    except (JsonProblem, LimitExceeded):
        return body


def sendable(entry: WireMessage) -> bool:
    """Whether an entry is a message, or something like one."""
    return entry.kind in ("request", "notification", "result", "error", "invalid")


def history_of(draft: Json) -> list[str]:
    """The frames that were sent before, from a draft."""
    kept = cast("dict[str, Json]", draft).get("sent") if isinstance(draft, dict) else None
    return [text for text in cast("list[Json]", kept) if isinstance(text, str)] if isinstance(kept, list) else []

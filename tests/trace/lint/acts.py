"""What the cases do: short scenes of one connection, each giving the rules that its last message breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mcp_studio.trace.lint.examiner import Job, check
from tests.trace.lint.kit import META, MODERN, Talk, text, tool

Do = Callable[[], list[str]]


class Case(NamedTuple):
    """A rule, what breaks it, and what does not; each gives the rules that were broken."""

    rule: str
    wrong: Do
    right: Do


def old(**more: Any) -> Talk:
    return Talk(close=True, **more)


def new(**more: Any) -> Talk:
    return Talk(MODERN, close=True, **more)


def negotiated(version: str) -> list[str]:
    """A handshake that settles on this version."""
    return [finding.rule for finding in Talk(version).store[1].findings]


def refused(talk: Talk, code: Any) -> list[str]:
    """A call that is refused with this code."""
    talk.ask("tools/call", {"name": "t"})
    return talk.fail(code)


def envelope(**changes: Any) -> dict[str, Any]:
    """A notification with some members changed; those that are None are left out."""
    whole = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}, **changes}
    return {key: value for key, value in whole.items() if value is not None}


def progress(*steps: Any, token: bool = True, end: bool = False, **last: Any) -> list[str]:
    """A call with these steps of progress; the rules that the last one breaks."""
    talk = old()
    talk.ask("tools/call", {"name": "t"}, meta={"progressToken": 2} if token else None)
    if end:
        talk.answer(text())
    found: list[str] = []
    for at, step in enumerate(steps):
        more = last if at == len(steps) - 1 else {}
        found = talk.notice("notifications/progress", **{"progressToken": 2, "progress": step, **more})
    return found


def listening(acknowledge: bool = True, identity: Any = 2, **filter: Any) -> list[str]:
    """A subscription, and news of the tools on it."""
    talk = new()
    talk.ask("subscriptions/listen", {"notifications": filter or {"toolsListChanged": True}})
    named = {"_meta": {META + "subscriptionId": identity}} if identity is not None else {}
    if acknowledge:
        talk.notice("notifications/subscriptions/acknowledged", notifications={}, _meta={META + "subscriptionId": 2})
    return talk.notice("notifications/tools/list_changed", **named)


def twice(first: Any, second: Any, *, method: str = "tools/call") -> list[str]:
    """One request, two messages."""
    talk = old()
    talk.ask(method, {"name": "t"})
    talk.hear(first)
    return talk.hear(second)


def update(subscribe: bool) -> list[str]:
    talk = old()
    if subscribe:
        talk.called("resources/subscribe", {}, {"uri": "a://b"})
    return talk.notice("notifications/resources/updated", uri="a://b")


def logs(asked: bool) -> list[str]:
    talk = new()
    talk.ask("tools/call", {"name": "t"}, meta={META + "logLevel": "info"} if asked else None)
    return talk.notice("notifications/message", level="info", data="x")


def input_required(method: str, **result: Any) -> list[str]:
    return new().called(method, {"resultType": "input_required", **result}, {"name": "t"})


def headers(*sent: tuple[str, str]) -> list[str]:
    """A call of the stateless era over HTTP with these headers."""
    talk = new()
    talk.post(5, *sent)
    return talk.ask("tools/call", {"name": "t"}, exchange=5, target="t")


def http(status: int, media: str = "", *, told: bool = False, modern: bool = False, **more: str) -> list[str]:
    """A request, or a notification, over HTTP, and the head of the response."""
    talk = new() if modern else old()
    talk.post(5)
    if told:
        talk.tell("notifications/initialized", 5)
    else:
        talk.ask("initialize", {"protocolVersion": "2025-11-25"}, exchange=5)
    lines = [("Content-Type", media)] if media else []
    return talk.status(5, status, *lines, *((name.replace("_", "-"), value) for name, value in more.items()))


def unknown_method(status: int) -> list[str]:
    talk = new()
    talk.post(5)
    talk.ask("tools/list", exchange=5)
    talk.status(5, status, ("Content-Type", "application/json"))
    return talk.fail(-32601, 5)


def unread_event(event: bytes) -> list[str]:
    """An event of a stream that nobody takes."""
    talk = old()
    talk.post(5)
    talk.ask("tools/list", exchange=5)
    talk.status(5, 200, ("Content-Type", "text/event-stream"))
    talk.tap.received(event, 5)
    entry = talk.newest
    talk.tap.ended()
    return [finding.rule for finding in entry.findings]


def stray(line: bytes) -> list[str]:
    talk = old()
    (talk.tap.stderr if line.startswith(b"#") else talk.tap.stray)(line)
    return talk.rules()


def judged(*problems: tuple[str, str]) -> list[str]:
    talk = old()
    talk.ask("tools/call", {"name": "t"})
    talk.answer(text(structuredContent={"a": 1}))
    talk.tap.judged(2, problems)
    return talk.rules()


def structured(version: str, value: Any, *blocks: Any) -> list[str]:
    return Talk(version, close=True).called(
        "tools/call", {"content": list(blocks), "structuredContent": value}, {"name": "t"}
    )


def reply(**members: Any) -> list[str]:
    """An answer to a request with these members."""
    talk = old()
    talk.ask("tools/call", {"name": "t"})
    return talk.hear({"jsonrpc": "2.0", "id": 2, **members})


def schema(**members: Any) -> list[str]:
    return old().called("tools/list", tool(**members))


def typed(body: bytes) -> list[str]:
    return [spot.rule for spot in check(Job("in", "result", "tools/call", "2025-11-25", body))]


BLOCK = {"type": "text", "text": "x"}
GOOD = {"type": "object"}
HEADER = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}
BAD_HEADER = {"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}}
RIGHT = (("Mcp-Method", "tools/call"), ("Mcp-Name", "t"), ("MCP-Protocol-Version", MODERN))
DEEP = b"[" * 600 + b"]" * 600
FORM = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {**GOOD, "properties": {}}}}
CACHED = {"ttlMs": 0, "cacheScope": "private"}

"""Requests of servers in words: kinds, ages, deadlines, rules. Pure functions."""

from __future__ import annotations

import math
import time

from mcp_studio.config.model import AnswerRule
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import InputRequest
from mcp_studio.urls import judge

KINDS = {
    "elicitation": "elicitation",
    "url": "URL elicitation",
    "sampling": "sampling request",
    "approval": "approval",
    "any": "request",
    "sign_in": "sign-in",
}
"""The names of the kinds of requests in lists."""


_REQUESTS = {
    "elicitation": "requests input",
    "url": "requests input on a web page",
    "sampling": "requests an LLM completion",
    "approval": "needs approval",
    "sign_in": "requires a sign-in",
}


def request_words(request: InputRequest) -> str:
    """Who requests what: `tickets requests input`, `tickets.delete needs approval`. Foreign text."""
    who = request.subject if request.kind == "approval" else request.server
    return f"{who} {_REQUESTS[request.kind]}"


def time_left(request: InputRequest, now: float | None = None) -> str:
    """The time that is left to answer: `14:48 left`; empty if there is no deadline."""
    if not request.until:
        return ""
    seconds = max(0, math.ceil(request.until - (time.monotonic() if now is None else now)))
    return f"{seconds // 60:02}:{seconds % 60:02} left"


def summary(request: InputRequest) -> str:
    """A request in one line of safe text."""
    if request.kind == "url":
        return safe(f"{judge(request.url).host or request.url}  {request.message}", 300)
    if request.kind == "sampling":
        return safe(_last_words(request.params), 300) or "an LLM completion"
    if request.kind == "sign_in":
        return safe(" ".join(("sign in:", request.message)), 300)
    if request.kind == "approval":
        return safe(f"run {request.subject}? {', '.join(request.reasons)}", 300)
    return safe(request.message, 300)


def _last_words(params: dict[str, Json]) -> str:
    for message in reversed(items_of(params.get("messages"))):
        content = mapping(message).get("content")
        for block in content if isinstance(content, list) else [content]:
            text = mapping(block).get("text")
            if isinstance(text, str) and text.strip():
                return text.strip()
    return ""


def rule_line(rule: AnswerRule) -> str:
    """A rule in one line: its action, and the requests that it matches."""
    parts = [f"{rule.action} every {KINDS[rule.kind]} of {rule.server if rule.server != '*' else 'any server'}"]
    if rule.tool != "*":
        parts.append(f"while {rule.tool} waits")
    if rule.message != "*":
        parts.append(f"saying {rule.message}")
    if rule.schema:
        parts.append("with this very form")
    if rule.wait:
        parts.append(f"after {rule.wait:g} s")
    return safe(", ".join(parts), 300)

"""What a small message says, in a few words beside its row."""

from __future__ import annotations

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping, printable
from mcp_studio.protocol.core import progress_text, read_progress

READ = 4_096
"""Bytes of a body that is looked into."""
_LONGEST = 200
TELLING = ("notification", "error")
"""Kinds of messages whose words are worth a place in the row."""


def said(kind: str, method: str, body: bytes) -> str:
    """What a notification or an error says: foreign text, not made safe; empty where that is not known."""
    if kind not in TELLING or len(body) > READ:
        return ""
    try:
        message = mapping(loads(body))
    except (JsonProblem, LimitExceeded):
        return ""
    if kind == "error":
        error = mapping(message.get("error"))
        return " ".join(_text(error[name]) for name in ("code", "message") if name in error)
    params = mapping(message.get("params"))
    match method:
        case "notifications/message":
            return " ".join(_text(params[name]) for name in ("level", "data") if name in params)
        case "notifications/progress":
            known = read_progress(params)
            return f"{progress_text(*known[:2])} {_text(known[2])}".rstrip() if known else ""
        case "notifications/cancelled":
            return f"request {_text(params.get('requestId', ''))} {_text(params.get('reason', ''))}".rstrip()
        case "notifications/resources/updated":
            return _text(params.get("uri", ""))
        case _:
            return ""


def _text(value: Json) -> str:
    text = value if isinstance(value, str) else printable(value, indent=None)
    return " ".join(text[:_LONGEST].split())

"""Entries of frames that somebody wrote, and ids that somebody chose."""

from __future__ import annotations

from collections.abc import Callable

from mcp_studio.protocol.message import Failure, Message, Notification, Parsed, Request, Response
from mcp_studio.protocol.outgoing import RequestId
from mcp_studio.protocol.versions import NAMED
from mcp_studio.trace.message import WireMessage


def mark(entry: WireMessage, parsed: Parsed, label: Callable[[str], str]) -> Message | None:
    """Say on an entry what its frame is; returns the message where there is just one. `label` cleans foreign text."""
    entry.by_hand = True
    message = parsed.messages[0] if len(parsed.messages) == 1 else None
    if isinstance(message, (Request, Notification)):
        entry.kind, entry.method = "notification", label(message.method)
        subject = message.params.get(NAMED.get(message.method, ""))
        entry.target = label(subject) if isinstance(subject, str) else ""
    if isinstance(message, Request):
        entry.kind, entry.id = "request", clean_id(message.id, label)
    elif isinstance(message, (Response, Failure)):
        entry.kind, entry.id = ("result" if isinstance(message, Response) else "error"), clean_id(message.id, label)
    return message


def clean_id(identity: RequestId | None, label: Callable[[str], str]) -> RequestId | None:
    """An id without secrets; the small numbers that most ids are cannot be any."""
    if identity is None or (isinstance(identity, int) and -100_000 < identity < 100_000):
        return identity
    text = label(str(identity))
    return identity if text == str(identity) else text

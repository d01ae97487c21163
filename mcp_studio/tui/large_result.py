"""The large parts of a result as they stand in the message that brought it. Pure functions."""

from __future__ import annotations

import time
from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.protocol.message import LargeObject, Span
from mcp_studio.tui.views.json_text import Decoding

_SLICE = 0.01
"""Seconds."""


def whole(result: Json) -> Span | None:
    """All of a large result; None where it is not large."""
    return result.whole if isinstance(result, LargeObject) else None


def only_text(result: Json) -> Span | None:
    """The large text that is all the content of a result; None where there is more, or it is not large."""
    if not isinstance(result, LargeObject):
        return None
    content = super(LargeObject, result).get("contents" if "contents" in result else "content")
    if not isinstance(content, list) or len(cast("list[Json]", content)) != 1:
        return None
    block = cast("list[Json]", content)[0]
    if not isinstance(block, LargeObject) or not ("uri" in block or block.get("type") == "text"):
        return None
    found = block.span("text")
    return found if found is not None and found.is_string else None


def structured(result: Json) -> Span | None:
    """The structured content of a large result, where that is large itself."""
    return result.span("structuredContent") if isinstance(result, LargeObject) else None


def decoded(text: Span) -> bytes:
    """What a large text says, decoded a piece at a time so that others have their turn; for a thread."""
    reading = Decoding(*text)
    while (found := reading.advance(_SLICE)) is None:
        time.sleep(0)
    return found


def is_json(text: Span) -> bool:
    """Whether a large text begins as JSON does."""
    begin = text.data[text.start + 1 : text.start + 200]
    for white in (b"\\n", b"\\r", b"\\t", b" "):
        begin = begin.replace(white, b"")
    return begin[:1] in (b"{", b"[")

"""One HTTP exchange of signing in as text. Pure."""

from __future__ import annotations

import json

from mcp_studio.auth.model import AuthExchange
from mcp_studio.present import units
from mcp_studio.tui.views.glyphs import glyphs

_LONGEST = 200_000
"""Characters of a body that is set out on several lines; the text of an exchange is bounded anyway."""


def text_of(one: AuthExchange) -> str:
    """The whole exchange; JSON bodies are set out. Foreign."""
    status = f"{one.status}" if one.status else "no answer"
    took = f" after {units.duration(one.ms)}" if one.ms else ""
    return (
        f"{one.purpose}\n\n{glyphs().sent} {one.method} {one.url}\n{_whole(one.request)}\n\n"
        f"{glyphs().received} {status}{took}\n{_whole(one.response)}\n"
    )


def _whole(text: str) -> str:
    head, gap, body = text.replace("\r\n", "\n").partition("\n\n")
    return f"{head}{gap}{set_out(body)}".rstrip() if gap else set_out(head).rstrip()


def set_out(body: str) -> str:
    """A body on lines of its own where it is a JSON object or list, else as it is."""
    if len(body) > _LONGEST or body.lstrip()[:1] not in ("{", "["):
        return body
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return body

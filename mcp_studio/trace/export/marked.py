"""Foreign text in Markdown: it says what it says, and does nothing."""

from __future__ import annotations

import re

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import JsonProblem, loads, pretty
from mcp_studio.safetext import safe

_SIGNS = re.compile(r"[!-/:-@\[-`{-~]")
_SCANNED = 200_000
_BACKTICKS = re.compile("`+")
_TILL = 4_000
_ROWS = 80


def inline(text: object, limit: int = 200) -> str:
    """Text within a line or a table: every sign that Markdown could take for its own is escaped."""
    return _SIGNS.sub(r"\\\g<0>", safe(text, limit))


def code(text: object, limit: int = 200) -> str:
    """Text in the typeface of code, on one line, also within a table."""
    shown = safe(text, limit).replace("|", "\u2502")
    if not shown.strip():
        return ""
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(shown)), default=0))
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def block(body: bytes) -> str:
    """A body in a fence that nothing in it can end; JSON is indented, and what is long is cut."""
    text, kind = body[:_SCANNED].decode("utf-8", "backslashreplace"), "text"
    if len(body) <= _SCANNED and body[:1] in b"{[":
        try:
            text, kind = pretty(loads(text, exact=True)), "json"
        except (JsonProblem, LimitExceeded):
            kind = "text"
    shown = safe(text[:_TILL], _TILL * 12, lines=True)
    rows = shown.split("\n")
    left = len(text) - _TILL
    if left > 0 or len(rows) > _ROWS or len(body) > _SCANNED:
        rows = [*rows[:_ROWS], f"… cut; the whole has {len(body):,} bytes"]
    fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(shown)), default=0))
    return "\n".join((fence + kind, *rows, fence))

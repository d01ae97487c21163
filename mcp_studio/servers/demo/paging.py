"""Lists in pages with opaque cursors (server/utilities/pagination)."""

from __future__ import annotations

import base64
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS


def page(member: str, items: list[dict[str, Any]], cursor: str | None, size: int) -> dict[str, Any]:
    """One page of `items` as a list result whose list is called `member`.

    Raises:
        MCPError: invalid params, when the cursor is not one of ours.
    """
    start = 0 if cursor is None else _decode(cursor, len(items))
    made: dict[str, Any] = {member: items[start : start + size]}
    if start + size < len(items):
        made["nextCursor"] = base64.urlsafe_b64encode(f"after:{start + size}".encode()).decode()
    return made


def _decode(cursor: str, length: int) -> int:
    try:
        word, _, number = base64.urlsafe_b64decode(cursor).decode().partition(":")
        start = int(number)
    except ValueError:
        word, start = "", 0
    if word != "after" or not 0 < start < length:
        raise MCPError(INVALID_PARAMS, f"Unknown cursor: {cursor[:60]}")
    return start

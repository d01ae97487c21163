"""Reading one list to its end: all pages, cursor loops found, bounds kept."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import cast

from mcp_studio.catalog.listing import METHODS
from mcp_studio.catalog.ref import EntryKind
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits

Ask = Callable[[str, dict[str, Json]], Awaitable[Json]]
"""Sends a request and returns its raw result; raises StudioError for everything else."""


@dataclass(slots=True)
class Fetched:
    """The raw items of one list, and why there are not more."""

    items: list[Json] = field(default_factory=list[Json])
    error: str = ""
    capped: str = ""


async def fetch(kind: EntryKind, ask: Ask, limits: Limits) -> Fetched:
    """Ask page after page (specification, server/utilities/pagination); what came before a failure is kept."""
    method, key, _ = METHODS[kind]
    found = Fetched()
    cursor: str | None = None
    seen: set[int] = set()
    until = time.monotonic() + limits.call_total
    for _ in range(limits.pages):
        params: dict[str, Json] = {} if cursor is None else {"cursor": cursor}
        try:
            result = await ask(method, params)
        except StudioError as error:
            found.error = error.message
            return found
        page: dict[str, Json] = cast("dict[str, Json]", result) if isinstance(result, dict) else {}
        items = page.get(key)
        if not isinstance(items, list):
            found.error = f"The answer to {method} has no array {key!r}."
            return found
        room = limits.items - len(found.items)
        found.items += items[:room]
        following = page.get("nextCursor")
        if len(items) > room or (following is not None and len(items) == room):
            found.capped = f"cut at {limits.items} entries (limits.items)"
            return found
        if not isinstance(following, str):
            if following is not None:
                found.error = f"The nextCursor of {method} is not a string."
            return found
        if hash(following) in seen:
            found.error = f"The pages of {method} go round in a circle; each entry is kept as often as it came."
            return found
        if time.monotonic() > until:
            found.error = f"Reading {method} took longer than {limits.call_total:g} s in all (limits.call_total)."
            return found
        seen.add(hash(following))
        cursor = following
    found.capped = f"cut at {limits.pages} pages (limits.pages)"
    return found

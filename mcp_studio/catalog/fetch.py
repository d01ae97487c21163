"""Reading one list: a page at a time, or to its end with cursor loops found and bounds kept."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import field

from mcp_studio.catalog.listing import METHODS
from mcp_studio.catalog.ref import EntryKind
from mcp_studio.errors import ProtocolError, StudioError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.limits import Limits
from mcp_studio.protocol.caching import Hint, hint_of, narrowest
from mcp_studio.record import record

Ask = Callable[[str, dict[str, Json]], Awaitable[Json]]
"""Sends a request and returns its raw result; raises StudioError for everything else."""


@record(frozen=True)
class Page:
    """One page of a list, as it came."""

    cursor: str | None
    """What it was asked for with; None is the first page."""
    items: list[Json]
    following: str | None
    """The cursor of the next page; None is the end. An empty string is a cursor."""
    raw: Json
    hint: Hint | None = None
    ms: float = 0.0
    problem: str = ""
    """What is wrong with the page, though its items can be used."""


@record()
class Fetched:
    """The raw items of one list, and why there are not more."""

    items: list[Json] = field(default_factory=list[Json])
    error: str = ""
    capped: str = ""
    hints: list[Hint | None] = field(default_factory=list["Hint | None"], compare=False)
    """What each page says about keeping it."""

    @property
    def hint(self) -> Hint | None:
        """What the pages together say."""
        return narrowest(self.hints)


async def fetch_page(kind: EntryKind, ask: Ask, cursor: str | None = None) -> Page:
    """Ask for one page of a list; see `page_of`."""
    return await page_of(*METHODS[kind][:2], ask, cursor)


async def page_of(method: str, key: str, ask: Ask, cursor: str | None = None) -> Page:
    """Ask for one page (specification, server/utilities/pagination); a cursor is opaque and sent as it came.

    Raises:
        StudioError: no answer, a refusal, or a result without the array.
    """
    began = time.perf_counter()
    result = await ask(method, {} if cursor is None else {"cursor": cursor})
    ms = (time.perf_counter() - began) * 1000
    page: dict[str, Json] = mapping(result)
    items, following = page.get(key), page.get("nextCursor")
    if not isinstance(items, list):
        raise ProtocolError(f"The answer to {method} has no array {key!r}.")
    problem = ""
    if following is not None and not isinstance(following, str):
        following, problem = None, f"The nextCursor of {method} is not a string."
    return Page(cursor, items, following, result, hint_of(result), ms, problem)


async def fetch(kind: EntryKind, ask: Ask, limits: Limits) -> Fetched:
    """Ask for a whole list; see `fetch_all`."""
    return await fetch_all(*METHODS[kind][:2], ask, limits)


async def fetch_all(method: str, key: str, ask: Ask, limits: Limits) -> Fetched:
    """Ask page after page; what came before a failure is kept."""
    found = Fetched()
    cursor: str | None = None
    seen: set[int] = set()
    for _ in range(limits.pages):
        try:
            page = await page_of(method, key, ask, cursor)
        except StudioError as error:
            found.error = error.message
            return found
        found.hints.append(page.hint)
        room = limits.items - len(found.items)
        found.items += page.items[:room]
        cursor = page.following
        if len(page.items) > room or (cursor is not None and len(page.items) == room):
            found.capped = f"cut at {limits.items} entries (limits.items)"
            return found
        if cursor is None:
            found.error = page.problem
            return found
        if hash(cursor) in seen:
            found.error = f"The pages of {method} go round in a circle; each entry is kept as often as it came."
            return found
        seen.add(hash(cursor))
    found.capped = f"cut at {limits.pages} pages (limits.pages)"
    return found

"""What a search gives: hits with their reasons, and how much was looked at."""

from __future__ import annotations

from typing import NamedTuple

from mcp_studio.catalog.listing import Entry
from mcp_studio.catalog.ref import Ref
from mcp_studio.record import record
from mcp_studio.search.method import Query, Reason


@record(frozen=True)
class Used:
    """How often something was run or opened by a person, and when last."""

    count: int
    last: float
    """Seconds since the epoch."""


class Hit(NamedTuple):
    """One thing that was found."""

    ref: Ref
    score: float
    """The larger the better; comparable within one answer only."""
    reasons: tuple[Reason, ...] = ()
    """Where it matches; empty for what is shown without a question."""
    entry: Entry | None = None
    """What the server listed; None where it came from elsewhere than the catalog."""
    used: Used | None = None


class Found(NamedTuple):
    """The answer to one question."""

    query: Query
    hits: tuple[Hit, ...] = ()
    """The best first."""
    total: int = 0
    """How many there are in all."""
    of: int = 0
    """How many entries were in scope."""
    ms: float = 0.0
    """How long finding took, without waiting for a turn."""
    method: str = ""
    """What served: with `auto` those that it chose, such as `substring+bm25`; `used` for an empty question."""
    note: str = ""
    """What a person should know, in a sentence or two; may be empty."""
    pending: int = 0
    """Entries that were not taken up yet: asking again after `SearchIndex.changed` may find more."""


class MethodInfo(NamedTuple):
    """A way of searching that can be chosen."""

    name: str
    title: str
    """A few words for a person."""
    available: bool = True
    why_not: str = ""
    """Why it cannot be used, in a sentence, with what to do about it."""
    package: str = ""
    """The package that it came with; empty for our own."""

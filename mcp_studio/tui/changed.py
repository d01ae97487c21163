"""How changes of listings and the age of listings are shown: signs with words, so that they survive monochrome."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence

from mcp_studio.catalog.listing import Change, ChangeKind, Listing
from mcp_studio.present import units
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Piece

_KINDS: tuple[ChangeKind, ...] = ("new", "changed", "gone")
_LOOKS: dict[ChangeKind, str] = {"new": "ok", "changed": "warn", "gone": "dim"}
_ROOM = 14
"""Cells beside a name below which the sign stands alone."""


def sign(kind: ChangeKind) -> str:
    """One cell for a kind of change."""
    return {"new": glyphs().new, "changed": glyphs().changed, "gone": glyphs().gone}[kind]


def mark(change: Change, room: int) -> Piece:
    """What stands at the right of a row."""
    word = f" {change.kind}" if room >= _ROOM else ""
    return f" {sign(change.kind)}{word}", _LOOKS[change.kind]


def summary(changes: Iterable[Change], room: int) -> str:
    """`2 new, 1 gone`, or with signs alone where there is little room; empty where nothing has changed."""
    counts: Counter[ChangeKind] = Counter(change.kind for change in changes)
    known: list[tuple[ChangeKind, int]] = [(kind, counts[kind]) for kind in _KINDS if counts[kind]]
    words = ", ".join(f"{count:,} {kind}" for kind, count in known)
    return words if len(words) <= room else " ".join(f"{sign(kind)}{count}" for kind, count in known)


def freshness(listing: Listing, now: float | None = None) -> str:
    """When a list was read, and for how long its server calls it fresh (2026-07-28); empty before it was read."""
    if not listing.read_at:
        return ""
    now = time.monotonic() if now is None else now
    age = now - listing.read_at
    words = [f"read {units.seconds(age)} ago"]
    if listing.hint is not None:
        left = listing.hint.ttl - age
        if not listing.hint.ttl:
            words.append("not to be kept (ttl 0)")
        elif left > 0:
            words.append(f"fresh for {units.seconds(left)}")
        else:
            words.append(f"stale since {units.seconds(-left)}, read again when it is looked at")
        words.append(listing.hint.scope)
        words += [listing.hint.problem] if listing.hint.problem else []
    return ", ".join(words)


def briefly(listings: Sequence[Listing], now: float | None = None) -> str:
    """The same for a border: the list that is stale first decides; empty where no server says anything."""
    now = time.monotonic() if now is None else now
    left = [one.hint.ttl - (now - one.read_at) for one in listings if one.hint and one.hint.ttl and one.read_at]
    if not left:
        return ""
    least = min(left)
    return f"fresh {units.seconds(least)}" if least > 0 else f"{glyphs().half} stale"

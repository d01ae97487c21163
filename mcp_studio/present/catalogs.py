"""Lists of what servers offer, in words: why one is empty, what of it has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mcp_studio.catalog.listing import Change, ChangeKind, EntryKind
from mcp_studio.present import connections
from mcp_studio.safetext import safe

if TYPE_CHECKING:
    from mcp_studio.studio import Studio

_KINDS: tuple[ChangeKind, ...] = ("new", "changed", "gone")
_SHOWN = 8


def nothing(studio: Studio, kind: EntryKind, add: str) -> str:
    """What an empty list of a kind says: why it is empty, and what to do; `add` is the key that adds a server."""
    names = studio.manager.names()
    if not names:
        return f"No servers yet. {add} adds one."
    lines: list[str] = []
    for name in names:
        status, listing = studio.manager.status(name), studio.catalog.listing(name, kind)
        if listing.error:
            lines.append(f"{safe(name)}: {safe(listing.error, 300)}")
        elif status.state != "ready":
            lines.append(safe(connections.state_words(status), 160))
    one = len(names) == 1
    return "\n".join(lines[:_SHOWN]) or f"{'The server offers' if one else 'The servers offer'} no {kind}s."


def changes(some: Iterable[Change]) -> str:
    """`2 new, 1 gone`; empty where nothing has changed."""
    counts = Counter(change.kind for change in some)
    return ", ".join(f"{counts[kind]:,} {kind}" for kind in _KINDS if counts[kind])

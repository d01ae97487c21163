"""What is asked in the search palette: the text, the way, the scope; kept while the studio runs. Pure values."""

from __future__ import annotations

from typing import NamedTuple

from mcp_studio.catalog.listing import KINDS, EntryKind
from mcp_studio.safetext import safe
from mcp_studio.search.method import EVERYWHERE, Scope

WAYS = {
    "auto": "auto",
    "substring": "names",
    "regex": "regex",
    "bm25": "words",
    "okapi": "okapi",
    "semantic": "meaning",
    "hybrid": "hybrid",
}
"""Methods of our own, in the order in which a key goes through them, and how they are called here."""
HIDDEN = frozenset(("okapi",))
"""Not gone through unless it is what the settings name."""
KIND_NAMES: dict[EntryKind, str] = {
    "tool": "tools", "resource": "resources", "template": "templates", "prompt": "prompts",
}  # fmt: skip


class Question(NamedTuple):
    """One question."""

    text: str = ""
    method: str = "auto"
    servers: frozenset[str] | None = None
    kind: EntryKind | None = None

    @property
    def scope(self) -> Scope:
        """Where to search."""
        if self.servers is None and self.kind is None:
            return EVERYWHERE
        return Scope(self.servers, None if self.kind is None else frozenset((self.kind,)))

    @property
    def where(self) -> str:
        """The servers, in words."""
        if self.servers is None:
            return "all servers"
        names = sorted(safe(name, 40) for name in self.servers)
        return names[0] if len(names) == 1 else f"{len(names)} servers: {', '.join(names)}"

    @property
    def what(self) -> str:
        """The kinds, in words."""
        return "everything" if self.kind is None else KIND_NAMES[self.kind]


def next_kind(kind: EntryKind | None) -> EntryKind | None:
    """Everything, then one kind after the other."""
    ring: tuple[EntryKind | None, ...] = (None, *KINDS)
    return ring[(ring.index(kind) + 1) % len(ring)]


def way(method: str) -> str:
    """How a method, or what served as `substring+bm25`, is called here; a plug-in by its own name."""
    return "+".join(WAYS.get(name, safe(name, 20)) for name in method.split("+"))

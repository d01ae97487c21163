"""All listings of all servers."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from mcp_studio.catalog.listing import Entry, Listing
from mcp_studio.catalog.ref import KINDS, EntryKind, Ref
from mcp_studio.catalog.seen import Seen
from mcp_studio.catalog.shelf import Shelf
from mcp_studio.catalog.skills import Skill, Verdict
from mcp_studio.errors import UsageError
from mcp_studio.signal import Signal


class Catalog:
    """The one place that knows what servers offer; `changed` names the server and the kind."""

    def __init__(self) -> None:
        self.changed: Signal[tuple[str, EntryKind]] = Signal()
        self.looked: Signal[str] = Signal()
        """The name of a server some of whose entries the person has seen as they are now."""
        self.seen = Seen()
        self.skills = Shelf()
        self._listings: dict[str, dict[EntryKind, Listing]] = {}
        self._named: dict[tuple[str, EntryKind], tuple[Listing, dict[Ref, list[Entry]]]] = {}
        """The entries of listings by their name, made when the first of them is looked for."""

    def put(self, listing: Listing) -> None:
        """Replace a listing."""
        self._listings.setdefault(listing.server, {})[listing.kind] = listing
        self.changed.emit((listing.server, listing.kind))

    def include(self, server: str) -> None:
        """Make a server known, so that its place in the order is that of the configuration."""
        self._listings.setdefault(server, {})

    def arrange(self, servers: Iterable[str]) -> None:
        """Bring the servers into this order, which is that of the configuration."""
        known = self._listings
        self._listings = {name: known[name] for name in servers if name in known} | known

    def forget(self, server: str) -> None:
        """Drop all listings of a server."""
        self.seen.forget(server)
        self.skills.forget(server)
        for kind in KINDS:
            self._named.pop((server, kind), None)
        if self._listings.pop(server, None) is not None:
            for kind in KINDS:
                self.changed.emit((server, kind))

    @property
    def servers(self) -> tuple[str, ...]:
        """The servers that something is known of, in the order of the configuration."""
        return tuple(self._listings)

    def listing(self, server: str, kind: EntryKind) -> Listing:
        """One listing; an empty one where nothing is known."""
        return self._listings.get(server, {}).get(kind) or Listing(server, kind)

    def entries(self, kind: EntryKind, servers: Iterable[str] | None = None) -> tuple[Entry, ...]:
        """All entries of a kind, servers in the order of the configuration."""
        names = self._listings if servers is None else servers
        return tuple(entry for name in names for entry in self.listing(name, kind).entries)

    def gone(self, kind: EntryKind, servers: Iterable[str] | None = None) -> tuple[Entry, ...]:
        """What servers do not list any more, until the person has looked at that."""
        names = self._listings if servers is None else servers
        return tuple(entry for name in names for entry in self.listing(name, kind).gone)

    def acknowledge(self, ref: Ref) -> None:
        """The person has looked at an entry: it is marked no more, and one that is gone is not shown any more."""
        listing = self.listing(ref.server, ref.kind)
        if any(entry.ref == ref and entry.change for entry in (*listing.entries, *listing.gone)):
            self._see(listing, ref.name)

    def acknowledge_all(self, kind: EntryKind) -> int:
        """The person has looked at all entries of a kind; gives how many were marked."""
        marked = [listing for name in self._listings if (listing := self.listing(name, kind)).changes]
        for listing in marked:
            self._see(listing, None)
        return sum(len(listing.changes) for listing in marked)

    def judged(self, skill: Skill, verdict: Verdict) -> None:
        """A skill has been read: its entry among the resources says what came out."""
        self.skills.judged(skill, verdict)
        listing = self.listing(skill.server, "resource")
        if listing.entries:
            self.put(listing._replace(entries=self.skills.with_skills(skill.server, listing.entries)))

    def _see(self, listing: Listing, name: str | None) -> None:
        self.seen.take(listing.server, listing.kind, listing.entries, name)
        entries = tuple(
            entry._replace(change=None) if entry.change and name in (None, entry.ref.name) else entry
            for entry in listing.entries
        )
        gone = tuple(entry for entry in listing.gone if name not in (None, entry.ref.name))
        self.put(listing._replace(entries=entries, gone=gone))
        self.looked.emit(listing.server)

    def find(self, ref: Ref) -> tuple[Entry, ...]:
        """The entries with this name: none, one, or the duplicates of a careless server."""
        listing = self._listings.get(ref.server, {}).get(ref.kind)
        if listing is None:
            return ()
        known = self._named.get((ref.server, ref.kind))
        if known is None or known[0] is not listing:
            found: dict[Ref, list[Entry]] = {}
            for entry in listing.entries:
                found.setdefault(entry.ref, []).append(entry)
            known = self._named[ref.server, ref.kind] = (listing, found)
        return tuple(known[1].get(ref, ()))

    def missing(self, ref: Ref) -> UsageError:
        """A server does not list this: the nearest that it lists."""
        names = [entry.ref.name for entry in self.listing(ref.server, ref.kind).entries]
        other, dot, name = ref.name.partition(".")
        if dot and name in names:
            return UsageError(f"There is no server {other!r}. Did you mean {ref.server}.{name}?")
        return UsageError(f"{ref.server} has no {ref.kind} {ref.name!r}." + suggestion(ref.name, names))


def suggestion(word: str, known: Iterable[str]) -> str:
    """` Did you mean …?` with the nearest known words, or an empty string."""
    lower = {item.lower(): item for item in known}
    near = difflib.get_close_matches(word.lower(), lower, n=3, cutoff=0.5)
    near += [item for item in lower if word and word.lower() in item and item not in near][: 3 - len(near)]
    return f" Did you mean {' or '.join(lower[item] for item in near)}?" if near else ""
